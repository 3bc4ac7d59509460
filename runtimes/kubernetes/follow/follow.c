#include "runtimes/kubernetes/follow/follow.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"
#include "engine/threads/locked.h"
#include "runtimes/io/random.h"
#include "runtimes/kubernetes/client/path.h"
#include "runtimes/kubernetes/client/watch.h"
#include "runtimes/kubernetes/follow/tracked.h"
#include "runtimes/kubernetes/objects/marks.h"

#define PENDING_TIME 10000 /* ms that a watch may take to begin */

/* A watch that several Specs share. It is there as long as it tracks an object. */
struct follow_watch {
    struct follows *in;
    char *key;            /* "client user path" */
    char *what;           /* "configmaps in team-a", for messages */
    char *spec_namespace; /* of the first Spec that asked for it */
    struct tracked_table objects;
    uint32_t list; /* the number of the last list that began */
    bool is_elsewhere;
    bool is_opening; /* by one thread, without the lock */
    bool is_synced;
    struct error *error; /* why it does not work; NULL: it does */
    int64_t opened_at;
    struct kube_watch *watch; /* NULL: it could not be opened */
    void *kept;
    SLIST_ENTRY(follow_watch) unused;
};
SLIST_HEAD(unused, follow_watch);

struct follows {
    struct follows_config config;
    uint64_t seed;
    pthread_mutex_t lock; /* of everything; not held while a watch is opened or ended */
    struct strmap watches;
};

struct followed {
    struct follows *in;
    atomic_uint references;
    char *spec_namespace;
    char *field_manager;
    runtime_on_event *on_drift;
    void *arg;
    struct tracked *objects;
    char *missed; /* why not all can be followed; NULL: all are */
    bool is_held, listens, has_ended;
};

/* ---- Lifetime ---- */

struct follows *follows_new(const struct follows_config *config)
{
    struct follows *follows = NEW(struct follows);

    follows->config = *config;
    follows->seed = random_below(UINT64_MAX);
    pthread_mutex_init(&follows->lock, NULL);
    strmap_init(&follows->watches);
    return follows;
}

void follows_free(struct follows *follows)
{
    if (!follows)
        return;
    strmap_done(&follows->watches);
    pthread_mutex_destroy(&follows->lock);
    free(follows);
}

size_t follows_count(struct follows *follows)
{
    LOCKED(&follows->lock);

    return follows->watches.count;
}

/* Without the lock: it waits for a callback that runs. */
static void watch_free(struct follow_watch *watch)
{
    kube_watch_free(watch->watch);
    if (watch->kept)
        watch->in->config.release(watch->kept);
    tracked_table_done(&watch->objects);
    free(watch->error);
    free(watch->spec_namespace);
    free(watch->what);
    free(watch->key);
    free(watch);
}

static void free_unused(struct unused *unused)
{
    while (!SLIST_EMPTY(unused)) {
        struct follow_watch *watch = SLIST_FIRST(unused);

        SLIST_REMOVE_HEAD(unused, unused);
        watch_free(watch);
    }
}

/* With the lock. Who opens it looks again afterwards. */
static void drop_if_unused(struct follow_watch *watch, struct unused *ret)
{
    if (watch->objects.count || watch->is_opening)
        return;
    strmap_remove(&watch->in->watches, watch->key);
    SLIST_INSERT_HEAD(ret, watch, unused);
}

/* ---- Whole or not ---- */

/* With the lock. */
static enum runtime_whole state_of(const struct follow_watch *watch)
{
    const struct clock_source *clock = watch->in->config.clock;
    int64_t now = clock->monotonic(clock);

    if (watch->error)
        return FOLLOWING_BROKEN;
    if (!watch->is_synced)
        return now - watch->opened_at < PENDING_TIME ? FOLLOWING_PENDING : FOLLOWING_BROKEN;
    return watch->watch && now - kube_watch_heard_at(watch->watch) > FOLLOW_SILENCE
               ? FOLLOWING_BROKEN
               : FOLLOWING_WHOLE;
}

static void explain(const struct follow_watch *watch, struct error *why)
{
    if (watch->error)
        err_set(why, watch->error->code, watch->error->reason, "the watch of %s: %s", watch->what,
                watch->error->message);
    else
        err_set(why, ERR_UNAVAILABLE, "Unavailable", "the watch of %s: %s", watch->what,
                watch->is_synced ? "it shows no events and no bookmarks"
                                 : "its first list is not complete");
}

