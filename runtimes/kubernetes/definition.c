/*
 * Finds out whether a kind that is not served is still defined.
 *
 * A kind may not be served because it was never defined, or because its CustomResourceDefinition
 * was deleted; then it has no objects. But the kind may also be unavailable for other reasons: a
 * version with served: false, an aggregated API whose server is down, a discovery answer that is
 * incomplete for a moment. Then its objects still exist and must not be treated as deleted.
 */
#include "engine/base/arena.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/kubernetes/client/list.h"
#include "runtimes/kubernetes/object_ref.h"
#include "runtimes/kubernetes/session.h"

#define KNOWN_FOR 1000 /* ms. An answer is kept this long: many targets of one kind ask at once */
#define MAX_SEARCHES                                                             \
    8 /* in that time for the Specs of one namespace: each lists all definitions \
       */
#define MAX_NAMES                                                                     \
    512 /* CRDs of one group that are compared; with more, the kind counts as defined \
         */

struct search {
    struct runtime_session *session;
    const struct runtime_call *call;
    struct object_ref ref;
    char *suffix; /* ".x.io": the suffix of the names of the group's CRDs */
    struct arena arena;
    const char *names[MAX_NAMES];
    size_t n_names;
};

static int on_item(void *arg, const struct value *item, struct error *error)
{
    struct search *search = arg;
    const char *name = value_string(value_path(item, "metadata", "name", NULL));

    if (!name || !str_has_suffix(name, search->suffix))
        return 0;
    if (search->n_names == MAX_NAMES)
        return err_set(error, ERR_TOO_LARGE, "TooManyDefinitions",
                       "too many CustomResourceDefinitions have names that end in \"%s\"",
                       search->suffix);
    search->names[search->n_names++] = arena_str(&search->arena, name);
    return 0;
}

static int list_definitions(struct search *search, struct error *error)
{
    struct kube_list list = {.ref = {.kind = &kube_definitions},
                             .metadata_only = true,
                             .for_tenant = true,
                             .cancel = search->call->cancel,
                             .on_item = on_item,
                             .arg = search};
    int r = session_time_left(search->session, search->call, &list.timeout, error);

    return r < 0 ? r : kube_list(search->session->cluster.client, &list, NULL, error);
}

/* 0: *ret is the object; 1: there is no object of that name. */
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
    int r = list_definitions(search, error);

    for (size_t i = 0; r >= 0 && i < search->n_names; i++) {
        _cleanup_value_ const struct value *definition = NULL;

        r = get(search, &kube_definitions, search->names[i], &definition, error);
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

void kube_forget_definitions(struct kube_runtime *runtime)
{
    for (struct strmap_entry *e = NULL; (e = strmap_next(&runtime->undefined, e));)
        free((char *)(uintptr_t)e->key);
    for (struct strmap_entry *e = NULL; (e = strmap_next(&runtime->searches, e));) {
        struct searches *searches = e->value;

        free(searches->namespace_name);
        free(searches);
    }
    strmap_done(&runtime->undefined);
    strmap_done(&runtime->searches);
    strmap_init(&runtime->undefined);
    strmap_init(&runtime->searches);
}

static void forget_old(struct kube_runtime *runtime, int64_t now)
{
    if (now < runtime->undefined_before + KNOWN_FOR)
        return;
    kube_forget_definitions(runtime);
    runtime->undefined_before = now;
}

static bool was_found(struct kube_runtime *runtime, const char *key)
{
    bool was_found;

    pthread_mutex_lock(&runtime->lock);
    forget_old(runtime, runtime->config.clock->monotonic(runtime->config.clock));
    was_found = strmap_get(&runtime->undefined, key);
    pthread_mutex_unlock(&runtime->lock);
    return was_found;
}

/* Limits the searches for one namespace, so that a tenant's Specs with undefined kinds cannot
 * overload the API server. */
static int count_search(struct kube_runtime *runtime, const char *namespace_name,
                        struct error *error)
{
    struct searches *searches;
    bool is_too_many;

    pthread_mutex_lock(&runtime->lock);
    forget_old(runtime, runtime->config.clock->monotonic(runtime->config.clock));
    searches = strmap_get(&runtime->searches, namespace_name);
    if (!searches) {
        searches = NEW(struct searches);
        searches->namespace_name = str_new(namespace_name);
        strmap_put(&runtime->searches, searches->namespace_name, searches);
    }
    is_too_many = searches->count >= MAX_SEARCHES;
    if (!is_too_many)
        searches->count++;
    pthread_mutex_unlock(&runtime->lock);
    if (!is_too_many)
        return 0;
    return err_set(error, ERR_UNAVAILABLE, "TooManySearches",
                   "too many kinds of the Specs in namespace %s are not served: fix or remove them",
                   namespace_name);
}

static void remember(struct kube_runtime *runtime, char **key)
{
    pthread_mutex_lock(&runtime->lock);
    forget_old(runtime, runtime->config.clock->monotonic(runtime->config.clock));
    if (!strmap_get(&runtime->undefined, *key))
        strmap_put(&runtime->undefined, TAKE(*key), runtime);
    pthread_mutex_unlock(&runtime->lock);
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
    if (was_found(session->runtime, key))
        return 1;
    r = count_search(session->runtime, session->spec_namespace, error);
    if (r < 0)
        return r;
    search.suffix = str_printf(".%.*s", (int)length, group);
    r = no_definition(&search, error);
    if (r > 0)
        r = no_server(&search, error);
    if (r > 0)
        remember(session->runtime, &key);
    free(search.suffix);
    arena_done(&search.arena);
    if (r < 0)
        err_wrap(error, "looking for the definition of %s", search.ref.kind);
    return r;
}
