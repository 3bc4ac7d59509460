#include "cli/online/follow.h"

#include <pthread.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/threads/condition.h"
#include "engine/threads/locked.h"
#include "runtimes/io/clock.h"
#include "runtimes/kubernetes/client/group.h"

enum { SPECS, RELEASES, KINDS };

/* One watch of the two. */
struct part {
    struct follow *follow;
    struct kube_watch *watch;
    struct objects objects;
    bool is_synced, is_failing;
    struct error error; /* while it fails */
};

struct follow {
    struct session *session;
    struct target target;
    char *fields[KINDS], *labels;
    size_t n_kinds;
    struct part parts[KINDS];

    pthread_mutex_t lock; /* of the parts, and of all below */
    pthread_cond_t changes;
    bool is_changed;
};

int64_t follow_now(void)
{
    return system_clock.monotonic(&system_clock);
}

/* ---- On the watches' threads ---- */

static size_t find(const struct objects *objects, const struct value *object)
{
    size_t i = 0;

    while (i < objects->count &&
           !(str_equal(object_name(objects->items[i]), object_name(object)) &&
             str_equal(object_namespace(objects->items[i]), object_namespace(object))))
        i++;
    return i;
}

static void put(struct objects *objects, const struct value *object)
{
    size_t at = find(objects, object);

    if (at == objects->count)
        objects_add(objects, object);
    else
        value_assign(&objects->items[at], object);
}

static void drop(struct objects *objects, const struct value *object)
{
    size_t at = find(objects, object);

    if (at == objects->count)
        return;
    value_unref(objects->items[at]);
    objects->count--;
    memmove(&objects->items[at], &objects->items[at + 1],
            (objects->count - at) * sizeof(*objects->items));
}

static void on_event(void *arg, enum kube_watch_event event, const struct value *object,
                     const struct error *error)
{
    struct part *part = arg;
    struct follow *follow = part->follow;

    LOCKED(&follow->lock);
    if (event == KUBE_WATCH_UPSERT)
        put(&part->objects, object);
    else if (event == KUBE_WATCH_DELETED)
        drop(&part->objects, object);
    else if (event == KUBE_WATCH_SYNCED)
        part->is_synced = true;
    else if (event == KUBE_WATCH_ERROR)
        part->error = *error;
    part->is_failing = event == KUBE_WATCH_ERROR;
    follow->is_changed = true;
    pthread_cond_broadcast(&follow->changes);
}

/* ---- Lifetime ---- */

static void stop(struct follow *follow)
{
    for (size_t i = 0; i < KINDS; i++)
        kube_watch_free(TAKE(follow->parts[i].watch));
}

static int start(struct follow *follow, struct error *error)
{
    static const struct kube_kind *const kinds[KINDS] = {&kube_specs, &kube_releases};
    int r = 0;

    for (size_t i = 0; r == 0 && i < follow->n_kinds; i++) {
        struct kube_watch_config config = {
            .ref = {kinds[i], follow->target.namespace_name, NULL, NULL},
            .selector = {.labels = follow->labels, .fields = follow->fields[i]},
            .on_event = on_event,
            .arg = &follow->parts[i],
        };

        follow->parts[i].follow = follow;
        r = kube_watch_new(follow->session->client, &config, &follow->parts[i].watch, error);
    }
    return r;
}

int follow_new(struct session *session, const struct target *target, const char *labels,
               struct follow **ret, struct error *error)
{
    _cleanup_(follow_free_p) struct follow *follow = NEW(struct follow);
    int r;

    follow->session = session;
    follow->target.namespace_name = str_new(target->namespace_name);
    follow->target.name = str_new(target->name);
    follow->labels = str_new(labels);
    follow->n_kinds = target->name ? KINDS : 1;
    if (target->name) {
        follow->fields[SPECS] = str_printf("metadata.name=%s", target->name);
        follow->fields[RELEASES] = str_printf("spec.specRef.name=%s", target->name);
    }
    pthread_mutex_init(&follow->lock, NULL);
    condition_init(&follow->changes);
    r = start(follow, error);
    if (r == 0)
        *ret = TAKE(follow);
    return r;
}

