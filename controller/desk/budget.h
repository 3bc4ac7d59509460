/*
 * A budget of memory that the operations of a table share: admission by memory reservation.
 *
 * An operation reserves what it is likely to hold before it begins. If that does not fit, the
 * operation gets a ticket and waits. Memory that becomes free is granted to operations that wait:
 * a grant reserves the bytes, and wakes the key. So nothing that waits has to ask now and then.
 *
 * What fits: all reservations together within the budget, and those of one namespace within a
 * quarter of it. A larger operation is granted when nothing else is reserved: in its namespace, if
 * it exceeds the quarter; at all, if it exceeds the budget.
 *
 * The order of admission:
 *   - The oldest comes first, by ticket. An operation that exceeds what its namespace has left of
 *     its quarter is passed over: it holds up its own namespace only.
 *   - While the oldest does not fit, the smallest that fits may pass it.
 *   - An oldest that has waited for BUDGET_PATIENCE is not passed any more until it is granted. The
 *     oldest of all holds up everything then; one that is passed over, its namespace.
 *
 * A parked operation waits for the world. It holds memory, but its reservation does not count: it
 * gives way. If parked operations and reservations together exceed the budget, the largest parked
 * operations are chosen to be evicted, and their keys are woken.
 *
 * Waiting reservations are in two heaps of their namespace, by ticket and by size. Namespaces in
 * turn are in two heaps of the budget, by their oldest and by their smallest reservation, if that
 * does not exceed the quarter. A call takes O(log n), and again for each grant and eviction.
 *
 * Thread-safe. The budget's lock is taken after those of the table and of an operation. With it,
 * only wake() takes another one, that of the queue.
 */
#pragma once

#include <pthread.h>

#include "engine/base/error.h"
#include "engine/base/heap.h"
#include "engine/base/strmap.h"
#include "engine/threads/clock.h"

/* ms that the oldest waits while smaller ones pass it. */
#define BUDGET_PATIENCE 30000

/* A namespace may reserve one part of the budget in so many. */
#define BUDGET_SHARES 4

struct budget_config {
    size_t bytes; /* 0: without a bound */
    const struct clock_source *clock;
    /* With the budget's lock held: posts and returns. */
    void (*wake)(void *arg, const char *key);
    void *arg;
};

struct budget {
    struct budget_config config;
    pthread_mutex_t lock;
    struct strmap shares;         /* by namespace: struct budget_share, where it is not empty */
    size_t reserved;              /* bytes, of all that is RESERVED */
    size_t parked, chosen;        /* bytes that parked operations hold; and chosen ones, of them */
    size_t n_parked, n_waiting;
    struct heap oldest, smallest; /* shares whose oldest or smallest does not exceed the quarter */
    struct heap evictable;        /* parked and not chosen, the largest first */
    uint64_t last_ticket;
    uint64_t looks; /* how often a waiting reservation was compared with the budget; for tests */
};

enum reservation_state {
    RESERVATION_IDLE,
    RESERVATION_WAITING,
    RESERVATION_RESERVED,
    RESERVATION_PARKED,
};

/* Embedded in what reserves, zeroed before its first use. Only the budget changes it. */
struct reservation {
    const char *namespace_name, *key; /* borrowed */
    struct budget_share *share;       /* NULL: IDLE */
    enum reservation_state state;
    size_t bytes;                     /* reserved, or waited for */
    size_t parked;                    /* bytes that it holds while PARKED */
    bool is_chosen;                   /* to be evicted */
    uint64_t ticket;                  /* smaller: it has waited for longer. 0: it did not wait */
    int64_t since;                    /* ms, monotonic: when it got the ticket */
    struct heap_item by_ticket;       /* of its share, while WAITING */
    struct heap_item by_size;         /* the same; of budget->evictable, while PARKED */
};

void budget_init(struct budget *budget, const struct budget_config *config);
/* All reservations are IDLE. */
void budget_done(struct budget *budget);

/* Reserves so many bytes; a reservation that exists grows to that, and does not shrink. False:
 * there is no memory, and it waits. Its key is woken when it is RESERVED. */
bool budget_reserve(struct budget *budget, struct reservation *reservation, size_t bytes);
/* The reservation grows to so many bytes, because its operation holds more than it has reserved. Up
 * to `tolerated` bytes it always does, even beyond the budget: then nothing is granted until others
 * have ended. It stays as it is after an error. ERR_TOO_LARGE TooLarge: it would be more than a
 * quarter of the budget. ERR_UNAVAILABLE MemoryExceeded: others have reserved too much. A
 * reservation that is not RESERVED does not grow, which is no error. */
int budget_grow(struct budget *budget, struct reservation *reservation, size_t bytes,
                size_t tolerated, struct error *error);
/* It is known how much it holds: its reservation becomes that, and its ticket is used up. */
void budget_measure(struct budget *budget, struct reservation *reservation, size_t bytes);
/* It is parked and holds so many bytes; 0: it runs again. */
void budget_park(struct budget *budget, struct reservation *reservation, size_t bytes);
/* It reserves nothing and waits for nothing. It keeps its ticket, for when it asks again. */
void budget_give_back(struct budget *budget, struct reservation *reservation);
/* The next time it gets a new ticket, unless it waits now. */
void budget_drop_ticket(struct budget *budget, struct reservation *reservation);

bool budget_is_waiting(struct budget *budget, const struct reservation *reservation);
bool budget_is_chosen(struct budget *budget, const struct reservation *reservation);

struct budget_stats {
    size_t reserved, parked; /* bytes */
    size_t n_parked, n_waiting;
    uint64_t looks;
};
void budget_stats(struct budget *budget, struct budget_stats *ret);
