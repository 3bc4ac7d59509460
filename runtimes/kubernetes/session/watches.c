#include "runtimes/kubernetes/session/watches.h"

#include <pthread.h>
#include <sys/queue.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"
#include "engine/threads/locked.h"
#include "runtimes/kubernetes/client/path.h"
#include "runtimes/kubernetes/client/watch.h"
#include "runtimes/kubernetes/objects/object.h"
#include "runtimes/kubernetes/session/session.h"

/* Limits: a watch holds some 150 bytes for each object of its collection, up to KNOWN_BYTES
 * (client/known.h), and a tenant can create any number of service accounts to watch as. */
#define MAX_WATCHES      512
#define MAX_OF_NAMESPACE 64 /* watches for the Specs of one namespace */

struct runtime_subscription {
    struct runtime_session *session; /* a reference */
    struct shared *shared;
    char *name;
    runtime_on_event *on_event;
    void *arg;

    /* Under the lock. */
    bool is_gone;
    unsigned n_due; /* callbacks that run or are about to run */
    LIST_ENTRY(runtime_subscription) all, of_name;
};

/* The subscriptions to one object: thousands of others may share the watch. */
struct named {
    LIST_HEAD(, runtime_subscription) subscribers;
    char *name;
};

/* A watch that several subscriptions share. It is in the map while it is opened, and then as long
 * as it has subscribers. */
struct shared {
    struct watches *in;
    char *key;            /* "client user path" */
    char *spec_namespace; /* of the first Spec that asked for it */
    LIST_HEAD(, runtime_subscription) subscribers;
    struct strmap names; /* struct named */
    size_t n_subscribers;
    bool is_opening; /* by one thread, without the lock */
    bool is_synced;
    bool is_refused;
    struct kube_watch *watch;
};

struct watches {
    /* Guards everything; not held in callbacks, nor while a watch is opened or ended. */
    pthread_mutex_t lock;
    pthread_cond_t has_called; /* signalled when a callback returned */
    pthread_cond_t has_opened; /* signalled when a watch was opened, or could not be */
    struct strmap by_key;
};

/* ---- Lifetime ---- */

struct watches *watches_new(void)
{
    struct watches *watches = NEW(struct watches);

    pthread_mutex_init(&watches->lock, NULL);
    pthread_cond_init(&watches->has_called, NULL);
    pthread_cond_init(&watches->has_opened, NULL);
    strmap_init(&watches->by_key);
    return watches;
}

void watches_free(struct watches *watches)
{
    if (!watches)
        return;
    strmap_done(&watches->by_key);
    pthread_cond_destroy(&watches->has_called);
    pthread_cond_destroy(&watches->has_opened);
    pthread_mutex_destroy(&watches->lock);
    free(watches);
}

size_t watches_count(struct watches *watches)
{
    LOCKED(&watches->lock);

    return watches->by_key.count;
}

static void shared_free(struct shared *shared)
{
    if (!shared)
        return;
    kube_watch_free(shared->watch);
    strmap_done(&shared->names);
    free(shared->key);
    free(shared->spec_namespace);
    free(shared);
}

/* ---- Events ---- */

struct due {
    struct runtime_subscription **items;
    size_t count, capacity;
};

/* n_due keeps it until its callback has run. */
static void add_due(struct due *due, struct runtime_subscription *subscription)
{
    due->items = mem_grow(due->items, due->count, &due->capacity, sizeof(*due->items));
    subscription->n_due++;
    due->items[due->count++] = subscription;
}

/* The subscriptions of that name, or (NULL) all. With the lock. */
static struct due take_due(struct shared *shared, const char *name)
{
    struct named *named = name ? strmap_get(&shared->names, name) : NULL;
    struct runtime_subscription *each;
    struct due due = {0};

    if (named)
        LIST_FOREACH(each, &named->subscribers, of_name)
            add_due(&due, each);
    else if (!name)
        LIST_FOREACH(each, &shared->subscribers, all)
            add_due(&due, each);
    return due;
}

