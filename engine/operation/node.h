/*
 * A node: one change of the plan, while the operation lives.
 *
 * A change has one step, or two: a replacement applies and deletes (engine/plan/steps.h). Each step
 * has a phase. node_move() sets it, and aborts if the table does not have the transition.
 *
 *   phase      meaning                                               followed by
 *   PLANNED    it has its step, from the plan or planned anew; if    INTENDED, SENT, APPLIED,
 *              the plan had none yet, it gets it when it is due      OUTDATED, an end
 *   INTENDED   likewise, and State got an intent of the object       SENT, APPLIED, OUTDATED,
 *                                                                    FINISHED
 *   SENT       its call is under way                                 APPLIED, OUTDATED
 *   OUTDATED   its call failed, its step was deferred, or a late     PLANNED
 *              create may make the deleted object again: it is
 *              planned anew before anything is sent
 *   APPLIED    its call succeeded, or the object was found as        OUTDATED (of a deletion)
 *              wanted: visits only look if it is ready, or gone
 *
 * The ends. Where there is none, the verdict of the last visit tells the result.
 *
 *   FINISHED   the object has done its work, and is gone             nothing
 *   TIMED_OUT  planning had all of `timeout`, and got no answer      DEFERRED (not approved)
 *   DEFERRED   the plan deferred it, and it is left so               nothing
 *
 * No phase tells whether a call that got no answer had an effect: `lost` does, from then on.
 */
#pragma once

#include "engine/plan/plan.h"
#include "engine/plan/steps.h"
#include "engine/runtime.h"

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

/* Its visits, one at a time, write the fields. */
struct node {
    struct operation *operation;
    uint32_t index;
    struct binding *binding;           /* NULL: no runtime of its type */
    struct output *outputs;            /* what references take from it; NULL: nothing */
    const struct plan_change *content; /* a resource of the Spec that is in it; or NULL */
    struct slot *large;                /* of the visit, for calls with large answers */

    /* From planning on. */
    struct observation hint; /* of prefetch() */
    int64_t hinted_at;       /* ms since 1970: before prefetch() looked */
    bool is_behind_change;   /* as planned, it is to be changed, or something before it is */
    enum node_approval approval;

    /* From carrying out on. */
    enum node_phase phases[2];    /* of its steps, by STEP_APPLY and STEP_DELETE */
    struct runtime_step *step;    /* owned: planned anew when it was due; NULL: the change's */
    struct runtime_step *removal; /* likewise, for the old object of a replacement */
    unsigned failures;            /* in a row, of those that may heal */
    const char *deposed;          /* the name that its old object got to make room; arena */
    char *lost;                   /* owned: why a call that makes it, and may have had effect, got
                                     no answer; NULL: all had one */
    bool may_be_replaced;         /* it was deleted while a late create could come */
    bool was_deleted;             /* and a late create may make it again, to be deleted again */
    const struct value *recorded; /* the attributes as State gets them; a reference */
    struct runtime_subscription *subscription;

    /* Under the operation's lock. */
    int64_t visited_at;             /* ms, monotonic: a visit is under way since; 0: none is */
    bool releases_dependents;       /* it is parked, and its dependents go on */
    const struct value *attributes; /* as last resolved; a reference */
    const struct value *extensions; /* likewise */
    const struct value *former;     /* array of values that the object has, and State has only marks
                                       of (secrets.h): sensitive; a reference, or NULL */
    const struct value *seen;       /* copies of its outputs; a reference */
    bool is_seen;                   /* its object was seen: `seen` is of then */
    bool is_being_read;             /* by a thread that needs its outputs */
};

struct plan_change *operation_change(const struct node *node);

void node_move(struct node *node, enum step_kind step, enum node_phase to);
/* Its step has had its effect in the world. */
bool node_is_applied(const struct node *node, enum step_kind step);
/* The step of a change that has one. */
enum step_kind node_only_step(const struct node *node);