enum runtime_whole followed_state(struct followed *followed, struct error *why)
{
    LOCKED(&followed->in->lock);
    enum runtime_whole state = FOLLOWING_WHOLE;
    const struct follow_watch *last = NULL;

    if (followed->missed) {
        err_set(why, ERR_UNAVAILABLE, "Unavailable", "%s", followed->missed);
        return FOLLOWING_BROKEN;
    }
    for (const struct tracked *each = followed->objects; each; each = each->next_of_spec) {
        enum runtime_whole is = each->in == last ? FOLLOWING_WHOLE : state_of(each->in);

        last = each->in;
        if (is == FOLLOWING_BROKEN) {
            explain(each->in, why);
            return is;
        }
        if (is == FOLLOWING_PENDING && state == FOLLOWING_WHOLE) {
            state = is;
            explain(each->in, why);
        }
    }
    return state;
}

/* ---- Events ---- */

static bool is_to_tell(const struct tracked *tracked)
{
    const struct followed *followed = tracked->of;

    if (followed->listens)
        return tracked->is_treated_anew && !tracked->n_in_flight;
    return !followed->is_held && tracked_has_drifted(tracked);
}

/* With the lock. */
static void tell_drift(struct tracked *tracked)
{
    if (is_to_tell(tracked))
        tracked->of->on_drift(tracked->of->arg);
}

/* With the lock. Once is enough. */
static void tell_any_drift(const struct followed *followed)
{
    for (const struct tracked *each = followed->objects; each; each = each->next_of_spec)
        if (is_to_tell(each)) {
            followed->on_drift(followed->arg);
            return;
        }
}

/* What an event says to one of the Specs that track the object. */
struct sight {
    char *field_manager; /* owned */
    uint64_t print;
};

/* Whose the object is. */
static size_t who_tracks(struct follow_watch *watch, uint64_t name,
                         struct sight ret[FOLLOW_SPECS_OF_OBJECT])
{
    LOCKED(&watch->in->lock);
    size_t n = 0;

    for (struct tracked *each = NULL;
         n < FOLLOW_SPECS_OF_OBJECT && (each = tracked_table_find(&watch->objects, name, each));)
        ret[n++].field_manager = str_new(each->of->field_manager);
    return n;
}

static const struct sight *sight_of(const struct sight *sights, size_t n,
                                    const struct tracked *tracked)
{
    for (size_t i = 0; i < n; i++)
        if (str_equal(sights[i].field_manager, tracked->of->field_manager))
            return &sights[i];
    return NULL;
}

/* What is made of an object that is large, as somebody else's server may send them all the time, is
 * made without the lock. */
static void see(struct follow_watch *watch, const struct value *object, bool is_gone)
{
    const char *name = value_string(value_path(object, "metadata", "name", NULL));
    uint64_t hash = name ? tracked_name(name, watch->in->seed) : 0, treatment = TRACKED_UNKNOWN;
    struct sight sights[FOLLOW_SPECS_OF_OBJECT];
    size_t n = name ? who_tracks(watch, hash, sights) : 0;

    for (size_t i = 0; i < n; i++)
        sights[i].print =
            is_gone ? TRACKED_ABSENT : tracked_print_of(object, sights[i].field_manager);
    if (n && !is_gone)
        treatment = tracked_treatment_of(object);
    pthread_mutex_lock(&watch->in->lock);
    for (struct tracked *each = NULL;
         n && (each = tracked_table_find(&watch->objects, hash, each));) {
        const struct sight *sight = sight_of(sights, n, each);

        if (!sight)
            continue; /* it is tracked since just now */
        each->list = watch->list;
        tracked_see(each, sight->print, tracked_version(object));
        if (!is_gone)
            tracked_see_treatment(each, treatment);
        tell_drift(each);
    }
    pthread_mutex_unlock(&watch->in->lock);
    for (size_t i = 0; i < n; i++)
        free(sights[i].field_manager);
}

/* What is tracked since the list began may be in none of its pages, and there all the same:
 * track() gave it the list's number. */
