/*
 * Steps: the change of one object. plan() reads the object, compares and makes a step; apply()
 * carries the step out.
 *
 * A change applies only to the object that was planned for. A create fails if an object of that
 * name exists. An update has the observed uid and resourceVersion as preconditions, a deletion the
 * uid. If only the status of the object changed since it was planned for, the update is sent again
 * with the new version. If anything else of it changed, it is planned again: an update may take
 * over fields that others have, and what they write there is not to be overwritten unseen.
 */
#pragma once

#include "runtimes/kubernetes/change/desired.h"
#include "runtimes/kubernetes/change/observe.h"
#include "runtimes/kubernetes/objects/projection.h"

struct kube_step {
    struct runtime_step base;        /* first member; its strings and values are the step's own */
    struct runtime_session *session; /* a reference */
    const struct value *identity;    /* the attributes that name the object; a reference */
    char *uid, *version, *fields_digest; /* of the observed object; NULL: it was absent */
    const struct value *initial; /* of a CREATE: what is sent, if something of it is ignored from
                                    then on; a reference, or NULL */
    enum managers_from from;     /* whose fields are taken over */
    enum kube_owner owner;       /* likewise */
    bool terminating;            /* likewise */
    char *content_digest;        /* of the whole object without status, if the step changes it;
                                    or NULL */
    char *reason;                /* base.reason, owned; or NULL */
    char *after_digest;          /* set: field managers of the object are taken over before the
                                    apply (managers.h); kube_foreseen_digest() of the object
                                    afterwards, which a dry-run of the apply must give then */
    const struct value *fields;  /* with after_digest: the fields that are ours after the
                                    takeover; a reference */
    bool is_large;               /* the answer to its change will be large (runtime_call) */
};

/* ---- act.c ---- */

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

/* Whether the step's change will have a large answer: the object that it was planned for was large,
 * or what is sent is. */
void kube_step_weigh(struct runtime_step *step, const struct runtime_call *call);

/* Copies the observed object's identity into the step. */
void kube_step_see(struct kube_step *step, const struct observation *seen);

/* The same of its content. The observation has the whole object. */
void kube_step_see_content(struct kube_step *step, const struct observation *seen);

/* True if the object is still as the step was planned for: its owner, its content, and the fields
 * that are ours. now: of the whole object. */
bool kube_step_is_current(const struct kube_step *step, const struct observation *now);

/* ---- plan.c, plan_removal.c ---- */

/* plan() of a wanted target, and of a deletion. */
int kube_plan_object(struct runtime_session *session, const struct desired *desired,
                     const struct observation *hint, const struct runtime_call *call,
                     struct runtime_step **ret, struct error *error);
int kube_plan_removal(struct runtime_session *session, const struct runtime_target *target,
                      const struct observation *hint, const struct runtime_call *call,
                      struct runtime_step **ret, struct error *error);
/* True if the object is certainly ours. Its uid is the recorded one and no other Spec's label is on
 * it; or it has our label. If State is inherited, both are needed. */
bool kube_is_ours(const struct runtime_session *session, const struct record *prior,
                  const struct observation *seen);

/* ---- replace.c ---- */

#define KUBE_IMMUTABLE_FIELD "ImmutableField" /* a reason */

/* The name of such an object follows from its fields. */
bool kube_is_named_by_content(const struct value *attributes);

/*
 * The API server refused the update of an object that exists as invalid. causes: of the refusal; it
 * is in *problem. 0: the object is to be replaced, or will be later, and *ret is the step. Else
 * *problem says why not; it may quote any value of the object.
 */
int kube_plan_replacement(struct runtime_session *session, const struct runtime_target *target,
                          const struct observation *seen, const struct value *causes,
                          const struct runtime_call *call, struct runtime_step **ret,
                          struct error *problem);

/* ---- trial.c ---- */

/*
 * Creates the target's object by a dry-run, though there is an object of its name: as another one.
 * live: that object; NULL: it is known that the object can be created. *ret: the object as it would
 * be made under its own name, secrets marked. A reference; NULL: such objects have no other name.
 * An error may quote any value of the object.
 */
int kube_try_anew(struct runtime_session *session, const struct runtime_target *target,
                  const struct value *live, const struct runtime_call *call,
                  const struct value **ret, struct error *error);

/* ---- apply.c ---- */

#define KUBE_MAX_TAKES 5 /* attempts to change an object whose version keeps changing */

