#include "controller/reconcile/inputs/source_watches.h"

#include <string.h>
#include <sys/queue.h>

#include "controller/desk/desk.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/threads/locked.h"
#include "runtimes/kubernetes/client/path.h"
#include "runtimes/kubernetes/client/resource_version.h"
#include "runtimes/kubernetes/client/watch.h"

/* One object that a Spec follows. */
struct follower {
    struct follow *spec;
    struct watch *watch;
    char *name;
    char *read;       /* the version that was read; NULL: it was not there */
    char *seen;       /* the newest version that the watch showed; NULL: none */
    bool was_deleted; /* `seen` is that of a deletion */
    bool takes_first; /* what the first list shows counts as what is read */
    char *uid;        /* of what was read */
    char digest[HASH_HEX_SIZE];
    LIST_ENTRY(follower) by_name;
};

/* Followers of one name. */
struct named {
    LIST_HEAD(, follower) followers;
    char *name;
};

struct watch {
    struct source_watches *in;
    char *key, *namespace_name;
    struct strmap names; /* struct named */
    size_t n_followers;
    bool is_synced;
    bool has_failed; /* and nothing was shown since */
    struct kube_watch *watch;
};

/* A Spec that has sources. */
struct follow {
    char *key; /* "namespace/name" */
    struct spec_key spec;
    char *namespace_name;
    struct follower *followers;
    size_t count;
    struct source_size size; /* of what was read */
    bool is_read, has_changed;
};

struct source_watches {
    struct kube_client *client;
    struct desk *desk;
    pthread_mutex_t changing; /* of `watches`; taken first, and held while one is opened or ended */
    struct strmap watches;
    pthread_mutex_t lock; /* of the followers; `follows` is changed with both */
    struct strmap follows;
};

/* ---- Events ---- */

static void request(struct source_watches *watches, struct follow *follow)
{
    follow->has_changed = true;
    desk_request(watches->desk, DESK_SPEC, &follow->spec);
}

/* What was seen last is not what was read. A watch that lists again shows as the version of a
 * deletion the one before it. */
static bool is_news(const struct follower *follower)
{
    int newer;

    if (!follower->seen)
        return false;
    if (!follower->read)
        return !follower->was_deleted;
    newer = kube_compare_versions(follower->seen, follower->read);
    return newer > 0 || (newer == 0 && follower->was_deleted);
}

static void note_event(struct source_watches *watches, struct follower *follower,
                       const char *version, bool is_deletion)
{
    if (!is_deletion && follower->seen && kube_compare_versions(version, follower->seen) <= 0)
        return;
    free(follower->seen);
    follower->seen = str_new(version);
    follower->was_deleted = is_deletion;
    if (follower->takes_first) {
        free(follower->read);
        follower->read = str_new(version);
    }
    follower->takes_first = false;
    if (follower->spec->is_read && is_news(follower))
        request(watches, follower->spec);
}

/* The first list did not show it: it went since it was read. */
static void note_listed(struct watch *watch)
{
    for (struct strmap_entry *e = NULL; (e = strmap_next(&watch->names, e));) {
        struct named *named = e->value;
        struct follower *each;

        LIST_FOREACH(each, &named->followers, by_name) {
            each->takes_first = false;
            if (each->spec->is_read && each->read && !each->seen)
                request(watch->in, each->spec);
        }
    }
}

/* On the watch loop's thread. */
static void on_event(void *arg, enum kube_watch_event event, const struct value *object,
                     const struct error *error)
{
    struct watch *watch = arg;
    const struct value *metadata = value_get(object, "metadata");
    const char *name = value_get_string(metadata, "name");
    const char *version = value_get_string(metadata, "resourceVersion");
    LOCKED(&watch->in->lock);
    struct named *named = name ? strmap_get(&watch->names, name) : NULL;
    struct follower *each;

    (void)error;
    watch->has_failed = event == KUBE_WATCH_ERROR;
    if (event == KUBE_WATCH_SYNCED) {
        watch->is_synced = true;
        note_listed(watch);
    }
    if (!named || !version)
        return;
    LIST_FOREACH(each, &named->followers, by_name)
        note_event(watch->in, each, version, event == KUBE_WATCH_DELETED);
}

/* ---- Watches ---- */

static void watch_free(struct watch *watch)
{
    if (!watch)
        return;
    kube_watch_free(watch->watch);
    strmap_done(&watch->names);
    free(watch->key);
    free(watch->namespace_name);
    free(watch);
}

/* All that is changed under `changing` alone. */
static bool is_full(const struct source_watches *watches, const char *namespace_name)
{
    size_t count = 0;

    for (struct strmap_entry *e = NULL; (e = strmap_next(&watches->watches, e));)
        count += str_equal(((struct watch *)e->value)->namespace_name, namespace_name);
    return watches->watches.count >= SOURCE_WATCHES || count >= SOURCE_WATCHES_OF_NAMESPACE;
}

