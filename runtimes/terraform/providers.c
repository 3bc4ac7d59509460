#include "runtimes/terraform/providers.h"

#include <assert.h>

void providers_init(struct providers *providers)
{
    strmap_init(&providers->by_key);
}

void providers_done(struct providers *providers)
{
    for (struct strmap_entry *e = NULL; (e = strmap_next(&providers->by_key, e));) {
        struct provider *provider = e->value;

        assert(!provider->users);
        provider_free(provider);
    }
    strmap_done(&providers->by_key);
}

struct provider *providers_use(struct providers *providers, const struct source *source,
                               const struct found *found)
{
    _cleanup_free_ char *key = provider_key(source, found);
    struct provider *provider = strmap_get(&providers->by_key, key);

    if (!provider) {
        provider = provider_new(source, found);
        strmap_put(&providers->by_key, provider->key, provider);
    }
    provider->users++;
    return provider;
}

void provider_leave(struct provider *provider, int64_t now)
{
    if (!provider)
        return;
    provider->users--;
    provider->unused_since = now;
}

struct provider *providers_forget(struct providers *providers, int64_t before)
{
    for (struct strmap_entry *e = NULL; (e = strmap_next(&providers->by_key, e));) {
        struct provider *provider = e->value;

        if (provider->users || provider->unused_since >= before)
            continue;
        strmap_remove(&providers->by_key, provider->key);
        return provider;
    }
    return NULL;
}
