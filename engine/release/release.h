/*
 * Releases: the phases of an operation, and its revision.
 *
 *   generating -> previewing -> [awaitingApproval] -> applying | destroying | rollingBack
 *   -> succeeded | failed | cancelled
 *
 * A short phase may be skipped. An operation never returns to an earlier phase, and never leaves a
 * terminal one.
 *
 * The revisions of a Spec count from 1, and each is used once. The next revision is one more than
 * the highest in State and in the history.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/arena.h"
#include "engine/base/error.h"

enum release_operation {
    RELEASE_APPLY,
    RELEASE_PREVIEW,
    RELEASE_DESTROY,
    RELEASE_ROLLBACK,
};

enum release_phase {
    PHASE_NONE, /* the operation has not begun: its status is empty */
    PHASE_GENERATING,
    PHASE_PREVIEWING,
    PHASE_AWAITING_APPROVAL,
    PHASE_APPLYING,
    PHASE_DESTROYING,
    PHASE_ROLLING_BACK,
    PHASE_SUCCEEDED,
    PHASE_FAILED,
    PHASE_CANCELLED,
};

const char *release_operation_name(enum release_operation operation); /* "Apply" */
bool release_operation_parse(const char *name, enum release_operation *ret);
const char *release_phase_name(enum release_phase phase); /* "awaitingApproval"; "" for NONE */
bool release_phase_parse(const char *name, enum release_phase *ret);
bool release_phase_is_terminal(enum release_phase phase);
/* The phase in which the operation does its work; PHASE_NONE: a preview has none. */
enum release_phase release_working_phase(enum release_operation operation);
bool release_phase_may_follow(enum release_operation operation, enum release_phase from,
                              enum release_phase to);

/* Most JSON readers do not keep larger numbers exact. */
#define RELEASE_REVISION_MAX (INT64_C(1) << 53)

int64_t release_next_revision(int64_t highest_in_state, int64_t highest_release);
bool release_revision_is_valid(int64_t revision);
/* Reads a revision from decimal digits, without sign or leading zeros. False: not a revision. */
bool release_revision_parse(const char *text, int64_t *ret);

/* "<spec>-<revision>", at most 253 bytes: in a long name, a hash of the whole Spec name replaces
 * its end. Allocated in the arena. */
const char *release_name(struct arena *arena, const char *spec_name, int64_t revision);
