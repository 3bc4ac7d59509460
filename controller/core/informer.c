#include "controller/core/informer.h"

#include <pthread.h>
#include <stdatomic.h>

#include "controller/core/finalizer.h"
#include "controller/core/outage.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"
#include "engine/log/log.h"
#include "engine/threads/locked.h"
#include "runtimes/io/clock.h"
#include "runtimes/kubernetes/client/resource_version.h"
#include "runtimes/kubernetes/client/watch.h"
#include "runtimes/kubernetes/history/history.h"

/* One allocation each: the strings follow the struct, the key first. */
struct entry {
    struct informer_object object;
    char key[];
};

struct informer {
    struct informer_config config;
    struct kube_watch *watch;
    _Atomic bool is_synced, is_refused;
    bool is_selecting;
    struct outage outage;
    pthread_mutex_t lock; /* of objects; only the watch's callbacks change them */
    struct strmap objects;
};

static size_t size_of(const char *s)
{
    return s ? strlen(s) + 1 : 0;
}

/* Appends a copy at *end, which moves on; NULL stays NULL. */
static char *place(char **end, const char *s)
{
    size_t size = size_of(s);
    char *at = *end;

    if (!s)
        return NULL;
    memcpy(at, s, size);
    *end += size;
    return at;
}

const char *informer_trigger(const struct value *metadata)
{
    const struct value *annotations = value_get(metadata, "annotations");
    const char *ours = value_get_string(annotations, INFORMER_TRIGGER);

    return ours ? ours : value_get_string(annotations, INFORMER_TRIGGER_FLUX);
}

static bool is_generated(const struct value *metadata)
{
    return value_path(metadata, "labels", KUBE_GENERATED_LABEL, NULL) != NULL;
}

/* NULL: not an object with a name. */
static struct entry *entry_new(const struct value *metadata)
{
    const char *namespace_name = value_get_string(metadata, "namespace");
    const char *name = value_get_string(metadata, "name");
    const char *uid = value_get_string(metadata, "uid");
    const char *trigger = informer_trigger(metadata);
    const char *version = value_get_string(metadata, "resourceVersion");
    size_t key_size, size;
    struct entry *entry;
    char *end;

    if (!name)
        return NULL;
    if (!uid)
        uid = "";
    key_size = size_of(namespace_name) + size_of(name);
    size = key_size + size_of(namespace_name) + size_of(uid) + size_of(trigger) + size_of(version);
    entry = mem_new(sizeof(*entry) + size);
    snprintf(entry->key, key_size, "%s%s%s", namespace_name ? namespace_name : "",
             namespace_name ? "/" : "", name);
    end = entry->key + key_size;
    entry->object = (struct informer_object){
        .namespace_name = place(&end, namespace_name),
        .name = entry->key + size_of(namespace_name), /* the key ends with it */
        .uid = place(&end, uid),
        .generation = value_int(value_get(metadata, "generation"), 0),
        .deleting = value_get_string(metadata, "deletionTimestamp") != NULL,
        .is_generated = is_generated(metadata),
        .is_orphan = kube_release_is_orphan(metadata),
        .trigger = place(&end, trigger),
        .is_new = !finalizer_is_set(metadata) && !is_generated(metadata),
        .version = place(&end, version),
    };
    return entry;
}

static bool is_same(const struct informer_object *a, const struct informer_object *b)
{
    return a->generation == b->generation && a->deleting == b->deleting &&
           a->is_orphan == b->is_orphan && str_equal(a->trigger, b->trigger);
}

static bool is_older(const struct informer_object *a, const struct informer_object *b)
{
    return kube_compare_versions(a->version, b->version) < 0;
}

/* Takes entry over (NULL: removes the key); gives back what was there. */
static struct entry *replace(struct informer *informer, const char *key, struct entry *entry)
{
    LOCKED(&informer->lock);
    /* First: the map borrows the old entry's key. */
    struct entry *old = strmap_remove(&informer->objects, key);

    if (entry)
        strmap_put(&informer->objects, entry->key, entry);
    return old;
}

static void report(struct informer *informer, const char *key, const struct entry *old,
                   const struct entry *now)
{
    informer->config.on_change(informer->config.arg, key, old ? &old->object : NULL,
                               now ? &now->object : NULL);
}

