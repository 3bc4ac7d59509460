/* Hints that objects changed: one watch for each kind and namespace. */
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"
#include "engine/spec/resource.h"
#include "runtimes/kubernetes/client/path.h"
#include "runtimes/kubernetes/client/watch.h"
#include "runtimes/kubernetes/session.h"

struct runtime_watch {
    struct kube_watch *watch;
    struct strmap by_name; /* name -> index + 1, as a pointer */
    char **names;
    size_t n_names;
    runtime_on_change *on_change;
    void *arg;
};

static void on_event(void *arg, enum kube_watch_event event, const struct value *object,
                     const struct error *error)
{
    struct runtime_watch *watch = arg;
    const char *name = value_string(value_path(object, "metadata", "name", NULL));
    void *found = name ? strmap_get(&watch->by_name, name) : NULL;

    (void)error;
    if (found && (event == KUBE_WATCH_UPSERT || event == KUBE_WATCH_DELETED))
        watch->on_change(watch->arg, (size_t)(uintptr_t)found - 1);
}

void kube_unwatch(struct runtime_session *session, struct runtime_watch *watch)
{
    (void)session;
    if (!watch)
        return;
    kube_watch_free(watch->watch);
    strmap_done(&watch->by_name);
    for (size_t i = 0; i < watch->n_names; i++)
        free(watch->names[i]);
    free(watch->names);
    free(watch);
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

int kube_watch_targets(struct runtime_session *session, const struct runtime_target *targets,
                       size_t n, runtime_on_change *on_change, void *arg,
                       struct runtime_watch **ret, struct error *error)
{
    struct runtime_watch *watch;
    struct kube_place place = {0}, first = {0};
    _cleanup_buf_ struct buf path = BUF_INIT;
    int r;

    for (size_t i = 0; i < n; i++) {
        r = kube_place_of(session, targets[i].attributes, &place, error);
        if (r < 0)
            return r;
        if (i &&
            (place.kind != first.kind || !str_equal(place.namespace_name, first.namespace_name)))
            return err_set(error, ERR_UNSUPPORTED, "Unsupported",
                           "a watch is over one kind in one namespace");
        first = place;
    }
    if (!n)
        return err_set(error, ERR_UNSUPPORTED, "Unsupported", "nothing to watch");
    watch = NEW(struct runtime_watch);
    watch->names = NEW_ARRAY(char *, n);
    watch->on_change = on_change;
    watch->arg = arg;
    for (; watch->n_names < n; watch->n_names++) {
        struct object_ref ref = object_ref_of(targets[watch->n_names].attributes);

        watch->names[watch->n_names] = str_new(ref.name);
        strmap_put(&watch->by_name, watch->names[watch->n_names],
                   (void *)(uintptr_t)(watch->n_names + 1));
    }
    path_of(&path, &first, n);
    r = kube_watch_new(session->runtime->config.client,
                       &(struct kube_watch_config){.path = path.data,
                                                   .metadata_only = true,
                                                   .impersonate = session->impersonate,
                                                   .on_event = on_event,
                                                   .arg = watch},
                       &watch->watch, error);
    if (r < 0) {
        kube_unwatch(session, watch);
        return r;
    }
    *ret = watch;
    return 0;
}
