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
 * Each Release is deleted by the reconcile of its own key, which has just read it. The table only
 * knows which ones have ended, from their reconciles: at the start of the process each is
 * reconciled once. Thread-safe.
 */
#ifndef CONTROLLER_RECONCILE_FINISHED_H
#define CONTROLLER_RECONCILE_FINISHED_H

#include "controller/core/workers.h"
#include "controller/reconcile/context.h"

struct finished;

struct finished *finished_new(void);
void finished_free(struct finished *finished);
DEFINE_CLEANUP(struct finished *, finished_free)

/* A Release has ended, as it was just read; key: its own. Deletes it if it is time; else *result
 * says when it will be. */
int finished_keep(const struct reconcile_context *context, const char *key,
                  const struct value *object, struct cancel *cancel,
                  struct reconcile_result *result, struct error *error);
/* The same for a record without an owner. As long as its Spec exists, it stays. */
int finished_keep_orphan(const struct reconcile_context *context, const struct value *object,
                         struct cancel *cancel, struct reconcile_result *result,
                         struct error *error);
/* A Release is gone. */
void finished_forget(const struct reconcile_context *context, const char *key);
/* A Spec is gone: its Releases are reconciled, and deleted. */
void finished_end_spec(const struct reconcile_context *context, const struct spec_key *spec);

#endif
