#include "runtimes/terraform/need.h"

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "engine/value/redaction.h"

static void add(struct hash *hash, const struct value *value)
{
    _cleanup_buf_ struct buf text = BUF_INIT;

    if (value)
        json_write(&text, value, JSON_CANONICAL);
    hash_add_str(hash, value ? text.data : "");
}

struct need *need_new(const struct source *source, const struct need_owner *owner,
                      const struct value *configuration)
{
    struct need *need = NEW(struct need);
    _cleanup_(hash_free_p) struct hash *hash = hash_new();

    source_copy(&need->source, source);
    need->namespace_name = str_new(owner->namespace_name);
    need->configuration = value_ref(configuration);
    need->environment = value_ref(owner->environment);
    need->known = known_ref(owner->known);
    hash_add_str(hash, owner->namespace_name);
    hash_add_str(hash, owner->account ? owner->account : "");
    hash_add_str(hash, owner->is_preview ? "preview" : "");
    add(hash, configuration);
    add(hash, owner->environment);
    hash_finish_hex(hash, need->key);
    return need;
}

void need_free(struct need *need)
{
    if (!need)
        return;
    source_done(&need->source);
    free(need->namespace_name);
    value_unref(need->configuration);
    value_unref(need->environment);
    known_unref(need->known);
    free(need);
}

void need_redact(const struct need *need, struct error *error)
{
    if (need)
        redact_error(error, (const struct value *const[]){need->configuration, need->environment},
                     2);
}
