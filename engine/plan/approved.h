/*
 * An approved plan: what somebody has agreed to, without any value of a resource.
 *
 * It has a step for each change that a plan makes: the action, keyed digests (digest.h), and the
 * paths of what was unknown. It is taken from a plan, kept as a value (approved_value.h) in a
 * Release or a store, and given to the operation that carries it out (operation.h), which may run
 * in a later process.
 *
 * A change as it is planned now conforms to an approved plan
 *   - if nothing is to be done any more: the operation was killed after the step, or the world came
 *     round by itself;
 *   - or if it has the action and the digest of its approved step, once the paths that were
 *     unknown then are masked. One half of an approved replacement conforms as well, where the
 *     other half is done;
 *   - or if it deletes once more what an approved step has deleted, and a create of ours that came
 *     late has made again: State has an intent of that object, with the action `delete`, or the
 *     uid of the first one and the time of such a create.
 * A creation must also show what it showed when it was approved, if it was tried both times: what
 * the platform would make of what is sent. That is in no digest of plans, because only a thorough
 * plan has it. The creation half of a replacement is not compared in this way: when it is due, the
 * old object may be gone, and to stop then would leave none.
 * Everything else is stale: another action, other fields, another object, a change that the
 * approved plan does not have.
 *
 * What could not be planned (deferred, an error, or a value past a bound of limits.h) is not
 * covered by the approval: it needs another round, which is a plan that has it. That plan is made
 * by an operation without an approved plan. One that has an approved plan shows as deferred what
 * that does not cover.
 *
 * What a resource depends on is no part of an approval: that is the order of the steps, and no
 * change of an object.
 *
 * Plans are comparable if they are made with the same key. `thorough` (runtime.h) makes no
 * difference, but for values that a runtime learns only by trying: those of a creation that others
 * refer to, and those that are other ones each time.
 *
 * Immutable; threads share it by reference.
 */
#pragma once

#include "engine/base/error.h"
#include "engine/plan/plan.h"

struct approved_plan;

/* Takes what is there to approve from a plan that is whole, before it is carried out: what has been
 * carried out is no longer in it. The key is copied. */
struct approved_plan *approved_plan_new(const struct plan *plan, const void *key,
                                        size_t key_length);
struct approved_plan *approved_plan_ref(struct approved_plan *approved);
void approved_plan_unref(struct approved_plan *approved);
DEFINE_CLEANUP(struct approved_plan *, approved_plan_unref)

/* Bytes that it holds, about. NULL: 0. */
size_t approved_plan_memory(const struct approved_plan *approved);

/* plan_digest() of the plan that it was taken from. */
void approved_plan_digest(const struct approved_plan *approved, char ret_hex[HASH_HEX_SIZE]);

enum conformity {
    CONFORMS,    /* or there is nothing to be done */
    NOT_COVERED, /* it could not be planned when the plan was approved */
};

/*
 * Whether a change, as it is planned now, may be carried out: an enum conformity, or ERR_CONFLICT
 * PlanStale with what is different, in words and without values. A change that cannot be planned
 * now either conforms, or is NOT_COVERED: nothing is done about it.
 */
int approved_plan_check(const struct approved_plan *approved, const struct plan_change *change,
                        struct error *error);
/*
 * The same where values are unknown now that were known when the plan was approved: all but what is
 * made is compared. The rest is for approved_plan_check(), when they are known.
 */
int approved_plan_check_known(const struct approved_plan *approved,
                              const struct plan_change *change, struct error *error);
/* The same of the deletion of a resource's old object, which a replacement takes away. */
int approved_plan_check_removal(const struct approved_plan *approved,
                                const struct plan_change *change,
                                const struct runtime_step *removal, struct error *error);

/*
 * Of a plan that is made again while the first one waits to be approved, and of which a part cannot
 * be planned this time: whether it says nothing else, as far as it goes. Then an approval would
 * hold. False as well where all is planned that was planned before: that is another plan, or the
 * same.
 */
bool approved_plan_outlasts(const struct approved_plan *approved, const struct plan *plan);

/*
 * Of a plan that is made again and has the same digest: whether its creations show what those of
 * the first one showed, as far as both were tried. If not, the API server, or a webhook, would make
 * something else of them now.
 */
bool approved_plan_shows(const struct approved_plan *approved, const struct plan *plan);

/* Whether the approved plan has what its creation of the resource shows: then it is compared. */
bool approved_plan_has_shown(const struct approved_plan *approved,
                             const struct plan_change *change);

/* Whether values of the resource's attributes or extensions were unknown when the plan was
 * approved. Then its step is comparable only with one that shows no more
 * (runtime_target.was_unknown). */
bool approved_plan_has_unknown(const struct approved_plan *approved,
                               const struct plan_change *change);

/* Whether the approved plan replaces the resource, and makes the new object first. */
bool approved_plan_creates_first(const struct approved_plan *approved,
                                 const struct plan_change *change);