static void call(struct watches *watches, struct runtime_subscription *subscription)
{
    bool is_gone;

    pthread_mutex_lock(&watches->lock);
    is_gone = subscription->is_gone;
    pthread_mutex_unlock(&watches->lock);
    if (!is_gone)
        subscription->on_event(subscription->arg);
    pthread_mutex_lock(&watches->lock);
    subscription->n_due--;
    pthread_cond_broadcast(&watches->has_called);
    pthread_mutex_unlock(&watches->lock);
}

static struct due take_event(struct shared *shared, enum kube_watch_event event, const char *name,
                             const struct error *error)
{
    switch (event) {
    case KUBE_WATCH_SYNCED:
        shared->is_synced = true;
        shared->is_refused = false;
        return take_due(shared, NULL);
    case KUBE_WATCH_ERROR:
        shared->is_refused = error->code == ERR_FORBIDDEN;
        return (struct due){0};
    default:
        shared->is_refused = false;
        /* The objects of the first list have not changed. */
        return shared->is_synced && name ? take_due(shared, name) : (struct due){0};
    }
}

/* On the watch loop's thread. */
static void on_event(void *arg, enum kube_watch_event event, const struct value *object,
                     const struct error *error)
{
    struct shared *shared = arg;
    struct watches *watches = shared->in;
    const char *name = value_string(value_path(object, "metadata", "name", NULL));
    struct due due;

    pthread_mutex_lock(&watches->lock);
    due = take_event(shared, event, name, error);
    pthread_mutex_unlock(&watches->lock);
    for (size_t i = 0; i < due.count; i++)
        call(watches, due.items[i]);
    free(due.items);
}

/* ---- Subscribing ---- */

/* With the lock. */
static bool is_full(const struct watches *watches, const char *spec_namespace)
{
    size_t count = 0;

    for (struct strmap_entry *e = NULL; (e = strmap_next(&watches->by_key, e));) {
        const struct shared *shared = e->value;

        count += str_equal(shared->spec_namespace, spec_namespace);
    }
    return watches->by_key.count >= MAX_WATCHES || count >= MAX_OF_NAMESPACE;
}

/* With the lock, which is released while the watch is opened: that may read files. */
static int share(struct watches *watches, const char *key, const struct kube_ref *ref,
                 const struct runtime_session *session, struct shared **ret, struct error *error)
{
    struct shared *shared = NEW(struct shared);
    int r;

    *shared = (struct shared){.in = watches,
                              .key = str_new(key),
                              .spec_namespace = str_new(session->spec_namespace),
                              .is_opening = true};
    LIST_INIT(&shared->subscribers);
    strmap_init(&shared->names);
    strmap_put(&watches->by_key, shared->key, shared);
    pthread_mutex_unlock(&watches->lock);
    r = kube_watch_new(session->cluster.client,
                       &(struct kube_watch_config){.ref = *ref,
                                                   .metadata_only = true,
                                                   .impersonate = session->impersonate,
                                                   .for_tenant = true,
                                                   .on_event = on_event,
                                                   .arg = shared},
                       &shared->watch, error);
    pthread_mutex_lock(&watches->lock);
    shared->is_opening = false;
    pthread_cond_broadcast(&watches->has_opened);
    if (r < 0) {
        strmap_remove(&watches->by_key, shared->key);
        shared_free(shared);
        return r;
    }
    *ret = shared;
    return 0;
}

/* The watch, or NULL. Waits while another thread opens it. With the lock. */
static struct shared *find(struct watches *watches, const char *key)
{
    struct shared *shared;

    while ((shared = strmap_get(&watches->by_key, key)) && shared->is_opening)
        pthread_cond_wait(&watches->has_opened, &watches->lock);
    return shared;
}

/* With the lock. */
static struct named *get_named(struct shared *shared, const char *name)
{
    struct named *named = strmap_get(&shared->names, name);

    if (named)
        return named;
    named = NEW(struct named);
    named->name = str_new(name);
    LIST_INIT(&named->subscribers);
    strmap_put(&shared->names, named->name, named);
    return named;
}