/* NULL: there is none, and there may be no more; then `interval` has to do. */
static struct watch *get_watch(struct source_watches *watches, const struct kube_kind *kind,
                               const char *namespace_name, const char *user)
{
    const struct kube_ref collection = {kind, namespace_name, NULL, NULL};
    _cleanup_free_ char *path = kube_path(&(struct kube_request){.ref = collection});
    _cleanup_free_ char *key = str_printf("%s %s", user ? user : "", path);
    struct watch *watch = strmap_get(&watches->watches, key);

    if (watch || is_full(watches, namespace_name))
        return watch;
    watch = NEW(struct watch);
    *watch =
        (struct watch){.in = watches, .key = TAKE(key), .namespace_name = str_new(namespace_name)};
    strmap_init(&watch->names);
    if (kube_watch_new(watches->client,
                       &(struct kube_watch_config){.ref = collection,
                                                   .metadata_only = true,
                                                   .impersonate = user,
                                                   .for_tenant = true,
                                                   .on_event = on_event,
                                                   .arg = watch},
                       &watch->watch, NULL) < 0) {
        watch_free(watch);
        return NULL;
    }
    strmap_put(&watches->watches, watch->key, watch);
    return watch;
}

/* With the lock. */
static void join(struct watch *watch, struct follower *follower)
{
    struct named *named = strmap_get(&watch->names, follower->name);

    if (!named) {
        named = NEW(struct named);
        named->name = str_new(follower->name);
        LIST_INIT(&named->followers);
        strmap_put(&watch->names, named->name, named);
    }
    LIST_INSERT_HEAD(&named->followers, follower, by_name);
    follower->watch = watch;
    watch->n_followers++;
}

/* With the lock. The watch, if this was its last follower: who calls ends it, without the lock. */
static struct watch *leave(struct follower *follower)
{
    struct watch *watch = follower->watch;
    struct named *named = watch ? strmap_get(&watch->names, follower->name) : NULL;

    if (!watch)
        return NULL;
    LIST_REMOVE(follower, by_name);
    follower->watch = NULL;
    if (LIST_EMPTY(&named->followers)) {
        strmap_remove(&watch->names, named->name);
        free(named->name);
        free(named);
    }
    return --watch->n_followers ? NULL : watch;
}

/* ---- Specs ---- */

static void follow_free(struct follow *follow)
{
    for (size_t i = 0; i < follow->count; i++) {
        free(follow->followers[i].name);
        free(follow->followers[i].read);
        free(follow->followers[i].seen);
        free(follow->followers[i].uid);
    }
    free(follow->followers);
    free(follow->namespace_name);
    free(follow->key);
    free(follow);
}

static struct follow *follow_new(const struct spec_key *spec, size_t count)
{
    struct follow *follow = NEW(struct follow);

    follow->key = str_printf("%s/%s", spec->namespace_name, spec->name);
    follow->namespace_name = str_new(spec->namespace_name);
    follow->spec =
        (struct spec_key){follow->namespace_name, follow->key + strlen(spec->namespace_name) + 1};
    follow->followers = NEW_ARRAY(struct follower, count);
    return follow;
}

static struct follow *find_follow(struct source_watches *watches, const struct spec_key *spec)
{
    _cleanup_free_ char *key = str_printf("%s/%s", spec->namespace_name, spec->name);

    return strmap_get(&watches->follows, key);
}

/* With `changing`. */
static void drop(struct source_watches *watches, struct follow *follow)
{
    for (size_t i = 0; i < follow->count; i++) {
        struct watch *unused;

        pthread_mutex_lock(&watches->lock);
        unused = leave(&follow->followers[i]);
        pthread_mutex_unlock(&watches->lock);
        if (unused)
            strmap_remove(&watches->watches, unused->key);
        watch_free(unused);
    }
    pthread_mutex_lock(&watches->lock);
    strmap_remove(&watches->follows, follow->key);
    pthread_mutex_unlock(&watches->lock);
    follow_free(follow);
}

/* What the watch has shown is not shown again. With the lock. */
static void inherit(struct follower *follower, const struct follow *before,
                    const struct watch *watch)
{
    for (size_t i = 0; before && i < before->count; i++) {
        const struct follower *old = &before->followers[i];

        if (old->watch != watch || !str_equal(old->name, follower->name))
            continue;
        follower->read = str_new(old->read);
        follower->seen = str_new(old->seen);
        follower->was_deleted = old->was_deleted;
        follower->takes_first = old->takes_first;
        return;
    }
}

