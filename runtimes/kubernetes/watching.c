/*
 * Hints that objects changed: within a runtime_watch, one watch of the API server for each kind and
 * namespace of which an object is awaited.
 */
#include <pthread.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"
#include "runtimes/kubernetes/client/path.h"
#include "runtimes/kubernetes/client/watch.h"
#include "runtimes/kubernetes/object_ref.h"
#include "runtimes/kubernetes/session.h"

/* The targets of one kind in one namespace. Does not change once it is in the list. */
struct group {
    struct group *next;
    struct runtime_watch *in;
    struct object_ref ref;    /* of its first; its name does not count */
    struct strmap by_name;    /* name -> index + 1, as a pointer */
    struct kube_watch *watch; /* set by the one thread that made the group; NULL: could not begin */
};

struct runtime_watch {
    struct runtime_session *session;
    const struct runtime_target *targets; /* the caller's */
    size_t n_targets;
    runtime_on_change *on_change;
    void *arg;

    pthread_mutex_t lock; /* of the list of groups */
    struct group *groups;
};

static void on_event(void *arg, enum kube_watch_event event, const struct value *object,
                     const struct error *error)
{
    const struct group *group = arg;
    const char *name = value_string(value_path(object, "metadata", "name", NULL));
    void *found = name ? strmap_get(&group->by_name, name) : NULL;

    (void)error;
    if (found && (event == KUBE_WATCH_UPSERT || event == KUBE_WATCH_DELETED))
        group->in->on_change(group->in->arg, (size_t)(uintptr_t)found - 1);
}

static bool is_in_group(const struct object_ref *ref, const struct group *group)
{
    return ref->name && str_equal(ref->kind, group->ref.kind) &&
           str_equal(ref->api_version, group->ref.api_version) &&
           str_equal(ref->namespace_name, group->ref.namespace_name);
}

static struct group *find_group(const struct runtime_watch *watch, const struct object_ref *ref)
{
    struct group *group = watch->groups;

    while (group && !is_in_group(ref, group))
        group = group->next;
    return group;
}

static struct group *group_new(struct runtime_watch *watch, const struct object_ref *ref)
{
    struct group *group = NEW(struct group);

    *group = (struct group){.in = watch, .ref = *ref};
    for (size_t i = 0; i < watch->n_targets; i++) {
        const struct object_ref other = object_ref_of(watch->targets[i].attributes);

        if (is_in_group(&other, group))
            strmap_put(&group->by_name, other.name, (void *)(uintptr_t)(i + 1));
    }
    return group;
}

/* Of the collection; where only one object matters, of that alone. */
static void path_of(struct buf *to, const struct kube_place *place, size_t n)
{
    _cleanup_free_ char *collection = kube_path(place->kind->group_version, place->namespace_name,
                                                place->kind->plural, NULL, NULL);
    _cleanup_free_ char *selector = str_printf("metadata.name=%s", place->name);

    buf_add_str(to, collection);
    if (n == 1)
        kube_path_query(to, "fieldSelector", selector);
}

/* Waiting works without a watch too, by looking now and then: so an error is no failure. */
static void begin(struct group *group, const struct runtime_target *target)
{
    struct runtime_session *session = group->in->session;
    _cleanup_buf_ struct buf path = BUF_INIT;
    struct kube_place place;

    if (kube_place_of(session, target->attributes, &place, NULL) < 0)
        return;
    path_of(&path, &place, group->by_name.count);
    kube_watch_new(session->runtime->config.client,
                   &(struct kube_watch_config){.path = path.data,
                                               .metadata_only = true,
                                               .impersonate = session->impersonate,
                                               .on_event = on_event,
                                               .arg = group},
                   &group->watch, NULL);
}

int kube_watch_targets(struct runtime_session *session, const struct runtime_target *targets,
                       size_t n, runtime_on_change *on_change, void *arg,
                       struct runtime_watch **ret, struct error *error)
{
    struct runtime_watch *watch = NEW(struct runtime_watch);

    (void)error;
    *watch = (struct runtime_watch){
        .session = session, .targets = targets, .n_targets = n, .on_change = on_change, .arg = arg};
    pthread_mutex_init(&watch->lock, NULL);
    *ret = watch;
    return 0;
}

void kube_await(struct runtime_watch *watch, size_t target)
{
    const struct object_ref ref = object_ref_of(watch->targets[target].attributes);
    struct group *made = NULL;

    pthread_mutex_lock(&watch->lock);
    if (ref.name && !find_group(watch, &ref)) {
        made = group_new(watch, &ref);
        made->next = watch->groups;
        watch->groups = made;
    }
    pthread_mutex_unlock(&watch->lock);
    /* Without the lock: discovery may ask the API server, and hints may come at once. */
    if (made)
        begin(made, &watch->targets[target]);
}

void kube_unwatch(struct runtime_session *session, struct runtime_watch *watch)
{
    (void)session;
    if (!watch)
        return;
    while (watch->groups) {
        struct group *group = watch->groups;

        watch->groups = group->next;
        kube_watch_free(group->watch);
        strmap_done(&group->by_name);
        free(group);
    }
    pthread_mutex_destroy(&watch->lock);
    free(watch);
}
