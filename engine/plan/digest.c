#include "engine/plan/digest.h"

#include "engine/base/json.h"
#include "engine/plan/unknown.h"

static void add_value(struct hash *hash, const struct value *value)
{
    _cleanup_buf_ struct buf text = BUF_INIT;

    if (value)
        json_write(&text, value, JSON_CANONICAL);
    hash_add_str(hash, text.data);
}

static void digest_half(const struct plan_change *change, const char *half,
                        const struct runtime_step *step, const struct value *content,
                        struct digest_key key, char ret_hex[HASH_HEX_SIZE])
{
    _cleanup_(hash_free_p) struct hash *hash = hash_new_keyed(key.data, key.length);

    hash_add_str(hash, half);
    hash_add_str(hash, change->id);
    hash_add_str(hash, change->type);
    hash_add_str(hash, step && step->uid ? step->uid : "");
    add_value(hash, step ? step->before : NULL);
    add_value(hash, content);
    hash_finish_hex(hash, ret_hex);
}

/* The resource as the Spec has it says what each unknown value will be taken from. */
static void add_references(const struct resource *resource, struct digest_key key,
                           char made[HASH_HEX_SIZE])
{
    _cleanup_(hash_free_p) struct hash *hash = hash_new_keyed(key.data, key.length);

    hash_add_str(hash, made);
    add_value(hash, resource->attributes);
    add_value(hash, resource->extensions);
    hash_finish_hex(hash, made);
}

static bool makes(enum plan_action action)
{
    return action == PLAN_CREATE || action == PLAN_ADOPT || action == PLAN_UPDATE ||
           action == PLAN_REPLACE;
}

static bool removes(enum plan_action action)
{
    return action == PLAN_DELETE || action == PLAN_FORGET || action == PLAN_REPLACE;
}

const struct value *digest_made(const struct plan_change *change)
{
    const struct runtime_step *step = change->step;

    return value_pack("{s:v?, s:v?}", "after", step ? step->after : NULL, "extensions",
                      step ? step->extensions : NULL);
}

void digest_halves_of(const struct plan_change *change, const struct value *unknown,
                      struct digest_key key, struct digest_halves *ret)
{
    const struct runtime_step *removal =
        change->action == PLAN_REPLACE ? change->removal : change->step;

    *ret = (struct digest_halves){"", ""};
    if (makes(change->action)) {
        _cleanup_value_ const struct value *made = digest_made(change),
                                           *masked = unknown_mask(made, unknown);

        digest_half(change, "made", change->step, masked, key, ret->made);
        if (value_has_unknown(masked) && change->resource)
            add_references(change->resource, key, ret->made);
    }
    if (removes(change->action))
        digest_half(change, "removed", removal, removal ? removal->extensions : NULL, key,
                    ret->removed);
}

void digest_change(const struct digest_parts *parts, struct digest_key key,
                   char ret_hex[HASH_HEX_SIZE])
{
    _cleanup_(hash_free_p) struct hash *hash = hash_new_keyed(key.data, key.length);

    hash_add_str(hash, "change");
    hash_add_str(hash, parts->id);
    hash_add_str(hash, parts->type);
    hash_add_str(hash, plan_action_name(parts->action));
    hash_add_str(hash, parts->leaves ? "leaves" : "");
    hash_add_str(hash, parts->action != PLAN_REPLACE ? ""
                       : parts->create_first         ? "create first"
                                                     : "delete first");
    hash_add_str(hash, parts->halves->made);
    hash_add_str(hash, parts->halves->removed);
    hash_finish_hex(hash, ret_hex);
}
