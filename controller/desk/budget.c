#include "controller/desk/budget.h"

#include <stdio.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/threads/locked.h"

/* What one namespace has reserved, and which of its operations wait. */
struct budget_share {
    char *name;
    size_t n_members; /* reservations that are not IDLE */
    size_t reserved;  /* bytes */
    struct heap by_ticket, by_size;
    struct heap_item oldest, smallest; /* of the budget's heaps */
};

void budget_init(struct budget *budget, const struct budget_config *config)
{
    *budget = (struct budget){.config = *config};
    pthread_mutex_init(&budget->lock, NULL);
    strmap_init(&budget->shares);
}

void budget_done(struct budget *budget)
{
    strmap_done(&budget->shares);
    heap_done(&budget->oldest);
    heap_done(&budget->smallest);
    heap_done(&budget->evictable);
    pthread_mutex_destroy(&budget->lock);
}

/* All that follows is called with the lock held, up to "Calls". */

/* ---- What fits ---- */

static bool is_too_much(const struct budget *budget, size_t bytes)
{
    return budget->config.bytes && bytes > budget->config.bytes;
}

static bool fits_share(const struct budget *budget, const struct budget_share *share, size_t bytes)
{
    return !share->reserved || !is_too_much(budget, (share->reserved + bytes) * BUDGET_SHARES);
}

static bool fits_beside_all(const struct budget *budget, size_t bytes)
{
    return !budget->reserved || !is_too_much(budget, budget->reserved + bytes);
}

/* ---- Shares ---- */

static struct reservation *oldest_of(const struct budget_share *share)
{
    struct heap_item *item = heap_first(&share->by_ticket);

    return item ? CONTAINER_OF(item, struct reservation, by_ticket) : NULL;
}

static struct reservation *smallest_of(const struct budget_share *share)
{
    struct heap_item *item = heap_first(&share->by_size);

    return item ? CONTAINER_OF(item, struct reservation, by_size) : NULL;
}

/* What the share has reserved, or which of its operations wait, has changed. */
static void place_share(struct budget *budget, struct budget_share *share)
{
    const struct reservation *oldest = oldest_of(share), *smallest = smallest_of(share);

    if (oldest && fits_share(budget, share, oldest->bytes))
        heap_set(&budget->oldest, &share->oldest, oldest->by_ticket.key);
    else
        heap_remove(&budget->oldest, &share->oldest);
    if (smallest && fits_share(budget, share, smallest->bytes))
        heap_set(&budget->smallest, &share->smallest, smallest->by_size.key);
    else
        heap_remove(&budget->smallest, &share->smallest);
}

static struct budget_share *share_of(struct budget *budget, const char *name)
{
    struct budget_share *share = strmap_get(&budget->shares, name);

    if (share)
        return share;
    share = NEW(struct budget_share);
    share->name = str_new(name);
    strmap_put(&budget->shares, share->name, share);
    return share;
}

/* ---- States ---- */

/* A reservation changes between count_out() and count_in(). */
static void count_out(struct budget *budget, struct reservation *reservation)
{
    struct budget_share *share = reservation->share;

    switch (reservation->state) {
    case RESERVATION_IDLE:
        return;
    case RESERVATION_WAITING:
        budget->n_waiting--;
        heap_remove(&share->by_ticket, &reservation->by_ticket);
        heap_remove(&share->by_size, &reservation->by_size);
        return;
    case RESERVATION_RESERVED:
        budget->reserved -= reservation->bytes;
        share->reserved -= reservation->bytes;
        return;
    case RESERVATION_PARKED:
        budget->n_parked--;
        budget->parked -= reservation->parked;
        budget->chosen -= reservation->is_chosen ? reservation->parked : 0;
        heap_remove(&budget->evictable, &reservation->by_size);
        reservation->is_chosen = false;
        return;
    }
}

static void leave_share(struct budget *budget, struct reservation *reservation)
{
    struct budget_share *share = TAKE(reservation->share);

    if (!share || --share->n_members)
        return;
    strmap_remove(&budget->shares, share->name);
    heap_done(&share->by_ticket);
    heap_done(&share->by_size);
    free(share->name);
    free(share);
}

/* By size, and of the same size by ticket (by its lower bits, which begin again at 0). */
static int64_t size_key(const struct reservation *reservation)
{
    const uint64_t bits = 20, most = INT64_MAX >> bits;
    uint64_t bytes = reservation->bytes < most ? reservation->bytes : most;

    return (int64_t)(bytes << bits | (reservation->ticket & ((1u << bits) - 1)));
}

