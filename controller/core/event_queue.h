/*
 * The events that wait to be sent. Namespaces take turns, and each has its oldest event sent first.
 * If all are too many, the namespace that has the most loses its oldest: one that floods the queue
 * drops its own. Not thread-safe.
 */
#pragma once

#include <stddef.h>
#include <sys/queue.h>

#include "engine/base/strmap.h"
#include "engine/value/value.h"

struct event {
    char *namespace_name;
    const struct value *body;
    TAILQ_ENTRY(event) order;
};
void event_free(struct event *event);

struct event_queue {
    size_t capacity, count;
    struct strmap shares; /* by namespace: those that have events */
    TAILQ_HEAD(, event_share) turns;
};

void event_queue_init(struct event_queue *queue, size_t capacity);
void event_queue_done(struct event_queue *queue); /* frees the events that are left */

/* Takes the event over. Returns the event that it pushed out, which is the caller's; or NULL. */
struct event *event_queue_push(struct event_queue *queue, struct event *event);
/* The next event, which is the caller's; NULL: there is none. */
struct event *event_queue_pop(struct event_queue *queue);
