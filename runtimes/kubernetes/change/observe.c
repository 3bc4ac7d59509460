/* Reads live objects: one, or many with one list. */
#include "runtimes/kubernetes/change/observe.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"
#include "runtimes/kubernetes/change/verify.h"
#include "runtimes/kubernetes/client/list.h"
#include "runtimes/kubernetes/objects/object.h"
#include "runtimes/kubernetes/session/following.h"

/* ---- One ---- */

static int conclude_absent(struct runtime_session *session, const struct runtime_call *call,
                           struct observation *ret, struct error *error)
{
    int r = session_confirm_absence(session, call, error);

    if (r >= 0)
        *ret = (struct observation){.presence = PRESENCE_ABSENT};
    return r;
}

/* The kind is not served. The object is absent if the kind is not defined at all; otherwise it is
 * an error. */
static int look_for_definition(struct runtime_session *session, const struct value *attributes,
                               const struct runtime_call *call, const struct error *not_served,
                               struct observation *ret, struct error *error)
{
    int r = kube_is_undefined(session, attributes, call, error);

    if (r < 0)
        return r;
    if (r == 0)
        return err_set(error, ERR_UNAVAILABLE, "NotServed",
                       "it cannot be read: %s, though its kind is defined", not_served->message);
    return conclude_absent(session, call, ret, error);
}

/* The kind may have been removed since discovery. problem: the error of the GET. */
static int recheck_kind(struct runtime_session *session, const struct value *attributes,
                        const struct runtime_call *call, const struct error *problem,
                        struct observation *ret, struct error *error)
{
    struct error not_served = {0};
    struct kube_ref ref;

    if (str_equal(problem->reason, "NotServed") &&
        kube_ref_at_any_version(session, attributes, call, &ref, &not_served) == ERR_NOT_FOUND)
        return look_for_definition(session, attributes, call, &not_served, ret, error);
    return err_copy(error, problem);
}

int kube_look(struct runtime_session *session, const struct value *attributes, bool whole,
              const struct runtime_call *call, struct observation *ret, struct error *error)
{
    _cleanup_value_ const struct value *object = NULL;
    struct kube_request request = {.method = "GET", .accept = whole ? NULL : KUBE_METADATA};
    struct kube_ref ref;
    struct error problem = {0};
    int r = kube_ref_at_any_version(session, attributes, call, &ref, &problem);

    if (r == ERR_NOT_FOUND)
        return look_for_definition(session, attributes, call, &problem, ret, error);
    if (r < 0)
        return err_copy(error, &problem);
    r = session_read(session, &ref, call, &request, &object, &problem);
    if (r == ERR_NOT_FOUND)
        return conclude_absent(session, call, ret, error);
    if (r < 0)
        return recheck_kind(session, attributes, call, &problem, ret, error);
    kube_observe_object(session, object, whole, ret);
    return 0;
}

int kube_read(struct runtime_session *session, const struct runtime_target *target,
              const struct runtime_call *call, struct runtime_outcome *ret, struct error *error)
{
    const struct value *identity = target_identity(target);
    int r = kube_look(session, identity, true, call, &ret->now, error);

    if (r >= 0 && ret->now.presence == PRESENCE_PRESENT)
        session_note_definition(session, identity);
    return r;
}

/* ---- Many ---- */

#define READ_ALONE 16

/* Targets of one kind in one namespace. */
struct group {
    struct runtime_session *session;
    struct strmap by_name; /* name -> placed */
};

struct placed {
    const struct runtime_target *target;
    struct kube_ref ref;
    struct observation *seen;
    size_t index;
};

/* By what State has: where that is not what is wanted, it is dry-run anyway. */
static void note_values(struct runtime_session *session, const struct placed *placed,
                        const struct value *item)
{
    const struct runtime_target *target = placed->target;
    struct kube_detail *detail = placed->seen->detail;

    if (session->look == RUNTIME_LOOK_VALUES && target->attributes && target->prior)
        detail->has_values =
            kube_has_values(session, &placed->ref, target->prior->attributes, item);
}

static int on_item(void *arg, const struct value *item, struct error *error)
{
    struct group *group = arg;
    const struct value *metadata = value_get(item, "metadata");
    const char *name = value_get_string(metadata, "name");
    const struct placed *placed = name ? strmap_get(&group->by_name, name) : NULL;
    struct observation *seen;

    if (!placed)
        return 0;
    seen = placed->seen;
    if (!value_get_string(metadata, "uid"))
        return err_set(error, ERR_INTERNAL, "UnexpectedAnswer", "an object without a uid");
    observation_done(seen); /* a list that was restarted returns an object twice */
    kube_observe_object(group->session, item, false, seen);
    note_values(group->session, placed, item);
    return 0;
}