void source_watches_follow(struct source_watches *watches, const struct spec_key *spec,
                           const char *user, const struct spec_sources *sources)
{
    struct follow *before, *next;

    if (!watches)
        return;
    next = follow_new(spec, sources->count);
    LOCKED(&watches->changing);
    before = find_follow(watches, spec);
    for (size_t i = 0; i < sources->count; i++) {
        const struct spec_source *source = &sources->items[i];
        struct watch *watch = get_watch(watches, source->kind, spec->namespace_name, user);
        struct follower *follower = &next->followers[next->count++];

        *follower = (struct follower){.spec = next, .name = str_new(source->name)};
        if (!watch)
            continue;
        pthread_mutex_lock(&watches->lock);
        inherit(follower, before, watch);
        join(watch, follower);
        pthread_mutex_unlock(&watches->lock);
    }
    next->is_read = before && before->is_read && before->count == next->count;
    if (before)
        drop(watches, before);
    pthread_mutex_lock(&watches->lock);
    strmap_put(&watches->follows, next->key, next);
    pthread_mutex_unlock(&watches->lock);
}

/* What this look tells of it. Of one that was not read, all counts as read that was seen before. */
static void note_read(struct follower *follower, const struct spec_source *source)
{
    const char *seen = follower->was_deleted ? NULL : follower->seen;

    free(follower->read);
    follower->read = str_new(source->version || source->is_absent ? source->version : seen);
    free(follower->uid);
    follower->uid = str_new(source->uid);
    str_copy(follower->digest, HASH_HEX_SIZE, source->digest);
    follower->takes_first =
        source->is_read_later && !follower->seen && follower->watch && !follower->watch->is_synced;
}

void source_watches_note(struct source_watches *watches, const struct spec_key *spec,
                         const struct spec_sources *sources)
{
    struct follow *follow;
    bool is_changed = false;

    if (!watches)
        return;
    LOCKED(&watches->lock);
    follow = find_follow(watches, spec);
    if (!follow || follow->count != sources->count)
        return;
    follow->is_read = true;
    follow->size = sources->size;
    for (size_t i = 0; i < follow->count; i++) {
        note_read(&follow->followers[i], &sources->items[i]);
        is_changed = is_changed || is_news(&follow->followers[i]);
    }
    follow->has_changed = false;
    if (is_changed)
        request(watches, follow);
}

bool source_watches_recall(struct source_watches *watches, const struct spec_key *spec,
                           struct spec_sources *sources)
{
    const struct follow *follow;

    if (!watches)
        return false;
    LOCKED(&watches->lock);
    follow = find_follow(watches, spec);
    if (!follow || follow->count != sources->count || !follow->size.text)
        return false;
    for (size_t i = 0; i < follow->count; i++) {
        free(sources->items[i].uid);
        sources->items[i].uid = str_new(follow->followers[i].uid);
        str_copy(sources->items[i].digest, HASH_HEX_SIZE, follow->followers[i].digest);
    }
    sources->size = follow->size;
    return true;
}

bool source_watches_saw_change(struct source_watches *watches, const struct spec_key *spec)
{
    const struct follow *follow;

    if (!watches)
        return false;
    LOCKED(&watches->lock);
    follow = find_follow(watches, spec);
    return follow && follow->has_changed;
}

bool source_watches_are_whole(struct source_watches *watches, const char *key)
{
    const struct follow *follow;

    if (!watches)
        return true;
    LOCKED(&watches->lock);
    follow = strmap_get(&watches->follows, key);
    for (size_t i = 0; follow && i < follow->count; i++) {
        const struct watch *watch = follow->followers[i].watch;

        if (!watch || !watch->is_synced || watch->has_failed)
            return false;
    }
    return true;
}

void source_watches_forget(struct source_watches *watches, const struct spec_key *spec)
{
    struct follow *follow;

    if (!watches)
        return;
    pthread_mutex_lock(&watches->lock);
    follow = find_follow(watches, spec);
    pthread_mutex_unlock(&watches->lock);
    if (!follow)
        return;
    LOCKED(&watches->changing);
    drop(watches, follow); /* one reconcile of a Spec runs at once */
}

/* ---- The whole ---- */

struct source_watches *source_watches_new(struct kube_client *client, struct desk *desk)
{
    struct source_watches *watches = NEW(struct source_watches);

    *watches = (struct source_watches){.client = client, .desk = desk};
    pthread_mutex_init(&watches->changing, NULL);
    pthread_mutex_init(&watches->lock, NULL);
    strmap_init(&watches->watches);
    strmap_init(&watches->follows);
    return watches;
}

void source_watches_free(struct source_watches *watches)
{
    if (!watches)
        return;
    for (struct strmap_entry *e = NULL; (e = strmap_next(&watches->follows, e)); e = NULL)
        drop(watches, e->value);
    strmap_done(&watches->follows);
    strmap_done(&watches->watches);
    pthread_mutex_destroy(&watches->lock);
    pthread_mutex_destroy(&watches->changing);
    free(watches);
}
