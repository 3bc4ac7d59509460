/*
 * Slots for calls whose answers take much memory. A call waits until it has one; so no more large
 * answers are in memory at once than there are slots.
 *
 * The oldest caller comes first, but a namespace has at most its part of the slots: callers of
 * other namespaces pass those of a namespace that has as many as it may.
 *
 * A caller has one slot at most, however many answers it holds. While it has a slot, it must not
 * wait for another caller.
 *
 * Thread-safe, with a lock that is taken last.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/error.h"
#include "engine/threads/cancel.h"
#include "engine/threads/clock.h"

struct slots_config {
    const struct clock_source *clock;
    unsigned count;             /* 0: 4 */
    unsigned max_per_namespace; /* 0: half of them */
};

struct slots;

struct slots *slots_new(const struct slots_config *config);
void slots_free(struct slots *slots); /* when none is taken */
DEFINE_CLEANUP(struct slots *, slots_free)

/* Of one caller, zeroed but for the first two; used by one thread at a time. */
struct slot {
    struct slots *slots;        /* NULL: without a bound; then it is taken at once */
    const char *namespace_name; /* borrowed */
    bool is_taken;
    void *share;                /* for slots.c */
};

/* Waits for a slot, unless the caller has one. ERR_CANCELLED; ERR_TIMEOUT: the deadline (ms,
 * monotonic) has passed. */
int slot_take(struct slot *slot, int64_t deadline, struct cancel *cancel, struct error *error);
/* Nothing, if the caller has none. */
void slot_give_back(struct slot *slot);

struct slots_stats {
    unsigned taken, waiting;
};
void slots_stats(struct slots *slots, struct slots_stats *ret);