/* A list that was answered, by the cluster that has the objects: others would have none of them. */
static bool is_whole(struct group *group, const struct kube_list *list,
                     const struct runtime_call *call)
{
    return kube_list(group->session->cluster.client, list, NULL, NULL) >= 0 &&
           session_confirm_absence(group->session, call, NULL) >= 0;
}

/* After a complete list, the objects that it did not contain are absent. After an incomplete one,
 * they are unknown. */
static void conclude(struct group *group, bool is_whole)
{
    for (struct strmap_entry *e = NULL; (e = strmap_next(&group->by_name, e));) {
        struct observation *seen = ((const struct placed *)e->value)->seen;

        if (!is_whole)
            observation_done(seen);
        else if (seen->presence == PRESENCE_UNKNOWN)
            seen->presence = PRESENCE_ABSENT;
    }
}

/* Lists one kind in one namespace. If two targets name one object, the second stays unknown. */
static void observe_group(struct runtime_session *session, const struct runtime_call *call,
                          const struct placed *members, size_t n)
{
    const struct kube_ref *ref = &members[0].ref;
    struct group group = {session, STRMAP_INIT};
    struct kube_list list = {.ref = {ref->kind, ref->namespace_name, NULL, NULL},
                             .metadata_only = session->look != RUNTIME_LOOK_VALUES,
                             .impersonate = session->impersonate,
                             .for_tenant = true,
                             .wait = session_wait(session, call),
                             .on_item = on_item,
                             .arg = &group};

    for (size_t i = 0; i < n; i++)
        if (!strmap_get(&group.by_name, members[i].ref.name))
            strmap_put(&group.by_name, members[i].ref.name, (void *)(uintptr_t)&members[i]);
    conclude(&group, is_whole(&group, &list, call));
    strmap_done(&group.by_name);
}

int kube_compare_collections(const struct kube_ref *a, const struct kube_ref *b)
{
    const char *in_a = a->namespace_name ? a->namespace_name : "";
    const char *in_b = b->namespace_name ? b->namespace_name : "";

    if (a->kind != b->kind)
        return (uintptr_t)a->kind < (uintptr_t)b->kind ? -1 : 1;
    return str_compare(&in_a, &in_b);
}

static int compare_placed(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    int order = kube_compare_collections(&x->ref, &y->ref);

    return order ? order : x->index < y->index ? -1 : x->index > y->index;
}

/* Nobody has touched the object since its record was written. */
static bool is_untouched(struct runtime_session *session, const struct placed *placed)
{
    const struct record *prior = placed->target->prior;

    return prior && placed->target->attributes &&
           session_knows_untouched(session, &placed->ref, prior);
}

/* Objects of a group that are read one by one: where most are known to be untouched, a list would
 * show them all once more. */
static size_t most_alone(size_t n, size_t count)
{
    return n - count > n / 2 ? READ_ALONE : 1;
}

/* A target that is the only one of its kind and namespace is left to plan(), which reads it whole.
 * */
int kube_prefetch(struct runtime_session *session, const struct runtime_target *targets, size_t n,
                  const struct runtime_call *call, struct observation *ret, struct error *error)
{
    _cleanup_free_ struct placed *all = NEW_ARRAY(struct placed, n + 1);
    size_t count = 0;
    int r;

    for (size_t i = 0; i < n; i++)
        if (targets[i].attributes)
            session_note_wanted(session, targets[i].attributes);
    r = session_check_account(session, call, error);
    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++) {
        struct placed *placed = &all[count];

        if (kube_ref_at_any_version(session, target_identity(&targets[i]), call, &placed->ref,
                                    NULL) < 0)
            continue;
        *placed = (struct placed){&targets[i], placed->ref, &ret[i], i};
        session_track(session, &placed->ref);
        if (is_untouched(session, placed))
            kube_observe_untouched(targets[i].prior, placed->seen);
        else
            count++;
    }
    qsort(all, count, sizeof(*all), compare_placed);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1;
             end < count && !kube_compare_collections(&all[first].ref, &all[end].ref);)
            end++;
        if (end - first > most_alone(n, count))
            observe_group(session, call, all + first, end - first);
    }
    return 0;
}
