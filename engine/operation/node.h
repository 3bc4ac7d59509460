/*
 * A node: one change of the plan, while the operation lives.
 *
 * A change has one step, or two: a replacement applies and deletes (engine/plan/steps.h). Each step
 * has a phase. node_move() sets it, and aborts if the table does not have the transition.
 *
 *   phase      meaning                                                    then
 *   PLANNED    it can be carried out as planned, here or in the plan;     INTENDED, SENT, APPLIED,
 *              what the plan could not know is planned when it is due     OUTDATED, an end
 *   INTENDED   and State got an intent of the object. No call was begun   SENT, APPLIED, FINISHED
 *   SENT       its call is under way                                      APPLIED, OUTDATED
 *   OUTDATED   its call failed or had an end without effect, or a late    PLANNED
 *              create may bring the object back: it is planned anew
 *              before anything else is sent
 *   APPLIED    its call succeeded, or the object was found as wanted: a   OUTDATED (a deletion)
 *              visit only looks whether it is ready, or gone
 *
 * The ends, which tell what the result says; else it is the verdict of the last visit:
 *
 *   FINISHED   the object has done its work, and is gone: it is not looked at
 *   TIMED_OUT  planning had all of `timeout`, and got no answer           DEFERRED
 *   DEFERRED   the plan deferred it, and it is left so
 *
 * A phase does not tell whether a call that got no answer had an effect: `lost` does, and stays.
 */
#ifndef ENGINE_OPERATION_NODE_H
#define ENGINE_OPERATION_NODE_H

#include "engine/operation/operation.h"
#include "engine/plan/steps.h"

enum node_phase {
    NODE_PLANNED,
    NODE_INTENDED,
    NODE_SENT,
    NODE_OUTDATED,
    NODE_APPLIED,
    NODE_FINISHED,
    NODE_TIMED_OUT,
    NODE_DEFERRED,
};

/* How the approved plan, if there is one, covers it. */
enum node_approval {
    APPROVAL_COMPARED, /* with all other changes, before anything begins */
    APPROVAL_LATER,    /* compared when it is planned anew: what it goes by is not known yet */
    APPROVAL_MISSING,  /* not at all: it is DEFERRED */
};

/* Its visits, one at a time, write the fields. The fields that others read as well are under the
 * operation's lock. */
struct node {
    struct operation *operation;
    uint32_t index;
    enum node_phase phases[2];      /* of its steps, by STEP_APPLY and STEP_DELETE */
    unsigned failures;              /* in a row, of those that may heal */
    struct binding *binding;        /* NULL: no runtime of its type */
    struct observation hint;        /* of prefetch() */
    int64_t hinted_at;              /* ms since 1970: before prefetch() looked */
    struct slot *large;             /* of its visit, for calls with large answers */
    const struct value *attributes; /* as last resolved; a reference. Under the lock */
    const struct value *extensions; /* likewise */
    struct output *outputs;         /* what references take from it; NULL: nothing */
    const struct value *seen;       /* its outputs, as copies; a reference. Under the lock */
    bool is_seen;                   /* its object was seen: `seen` is of then. Under the lock */
    bool is_read;                   /* for references, at the moment. Under the lock */
    bool releases_dependents;       /* it is parked, and its dependents go on. Under the lock */
    bool is_behind_change;          /* as planned, it is to be changed, or something before it is */
    bool may_be_replaced;           /* it was deleted while a late create could come */
    bool was_deleted;               /* and a late create may make it again, to be deleted again */
    char *lost;                     /* owned: why a call that makes it, and may have had effect, got
                                       no answer; NULL: all had one */
    enum node_approval approval;
    bool stays;                   /* its old object stays: planned anew, it is not replaced */
    int64_t visited_at;           /* ms, monotonic: a visit is under way since; 0: none is. Under
                                     the lock */
    const char *deposed;          /* the name that its old object got to make room; arena */
    struct runtime_step *step;    /* owned: planned anew when it was due; NULL: the change's */
    struct runtime_step *removal; /* likewise, for the old object of a replacement */
    const struct plan_change *content; /* a resource of the Spec that is in it; or NULL */
    struct runtime_subscription *subscription;
};

struct plan_change *operation_change(const struct node *node);
const struct runtime_ops *operation_ops(const struct node *node);

void node_move(struct node *node, enum step_kind step, enum node_phase to);
/* Its step has had its effect in the world. */
bool node_is_applied(const struct node *node, enum step_kind step);
/* The step of a change that has one. */
enum step_kind node_only_step(const struct node *node);

#endif
