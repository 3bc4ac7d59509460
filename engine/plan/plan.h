/*
 * A plan: what an operation would do to each resource, and why.
 *
 * The decision is a table over prior (in State), planned (in the Spec) and
 * live (in the world), as kusion.md has it: plan_decide(). A planned resource
 * that is there becomes UPDATE first; the dry-run tells whether it is UNCHANGED.
 */
#ifndef ENGINE_PLAN_PLAN_H
#define ENGINE_PLAN_PLAN_H

#include "engine/base/arena.h"
#include "engine/base/hash.h"
#include "engine/plan/diff.h"
#include "engine/runtime.h"
#include "engine/state/action.h"

enum plan_action plan_decide(bool prior, bool planned, enum presence live);

struct plan_change {
    const char *id, *type;
    enum plan_action action;
    const char *uid;            /* of the live object, or NULL */
    const struct value *from;   /* live, ours of it; NULL: absent or not read. A reference */
    const struct value *to;     /* desired (dry-run result, or attributes); NULL: goes. A reference */
    struct diff diff;           /* fields, redacted */
    struct error error;         /* why it cannot be done, found in preview; code 0: it can */
};

struct plan {
    struct arena arena; /* ids */
    struct plan_change *changes; /* the Spec's resources in its order, then what leaves */
    size_t n_changes;
};

struct plan_summary {
    uint32_t create, adopt, update, replace, delete, unchanged, unknown;
};

struct plan *plan_new(size_t n_changes);
void plan_free(struct plan *plan);
DEFINE_CLEANUP(struct plan *, plan_free)

void plan_summarise(const struct plan *plan, struct plan_summary *ret);
/* Whether carrying it out would write anything. */
bool plan_is_empty(const struct plan *plan);

/*
 * The plan's digest: HMAC-SHA-256 with the key over actions, ids, uids, desired and live
 * content of what changes, in canonical JSON; the same for the same plan, whatever the order
 * of keys and however often it is made.
 */
void plan_digest(const struct plan *plan, const void *key, size_t key_length,
                 char ret_hex[HASH_HEX_SIZE]);

#endif
