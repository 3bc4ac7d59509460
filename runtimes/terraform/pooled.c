#include "runtimes/terraform/pooled.h"

#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"

#define MOST_USES   20000                /* after which a process is started anew */
#define MOST_GROWTH (INT64_C(128) << 20) /* bytes; likewise, when it has grown by that */

struct pooled *pooled_add(struct pooled_list *list, struct provider *provider,
                          struct package *package, const struct need *need)
{
    struct pooled *pooled = NEW(struct pooled);

    pooled->base.provider = provider;
    pooled->package = package;
    memcpy(pooled->key, need->key, sizeof(pooled->key));
    pooled->namespace_name = str_new(need->namespace_name);
    pooled->memory = QUOTA_USUAL_MEMORY;
    pooled->phase = POOLED_STARTING;
    LIST_INSERT_HEAD(list, pooled, entry);
    return pooled;
}

void pooled_free(struct pooled *pooled)
{
    plugin_free(pooled->base.plugin);
    warnings_done(&pooled->base.warnings);
    free(pooled->namespace_name);
    free(pooled->retired_for);
    package_give_back(pooled->package);
    free(pooled);
}

void pooled_look(struct pooled *pooled)
{
    if (pooled->phase == POOLED_READY)
        pooled->memory = plugin_memory(pooled->base.plugin);
}

bool pooled_is_worn(const struct pooled *pooled)
{
    return pooled->phase == POOLED_READY &&
           (pooled->uses >= MOST_USES || pooled->memory - pooled->first_memory > MOST_GROWTH ||
            plugin_is_stuck(pooled->base.plugin) || plugin_has_ended(pooled->base.plugin));
}

/* ---- The list ---- */

struct pooled *pooled_find(struct pooled_list *list, const struct provider *provider,
                           const char *key)
{
    struct pooled *pooled;

    LIST_FOREACH(pooled, list, entry) {
        if (pooled_is_worn(pooled))
            pooled->is_retired = true;
        if (!pooled->is_retired && pooled->phase != POOLED_FAILED &&
            pooled->base.provider == provider && str_equal(pooled->key, key))
            return pooled;
    }
    return NULL;
}

struct pooled *pooled_find_idle(struct pooled_list *list, const char *namespace_name)
{
    struct pooled *pooled, *found = NULL;

    LIST_FOREACH(pooled, list, entry) {
        if (!pooled->users && (!found || pooled->idle_since < found->idle_since) &&
            (!namespace_name || str_equal(pooled->namespace_name, namespace_name)))
            found = pooled;
    }
    return found;
}

/* Those that were not used for the longest time come first. */
static size_t list_idle(struct pooled_list *list, struct pooled *ret[QUOTA_PROCESSES])
{
    struct pooled *pooled;
    size_t n = 0, at;

    LIST_FOREACH(pooled, list, entry) {
        if (pooled->users || n == QUOTA_PROCESSES)
            continue;
        for (at = n++; at && ret[at - 1]->idle_since > pooled->idle_since; at--)
            ret[at] = ret[at - 1];
        ret[at] = pooled;
    }
    return n;
}

static bool has_room_without(struct cache *cache, uint64_t bytes, struct pooled *const *ended,
                             size_t n)
{
    struct package *packages[QUOTA_PROCESSES];

    for (size_t i = 0; i < n; i++)
        packages[i] = ended[i]->package;
    return cache_fits(cache, bytes, packages, n);
}

bool pooled_find_room(struct pooled_list *list, struct cache *cache, uint64_t bytes,
                      struct pooled *ret[QUOTA_PROCESSES], size_t *ret_n)
{
    size_t n = list_idle(list, ret);

    *ret_n = 0;
    if (!has_room_without(cache, bytes, ret, n))
        return false;
    /* Who was used last is spared first, as is who would end in vain: a copy may be used by others,
     * too. */
    for (size_t i = n; i-- > 0;) {
        struct pooled *spared = ret[i];

        ret[i] = ret[n - 1];
        if (has_room_without(cache, bytes, ret, n - 1))
            n--;
        else
            ret[i] = spared;
    }
    *ret_n = n;
    return true;
}

static int64_t memory_of(const struct pooled_list *list, const char *namespace_name)
{
    const struct pooled *pooled;
    int64_t memory = 0;

    LIST_FOREACH(pooled, list, entry) {
        if (str_equal(pooled->namespace_name, namespace_name))
            memory += pooled->memory;
    }
    return memory;
}

struct pooled *pooled_find_largest(struct pooled_list *list)
{
    struct pooled *pooled, *found = NULL;
    int64_t most = 0;

    LIST_FOREACH(pooled, list, entry) {
        int64_t memory = memory_of(list, pooled->namespace_name);

        if (pooled->is_retired || memory < most ||
            (memory == most && found && pooled->memory <= found->memory))
            continue;
        found = pooled;
        most = memory;
    }
    return found;
}

/* Of one that is starting it is not known what it has. */
static bool is_measured(const struct pooled *pooled)
{
    return pooled->phase == POOLED_READY && pooled->memory;
}

/* namespace_name: NULL: of all. */
static int64_t measured_memory_of(const struct pooled_list *list, const char *namespace_name)
{
    const struct pooled *pooled;
    int64_t memory = 0;

    LIST_FOREACH(pooled, list, entry) {
        if (is_measured(pooled) &&
            (!namespace_name || str_equal(pooled->namespace_name, namespace_name)))
            memory += pooled->memory;
    }
    return memory;
}

static int64_t growth_of(const struct pooled *pooled)
{
    return pooled->memory - pooled->first_memory;
}

struct pooled *pooled_find_grown(struct pooled_list *list, int64_t memory_limit)
{
    struct pooled *pooled, *found = NULL;
    int64_t most = 0;

    if (!memory_limit || measured_memory_of(list, NULL) <= quota_most_memory(memory_limit))
        return NULL;
    LIST_FOREACH(pooled, list, entry) {
        int64_t memory = measured_memory_of(list, pooled->namespace_name);

        if (!is_measured(pooled) || memory < most ||
            (memory == most && found && growth_of(pooled) <= growth_of(found)))
            continue;
        found = pooled;
        most = memory;
    }
    return found;
}

int64_t pooled_retire(struct pooled_list *list, const char *namespace_name, int64_t now,
                      int64_t interval)
{
    struct pooled *pooled;

    LIST_FOREACH(pooled, list, entry) {
        if (pooled->retired_for && str_equal(pooled->retired_for, namespace_name) &&
            now < pooled->retired_at + interval)
            return pooled->retired_at;
    }
    pooled = pooled_find_largest(list);
    if (pooled) {
        pooled->is_retired = true;
        pooled->retired_for = str_new(namespace_name);
        pooled->retired_at = now;
    }
    return now;
}

enum quota_answer pooled_ask(struct pooled_list *list, const char *namespace_name,
                             int64_t memory_limit)
{
    struct quota_use use = {.memory = QUOTA_USUAL_MEMORY,
                            .memory_of_namespace = QUOTA_USUAL_MEMORY,
                            .memory_limit = memory_limit};
    struct pooled *pooled;

    LIST_FOREACH(pooled, list, entry) {
        pooled_look(pooled);
        use.processes++;
        use.memory += pooled->memory;
        use.beyond += pooled->is_beyond;
        if (!str_equal(pooled->namespace_name, namespace_name))
            continue;
        use.of_namespace++;
        use.retired += pooled->is_retired;
        use.memory_of_namespace += pooled->memory;
    }
    return quota_ask(&use);
}
