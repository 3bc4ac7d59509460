/*
 * A budget of memory, which the operations of a table share: admission by memory reservation.
 *
 * An operation reserves what it is likely to hold before it begins. If that does not fit, the
 * operation gets a ticket and waits. Memory that becomes free is granted to operations that wait:
 * each grant reserves the bytes, then wakes the key. So nothing has to ask again.
 *
 * What fits: all reservations together within the budget, and those of one namespace within a
 * quarter of it. An operation that is larger is granted when nothing else is reserved, in its
 * namespace or at all.
 *
 * The order of admission:
 *   - The oldest comes first, by ticket. It does not count while its namespace has no quarter left
 *     for it: it holds up its own namespace only.
 *   - While the oldest does not fit, the smallest that fits may pass it.
 *   - An oldest that has waited for BUDGET_PATIENCE is not passed any more, until it is granted: the
 *     oldest of all by nothing, the oldest of a namespace by nothing of its namespace.
 *
 * A parked operation waits for the world, not for us. It holds memory, but its reservation does not
 * count: it gives way. If parked operations and reservations together exceed the budget, the largest
 * parked operations are chosen to be evicted, and their keys are woken.
 *
 * Waiting reservations are in heaps, two for each namespace (by ticket and by size), and namespaces
 * are in two heaps in turn (by their oldest and by their smallest, if it fits the quarter). Each
 * call takes O(log n), each grant and each eviction once more.
 *
 * Thread-safe. The budget's lock is taken last, after the locks of the table and of an operation.
 */
#ifndef CONTROLLER_RECONCILE_BUDGET_H
#define CONTROLLER_RECONCILE_BUDGET_H

#include <pthread.h>

#include "engine/base/clock.h"
#include "engine/base/heap.h"
#include "engine/base/strmap.h"

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
    struct strmap shares;           /* by namespace: struct budget_share; those that have something */
    size_t reserved;                /* bytes, of all that is RESERVED */
    size_t parked, chosen;          /* bytes that parked operations hold; of them, chosen ones */
    size_t n_parked, n_waiting;
    struct heap oldest, smallest;   /* shares whose oldest or smallest has a quarter left */
    struct heap evictable;          /* parked and not chosen, the largest first */
    uint64_t last_ticket;
    uint64_t looks; /* times that the size of a waiting reservation was compared, ever: for tests */
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

/* Reserves so many bytes. What is reserved already stays, and grows if need be. False: there is no
 * memory, and it waits; its key is woken when it is granted. It then is reserved, and asks again. */
bool budget_reserve(struct budget *budget, struct reservation *reservation, size_t bytes);
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

#endif
