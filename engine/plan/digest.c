#include "engine/base/json.h"
#include "engine/plan/plan.h"

static void add_value(struct hash *hash, const struct value *value)
{
    _cleanup_buf_ struct buf text = BUF_INIT;

    if (value)
        json_write(&text, value, JSON_CANONICAL);
    hash_add_str(hash, text.data);
}

void plan_digest(const struct plan *plan, const void *key, size_t key_length,
                 char ret_hex[HASH_HEX_SIZE])
{
    _cleanup_(hash_free_p) struct hash *hash = hash_new_keyed(key, key_length);

    for (size_t i = 0; i < plan->n_changes; i++) {
        const struct plan_change *change = &plan->changes[i];

        hash_add_str(hash, change->id);
        hash_add_str(hash, plan_action_name(change->action));
        hash_add_str(hash, change->uid ? change->uid : "");
        if (change->action == PLAN_UNCHANGED)
            continue;
        add_value(hash, change->from);
        add_value(hash, change->to);
    }
    hash_finish_hex(hash, ret_hex);
}
