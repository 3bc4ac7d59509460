/*
 * The memory of the events that were sent lately. Its size is bounded: the oldest event is
 * forgotten first. Not thread-safe.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "engine/base/hash.h"
#include "engine/base/strmap.h"

struct event_trace {
    char digest[HASH_HEX_SIZE]; /* of the event: the same events have the same digest */
    int64_t at;                 /* monotonic ms */
    TAILQ_ENTRY(event_trace) order;
};

struct event_memory {
    size_t capacity;
    struct strmap traces;
    TAILQ_HEAD(event_traces, event_trace) oldest_first;
};

void event_memory_init(struct event_memory *memory, size_t capacity);
void event_memory_done(struct event_memory *memory);

/* False: the same event was remembered less than `interval` ms before `now`. True: it is remembered
 * now. */
bool event_memory_is_new(struct event_memory *memory, const char digest[HASH_HEX_SIZE],
                         int64_t now, int64_t interval);
