/*
 * Releases as objects of the API: begun, taken through their phases, ended.
 *
 * A generated Release carries label api.kusion.io/generated=true and, as
 * annotations, its revision and the Spec's generation: so the list of a Spec's
 * Releases needs metadata alone. It has no ownerReference: a record outlives
 * what it records.
 *
 * Every function accepts a NULL release and does nothing then: in a namespace
 * that is being deleted an operation has none.
 */
#ifndef CONTROLLER_RECONCILE_RELEASES_H
#define CONTROLLER_RECONCILE_RELEASES_H

#include "controller/reconcile/conditions.h"
#include "controller/reconcile/context.h"
#include "engine/operation/operation.h"
#include "engine/release/release.h"

#define RELEASE_GENERATED_LABEL "api.kusion.io/generated"

/* Whose release: what is known of the Spec, whether or not it can be parsed. */
struct release_subject {
    const char *namespace_name, *name;
    int64_t generation;
    const char *project, *stack, *workspace; /* NULL: not known */
};

struct release {
    const struct value *metadata; /* as last written */
    int64_t revision;
    int64_t generation; /* of the Spec */
    enum release_operation operation;
    enum release_phase phase;
    const struct value *status; /* as last written */
};

void release_free(struct release *release);
DEFINE_CLEANUP(struct release *, release_free)

/* The Spec's newest generated Release, or NULL; and the highest revision. */
int releases_latest(const struct reconcile_context *context, const struct release_subject *subject,
                    struct cancel *cancel, struct release **ret, int64_t *ret_highest,
                    struct error *error);

/* Makes the Release of a revision; one that exists already is taken up where it was left. */
int release_begin(const struct reconcile_context *context, const struct release_subject *subject,
                  enum release_operation operation, int64_t revision, struct release **ret,
                  struct error *error);

/* A phase, with what is known by then; plan, results, verdict may be NULL. It is no error if
 * somebody deleted the Release. */
int release_write(const struct reconcile_context *context, const struct release_subject *subject,
                  struct release *release, enum release_phase phase, const struct plan *plan,
                  const char *digest, const struct operation_results *results,
                  const struct verdict *verdict, struct error *error);

struct release *release_of(const struct value *object);

#endif
