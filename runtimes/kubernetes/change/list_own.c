/* Lists the objects that carry the Spec's owner label. */
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"
#include "runtimes/kubernetes/change/observe.h"
#include "runtimes/kubernetes/client/list.h"
#include "runtimes/kubernetes/objects/marks.h"
#include "runtimes/kubernetes/objects/object_ref.h"
#include "runtimes/kubernetes/session/session.h"

/* ms that a list which was answered adds to the call's deadline, and that all add at most. */
#define MORE_TIME      200
#define MOST_MORE_TIME (10 * 60 * 1000)

/* An object that an id names. */
struct named {
    const char *id;                 /* borrowed */
    const struct value *attributes; /* a reference: what names it */
    struct kube_ref ref;            /* kind NULL: its kind is not served */
};

struct listing {
    struct runtime_session *session;
    const struct named *group; /* those of its kind and namespace: n of them */
    size_t n;
    struct strmap ids;  /* of the group, by name; borrowed */
    struct strmap seen; /* names, owned: a list that was restarted returns an object twice */
    struct value_builder *found;
};

/* ---- Ids ---- */

static const struct value *identity(const char *api_version, const char *kind,
                                    const char *namespace_name, const char *name)
{
    return value_pack("{s:s, s:s, s:{s:s?, s:s}}", "apiVersion", api_version, "kind", kind,
                      "metadata", "namespace", namespace_name, "name", name);
}

/* What follows the kind is "namespace:name" or "name". A name may have colons, too, where the kind
 * has no namespaces. */
static const struct value *identity_in(const char *api_version, const char *kind, const char *rest)
{
    const char *colon = strchr(rest, ':');
    _cleanup_free_ char *namespace_name = colon ? str_new_n(rest, (size_t)(colon - rest)) : NULL;

    return identity(api_version, kind, namespace_name, colon ? colon + 1 : rest);
}

/* 1: it names no object. The kind may be unknown, but not for now. */
static int read_id(struct runtime_session *session, const char *id, const struct runtime_call *call,
                   struct named *ret, struct error *error)
{
    const char *kind = strchr(id, ':'), *rest = kind ? strchr(kind + 1, ':') : NULL;
    _cleanup_free_ char *version = NULL, *name_of_kind = NULL;
    struct error problem = {0};
    const struct value *whole;

    if (!rest)
        return 1;
    version = str_new_n(id, (size_t)(kind - id));
    name_of_kind = str_new_n(kind + 1, (size_t)(rest - kind - 1));
    whole = identity(version, name_of_kind, NULL, rest + 1);
    *ret = (struct named){.id = id, .attributes = whole};
    kube_ref_at_any_version(session, whole, call, &ret->ref, &problem);
    if (problem.code || ret->ref.kind->namespaced) {
        ret->attributes = identity_in(version, name_of_kind, rest + 1);
        value_unref(whole);
    }
    if (!problem.code)
        kube_ref_at_any_version(session, ret->attributes, call, &ret->ref, &problem);
    if (problem.code)
        ret->ref = (struct kube_ref){0};
    return err_is_transient(problem.code) ? err_copy(error, &problem) : 0;
}

static int compare_named(const void *a, const void *b)
{
    const struct named *x = a, *y = b;

    return kube_compare_collections(&x->ref, &y->ref);
}

/* ---- What is found ---- */

static void add(struct value_builder *found, const char *id, const struct value *attributes,
                bool is_listed)
{
    value_begin_object(found);
    value_key(found, "id");
    value_add_string(found, id);
    value_key(found, "attributes");
    value_add(found, attributes);
    value_key(found, "listed");
    value_add_bool(found, is_listed);
    value_end_object(found);
}

static void add_listed(struct listing *listing, const char *name)
{
    const struct kube_ref *ref = &listing->group[0].ref;
    _cleanup_value_ const struct value *attributes =
        identity(ref->kind->group_version, ref->kind->kind, ref->namespace_name, name);
    const struct object_ref object = object_ref_of(attributes);
    _cleanup_(arena_done) struct arena arena = ARENA_INIT;
    const char *id = strmap_get(&listing->ids, name);

    add(listing->found, id ? id : object_ref_id(&arena, &object), attributes, true);
}

static int on_item(void *arg, const struct value *item, struct error *error)
{
    struct listing *listing = arg;
    const char *name = value_string(value_path(item, "metadata", "name", NULL));
    char *seen;

    (void)error;
    if (!name || strmap_get(&listing->seen, name))
        return 0;
    seen = str_new(name);
    strmap_put(&listing->seen, seen, seen);
    add_listed(listing, name);
    return 0;
}