/* With the lock. */
static void leave_name(struct shared *shared, struct runtime_subscription *subscription)
{
    struct named *named = strmap_get(&shared->names, subscription->name);

    LIST_REMOVE(subscription, of_name);
    if (!LIST_EMPTY(&named->subscribers))
        return;
    strmap_remove(&shared->names, named->name);
    free(named->name);
    free(named);
}

/* With the lock, which may be released meanwhile. */
static int join(struct watches *watches, const struct kube_ref *ref,
                struct runtime_subscription *new, struct error *error)
{
    const char *impersonate = new->session->impersonate;
    _cleanup_free_ char *path = kube_path(&(struct kube_request){.ref = *ref});
    _cleanup_free_ char *key = str_printf("%p %s %s", (void *)new->session->cluster.client,
                                          impersonate ? impersonate : "", path);
    struct shared *shared = find(watches, key);
    int r = 0;

    if (!shared && is_full(watches, new->session->spec_namespace))
        r = err_set(error, ERR_UNAVAILABLE, "TooManyWatches",
                    "there are too many watches: the object is polled");
    else if (!shared)
        r = share(watches, key, ref, new->session, &shared, error);
    else if (shared->is_refused)
        r = err_set(error, ERR_FORBIDDEN, "AccessDenied",
                    "the API server refuses the watch: the object is polled");
    if (r < 0)
        return r;
    new->shared = shared;
    new->n_due = shared->is_synced; /* its "active" callback is due */
    LIST_INSERT_HEAD(&shared->subscribers, new, all);
    LIST_INSERT_HEAD(&get_named(shared, new->name)->subscribers, new, of_name);
    shared->n_subscribers++;
    return 0;
}

static void subscription_free(struct runtime_subscription *subscription)
{
    session_unref(subscription->session);
    free(subscription->name);
    free(subscription);
}

int kube_subscribe(struct runtime_session *session, const struct runtime_target *target,
                   runtime_on_event *fn, void *arg, struct runtime_subscription **ret,
                   struct error *error)
{
    struct watches *watches = session->runtime->watches;
    struct runtime_subscription *new;
    struct kube_ref ref;
    struct kube_ref collection;
    bool is_in_force;
    int r;

    if (!kube_ref_if_known(session, target_identity(target), &ref))
        return err_set(error, ERR_UNAVAILABLE, "KindNotKnown",
                       "its kind is not in the discovery cache");
    collection = (struct kube_ref){ref.kind, ref.namespace_name, NULL, NULL};
    new = NEW(struct runtime_subscription);
    *new = (struct runtime_subscription){
        .session = session_ref(session), .name = str_new(ref.name), .on_event = fn, .arg = arg};
    pthread_mutex_lock(&watches->lock);
    r = join(watches, &collection, new, error);
    is_in_force = new->n_due;
    pthread_mutex_unlock(&watches->lock);
    if (r < 0) {
        subscription_free(new);
        return r;
    }
    *ret = new;
    if (is_in_force)
        call(watches, new);
    return 0;
}

/* With the lock. Returns the watch if this was its last subscription; the caller frees it without
 * the lock. */
static struct shared *leave(struct watches *watches, struct runtime_subscription *subscription)
{
    struct shared *shared = subscription->shared;

    subscription->is_gone = true;
    LIST_REMOVE(subscription, all);
    leave_name(shared, subscription);
    while (subscription->n_due)
        pthread_cond_wait(&watches->has_called, &watches->lock);
    if (--shared->n_subscribers)
        return NULL;
    strmap_remove(&watches->by_key, shared->key);
    return shared;
}

void kube_unsubscribe(struct runtime_subscription *subscription)
{
    struct watches *watches;
    struct shared *unused;

    if (!subscription)
        return;
    watches = subscription->session->runtime->watches;
    pthread_mutex_lock(&watches->lock);
    unused = leave(watches, subscription);
    pthread_mutex_unlock(&watches->lock);
    shared_free(unused);
    subscription_free(subscription);
}