enum kube_apply_mode {
    KUBE_APPLY_CREATE, /* fails if the object exists */
    KUBE_APPLY_TAKE,   /* takes over fields of other managers */
    KUBE_APPLY_YIELD,  /* fails if another manager has a field with another value */
};

/* A server-side apply with dryRun. *ret: the resulting object, secrets marked. *ret_causes, NULL
 * before, or ret_causes NULL: if the API server refuses the object as invalid, what it says is
 * wrong; or which fields are in conflict (api_error_causes()). A reference. */
int kube_dry_run(struct runtime_session *session, const struct value *attributes,
                 enum kube_apply_mode mode, const struct runtime_call *call,
                 const struct value **ret, const struct value **ret_causes, struct error *error);

/* ---- change.c ---- */

/* What an apply changes, by a dry-run. */
struct kube_change {
    const struct value *attributes;
    const struct observation *seen;    /* NULL: it is created */
    const struct runtime_target *anew; /* the object takes the place of `seen`, and the dry-run was
                                          kube_try_anew() of this target; or NULL */
    const struct value *object;        /* afterwards, secrets marked */
    const struct value *own;           /* the fields that are ours afterwards; NULL: the API server
                                          does not say, and the whole object counts as ours */
};

/* The fields that are ours in the answer to a dry-run of an apply. A reference; NULL: it does not
 * say. */
const struct value *kube_own_fields(const struct runtime_session *session,
                                    const struct value *object);
/* The mode in which an object that exists is applied, by the Spec's conflictPolicy. */
enum kube_apply_mode kube_apply_mode(const struct runtime_session *session);
/* What is ours of the object as it is. A reference. */
const struct value *kube_project_ours(const struct observation *seen);
/* What is ours of the object before and after. If the session is thorough, values of ours that
 * another dry-run assigns otherwise are unknown. */
int kube_project_change(struct runtime_session *session, const struct kube_change *change,
                        const struct runtime_call *call, struct projection *ret,
                        struct error *error);
/* The same where no dry-run of an apply is known, because attributes are unknown, say: for the
 * diff. */
void kube_expect_change(struct runtime_session *session, const struct value *attributes,
                        const struct observation *seen, const struct runtime_call *call,
                        struct projection *ret);
/* The object as references see it before the change is made: its status, and values that are not
 * ours and differ from those of the live object, are unknown. */
const struct value *kube_foresee_result(const struct kube_change *change);
/* The digest of what is ours of the object after an apply, or was ours (`fields`); free() it. */
char *kube_foreseen_digest(const struct value *object, const struct value *own,
                           const struct value *fields);

/* ---- takeover.c ---- */

/* *changed: the object after the apply, by a dry-run; replaced with what it will be if the field
 * managers of the object are taken over first. identity: attributes that name it. */
int kube_foresee_takeover(struct runtime_session *session, const struct value *identity,
                          const struct observation *seen, const struct managers_taking *taking,
                          const struct runtime_call *call, const struct value **changed,
                          struct error *error);

/* Sets the managedFields of the object as it was seen, and nothing else. ERR_CONFLICT: it changed
 * since then. *ret: the object afterwards. */
int kube_write_managers(struct runtime_session *session, const struct value *identity,
                        const struct observation *seen, const struct value *managers,
                        const struct runtime_call *call, const struct value **ret,
                        struct runtime_outcome *ret_outcome, struct error *error);

/* Takes the field managers over, for the object that the step was planned for. *ret_version: its
 * resourceVersion afterwards. ERR_CONFLICT: it changed since then. */
int kube_take_over(const struct kube_step *step, const struct runtime_call *call,
                   char **ret_version, struct runtime_outcome *ret_outcome, struct error *error);

/* ---- hand_back.c ---- */

/* The object was just created, and has fields of ours that are ignored: they get no manager. That
 * is tried; where it does not succeed, the next plan does it. seen: of the answer to the create;
 * replaced by that of the object afterwards, or without a digest, so that it is planned again.
 */
void kube_hand_back(const struct kube_step *step, const struct runtime_call *call,
                    struct observation *seen);

/* ---- apply.c, delete.c ---- */

/* apply() of CREATE, ADOPT or UPDATE, and of DELETE. */
int kube_apply_object(const struct kube_step *step, const struct runtime_call *call,
                      struct runtime_outcome *ret, struct error *error);
int kube_apply_removal(const struct kube_step *step, const struct runtime_call *call,
                       struct runtime_outcome *ret, struct error *error);
