/*
 * The resources that a Spec has in ConfigMaps and Secrets (`resourcesFrom`): they are gathered
 * before anything else is done for the Spec, and then the Spec counts as one that has all of them
 * in `resources`, after its own. What is recorded, planned, approved and rolled back is the whole.
 *
 * Each attempt reads the sources anew, by a task of the executor, and its end puts the key into the
 * queue. What is new is read twice. The first time its size is found; memory for the resources is
 * reserved by that. The second time the resources are read, if the sources are still the same.
 * Where there are several, SOURCES_QUIET ms lie between: who changes one after the other is to be
 * done. So half of a change is not applied. What this process has read for the Spec before is read
 * once: its size is known.
 *
 * A Preview with resources or sources of its own has these alone (release.c).
 *
 * A source that is missing, cannot be read, or does not parse is an error of the whole Spec:
 * nothing is applied, and nothing is pruned.
 *
 * A change of the contents counts as a change of the Spec, though its generation stays:
 * run->sources_digest is the other part of what `observedGeneration` tells, and the status has it
 * as `observedSources`.
 */
#pragma once

#include "controller/reconcile/attempt.h"

#define SOURCES_QUIET 1000 /* ms */

enum sources_answer {
    SOURCES_ARE_THERE = 0, /* or there are none */
    SOURCES_UNDER_WAY,     /* the key is put into the queue */
    SOURCES_NEED_MEMORY,   /* it is waited for, as after attempt_open() */
};

/*
 * For attempt->run, which has just been read; called again when the key comes back. SOURCES_ARE_
 * THERE: run->source, ->sources, ->sources_digest and ->source_memory are set. An error is of the
 * Spec, or one that may pass: run->sources_digest is set if all sources could be read.
 */
int sources_gather(struct attempt *attempt, struct error *error);

/* An operation goes on. If a watch has shown a change of a source since they were read, and it is
 * one of the contents, sets attempt->superseded_by. Called again when the key comes back. */
void sources_look_again(struct attempt *attempt);
