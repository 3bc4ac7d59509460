#include "runtimes/terraform/need.h"

#include "engine/base/json.h"
#include "engine/base/mem.h"

struct need *need_new(const struct source *source, const char *namespace_name, const char *account,
                      const struct value *configuration)
{
    struct need *need = NEW(struct need);
    struct hash *hash = hash_new();
    _cleanup_buf_ struct buf text = BUF_INIT;

    atomic_init(&need->references, 1);
    source_copy(&need->source, source);
    need->configuration = value_ref(configuration);
    if (configuration)
        json_write(&text, configuration, JSON_CANONICAL);
    hash_add_str(hash, namespace_name);
    hash_add_str(hash, account ? account : "");
    hash_add(hash, text.data, text.length);
    hash_finish_hex(hash, need->key);
    hash_free(hash);
    return need;
}

struct need *need_ref(struct need *need)
{
    atomic_fetch_add(&need->references, 1);
    return need;
}

void need_unref(struct need *need)
{
    if (!need || atomic_fetch_sub(&need->references, 1) > 1)
        return;
    source_done(&need->source);
    value_unref(need->configuration);
    free(need);
}