static void put(struct informer *informer, struct entry *entry)
{
    _cleanup_free_ struct entry *old = NULL;

    entry->object.was_there = !atomic_load(&informer->is_synced);
    old = replace(informer, entry->key, entry);
    if (old && !str_equal(old->object.uid, entry->object.uid)) {
        report(informer, entry->key, old, NULL);
        report(informer, entry->key, NULL, entry);
    } else if (!old || !is_same(&old->object, &entry->object) ||
               is_older(&entry->object, &old->object)) {
        report(informer, entry->key, old, entry);
    }
}

/* metadata: the last of it. Where the watch was interrupted, that is no more than its name. */
static void drop(struct informer *informer, const struct value *metadata)
{
    _cleanup_free_ struct entry *gone = entry_new(metadata), *old = NULL;

    old = gone ? replace(informer, gone->key, NULL) : NULL;
    if (!old)
        return;
    old->object.is_bypassed = !informer->is_selecting && finalizer_is_set(metadata) &&
                              !gone->object.deleting &&
                              str_equal(old->object.uid, gone->object.uid);
    report(informer, gone->key, old, NULL);
}

static void fail(struct informer *informer, const struct error *error)
{
    const char *absent = informer->config.absent;
    struct error why = *error;

    if (absent && str_equal(error->reason, "NotServed"))
        err_set(&why, error->code, error->reason, "%s", absent);
    atomic_store(&informer->is_refused,
                 why.code == ERR_FORBIDDEN || str_equal(why.reason, "NotServed"));
    if (outage_goes_on(&informer->outage, &why, system_clock.monotonic(&system_clock)))
        log_warn("a watch failed, and is tried again", "kind", informer->config.ref.kind->kind,
                 "reason", why.reason, "error", why.message, NULL);
}

static void on_event(void *arg, enum kube_watch_event event, const struct value *object,
                     const struct error *error)
{
    struct informer *informer = arg;
    struct entry *entry;

    switch (event) {
    case KUBE_WATCH_UPSERT:
        entry = entry_new(value_get(object, "metadata"));
        if (entry)
            put(informer, entry);
        break;
    case KUBE_WATCH_DELETED:
        drop(informer, value_get(object, "metadata"));
        break;
    case KUBE_WATCH_SYNCED:
        atomic_store(&informer->is_synced, true);
        outage_ends(&informer->outage);
        break;
    case KUBE_WATCH_ERROR:
        fail(informer, error);
        break;
    case KUBE_WATCH_WORKS:
        outage_ends(&informer->outage);
        log_info("a watch works again", "kind", informer->config.ref.kind->kind, NULL);
        break;
    case KUBE_WATCH_LISTING:
    case KUBE_WATCH_LISTED:
        break;
    }
}

struct informer *informer_new(const struct informer_config *config, struct error *error)
{
    struct informer *informer = NEW(struct informer);
    struct kube_watch_config watch = {.ref = config->ref,
                                      .selector = config->selector,
                                      .metadata_only = true,
                                      .on_event = on_event,
                                      .arg = informer};

    informer->config = *config;
    informer->is_selecting = config->selector.labels || config->selector.fields;
    pthread_mutex_init(&informer->lock, NULL);
    outage_init(&informer->outage, "the first list is not complete");
    strmap_init(&informer->objects);
    if (kube_watch_new(config->client, &watch, &informer->watch, error) < 0) {
        err_wrap(error, "watch of %s", config->ref.kind->plural);
        informer_free(TAKE(informer));
    }
    return informer;
}

void informer_free(struct informer *informer)
{
    if (!informer)
        return;
    kube_watch_free(informer->watch);
    for (struct strmap_entry *e = NULL; (e = strmap_next(&informer->objects, e));)
        free(e->value);
    strmap_done(&informer->objects);
    outage_done(&informer->outage);
    pthread_mutex_destroy(&informer->lock);
    free(informer);
}

bool informer_synced(const struct informer *informer)
{
    return atomic_load(&informer->is_synced);
}

int64_t informer_fails_for(struct informer *informer)
{
    return outage_lasts(&informer->outage, system_clock.monotonic(&system_clock));
}

bool informer_is_refused(const struct informer *informer)
{
    return atomic_load(&informer->is_refused);
}

void informer_describe_outage(struct informer *informer, struct buf *to)
{
    outage_is(&informer->outage, to);
}
