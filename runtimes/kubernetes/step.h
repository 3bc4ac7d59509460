/*
 * Steps: what is to be done to one object. plan() looks, compares and makes
 * one; apply() carries it out.
 *
 * A change meets the object that it was planned for, or none: a create is
 * refused where there is an object of that name, an update names the uid and
 * the version that were seen, a deletion the uid.
 */
#ifndef RUNTIMES_KUBERNETES_STEP_H
#define RUNTIMES_KUBERNETES_STEP_H

#include "runtimes/kubernetes/session.h"

struct kube_step {
    struct runtime_step base;        /* first member; its strings and values are the step's own */
    struct runtime_session *session; /* a reference */
    const struct value *identity;    /* the attributes that name the object; a reference */
    char *uid, *version, *footprint; /* of the object as it was seen; NULL: not there */
    enum kube_owner owner;           /* likewise */
    bool terminating;                /* likewise */
};

/* ---- runtime.c ---- */

int kube_plan(struct runtime_session *session, const struct runtime_target *target,
              const struct observation *hint, const struct runtime_call *call,
              struct runtime_step **ret, struct error *error);
int kube_apply(struct runtime_step *step, const struct runtime_call *call,
               struct runtime_outcome *ret, struct error *error);

/* ---- step.c ---- */

struct kube_step *kube_step_new(struct runtime_session *session, enum plan_action action,
                                const struct runtime_target *target);
void kube_step_free(struct runtime_step *step);
DEFINE_CLEANUP(struct runtime_step *, kube_step_free)

/* The object as it was seen. */
void kube_step_see(struct kube_step *step, const struct observation *seen);

/* Of a change that failed: until when it may land still. */
void kube_outcome_doubt(const struct runtime_session *session, enum certainty certainty,
                        struct runtime_outcome *ret);

/* ---- plan.c, plan_removal.c ---- */

/* plan() of a target that is wanted; of one that is to go. */
int kube_plan_object(struct runtime_session *session, const struct runtime_target *target,
                     const struct observation *hint, const struct runtime_call *call,
                     struct runtime_step **ret, struct error *error);
int kube_plan_removal(struct runtime_session *session, const struct runtime_target *target,
                      const struct observation *hint, const struct runtime_call *call,
                      struct runtime_step **ret, struct error *error);

/* ---- apply.c, delete.c ---- */

enum kube_apply_mode {
    KUBE_APPLY_CREATE, /* refused where there is one */
    KUBE_APPLY_TAKE,   /* others' fields are taken over */
};

/* A server-side apply that changes nothing; what it would give, marked. */
int kube_dry_run(struct runtime_session *session, const struct value *attributes,
                 enum kube_apply_mode mode, const struct runtime_call *call,
                 const struct value **ret, struct error *error);

/* apply() of a CREATE, ADOPT or UPDATE; of a DELETE. */
int kube_apply_object(const struct kube_step *step, const struct runtime_call *call,
                      struct runtime_outcome *ret, struct error *error);
int kube_apply_removal(const struct kube_step *step, const struct runtime_call *call,
                       struct runtime_outcome *ret, struct error *error);

#endif
