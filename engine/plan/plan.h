/*
 * A plan: what an operation would do to each resource, and why.
 *
 * It has a change for each of the Spec's resources, in the Spec's order, and
 * after those one for each record that leaves: what State has and the Spec
 * does not (any more), and objects that were replaced and are still to go.
 */
#pragma once

#include "engine/base/arena.h"
#include "engine/base/hash.h"
#include "engine/plan/change.h"
#include "engine/plan/diff.h"

struct plan {
    struct arena arena;
    struct plan_change *changes;
    size_t n_changes;
    size_t n_resources; /* the first of them: the Spec's; what follows leaves */
};

struct plan_summary {
    uint32_t create, adopt, update, replace, delete, unchanged, read, deferred, unknown;
    uint32_t stay;  /* FORGET: the object is left in place */
    uint32_t moved; /* whatever is done to them, they get another id */
};

void plan_step_free(struct runtime_step *step);
/* Releases the objects that were compared: they may be much larger than what is to be done. NULL:
 * nothing. */
void plan_step_compared(struct runtime_step *step);

struct plan *plan_new(size_t n_resources, size_t n_leaving);
void plan_free(struct plan *plan);
DEFINE_CLEANUP(struct plan *, plan_free)

void plan_summarise(const struct plan *plan, struct plan_summary *ret);
/* Whether carrying it out would change nothing, in the world or in State. */
bool plan_is_empty(const struct plan *plan);

/* The reason of an error where a plan cannot be carried out any more: what was planned, or
 * approved, is not what would be done now. */
#define PLAN_STALE "PlanStale"

/* One digest over those of all changes (digest.h), whatever their order. UNCHANGED ones do not
 * count. What could not be planned counts as such. The same as approved_plan_digest(). Changes that
 * have a digest were digested with the same key. */
void plan_digest(const struct plan *plan, const void *key, size_t key_length,
                 char ret_hex[HASH_HEX_SIZE]);
