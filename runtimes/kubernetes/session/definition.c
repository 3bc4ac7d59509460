/*
 * Finds out whether a kind that is not served is still defined.
 *
 * A kind may not be served because it was never defined, or because its CustomResourceDefinition
 * was deleted; then it has no objects. But the kind may also be unavailable for other reasons: a
 * version with served: false, an aggregated API whose server is down, a discovery answer that is
 * incomplete for a moment. Then its objects still exist and must not be treated as deleted.
 */
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/threads/locked.h"
#include "runtimes/kubernetes/client/list.h"
#include "runtimes/kubernetes/objects/object_ref.h"
#include "runtimes/kubernetes/session/session.h"

#define KNOWN_FOR    1000  /* ms that an answer counts: many targets ask the same at once */
#define LISTED_FOR   3000  /* ms that a list of all definitions counts, for all Specs */
#define MAX_SEARCHES 8     /* in KNOWN_FOR for the Specs of one namespace */
#define MAX_LISTED   20000 /* definitions of a cluster; with more, nothing is known of them */
#define MAX_NAMES    512   /* of definitions of one group; with more, one is taken to be there */

/* The names of all definitions of a cluster. Counted; it does not change. */
struct definitions {
    atomic_uint references;
    int64_t read_at; /* ms, monotonic: when they were asked for */
    struct arena arena;
    const char **names;
    size_t count, capacity;
};

struct search {
    struct runtime_session *session;
    const struct runtime_call *call;
    struct object_ref ref;
    char *suffix; /* ".x.io": the suffix of the names of the group's CRDs */
    struct arena arena;
};

/* ---- All definitions ---- */

static void definitions_unref(struct definitions *definitions)
{
    if (!definitions || atomic_fetch_sub(&definitions->references, 1) > 1)
        return;
    arena_done(&definitions->arena);
    free(definitions->names);
    free(definitions);
}
DEFINE_CLEANUP(struct definitions *, definitions_unref)

static int on_item(void *arg, const struct value *item, struct error *error)
{
    struct definitions *all = arg;
    const char *name = value_string(value_path(item, "metadata", "name", NULL));

    if (!name)
        return 0;
    if (all->count == MAX_LISTED)
        return err_set(error, ERR_TOO_LARGE, "TooManyDefinitions",
                       "the cluster has more CustomResourceDefinitions than are looked at");
    all->names = mem_grow(all->names, all->count, &all->capacity, sizeof(*all->names));
    all->names[all->count++] = arena_str(&all->arena, name);
    return 0;
}

static int list_definitions(struct search *search, struct definitions **ret, struct error *error)
{
    const struct clock_source *clock = search->session->runtime->config.clock;
    _cleanup_(definitions_unref_p) struct definitions *all = NEW(struct definitions);
    struct kube_list list = {.ref = {.kind = &kube_definitions},
                             .metadata_only = true,
                             .for_tenant = true,
                             .wait = session_wait(search->session, search->call),
                             .on_item = on_item,
                             .arg = all};
    int r;

    all->references = 1;
    all->read_at = clock->monotonic(clock);
    r = kube_list(search->session->cluster.client, &list, NULL, error);
    if (r >= 0)
        *ret = TAKE(all);
    return r;
}

void kube_note_applied(struct runtime_session *session, const struct value *attributes)
{
    const struct clock_source *clock = session->runtime->config.clock;
    struct cluster_cache *cache = session->cache;
    size_t length = 0;
    const char *group = api_group(object_ref_of(attributes).api_version, &length);

    if (!memchr(group, '.', length))
        return; /* none of those that definitions bring */
    LOCKED(&cache->lock);
    cache->applied_at = clock->monotonic(clock);
}

/* Those that were listed a moment ago; NULL: none were. A reference. */
static struct definitions *listed_definitions(const struct search *search)
{
    struct cluster_cache *cache = search->session->cache;
    const struct clock_source *clock = cache->caches->clock;
    LOCKED(&cache->lock);
    struct definitions *all = cache->definitions;

    if (!all || all->read_at <= cache->applied_at ||
        clock->monotonic(clock) - all->read_at >= LISTED_FOR)
        return NULL;
    atomic_fetch_add(&all->references, 1);
    return all;
}

static void share_definitions(struct cluster_cache *cache, struct definitions *all)
{
    struct definitions *before;

    atomic_fetch_add(&all->references, 1);
    pthread_mutex_lock(&cache->lock);
    before = cache->definitions;
    cache->definitions = all;
    pthread_mutex_unlock(&cache->lock);
    definitions_unref(before);
}

/* Several may list them at once: none waits for another's request. */
static int get_definitions(struct search *search, struct definitions **ret, struct error *error)
{
    struct definitions *all = listed_definitions(search);
    int r = 0;

    if (!all) {
        r = list_definitions(search, &all, error);
        if (r >= 0)
            share_definitions(search->session->cache, all);
    }
    if (r >= 0)
        *ret = all;
    return r;
}

/* ---- One definition ---- */

/* 1: there is none of that name; 0: *ret is it. */
static int get(struct search *search, const struct kube_kind *kind, const char *name,
               const struct value **ret, struct error *error)
{
    struct kube_request request = {.method = "GET",
                                   .ref = {.kind = kind, .name = name},
                                   .for_tenant = true,
                                   .cancel = search->call->cancel};
    struct error problem = {0};
    int r = session_time_left(search->session, search->call, &request.timeout, error);

    if (r < 0)
        return r;
    r = kube_do(search->session->cluster.client, &request, ret, &problem);
    if (r == ERR_NOT_FOUND)
        return 1;
    return r < 0 ? err_copy(error, &problem) : 0;
}