static void count_in(struct budget *budget, struct reservation *reservation)
{
    if (reservation->state != RESERVATION_IDLE && !reservation->share) {
        reservation->share = share_of(budget, reservation->namespace_name);
        reservation->share->n_members++;
    }
    switch (reservation->state) {
    case RESERVATION_IDLE:
        break;
    case RESERVATION_WAITING:
        budget->n_waiting++;
        heap_set(&reservation->share->by_ticket, &reservation->by_ticket,
                 (int64_t)reservation->ticket);
        heap_set(&reservation->share->by_size, &reservation->by_size, size_key(reservation));
        break;
    case RESERVATION_RESERVED:
        budget->reserved += reservation->bytes;
        reservation->share->reserved += reservation->bytes;
        break;
    case RESERVATION_PARKED:
        budget->n_parked++;
        budget->parked += reservation->parked;
        heap_set(&budget->evictable, &reservation->by_size, -(int64_t)reservation->parked);
        break;
    }
    if (reservation->share)
        place_share(budget, reservation->share);
    if (reservation->state == RESERVATION_IDLE)
        leave_share(budget, reservation);
}

static void change(struct budget *budget, struct reservation *reservation,
                   enum reservation_state state, size_t bytes)
{
    count_out(budget, reservation);
    reservation->state = state;
    reservation->bytes = bytes;
    count_in(budget, reservation);
}

/* ---- Admission ---- */

static bool has_waited_enough(const struct reservation *reservation, int64_t now)
{
    return now - reservation->since >= BUDGET_PATIENCE;
}

/* It fits its share. */
static bool fits(struct budget *budget, const struct reservation *reservation)
{
    budget->looks++;
    return fits_beside_all(budget, reservation->bytes);
}

/* The smallest that may pass the older ones; NULL: none. A share whose oldest has waited enough is
 * put in its place again when that oldest is granted. */
static struct reservation *find_smallest(struct budget *budget, int64_t now)
{
    for (struct heap_item *item; (item = heap_first(&budget->smallest));) {
        struct budget_share *share = CONTAINER_OF(item, struct budget_share, smallest);
        struct reservation *smallest = smallest_of(share);

        if (!has_waited_enough(oldest_of(share), now))
            return fits(budget, smallest) ? smallest : NULL;
        heap_remove(&budget->smallest, item);
    }
    return NULL;
}

/* What is granted next; NULL: nothing that waits may begin. */
static struct reservation *find_next(struct budget *budget, int64_t now)
{
    struct heap_item *item = heap_first(&budget->oldest);
    struct reservation *oldest =
        item ? oldest_of(CONTAINER_OF(item, struct budget_share, oldest)) : NULL;

    if (oldest && fits(budget, oldest))
        return oldest;
    if (oldest && has_waited_enough(oldest, now))
        return NULL;
    return find_smallest(budget, now);
}

/* asking: it is not woken. */
static void grant(struct budget *budget, const struct reservation *asking)
{
    const struct clock_source *clock = budget->config.clock;
    struct reservation *next;
    int64_t now;

    if (!budget->n_waiting)
        return;
    now = clock->monotonic(clock);
    while ((next = find_next(budget, now))) {
        change(budget, next, RESERVATION_RESERVED, next->bytes);
        if (next != asking)
            budget->config.wake(budget->config.arg, next->key);
    }
}

/* ---- Eviction ---- */

static void choose(struct budget *budget)
{
    struct heap_item *item;

    while (is_too_much(budget, budget->reserved + budget->parked - budget->chosen) &&
           (item = heap_first(&budget->evictable))) {
        struct reservation *largest = CONTAINER_OF(item, struct reservation, by_size);

        heap_remove(&budget->evictable, item);
        largest->is_chosen = true;
        budget->chosen += largest->parked;
        budget->config.wake(budget->config.arg, largest->key);
    }
}

static void settle(struct budget *budget, const struct reservation *asking)
{
    grant(budget, asking);
    choose(budget);
}

/* ---- Calls ---- */

/* One that grows takes nobody's turn. */
static bool may_grow(struct budget *budget, const struct reservation *reservation, size_t bytes)
{
    return fits_share(budget, reservation->share, bytes) && fits_beside_all(budget, bytes);
}

