#include "controller/core/workqueue.h"

#include <stdbool.h>

#include "engine/base/heap.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"
#include "engine/executor/turns.h"
#include "engine/threads/condition.h"
#include "engine/threads/locked.h"
#include "runtimes/io/clock.h"
#include "runtimes/io/random.h"

/* One in so many turns goes to the key that has been ready for the longest time. */
#define TURNS 8

/* A namespace's work. */
#define BEGUN "begun"
#define OTHER "other"

struct item {
    bool is_ready;
    bool is_out;
    bool is_wanted;                   /* out, and added since: ready again when it is done */
    enum workqueue_priority priority; /* while it is ready, wanted or delayed */
    unsigned failures;
    struct heap_item due;     /* in the queue's `delayed` while it is */
    struct turn turn;         /* below its namespace's work, while it is ready */
    TAILQ_ENTRY(item) by_age; /* while it is ready */
    int64_t ready_since;      /* ms, monotonic */
    int64_t taken_at;         /* likewise */
    char key[];
};

struct workqueue {
    const struct clock_source *clock;
    workqueue_observe *observe; /* or NULL */
    void *observe_arg;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_shut_down;
    struct strmap items; /* by key */
    /* Namespaces, below them their work, begun and other, and below that items. Begun work is with
     * the changes. */
    struct share ready[WORKQUEUE_BEGUN];
    TAILQ_HEAD(, item) by_age; /* all that are ready, the oldest first */
    struct heap delayed;
    uint64_t turns;
    size_t depth, in_flight;
    int64_t taken_at; /* ms, monotonic: when a key was taken last, or the first became ready */
};

struct workqueue *workqueue_new(const struct clock_source *clock, workqueue_observe *observe,
                                void *arg)
{
    struct workqueue *queue = NEW(struct workqueue);

    queue->clock = clock;
    queue->observe = observe;
    queue->observe_arg = arg;
    pthread_mutex_init(&queue->lock, NULL);
    condition_init(&queue->changed);
    strmap_init(&queue->items);
    for (size_t i = 0; i < ARRAY_SIZE(queue->ready); i++)
        share_init_root(&queue->ready[i]);
    TAILQ_INIT(&queue->by_age);
    return queue;
}

static void leave(struct workqueue *queue, struct item *item)
{
    TAILQ_REMOVE(&queue->by_age, item, by_age);
    turn_done_leaf(&item->turn);
    item->is_ready = false;
    queue->depth--;
}

void workqueue_free(struct workqueue *queue)
{
    if (!queue)
        return;
    while (!TAILQ_EMPTY(&queue->by_age))
        leave(queue, TAILQ_FIRST(&queue->by_age));
    for (size_t i = 0; i < ARRAY_SIZE(queue->ready); i++)
        share_done_root(&queue->ready[i]);
    for (struct strmap_entry *e = NULL; (e = strmap_next(&queue->items, e));)
        free(e->value);
    strmap_done(&queue->items);
    heap_done(&queue->delayed);
    pthread_cond_destroy(&queue->changed);
    pthread_mutex_destroy(&queue->lock);
    free(queue);
}

static struct item *item_of(struct workqueue *queue, const char *key)
{
    struct item *item = strmap_get(&queue->items, key);
    size_t size = strlen(key) + 1;

    if (item)
        return item;
    item = mem_new(sizeof(*item) + size);
    memcpy(item->key, key, size);
    strmap_put(&queue->items, item->key, item);
    return item;
}

static bool is_delayed(const struct item *item)
{
    return item->due.place != 0;
}

/* Frees an item that is neither ready nor out nor delayed, and has no failures. */
static void item_settle(struct workqueue *queue, struct item *item)
{
    if (item->is_ready || item->is_out || item->failures || is_delayed(item))
        return;
    strmap_remove(&queue->items, item->key);
    free(item);
}

static struct item *first_due(const struct workqueue *queue)
{
    struct heap_item *first = heap_first(&queue->delayed);

    return first ? CONTAINER_OF(first, struct item, due) : NULL;
}

/* The item waits in the last place of its namespace's work. */
static void take_place(struct workqueue *queue, struct item *item)
{
    _cleanup_free_ char *name = str_new_n(item->key, strcspn(item->key, "/"));
    bool is_begun = item->priority == WORKQUEUE_BEGUN;
    struct share *its_namespace =
        share_get(&queue->ready[is_begun ? WORKQUEUE_CHANGE : item->priority], name);

    turn_init_leaf(&item->turn, share_get(its_namespace, is_begun ? BEGUN : OTHER));
    turn_wait(&item->turn);
}

static void prioritize(struct workqueue *queue, struct item *item, enum workqueue_priority priority)
{
    bool is_pending = item->is_ready || item->is_wanted || is_delayed(item);

    if (is_pending && priority <= item->priority)
        return;
    item->priority = priority;
    if (item->is_ready) {
        turn_done_leaf(&item->turn);
        take_place(queue, item);
    }
}

static void note(const struct workqueue *queue, enum workqueue_event event, int64_t ms)
{
    if (queue->observe)
        queue->observe(queue->observe_arg, event, ms);
}

static void enter(struct workqueue *queue, struct item *item)
{
    item->is_ready = true;
    item->ready_since = queue->clock->monotonic(queue->clock);
    if (TAILQ_EMPTY(&queue->by_age))
        queue->taken_at = item->ready_since;
    TAILQ_INSERT_TAIL(&queue->by_age, item, by_age);
    take_place(queue, item);
    queue->depth++;
    pthread_cond_signal(&queue->changed);
}

