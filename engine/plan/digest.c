#include <stdlib.h>
#include <string.h>

#include "engine/base/json.h"
#include "engine/base/mem.h"
#include "engine/plan/plan.h"

static void add_value(struct hash *hash, const struct value *value)
{
    _cleanup_buf_ struct buf text = BUF_INIT;

    if (value)
        json_write(&text, value, JSON_CANONICAL);
    hash_add_str(hash, text.data);
}

static void add_step(struct hash *hash, const struct runtime_step *step)
{
    hash_add_str(hash, step && step->uid ? step->uid : "");
    add_value(hash, step ? step->before : NULL);
    add_value(hash, step ? step->after : NULL);
}

void plan_change_digest(const struct plan_change *change, const void *key, size_t key_length,
                        char ret_hex[HASH_HEX_SIZE])
{
    _cleanup_(hash_free_p) struct hash *hash = hash_new_keyed(key, key_length);

    hash_add_str(hash, change->id);
    hash_add_str(hash, change->deposed ? change->deposed : "");
    hash_add_str(hash, plan_action_name(change->action));
    add_step(hash, change->step);
    if (change->action == PLAN_REPLACE) {
        hash_add_str(hash, change->create_first ? "create first" : "delete first");
        add_step(hash, change->removal);
    }
    hash_finish_hex(hash, ret_hex);
}

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, HASH_HEX_SIZE);
}

void plan_digest(const struct plan *plan, const void *key, size_t key_length,
                 char ret_hex[HASH_HEX_SIZE])
{
    _cleanup_(hash_free_p) struct hash *hash = hash_new_keyed(key, key_length);
    char(*digests)[HASH_HEX_SIZE] = mem_new_array(plan->n_changes + 1, HASH_HEX_SIZE);
    size_t n = 0;

    for (size_t i = 0; i < plan->n_changes; i++)
        if (plan->changes[i].action != PLAN_UNCHANGED)
            plan_change_digest(&plan->changes[i], key, key_length, digests[n++]);
    qsort(digests, n, HASH_HEX_SIZE, compare);
    for (size_t i = 0; i < n; i++)
        hash_add_str(hash, digests[i]);
    hash_finish_hex(hash, ret_hex);
    free(digests);
}