/* ---- The lists ---- */

static bool is_refused(int r)
{
    return r == ERR_FORBIDDEN || r == ERR_NOT_FOUND || r == ERR_UNSUPPORTED;
}

static void add_unlisted(const struct listing *listing)
{
    for (size_t i = 0; i < listing->n; i++)
        add(listing->found, listing->group[i].id, listing->group[i].attributes, false);
}

static int list_group(struct listing *listing, const struct runtime_call *call, struct error *error)
{
    struct runtime_session *session = listing->session;
    const struct kube_ref *ref = &listing->group[0].ref;
    _cleanup_free_ char *labels = str_printf(KUBE_OWNER_LABEL "=%s", session->owner);
    struct kube_list list = {.ref = {ref->kind, ref->namespace_name, NULL, NULL},
                             .selector = {.labels = labels},
                             .metadata_only = true,
                             .impersonate = session->impersonate,
                             .for_tenant = true,
                             .wait = session_wait(session, call),
                             .on_item = on_item,
                             .arg = listing};
    struct error problem = {0};
    int r = ref->kind ? kube_list(session->cluster.client, &list, NULL, &problem) : ERR_NOT_FOUND;

    if (r < 0 && !is_refused(r))
        return err_copy(error, &problem);
    if (r < 0)
        add_unlisted(listing);
    return 0;
}

static void listing_begin(struct listing *listing)
{
    for (size_t i = 0; i < listing->n; i++)
        if (listing->group[i].ref.name)
            strmap_put(&listing->ids, listing->group[i].ref.name,
                       (char *)(uintptr_t)listing->group[i].id);
}

static void listing_end(struct listing *listing)
{
    for (struct strmap_entry *e = NULL; (e = strmap_next(&listing->seen, e));)
        free(e->value);
    strmap_done(&listing->seen);
    strmap_done(&listing->ids);
}

/* A server that does not answer costs no more time than the call has, and a Spec of many namespaces
 * can be listed all the same. */
static int64_t extend_deadline(int64_t deadline, size_t n_listed)
{
    int64_t more = MORE_TIME * (int64_t)n_listed;

    if (deadline == CLOCK_FOREVER)
        return deadline;
    return deadline + (more < MOST_MORE_TIME ? more : MOST_MORE_TIME);
}

static int list_all(struct runtime_session *session, const struct named *all, size_t n,
                    const struct runtime_call *call, struct value_builder *found,
                    struct error *error)
{
    struct runtime_call own = *call;
    size_t n_listed = 0;
    int r = 0;

    for (size_t first = 0, end; r >= 0 && first < n; first = end) {
        struct listing listing = {.session = session, .group = all + first, .found = found};

        for (end = first + 1; end < n && !kube_compare_collections(&all[first].ref, &all[end].ref);)
            end++;
        listing.n = end - first;
        listing_begin(&listing);
        r = list_group(&listing, &own, error);
        listing_end(&listing);
        own.deadline = extend_deadline(call->deadline, ++n_listed);
    }
    return r;
}

int kube_list_own(struct runtime_session *session, const struct value *ids,
                  const struct runtime_call *call, const struct value **ret, struct error *error)
{
    _cleanup_(value_builder_free_p) struct value_builder *found = value_builder_new();
    size_t n = value_count(ids), count = 0;
    _cleanup_free_ struct named *all = NEW_ARRAY(struct named, n + 1);
    struct error problem = {0};
    int r = session_check_account(session, call, &problem), unasked = 0;

    if (r < 0 && r != ERR_INVALID)
        return err_copy(error, &problem);
    for (size_t i = 0; i < n; i++) {
        const char *id = value_string(value_at(ids, i));
        int known = id ? read_id(session, id, call, &all[count], &problem) : 1;

        if (known < 0)
            unasked = known;
        count += known <= 0;
    }
    qsort(all, count, sizeof(*all), compare_named);
    value_begin_array(found);
    if (r < 0) /* there is no such account: it lists nothing */
        add_unlisted(&(struct listing){.group = all, .n = count, .found = found});
    r = r < 0 ? 0 : list_all(session, all, count, call, found, error);
    if (r >= 0 && unasked)
        r = err_copy(error, &problem);
    value_end_array(found);
    for (size_t i = 0; i < count; i++)
        value_unref(all[i].attributes);
    return r < 0 ? r : value_builder_finish(found, ret, error);
}
