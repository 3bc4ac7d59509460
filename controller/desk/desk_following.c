#include "controller/desk/following.h"

#include <stdatomic.h>

#include "controller/desk/desk_private.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"

/* It outlasts its callbacks: the runtimes end them before it is freed. */
struct desk_following {
    struct desk *desk;
    char *key;
    atomic_bool has_drifted;
    struct runtime *const *runtimes;
    size_t n_runtimes;
    struct runtime_following **of; /* NULL: that runtime follows nothing */
};

static int64_t now(const struct desk *desk)
{
    return desk->config.clock->monotonic(desk->config.clock);
}

/* With locks of the runtime, and without the desk's, which is taken before them. */
static void on_drift(void *arg)
{
    struct desk_following *following = arg;
    const struct desk_config *config = &following->desk->config;

    atomic_store(&following->has_drifted, true);
    config->enqueue(config->arg, DESK_SPEC, following->key);
}

/* ---- Beginning and ending ---- */

static struct desk_following *following_new(struct desk_entry *entry,
                                            struct runtime *const *runtimes, size_t n)
{
    struct desk_following *following = NEW(struct desk_following);

    *following = (struct desk_following){.desk = entry->table->desk,
                                         .key = str_new(entry->key),
                                         .runtimes = runtimes,
                                         .n_runtimes = n,
                                         .of = NEW_ARRAY(struct runtime_following *, n + 1)};
    for (size_t i = 0; i < n; i++)
        if (runtimes[i]->ops->follow)
            following->of[i] =
                runtimes[i]->ops->follow->begin(runtimes[i], &entry->object, on_drift, following);
    return following;
}

/* Waits for no request, but for a callback that runs. */
static void following_free(struct desk_following *following)
{
    if (!following)
        return;
    for (size_t i = 0; i < following->n_runtimes; i++) {
        const struct runtime_follow_ops *ops = following->runtimes[i]->ops->follow;

        if (!following->of[i])
            continue;
        ops->end(following->of[i]);
        ops->unref(following->of[i]);
    }
    free(following->of);
    free(following->key);
    free(following);
}

struct runtime_following *const *desk_follow(struct desk_entry *entry,
                                             struct runtime *const *runtimes, size_t n_runtimes)
{
    struct desk_following *following = entry->following;

    if (!following)
        following = following_new(entry, runtimes, n_runtimes);
    LOCKED(&entry->table->desk->lock);
    entry->following = following;
    entry->is_at_rest = false;
    atomic_store(&following->has_drifted, false);
    return following->of;
}

void desk_unfollow(struct desk_entry *entry)
{
    struct desk_following *following;

    pthread_mutex_lock(&entry->table->desk->lock);
    following = TAKE(entry->following);
    entry->rest = (struct desk_rest){0};
    entry->is_at_rest = false;
    pthread_mutex_unlock(&entry->table->desk->lock);
    following_free(following);
}

void desk_free_following(struct desk_entry *entry)
{
    following_free(TAKE(entry->following));
}

/* ---- Rest ---- */

/* Nothing came while the operation went on. With the lock. */
static bool is_untouched(const struct desk_entry *entry)
{
    bool is_changed = entry->was_observed && (entry->observed.generation > entry->read.generation ||
                                              entry->observed.is_deleting);

    return !entry->is_asked_for && !entry->has_landed && !entry->has_left && !is_changed;
}

void desk_set_rest(struct desk_entry *entry, const struct desk_rest *rest)
{
    struct desk *desk = entry->table->desk;
    LOCKED(&desk->lock);

    entry->rest = *rest;
    entry->is_at_rest = is_untouched(entry);
    if (rest->drift_wait && entry->drift_at < now(desk) + rest->drift_wait)
        entry->drift_at = now(desk) + rest->drift_wait;
}

void desk_listen(struct desk_entry *entry)
{
    const struct desk_following *following = entry->following;
    LOCKED(&entry->table->desk->lock);

    if (!following)
        return;
    entry->rest = (struct desk_rest){.has_failed = true, .verify_at = entry->rest.verify_at};
    entry->is_at_rest = is_untouched(entry);
    for (size_t i = 0; i < following->n_runtimes; i++)
        if (following->of[i])
            following->runtimes[i]->ops->follow->listen(following->of[i]);
}

int64_t desk_verify_at(const struct desk_entry *entry)
{
    return entry->rest.verify_at;
}

enum runtime_whole desk_following_state(struct desk_entry *entry, struct error *why)
{
    const struct desk_following *following = entry->following;
    enum runtime_whole state = FOLLOWING_WHOLE;

    for (size_t i = 0; following && i < following->n_runtimes; i++) {
        enum runtime_whole is =
            following->of[i] ? following->runtimes[i]->ops->follow->state(following->of[i], why)
                             : FOLLOWING_WHOLE;

        if (is == FOLLOWING_BROKEN)
            return is;
        if (is == FOLLOWING_PENDING)
            state = is;
    }
    return following ? state : FOLLOWING_BROKEN;
}

/* Drift that was told is to be looked at now. With the lock. */
static bool takes_drift(struct desk_entry *entry, int64_t at, int64_t *ret_after)
{
    int64_t least = at - (DRIFT_BURST - 1) * DRIFT_EACH;

    if (entry->drift_at > at) {
        *ret_after = entry->drift_at - at;
        return false;
    }
    entry->drift_at = (entry->drift_at > least ? entry->drift_at : least) + DRIFT_EACH;
    return true;
}

bool desk_is_at_rest(struct desk *desk, const char *key, bool is_whole, int64_t *ret_after)
{
    LOCKED(&desk->lock);
    struct desk_entry *entry = strmap_get(&desk->tables[DESK_SPEC].entries, key);
    int64_t at = now(desk);

    if (!entry || !entry->is_at_rest || entry->attempt || !entry->is_listed)
        return false;
    if (entry->rest.ignores_drift) {
        *ret_after = entry->rest.interval;
        return is_whole;
    }
    if (!entry->following)
        return false;
    if (atomic_load(&entry->following->has_drifted))
        return !takes_drift(entry, at, ret_after);
    if (entry->rest.has_failed)
        return false;
    if (!is_whole || !entry->rest.is_followed || at >= entry->rest.verify_at ||
        desk_following_state(entry, NULL) != FOLLOWING_WHOLE)
        return false;
    *ret_after = entry->rest.verify_at - at;
    if (*ret_after > entry->rest.interval)
        *ret_after = entry->rest.interval;
    return true;
}