static bool defines(const struct value *definition, const struct object_ref *ref)
{
    const struct value *spec = value_get(definition, "spec");

    return str_equal(value_string(value_path(spec, "names", "kind", NULL)), ref->kind) &&
           api_group_is(ref->api_version, value_get_string(spec, "group"));
}

/* 1: no CustomResourceDefinition defines it. */
static int no_definition(struct search *search, struct error *error)
{
    _cleanup_(definitions_unref_p) struct definitions *all = NULL;
    size_t n_looked_at = 0;
    int r = get_definitions(search, &all, error);

    for (size_t i = 0; r >= 0 && i < all->count; i++) {
        _cleanup_value_ const struct value *definition = NULL;

        if (!str_has_suffix(all->names[i], search->suffix))
            continue;
        if (n_looked_at++ == MAX_NAMES)
            return err_set(error, ERR_TOO_LARGE, "TooManyDefinitions",
                           "more definitions end in \"%s\" than are looked at", search->suffix);
        r = get(search, &kube_definitions, all->names[i], &definition, error);
        if (r == 0 && (!value_get(definition, "spec") || defines(definition, &search->ref)))
            return 0;
    }
    return r < 0 ? r : 1;
}

/* 1: no server is registered for its group and version. */
static int no_server(struct search *search, struct error *error)
{
    _cleanup_value_ const struct value *service = NULL;
    size_t length = 0;
    const char *group = api_group(search->ref.api_version, &length);
    const char *name = arena_printf(&search->arena, "%s.%.*s", search->ref.api_version + length + 1,
                                    (int)length, group);
    int r = get(search, &kube_api_services, name, &service, error);

    if (r != 0)
        return r;
    /* The API server registers the groups of CRDs itself, without a service. */
    return value_get(service, "spec") &&
           !value_is(value_path(service, "spec", "service", NULL), VALUE_OBJECT);
}

/* ---- What was found a moment ago ---- */

/* The searches of one namespace since undefined_before. */
struct searches {
    char *namespace_name;
    unsigned count;
};

static void forget(struct cluster_cache *cache)
{
    for (struct strmap_entry *e = NULL; (e = strmap_next(&cache->undefined, e));)
        free((char *)(uintptr_t)e->key);
    for (struct strmap_entry *e = NULL; (e = strmap_next(&cache->searches, e));) {
        struct searches *searches = e->value;

        free(searches->namespace_name);
        free(searches);
    }
    strmap_done(&cache->undefined);
    strmap_done(&cache->searches);
    strmap_init(&cache->undefined);
    strmap_init(&cache->searches);
}

void kube_forget_definitions(struct cluster_cache *cache)
{
    forget(cache);
    definitions_unref(TAKE(cache->definitions));
}

/* With the lock. */
static void forget_old(struct cluster_cache *cache)
{
    const struct clock_source *clock = cache->caches->clock;
    int64_t now = clock->monotonic(clock);

    if (now < cache->undefined_before + KNOWN_FOR)
        return;
    forget(cache);
    cache->undefined_before = now;
}

static bool was_found(struct cluster_cache *cache, const char *key)
{
    LOCKED(&cache->lock);

    forget_old(cache);
    return strmap_get(&cache->undefined, key);
}

/* Limits the searches for one namespace, so that a tenant's Specs with undefined kinds cannot
 * overload the API server. */
static int count_search(struct cluster_cache *cache, const char *namespace_name,
                        struct error *error)
{
    struct searches *searches;
    bool is_too_many;

    pthread_mutex_lock(&cache->lock);
    forget_old(cache);
    searches = strmap_get(&cache->searches, namespace_name);
    if (!searches) {
        searches = NEW(struct searches);
        searches->namespace_name = str_new(namespace_name);
        strmap_put(&cache->searches, searches->namespace_name, searches);
    }
    is_too_many = searches->count >= MAX_SEARCHES;
    if (!is_too_many)
        searches->count++;
    pthread_mutex_unlock(&cache->lock);
    if (!is_too_many)
        return 0;
    return err_set(error, ERR_UNAVAILABLE, "TooManySearches",
                   "too many kinds of the Specs in namespace %s are not served: fix or remove them",
                   namespace_name);
}

static void remember(struct cluster_cache *cache, char **key)
{
    LOCKED(&cache->lock);

    forget_old(cache);
    if (!strmap_get(&cache->undefined, *key))
        strmap_put(&cache->undefined, TAKE(*key), cache);
}

int kube_is_undefined(struct runtime_session *session, const struct value *attributes,
                      const struct runtime_call *call, struct error *error)
{
    struct search search = {.session = session, .call = call, .ref = object_ref_of(attributes)};
    size_t length = 0;
    const char *group = api_group(search.ref.api_version, &length);
    _cleanup_free_ char *key = str_printf("%s.%s", search.ref.kind, search.ref.api_version);
    int r;

    if (!length)
        return 0; /* the core group has no CRDs, and never loses a kind */
    if (was_found(session->cache, key))
        return 1;
    r = count_search(session->cache, session->spec_namespace, error);
    if (r < 0)
        return r;
    search.suffix = str_printf(".%.*s", (int)length, group);
    r = no_definition(&search, error);
    if (r > 0)
        r = no_server(&search, error);
    if (r > 0)
        remember(session->cache, &key);
    free(search.suffix);
    arena_done(&search.arena);
    if (r < 0)
        err_wrap(error, "looking for the definition of %s", search.ref.kind);
    return r;
}
