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
    struct spec_key key;
    int64_t generation;
    const char *project, *stack, *workspace; /* NULL: not known */
};

struct release {
    const struct value *metadata; /* as last written */
    const struct value *spec;
    const struct value *status; /* as last written */
    int64_t revision;
    int64_t generation; /* of the Spec */
    enum release_operation operation;
    enum release_phase phase;
};

struct release *release_of(const struct value *object);
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

/* A phase, with what is known by then. */
struct release_report {
    enum release_phase phase;
    const struct plan *plan; /* NULL: not known; digest goes with it */
    const char *digest;
    const struct operation_results *results; /* NULL: none */
    const struct verdict *verdict;           /* NULL: the conditions stay */
};

/* Of one that has ended nothing is written any more, whoever ended it. It is no error if somebody
 * deleted it. */
int release_write(const struct reconcile_context *context, const struct release_subject *subject,
                  struct release *release, const struct release_report *report,
                  struct error *error);

#endif
