#include "controller/core/workqueue.h"

#include <stdbool.h>
#include <sys/queue.h>

#include "engine/base/heap.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"
#include "runtimes/io/clock.h"
#include "runtimes/io/random.h"

struct item {
    bool is_ready;
    bool is_out;
    bool is_wanted; /* out, and added since: ready again when it is done */
    bool is_first;  /* goes before those that are only to be begun, when it is ready */
    unsigned failures;
    struct heap_item due; /* in the queue's `delayed` while it is */
    TAILQ_ENTRY(item) ready;
    char key[];
};

TAILQ_HEAD(item_queue, item);

struct workqueue {
    const struct clock_source *clock;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_shut_down;
    struct strmap items; /* all of which something is known */
    struct item_queue first, ready;
    struct heap delayed;
    uint64_t adds, retries;
    size_t depth, in_flight;
};

struct workqueue *workqueue_new(const struct clock_source *clock)
{
    struct workqueue *queue = NEW(struct workqueue);

    queue->clock = clock;
    pthread_mutex_init(&queue->lock, NULL);
    system_clock_condition_init(&queue->changed);
    strmap_init(&queue->items);
    TAILQ_INIT(&queue->first);
    TAILQ_INIT(&queue->ready);
    return queue;
}

void workqueue_free(struct workqueue *queue)
{
    if (!queue)
        return;
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

/* Frees an item of which there is nothing left to know. */
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

static struct item_queue *queue_of(struct workqueue *queue, const struct item *item)
{
    return item->is_first ? &queue->first : &queue->ready;
}

static void make_first(struct workqueue *queue, struct item *item)
{
    if (item->is_ready)
        TAILQ_REMOVE(queue_of(queue, item), item, ready);
    item->is_first = true;
    if (item->is_ready)
        TAILQ_INSERT_TAIL(queue_of(queue, item), item, ready);
}

static void make_ready(struct workqueue *queue, struct item *item)
{
    heap_remove(&queue->delayed, &item->due);
    if (item->is_ready || item->is_wanted)
        return;
    queue->adds++;
    if (item->is_out) {
        item->is_wanted = true;
        return;
    }
    item->is_ready = true;
    TAILQ_INSERT_TAIL(queue_of(queue, item), item, ready);
    queue->depth++;
    pthread_cond_signal(&queue->changed);
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
    /* All of them: whoever wakes may go off with another key, and the others must know when to
     * wake for this one. */
    if (first_due(queue) == item)
        pthread_cond_broadcast(&queue->changed);
}

void workqueue_add(struct workqueue *queue, const char *key)
{
    workqueue_add_after(queue, key, 0);
}

void workqueue_add_after(struct workqueue *queue, const char *key, int64_t delay_ms)
{
    pthread_mutex_lock(&queue->lock);
    if (!queue->is_shut_down)
        make_ready_after(queue, item_of(queue, key), delay_ms);
    pthread_mutex_unlock(&queue->lock);
}

void workqueue_add_first(struct workqueue *queue, const char *key)
{
    pthread_mutex_lock(&queue->lock);
    if (!queue->is_shut_down) {
        struct item *item = item_of(queue, key);

        if (!item->is_first)
            make_first(queue, item);
        make_ready(queue, item);
    }
    pthread_mutex_unlock(&queue->lock);
}

void workqueue_add_rate_limited(struct workqueue *queue, const char *key)
{
    pthread_mutex_lock(&queue->lock);
    if (!queue->is_shut_down) {
        struct item *item = item_of(queue, key);

        queue->retries++;
        make_ready_after(
            queue, item,
            backoff_delay(item->failures++, WORKQUEUE_RETRY_BASE, WORKQUEUE_RETRY_MAXIMUM));
    }
    pthread_mutex_unlock(&queue->lock);
}

void workqueue_forget(struct workqueue *queue, const char *key)
{
    struct item *item;

    pthread_mutex_lock(&queue->lock);
    item = strmap_get(&queue->items, key);
    if (item) {
        item->failures = 0;
        item_settle(queue, item);
    }
    pthread_mutex_unlock(&queue->lock);
}

static void collect_due(struct workqueue *queue)
{
    int64_t now = queue->clock->monotonic(queue->clock);

    for (struct item *item; (item = first_due(queue)) && item->due.key <= now;)
        make_ready(queue, item);
}

/* The next that is ready; NULL after a shut down. */
static struct item *wait_for_item(struct workqueue *queue)
{
    while (!queue->is_shut_down) {
        struct item *due;

        collect_due(queue);
        if (!TAILQ_EMPTY(&queue->first))
            return TAILQ_FIRST(&queue->first);
        if (!TAILQ_EMPTY(&queue->ready))
            return TAILQ_FIRST(&queue->ready);
        due = first_due(queue);
        queue->clock->wait(queue->clock, &queue->changed, &queue->lock,
                           due ? due->due.key : CLOCK_FOREVER);
    }
    return NULL;
}

char *workqueue_get(struct workqueue *queue)
{
    struct item *item;
    char *key = NULL;

    pthread_mutex_lock(&queue->lock);
    item = wait_for_item(queue);
    if (item) {
        TAILQ_REMOVE(queue_of(queue, item), item, ready);
        item->is_ready = item->is_first = false;
        item->is_out = true;
        queue->depth--;
        queue->in_flight++;
        key = str_new(item->key);
    }
    pthread_mutex_unlock(&queue->lock);
    return key;
}

void workqueue_done(struct workqueue *queue, const char *key)
{
    struct item *item;

    pthread_mutex_lock(&queue->lock);
    item = strmap_get(&queue->items, key);
    if (item && item->is_out) {
        bool is_wanted = item->is_wanted;

        item->is_out = item->is_wanted = false;
        queue->in_flight--;
        if (is_wanted) {
            queue->adds--; /* counted when it was asked for */
            make_ready(queue, item);
        }
        item_settle(queue, item);
    }
    pthread_mutex_unlock(&queue->lock);
}

void workqueue_shut_down(struct workqueue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->is_shut_down = true;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

void workqueue_stats(struct workqueue *queue, struct workqueue_stats *ret)
{
    pthread_mutex_lock(&queue->lock);
    *ret = (struct workqueue_stats){
        .adds = queue->adds,
        .retries = queue->retries,
        .depth = queue->depth,
        .in_flight = queue->in_flight,
        .delayed = queue->delayed.count,
    };
    pthread_mutex_unlock(&queue->lock);
}
