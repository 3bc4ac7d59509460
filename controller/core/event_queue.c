#include "controller/core/event_queue.h"

#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"

/* The events of one namespace. */
struct event_share {
    char *name;
    size_t count;
    TAILQ_HEAD(, event) oldest_first;
    TAILQ_ENTRY(event_share) turn;
};

void event_free(struct event *event)
{
    if (!event)
        return;
    free(event->namespace_name);
    value_unref(event->body);
    free(event);
}

void event_queue_init(struct event_queue *queue, size_t capacity)
{
    *queue = (struct event_queue){.capacity = capacity};
    strmap_init(&queue->shares);
    TAILQ_INIT(&queue->turns);
}

void event_queue_done(struct event_queue *queue)
{
    for (struct event *event; (event = event_queue_pop(queue));)
        event_free(event);
    strmap_done(&queue->shares);
}

static struct event_share *share_of(struct event_queue *queue, const char *name)
{
    struct event_share *share = strmap_get(&queue->shares, name);

    if (share)
        return share;
    share = NEW(struct event_share);
    share->name = str_new(name);
    TAILQ_INIT(&share->oldest_first);
    TAILQ_INSERT_TAIL(&queue->turns, share, turn);
    strmap_put(&queue->shares, share->name, share);
    return share;
}

static struct event *pop_of(struct event_queue *queue, struct event_share *share)
{
    struct event *event = TAILQ_FIRST(&share->oldest_first);

    TAILQ_REMOVE(&share->oldest_first, event, order);
    queue->count--;
    if (--share->count)
        return event;
    TAILQ_REMOVE(&queue->turns, share, turn);
    strmap_remove(&queue->shares, share->name);
    free(share->name);
    free(share);
    return event;
}

static struct event_share *largest(const struct event_queue *queue)
{
    struct event_share *share, *most = TAILQ_FIRST(&queue->turns);

    TAILQ_FOREACH(share, &queue->turns, turn)
        if (share->count > most->count)
            most = share;
    return most;
}

struct event *event_queue_push(struct event_queue *queue, struct event *event)
{
    struct event_share *share = share_of(queue, event->namespace_name);

    TAILQ_INSERT_TAIL(&share->oldest_first, event, order);
    share->count++;
    return ++queue->count > queue->capacity ? pop_of(queue, largest(queue)) : NULL;
}

struct event *event_queue_pop(struct event_queue *queue)
{
    struct event_share *share = TAILQ_FIRST(&queue->turns);

    if (!share)
        return NULL;
    TAILQ_REMOVE(&queue->turns, share, turn);
    TAILQ_INSERT_TAIL(&queue->turns, share, turn);
    return pop_of(queue, share);
}