static void end_list(struct follow_watch *watch)
{
    for (struct tracked *each = NULL; (each = tracked_table_next(&watch->objects, each));) {
        if (each->list == watch->list || each->seen == TRACKED_ABSENT)
            continue;
        tracked_see(each, TRACKED_ABSENT, 0);
        tell_drift(each);
    }
}

static void set_error(struct follow_watch *watch, const struct error *error)
{
    free(watch->error);
    watch->error = error ? err_new(error) : NULL;
}

/* The cluster does not know us any more, or is not the one that we know. */
static bool is_estranged(const struct error *error)
{
    return error &&
           (error->code == ERR_UNAUTHENTICATED || str_equal(error->reason, "TLSVerification") ||
            str_equal(error->reason, "TLSCertificate"));
}

static void note_error(struct follow_watch *watch, const struct error *error)
{
    bool is_new = watch->is_elsewhere && is_estranged(error) && !is_estranged(watch->error);

    set_error(watch, error);
    for (struct tracked *each = NULL; is_new && (each = tracked_table_next(&watch->objects, each));)
        if (!each->of->is_held)
            each->of->on_drift(each->of->arg);
}

static void note(struct follow_watch *watch, enum kube_watch_event event, const struct error *error)
{
    LOCKED(&watch->in->lock);

    switch (event) {
    case KUBE_WATCH_UPSERT:
    case KUBE_WATCH_DELETED:
        break;
    case KUBE_WATCH_LISTING:
        watch->list++;
        break;
    case KUBE_WATCH_LISTED:
        end_list(watch);
        break;
    case KUBE_WATCH_SYNCED:
        watch->is_synced = true;
        set_error(watch, NULL);
        break;
    case KUBE_WATCH_ERROR:
        note_error(watch, error);
        break;
    case KUBE_WATCH_WORKS:
        set_error(watch, NULL);
        break;
    }
}

/* On the watch loop's thread, but for the first KUBE_WATCH_LISTING. */
static void on_event(void *arg, enum kube_watch_event event, const struct value *object,
                     const struct error *error)
{
    if (event == KUBE_WATCH_UPSERT || event == KUBE_WATCH_DELETED)
        see(arg, object, event == KUBE_WATCH_DELETED);
    else
        note(arg, event, error);
}

/* ---- Watches ---- */

/* With the lock. */
static bool is_full(const struct follows *follows, const char *spec_namespace)
{
    size_t count = 0;

    for (struct strmap_entry *e = NULL; (e = strmap_next(&follows->watches, e));) {
        const struct follow_watch *watch = e->value;

        count += str_equal(watch->spec_namespace, spec_namespace);
    }
    return follows->watches.count >= FOLLOW_WATCHES || count >= FOLLOW_WATCHES_OF_NAMESPACE;
}

static char *key_of(const struct follow_place *place)
{
    const struct kube_ref collection = {place->ref.kind, place->ref.namespace_name, NULL, NULL};
    _cleanup_free_ char *path = kube_path(&(struct kube_request){.ref = collection});

    return str_printf("%p %s %s", (void *)place->client,
                      place->impersonate ? place->impersonate : "", path);
}

static char *describe(const struct kube_ref *ref)
{
    return ref->namespace_name ? str_printf("%s in %s", ref->kind->plural, ref->namespace_name)
                               : str_new(ref->kind->plural);
}

/* With the lock. NULL: there are too many. */
static struct follow_watch *get_watch(struct followed *followed, const struct follow_place *place,
                                      bool may_make)
{
    struct follows *follows = followed->in;
    const struct clock_source *clock = follows->config.clock;
    _cleanup_free_ char *key = key_of(place);
    struct follow_watch *watch = strmap_get(&follows->watches, key);

    if (watch || !may_make || is_full(follows, followed->spec_namespace))
        return watch;
    watch = NEW(struct follow_watch);
    watch->in = follows;
    watch->key = TAKE(key);
    watch->what = describe(&place->ref);
    watch->spec_namespace = str_new(followed->spec_namespace);
    watch->is_elsewhere = place->is_elsewhere;
    watch->opened_at = clock->monotonic(clock);
    strmap_put(&follows->watches, watch->key, watch);
    return watch;
}

/* Opens the watch, unless somebody has. With the lock, which is released meanwhile: that may read
 * files. A watch that could not be opened is tried again with the next operation. */