void follow_free(struct follow *follow)
{
    if (!follow)
        return;
    stop(follow);
    for (size_t i = 0; i < KINDS; i++) {
        objects_done(&follow->parts[i].objects);
        free(follow->fields[i]);
    }
    free(follow->labels);
    target_done(&follow->target);
    pthread_mutex_destroy(&follow->lock);
    pthread_cond_destroy(&follow->changes);
    free(follow);
}

/* ---- On the caller's thread ---- */

void snapshot_done(struct snapshot *snapshot)
{
    objects_done(&snapshot->specs);
    objects_done(&snapshot->releases);
    *snapshot = (struct snapshot){0};
}

static bool is_complete(const struct follow *follow)
{
    for (size_t i = 0; i < follow->n_kinds; i++)
        if (!follow->parts[i].is_synced)
            return false;
    return true;
}

static const struct part *failing(const struct follow *follow)
{
    for (size_t i = 0; i < KINDS; i++)
        if (follow->parts[i].is_failing)
            return &follow->parts[i];
    return NULL;
}

static void take(struct follow *follow, struct snapshot *ret)
{
    const struct objects *specs = &follow->parts[SPECS].objects;
    const struct objects *releases = &follow->parts[RELEASES].objects;
    const struct part *broken = failing(follow);

    snapshot_done(ret);
    for (size_t i = 0; i < specs->count; i++)
        objects_add(&ret->specs, specs->items[i]);
    ret->spec = specs->count ? ret->specs.items[0] : NULL;
    for (size_t i = 0; i < releases->count; i++)
        objects_add(&ret->releases, releases->items[i]);
    objects_sort_by_age(&ret->releases);
    ret->is_connected = !broken;
    if (broken)
        ret->error = broken->error;
}

/* New credentials of a plugin, and new watches with them. */
static int renew(struct follow *follow, struct error *error)
{
    int r;

    stop(follow);
    r = session_renew(follow->session, error);
    if (r < 0)
        return r;
    for (size_t i = 0; i < KINDS; i++) {
        objects_done(&follow->parts[i].objects);
        follow->parts[i].is_synced = follow->parts[i].is_failing = false;
    }
    return start(follow, error);
}

static int await(struct follow *follow, int64_t deadline, struct error *error)
{
    const struct part *broken = NULL;
    int r = 0;

    LOCKED(&follow->lock);
    while (!follow->is_changed || (!is_complete(follow) && !failing(follow))) {
        if (follow_now() >= deadline)
            break;
        system_clock.wait(&system_clock, &follow->changes, &follow->lock, deadline);
    }
    broken = failing(follow);
    /* Before the first lists are complete, any failure is one that the caller is told of. */
    if (broken && (!is_complete(follow) || broken->error.code == ERR_FORBIDDEN ||
                   broken->error.code == ERR_UNAUTHENTICATED))
        r = err_copy(error, &broken->error);
    else if (!is_complete(follow))
        r = err_set(error, ERR_TIMEOUT, "Timeout", "the API server did not answer in time");
    return r;
}

int follow_next(struct follow *follow, int64_t deadline, struct snapshot *ret, bool *ret_changed,
                struct error *error)
{
    struct error why = {0};
    int r = await(follow, deadline, &why);

    if (r == ERR_UNAUTHENTICATED && follow->session->credential.user) {
        err_clear(&why);
        r = renew(follow, &why);
        if (r == 0)
            r = await(follow, deadline, &why);
    }
    if (r < 0)
        return err_copy(error, &why);
    LOCKED(&follow->lock);
    *ret_changed = follow->is_changed;
    follow->is_changed = false;
    take(follow, ret);
    return 0;
}