bool budget_reserve(struct budget *budget, struct reservation *reservation, size_t bytes)
{
    LOCKED(&budget->lock);
    const struct clock_source *clock = budget->config.clock;
    bool is_reserved = reservation->state == RESERVATION_RESERVED;
    bool had_ticket = reservation->ticket;

    if (is_reserved && bytes <= reservation->bytes)
        return true;
    count_out(budget, reservation);
    if (!is_reserved || !may_grow(budget, reservation, bytes))
        reservation->state = RESERVATION_WAITING;
    reservation->bytes = bytes;
    if (!had_ticket) {
        reservation->ticket = ++budget->last_ticket;
        reservation->since = clock->monotonic(clock);
    }
    count_in(budget, reservation);
    settle(budget, reservation);
    if (reservation->state != RESERVATION_RESERVED)
        return false;
    if (!had_ticket)
        reservation->ticket = 0;
    return true;
}

#define MIB ((size_t)1 << 20)

struct size_text {
    char text[24];
};

/* "25Mi", rounded up, so that the next failure has the same message; less than that in bytes. */
static struct size_text size_text(size_t bytes)
{
    struct size_text size;

    if (bytes < MIB)
        snprintf(size.text, sizeof(size.text), "%zu bytes", bytes);
    else
        snprintf(size.text, sizeof(size.text), "%zuMi", bytes / MIB + (bytes % MIB != 0));
    return size;
}

static int refuse_growth(const struct budget *budget, bool is_too_large, size_t bytes,
                         struct error *error)
{
    const char *why = "Values that references take from other objects count";
    size_t all = budget->config.bytes;

    if (is_too_large)
        return err_set(error, ERR_TOO_LARGE, "TooLarge",
                       "the operation needs at least %s of memory, and may have %s, a quarter of "
                       "--operation-memory: raise that to at least %s, or refer to smaller fields. "
                       "%s",
                       size_text(bytes).text, size_text(all / BUDGET_SHARES).text,
                       size_text(bytes * BUDGET_SHARES).text, why);
    return err_set(error, ERR_UNAVAILABLE, "MemoryExceeded",
                   "the operation needs at least %s of memory, which other operations have "
                   "reserved: the next one begins when it can have so much. If that takes long, "
                   "raise --operation-memory (%s, of which one namespace has a quarter). %s",
                   size_text(bytes).text, size_text(all).text, why);
}

int budget_grow(struct budget *budget, struct reservation *reservation, size_t bytes,
                size_t tolerated, struct error *error)
{
    bool is_too_large = is_too_much(budget, bytes * BUDGET_SHARES), may;

    LOCKED(&budget->lock);
    if (reservation->state != RESERVATION_RESERVED || bytes <= reservation->bytes)
        return 0;
    count_out(budget, reservation);
    may = bytes <= tolerated || (!is_too_large && may_grow(budget, reservation, bytes));
    if (may)
        reservation->bytes = bytes;
    count_in(budget, reservation);
    settle(budget, NULL);
    return may ? 0 : refuse_growth(budget, is_too_large, bytes, error);
}

void budget_measure(struct budget *budget, struct reservation *reservation, size_t bytes)
{
    LOCKED(&budget->lock);

    reservation->ticket = 0;
    if (reservation->state == RESERVATION_RESERVED) {
        change(budget, reservation, RESERVATION_RESERVED, bytes);
        settle(budget, NULL);
    }
}

void budget_park(struct budget *budget, struct reservation *reservation, size_t bytes)
{
    LOCKED(&budget->lock);

    if (reservation->state == RESERVATION_RESERVED || reservation->state == RESERVATION_PARKED) {
        count_out(budget, reservation);
        reservation->parked = bytes;
        reservation->state = bytes ? RESERVATION_PARKED : RESERVATION_RESERVED;
        count_in(budget, reservation);
        settle(budget, NULL);
    }
}

void budget_give_back(struct budget *budget, struct reservation *reservation)
{
    LOCKED(&budget->lock);

    if (reservation->state != RESERVATION_IDLE) {
        change(budget, reservation, RESERVATION_IDLE, 0);
        settle(budget, NULL);
    }
}

void budget_drop_ticket(struct budget *budget, struct reservation *reservation)
{
    LOCKED(&budget->lock);

    if (reservation->state != RESERVATION_WAITING)
        reservation->ticket = 0;
}

bool budget_is_waiting(struct budget *budget, const struct reservation *reservation)
{
    LOCKED(&budget->lock);

    return reservation->state == RESERVATION_WAITING;
}

bool budget_is_chosen(struct budget *budget, const struct reservation *reservation)
{
    LOCKED(&budget->lock);

    return reservation->is_chosen;
}

void budget_stats(struct budget *budget, struct budget_stats *ret)
{
    LOCKED(&budget->lock);

    *ret = (struct budget_stats){budget->reserved, budget->parked, budget->n_parked,
                                 budget->n_waiting, budget->looks};
}