static void open_watch(struct follow_watch *watch, const struct follow_place *place,
                       struct unused *unused)
{
    struct follows *follows = watch->in;
    const struct kube_watch_config config = {
        .ref = {place->ref.kind, place->ref.namespace_name, NULL, NULL},
        .selector = {.labels = KUBE_OWNER_LABEL},
        .metadata_only = true,
        .is_forgetful = true,
        .impersonate = place->impersonate,
        .for_tenant = true,
        .on_event = on_event,
        .arg = watch};
    struct kube_watch *opened = NULL;
    struct error problem = {0};
    int r;

    if (watch->watch || watch->is_opening)
        return;
    watch->is_opening = true;
    if (!watch->kept && place->keep)
        watch->kept = follows->config.keep(place->keep);
    pthread_mutex_unlock(&follows->lock);
    r = kube_watch_new(place->client, &config, &opened, &problem);
    pthread_mutex_lock(&follows->lock);
    watch->is_opening = false;
    watch->watch = opened;
    if (r < 0)
        set_error(watch, &problem);
    drop_if_unused(watch, unused);
}

/* ---- What is tracked ---- */

/* *ret_others: how many Specs before it track an object of that name. */
static struct tracked *find(const struct followed *followed, const struct follow_watch *watch,
                            const char *name, size_t *ret_others)
{
    struct tracked *each = NULL;
    uint64_t hash = tracked_name(name, followed->in->seed);

    *ret_others = 0;
    while ((each = tracked_table_find(&watch->objects, hash, each)) && each->of != followed)
        ++*ret_others;
    return each;
}

static void set_missed(struct followed *followed, const char *why)
{
    if (!followed->missed)
        followed->missed = str_new(why);
}

/* With the lock, which may be released meanwhile. NULL: it is not tracked. */
static struct tracked *get(struct followed *followed, const struct follow_place *place,
                           bool may_make, struct unused *unused)
{
    struct follow_watch *watch = followed->has_ended ? NULL : get_watch(followed, place, may_make);
    size_t others = 0;
    struct tracked *tracked = watch ? find(followed, watch, place->ref.name, &others) : NULL;

    if (!watch && may_make && !followed->has_ended)
        set_missed(followed, "there are too many watches (docs/limits.md)");
    if (tracked || !watch || !may_make)
        return tracked;
    if (others >= FOLLOW_SPECS_OF_OBJECT) {
        set_missed(followed, "too many Specs have the same object (docs/limits.md)");
        return NULL;
    }
    if (!followed->field_manager)
        followed->field_manager = str_new(place->field_manager);
    tracked = NEW(struct tracked);
    tracked->of = followed;
    tracked->in = watch;
    tracked->name = tracked_name(place->ref.name, followed->in->seed);
    tracked->list = watch->list;
    tracked->next_of_spec = followed->objects;
    followed->objects = tracked;
    tracked_table_put(&watch->objects, tracked);
    open_watch(watch, place, unused);
    return find(followed, watch, place->ref.name, &others);
}

/* Untracks all, or those that are not wanted. With the lock. */
static void untrack(struct followed *followed, bool all, struct unused *unused)
{
    struct tracked **at = &followed->objects;

    while (*at) {
        struct tracked *each = *at;
        struct follow_watch *watch = each->in;

        if (!all && (each->is_wanted || each->n_in_flight)) {
            at = &each->next_of_spec;
            continue;
        }
        *at = each->next_of_spec;
        tracked_table_remove(&watch->objects, each);
        free(each);
        drop_if_unused(watch, unused);
    }
}

/* ---- One Spec ---- */

struct followed *followed_new(struct follows *follows, const struct spec_key *spec,
                              runtime_on_event *on_drift, void *arg)
{
    struct followed *followed = NEW(struct followed);

    followed->in = follows;
    followed->references = 1;
    followed->spec_namespace = str_new(spec->namespace_name);
    followed->on_drift = on_drift;
    followed->arg = arg;
    return followed;
}

struct followed *followed_ref(struct followed *followed)
{
    if (followed)
        atomic_fetch_add(&followed->references, 1);
    return followed;
}

void followed_end(struct followed *followed)
{
    _cleanup_(free_unused) struct unused unused = SLIST_HEAD_INITIALIZER(unused);
    LOCKED(&followed->in->lock);

    followed->has_ended = true;
    untrack(followed, true, &unused);
}

