/*
 * Releases that people made, after their end, and records that have lost their Spec: how long they
 * are kept.
 *
 * A Release that a person made is deleted when spec.ttlSecondsAfterFinished has passed since its
 * end, or else the context's preview_ttl. Of each Spec at most preview_limit are kept; of more, the
 * oldest is deleted at once. All that name a Spec that did not exist, also those that bring
 * resources for it, share one such limit for each namespace, so that nobody can fill the cluster
 * by inventing names. When a Spec goes, its Releases go at once. None of this counts into, or is
 * counted by, revisionHistoryLimit (retention.h).
 *
 * A record of the controller is deleted together with its Spec by the garbage collector. One
 * without an owner (`kubectl delete spec --cascade=orphan`) is deleted like a Preview if no Spec
 * has its Spec's name.
 *
 * Each Release is deleted by the reconcile of its own key, which has just read it. The desk knows
 * which ones have ended, from their reconciles. Thread-safe.
 */
#pragma once

#include "controller/core/workers.h"
#include "controller/reconcile/records/context.h"

/* A Release has ended, as it was just read. Deletes it if it is time; else *result says when it
 * will be. */
int finished_keep(const struct reconcile_context *context, const struct value *object,
                  struct cancel *cancel, struct reconcile_result *result, struct error *error);
/* The same for a record without an owner. As long as its Spec exists, it stays. */
int finished_keep_orphan(const struct reconcile_context *context, const struct value *object,
                         struct cancel *cancel, struct reconcile_result *result,
                         struct error *error);