static void make_ready(struct workqueue *queue, struct item *item)
{
    heap_remove(&queue->delayed, &item->due);
    if (item->is_ready || item->is_wanted)
        return;
    note(queue, WORKQUEUE_ADDED, 0);
    if (item->is_out)
        item->is_wanted = true;
    else
        enter(queue, item);
}

static void make_ready_after(struct workqueue *queue, struct item *item, int64_t delay)
{
    int64_t now = queue->clock->monotonic(queue->clock);
    int64_t at = delay < CLOCK_FOREVER - now ? now + delay : CLOCK_FOREVER;

    if (delay <= 0) {
        make_ready(queue, item);
        return;
    }
    if (item->is_ready || item->is_wanted || (is_delayed(item) && item->due.key <= at))
        return;
    heap_set(&queue->delayed, &item->due, at);
    /* All threads: one that wakes may take another key, and the others must wake in time for this
     * one. */
    if (first_due(queue) == item)
        pthread_cond_broadcast(&queue->changed);
}

void workqueue_add(struct workqueue *queue, const char *key, enum workqueue_priority priority)
{
    workqueue_add_after(queue, key, 0, priority);
}

void workqueue_add_after(struct workqueue *queue, const char *key, int64_t delay_ms,
                         enum workqueue_priority priority)
{
    LOCKED(&queue->lock);

    if (!queue->is_shut_down) {
        struct item *item = item_of(queue, key);

        prioritize(queue, item, priority);
        make_ready_after(queue, item, delay_ms);
    }
}

void workqueue_add_rate_limited(struct workqueue *queue, const char *key, int64_t first)
{
    int64_t most = first > WORKQUEUE_RETRY_MAXIMUM ? first : WORKQUEUE_RETRY_MAXIMUM;

    LOCKED(&queue->lock);
    if (!queue->is_shut_down) {
        struct item *item = item_of(queue, key);
        int64_t delay = backoff_delay(item->failures++, first, most);

        note(queue, WORKQUEUE_RETRIED, 0);
        prioritize(queue, item, WORKQUEUE_RETRY);
        make_ready_after(queue, item, delay > first ? delay : first);
    }
}

void workqueue_forget(struct workqueue *queue, const char *key)
{
    struct item *item;
    LOCKED(&queue->lock);

    item = strmap_get(&queue->items, key);
    if (item) {
        item->failures = 0;
        item_settle(queue, item);
    }
}

/* The one whose turn it is; NULL: none is ready. */
static struct item *choose(struct workqueue *queue)
{
    struct turn *turn = NULL;
    struct share *its_namespace, *work;

    if (TAILQ_EMPTY(&queue->by_age))
        return NULL;
    if (++queue->turns % TURNS == 0)
        return TAILQ_FIRST(&queue->by_age);
    for (size_t i = ARRAY_SIZE(queue->ready); i-- > 0 && !turn;)
        turn = share_next(&queue->ready[i]);
    its_namespace = (struct share *)turn;
    work = strmap_get(&its_namespace->shares, BEGUN);
    if (!work)
        work = strmap_get(&its_namespace->shares, OTHER);
    return CONTAINER_OF(turn_next(work), struct item, turn);
}

/* NULL after a shut down. */
static struct item *wait_for_item(struct workqueue *queue)
{
    while (!queue->is_shut_down) {
        int64_t now = queue->clock->monotonic(queue->clock);
        struct item *item, *due;

        while ((due = first_due(queue)) && due->due.key <= now)
            make_ready(queue, due);
        item = choose(queue);
        if (item)
            return item;
        queue->clock->wait(queue->clock, &queue->changed, &queue->lock,
                           due ? due->due.key : CLOCK_FOREVER);
    }
    return NULL;
}

char *workqueue_get(struct workqueue *queue)
{
    LOCKED(&queue->lock);
    struct item *item = wait_for_item(queue);

    if (!item)
        return NULL;
    leave(queue, item);
    item->is_out = true;
    queue->in_flight++;
    item->taken_at = queue->taken_at = queue->clock->monotonic(queue->clock);
    note(queue, WORKQUEUE_TAKEN, item->taken_at - item->ready_since);
    return str_new(item->key);
}

void workqueue_done(struct workqueue *queue, const char *key)
{
    struct item *item;
    LOCKED(&queue->lock);

    item = strmap_get(&queue->items, key);
    if (item && item->is_out) {
        bool is_wanted = item->is_wanted;

        item->is_out = item->is_wanted = false;
        queue->in_flight--;
        note(queue, WORKQUEUE_DONE, queue->clock->monotonic(queue->clock) - item->taken_at);
        if (is_wanted)
            enter(queue, item);
        item_settle(queue, item);
    }
}

void workqueue_shut_down(struct workqueue *queue)
{
    LOCKED(&queue->lock);
    queue->is_shut_down = true;
    pthread_cond_broadcast(&queue->changed);
}

void workqueue_stats(struct workqueue *queue, struct workqueue_stats *ret)
{
    const struct item *oldest;
    int64_t now;
    LOCKED(&queue->lock);

    now = queue->clock->monotonic(queue->clock); /* with the lock: no key became ready after it */
    oldest = TAILQ_FIRST(&queue->by_age);
    *ret = (struct workqueue_stats){
        .depth = queue->depth,
        .in_flight = queue->in_flight,
        .delayed = queue->delayed.count,
        .oldest = oldest ? now - oldest->ready_since : 0,
        .stuck = oldest ? now - queue->taken_at : 0,
    };
}