void followed_unref(struct followed *followed)
{
    if (!followed || atomic_fetch_sub(&followed->references, 1) > 1)
        return;
    followed_end(followed);
    free(followed->missed);
    free(followed->field_manager);
    free(followed->spec_namespace);
    free(followed);
}

void followed_hold(struct followed *followed)
{
    LOCKED(&followed->in->lock);

    followed->is_held = true;
    followed->listens = false;
    for (struct tracked *each = followed->objects; each; each = each->next_of_spec)
        tracked_hold(each);
}

void followed_track(struct followed *followed, const struct follow_place *place)
{
    _cleanup_(free_unused) struct unused unused = SLIST_HEAD_INITIALIZER(unused);
    LOCKED(&followed->in->lock);

    get(followed, place, true, &unused);
}

void followed_write_begins(struct followed *followed, const struct follow_place *place)
{
    _cleanup_(free_unused) struct unused unused = SLIST_HEAD_INITIALIZER(unused);
    LOCKED(&followed->in->lock);
    struct tracked *tracked = get(followed, place, true, &unused);

    if (tracked && tracked->n_in_flight < UINT8_MAX)
        tracked->n_in_flight++;
}

void followed_write_ends(struct followed *followed, const struct follow_place *place,
                         const struct value *answer)
{
    bool is_known = value_get_string(value_get(answer, "metadata"), "uid");
    uint64_t print = is_known ? tracked_print_of(answer, place->field_manager) : TRACKED_UNKNOWN;
    uint64_t treatment = is_known ? tracked_treatment_of(answer) : TRACKED_UNKNOWN;
    LOCKED(&followed->in->lock);
    struct tracked *tracked = get(followed, place, false, NULL);

    if (!tracked)
        return;
    if (tracked->n_in_flight)
        tracked->n_in_flight--;
    if (is_known) {
        tracked_answer(tracked, print, tracked_version(answer));
        tracked_answer_treatment(tracked, treatment);
    }
    tell_drift(tracked);
}

void followed_settle_begins(struct followed *followed)
{
    LOCKED(&followed->in->lock);

    free(TAKE(followed->missed));
    for (struct tracked *each = followed->objects; each; each = each->next_of_spec)
        each->is_wanted = false;
}

void followed_settle(struct followed *followed, const struct follow_place *place,
                     const struct record *record)
{
    _cleanup_(free_unused) struct unused unused = SLIST_HEAD_INITIALIZER(unused);
    LOCKED(&followed->in->lock);
    struct tracked *tracked = get(followed, place, true, &unused);

    if (tracked) {
        tracked->is_wanted = true;
        tracked_settle(tracked, tracked_print(record->uid, record->fields_digest, false),
                       record->is_done);
    }
}

void followed_settle_ends(struct followed *followed)
{
    _cleanup_(free_unused) struct unused unused = SLIST_HEAD_INITIALIZER(unused);
    LOCKED(&followed->in->lock);

    untrack(followed, false, &unused);
    followed->is_held = followed->listens = false;
    tell_any_drift(followed);
}

void followed_listen(struct followed *followed)
{
    LOCKED(&followed->in->lock);

    followed->is_held = followed->listens = true;
    tell_any_drift(followed);
}

void followed_miss(struct followed *followed, const char *why)
{
    LOCKED(&followed->in->lock);

    set_missed(followed, why);
}

bool followed_is_untouched(struct followed *followed, const struct follow_place *place,
                           const struct record *record)
{
    LOCKED(&followed->in->lock);
    const struct tracked *tracked = get(followed, place, false, NULL);

    return tracked && state_of(tracked->in) == FOLLOWING_WHOLE && !tracked->n_in_flight &&
           !tracked->has_news && tracked->seen == tracked->base &&
           tracked->base == tracked_print(record->uid, record->fields_digest, false);
}

uint64_t followed_values(struct followed *followed, const struct follow_place *place)
{
    LOCKED(&followed->in->lock);
    const struct tracked *tracked = get(followed, place, false, NULL);

    return tracked ? tracked->values : TRACKED_UNKNOWN;
}

void followed_set_values(struct followed *followed, const struct follow_place *place,
                         uint64_t values)
{
    LOCKED(&followed->in->lock);
    struct tracked *tracked = get(followed, place, false, NULL);

    if (tracked)
        tracked->values = values;
}
