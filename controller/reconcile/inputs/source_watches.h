/*
 * Watches of the sources of Specs (sources.h): a change of one has its Specs reconciled.
 *
 * There is one watch for each user, kind and namespace, of metadata only. All Specs share it that
 * have such sources and act as that user. An event goes to the Specs that follow the object of that
 * name, if its version is newer than the one that they have read. Where the API server refuses the
 * watch (it takes the rights to list and to watch), or there are too many, nothing is lost but
 * time: the sources are read again after `interval` (source_watches_are_whole()).
 *
 * A Spec follows its sources before it reads them, so that no change falls between.
 *
 * Thread-safe, with one reconcile of each Spec at a time. All functions accept NULL for the
 * watches, and do nothing then.
 */
#pragma once

#include "controller/reconcile/inputs/spec_source.h"

struct desk;

/* Watches of the process, and for the Specs of one namespace. */
#define SOURCE_WATCHES              512
#define SOURCE_WATCHES_OF_NAMESPACE 16

struct source_watches *source_watches_new(struct kube_client *client, struct desk *desk);
void source_watches_free(struct source_watches *watches); /* no reconcile runs any more */

/* The Spec is about to read these sources as that user (NULL: as the operator itself), in place of
 * those that it followed before. */
void source_watches_follow(struct source_watches *watches, const struct spec_key *spec,
                           const char *user, const struct spec_sources *sources);
/* It has read them, with the versions that they have. Of one that was not read, later changes
 * count. A change that was seen meanwhile has the Spec reconciled again. */
void source_watches_note(struct source_watches *watches, const struct spec_key *spec,
                         const struct spec_sources *sources);
/* What was noted of the Spec's sources last, if their size was known: gives `sources`, which have
 * just been parsed, their uids, digests and size. They may have changed since. */
bool source_watches_recall(struct source_watches *watches, const struct spec_key *spec,
                           struct spec_sources *sources);
/* One has changed since. */
bool source_watches_saw_change(struct source_watches *watches, const struct spec_key *spec);
/* For the key of a Spec: each of its sources is watched, and no watch has failed since. Also where
 * it has none. */
bool source_watches_are_whole(struct source_watches *watches, const char *key);
/* The Spec has no sources any more, or is gone. */
void source_watches_forget(struct source_watches *watches, const struct spec_key *spec);
