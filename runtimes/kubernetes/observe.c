/* Looks at what is there: one, or many at once. */
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"
#include "runtimes/kubernetes/client/list.h"
#include "runtimes/kubernetes/client/path.h"
#include "runtimes/kubernetes/session.h"

/* Whether the kind went, and its objects with it, since the place was found. */
static bool is_kind_gone(struct runtime_session *session, const struct kube_place *place)
{
    const struct kube_kind *kind;

    return kube_discovery_find_any(session->runtime->config.discovery, place->kind->group_version,
                                   place->kind->kind, session->cancel, &kind,
                                   NULL) == ERR_NOT_FOUND;
}

static int get(struct runtime_session *session, const struct kube_place *place, bool whole,
               struct observation *ret, struct error *error)
{
    _cleanup_free_ char *path = kube_place_path(place);
    _cleanup_value_ const struct value *object = NULL;
    struct kube_request request = {
        .method = "GET", .path = path, .accept = whole ? NULL : KUBE_METADATA};
    struct error problem = {0};
    int r = session_do(session, place, &request, &object, &problem);

    if (r == ERR_NOT_FOUND ||
        (str_equal(problem.reason, "NotServed") && is_kind_gone(session, place))) {
        *ret = (struct observation){.presence = PRESENCE_ABSENT};
        return 0;
    }
    if (r < 0) {
        *ret = (struct observation){.error = problem};
        return err_copy(error, &problem);
    }
    kube_observe_object(session, object, whole, ret);
    return 0;
}

/* 1: found; 0: the kind is gone, and its objects with it (*ret is set). */
static int find_place(struct runtime_session *session, const struct runtime_target *target,
                      struct kube_place *place, struct observation *ret, struct error *error)
{
    struct error problem = {0};
    int r = kube_place_at_any_version(session, target->attributes, place, &problem);

    if (r >= 0)
        return 1;
    *ret = (struct observation){.error = problem};
    if (r != ERR_NOT_FOUND)
        return err_copy(error, &problem);
    *ret = (struct observation){.presence = PRESENCE_ABSENT};
    return 0;
}

int kube_read(struct runtime_session *session, const struct runtime_target *target,
              struct observation *ret, struct error *error)
{
    struct kube_place place;
    int r = find_place(session, target, &place, ret, error);

    if (r > 0)
        r = get(session, &place, true, ret, error);
    if (r >= 0)
        session_note_definition(session, target->attributes);
    return r;
}

/* ---- Many ---- */

/* Targets of one kind in one namespace. */
struct group {
    struct runtime_session *session;
    struct kube_place place; /* of the first */
    struct strmap by_name;   /* name -> observation */
};

static bool is_same_group(const struct kube_place *a, const struct kube_place *b)
{
    return a->kind == b->kind && str_equal(a->namespace_name, b->namespace_name);
}

static int on_item(void *arg, const struct value *item, struct error *error)
{
    struct group *group = arg;
    const char *name = value_string(value_path(item, "metadata", "name", NULL));
    struct observation *seen = name ? strmap_get(&group->by_name, name) : NULL;

    (void)error;
    if (!seen)
        return 0;
    observation_done(seen);
    kube_observe_object(group->session, item, false, seen);
    return 0;
}

static int list_group(struct group *group, struct error *error)
{
    const struct kube_place *place = &group->place;
    _cleanup_free_ char *path = kube_path(place->kind->group_version, place->namespace_name,
                                          place->kind->plural, NULL, NULL);

    return kube_list(group->session->runtime->config.client,
                     &(struct kube_list){.path = path,
                                         .metadata_only = true,
                                         .impersonate = group->session->impersonate,
                                         .cancel = group->session->cancel,
                                         .on_item = on_item,
                                         .arg = group},
                     NULL, error);
}

/* One by one: a single target, or where lists are not allowed. Each error is its own. */
static void get_each(struct group *group, const struct kube_place *places,
                     struct observation *const *members, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        observation_done(members[i]); /* of a list that broke off */
        get(group->session, &places[i], false, members[i], NULL);
    }
}

/* After a list: what it did not show is absent. Two targets may name one object; the list was
 * told to the last of them. */
static void conclude(struct group *group, const struct kube_place *place, struct observation *seen)
{
    if (strmap_get(&group->by_name, place->name) != seen)
        get(group->session, place, false, seen, NULL);
    else if (seen->presence == PRESENCE_UNKNOWN)
        seen->presence = PRESENCE_ABSENT;
}

static void observe_group(struct runtime_session *session, const struct kube_place *places,
                          struct observation *const *members, size_t n)
{
    struct group group = {session, places[0], STRMAP_INIT};
    struct error problem = {0};

    if (n == 1) {
        get_each(&group, places, members, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        strmap_put(&group.by_name, places[i].name, members[i]);
    if (list_group(&group, &problem) < 0)
        get_each(&group, places, members, n);
    else
        for (size_t i = 0; i < n; i++)
            conclude(&group, &places[i], members[i]);
    strmap_done(&group.by_name);
}

struct placed {
    struct kube_place place;
    struct observation *seen;
    size_t index;
};

static int compare_placed(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    const char *in_x = x->place.namespace_name ? x->place.namespace_name : "";
    const char *in_y = y->place.namespace_name ? y->place.namespace_name : "";
    int order;

    if (x->place.kind != y->place.kind)
        return (uintptr_t)x->place.kind < (uintptr_t)y->place.kind ? -1 : 1;
    order = str_compare(&in_x, &in_y);
    if (order)
        return order;
    return x->index < y->index ? -1 : x->index > y->index;
}

static void observe_placed(struct runtime_session *session, struct placed *all, size_t n)
{
    struct kube_place *places = NEW_ARRAY(struct kube_place, n + 1);
    struct observation **members = NEW_ARRAY(struct observation *, n + 1);

    qsort(all, n, sizeof(*all), compare_placed);
    for (size_t i = 0; i < n; i++) {
        places[i] = all[i].place;
        members[i] = all[i].seen;
    }
    for (size_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && is_same_group(&places[first], &places[end]);)
            end++;
        observe_group(session, places + first, members + first, end - first);
    }
    free(places);
    free(members);
}

int kube_observe(struct runtime_session *session, const struct runtime_target *targets, size_t n,
                 struct observation *ret, struct error *error)
{
    struct placed *all = NEW_ARRAY(struct placed, n + 1);
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        if (find_place(session, &targets[i], &all[count].place, &ret[i], NULL) > 0) {
            all[count].seen = &ret[i];
            all[count].index = i;
            count++;
        }
    observe_placed(session, all, count);
    free(all);
    if (cancel_fired(session->cancel))
        return err_set(error, ERR_CANCELLED, "Cancelled", "%s", cancel_reason(session->cancel));
    return 0;
}
