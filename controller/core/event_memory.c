#include "controller/core/event_memory.h"

#include "engine/base/mem.h"

void event_memory_init(struct event_memory *memory, size_t capacity)
{
    memory->capacity = capacity;
    strmap_init(&memory->traces);
    TAILQ_INIT(&memory->oldest_first);
}

static struct event_trace *take_oldest(struct event_memory *memory)
{
    struct event_trace *trace = TAILQ_FIRST(&memory->oldest_first);

    TAILQ_REMOVE(&memory->oldest_first, trace, order);
    strmap_remove(&memory->traces, trace->digest);
    return trace;
}

void event_memory_done(struct event_memory *memory)
{
    while (!TAILQ_EMPTY(&memory->oldest_first))
        free(take_oldest(memory));
    strmap_done(&memory->traces);
}

bool event_memory_is_new(struct event_memory *memory, const char digest[HASH_HEX_SIZE], int64_t now,
                         int64_t interval)
{
    struct event_trace *trace = strmap_get(&memory->traces, digest);

    if (trace && now - trace->at < interval)
        return false;
    if (trace) {
        TAILQ_REMOVE(&memory->oldest_first, trace, order);
        strmap_remove(&memory->traces, trace->digest);
    } else {
        trace =
            memory->traces.count < memory->capacity ? NEW(struct event_trace) : take_oldest(memory);
        memcpy(trace->digest, digest, HASH_HEX_SIZE);
    }
    trace->at = now;
    TAILQ_INSERT_TAIL(&memory->oldest_first, trace, order);
    strmap_put(&memory->traces, trace->digest, trace);
    return true;
}
