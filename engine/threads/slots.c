#include "engine/threads/slots.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"
#include "engine/threads/condition.h"
#include "engine/threads/locked.h"

#define SLOTS 4

/* The slots of one namespace. */
struct share {
    char *name;
    unsigned taken, waiting;
};

struct waiter {
    TAILQ_ENTRY(waiter) place;
    pthread_cond_t wake;
    struct slots *slots;
    struct share *share;
    bool is_granted;
};

struct slots {
    struct slots_config config;
    pthread_mutex_t lock;
    struct strmap shares;         /* by namespace: those that have a slot, or wait for one */
    TAILQ_HEAD(, waiter) waiters; /* the oldest first */
    unsigned taken, waiting;
};

struct slots *slots_new(const struct slots_config *config)
{
    struct slots *slots = NEW(struct slots);

    slots->config = *config;
    if (!slots->config.count)
        slots->config.count = SLOTS;
    if (!slots->config.max_per_namespace)
        slots->config.max_per_namespace = (slots->config.count + 1) / 2;
    pthread_mutex_init(&slots->lock, NULL);
    strmap_init(&slots->shares);
    TAILQ_INIT(&slots->waiters);
    return slots;
}

void slots_free(struct slots *slots)
{
    if (!slots)
        return;
    strmap_done(&slots->shares);
    pthread_mutex_destroy(&slots->lock);
    free(slots);
}

/* ---- With the lock ---- */

static struct share *share_of(struct slots *slots, const char *name)
{
    struct share *share = strmap_get(&slots->shares, name);

    if (share)
        return share;
    share = NEW(struct share);
    share->name = str_new(name);
    strmap_put(&slots->shares, share->name, share);
    return share;
}

static void drop_unused(struct slots *slots, struct share *share)
{
    if (share->taken || share->waiting)
        return;
    strmap_remove(&slots->shares, share->name);
    free(share->name);
    free(share);
}

static void grant(struct slots *slots)
{
    struct waiter *waiter;

    TAILQ_FOREACH(waiter, &slots->waiters, place) {
        if (slots->taken == slots->config.count)
            return;
        if (waiter->is_granted || waiter->share->taken == slots->config.max_per_namespace)
            continue;
        waiter->is_granted = true;
        waiter->share->taken++;
        slots->taken++;
        pthread_cond_signal(&waiter->wake);
    }
}

static void release(struct slots *slots, struct share *share)
{
    slots->taken--;
    share->taken--;
    grant(slots);
}

/* ---- Waiting ---- */

static void on_cancel(void *arg)
{
    struct waiter *waiter = arg;

    LOCKED(&waiter->slots->lock);
    pthread_cond_signal(&waiter->wake);
}

/* With the lock. */
static int wait_for_grant(struct waiter *waiter, int64_t deadline, struct cancel *cancel,
                          struct error *error)
{
    const struct clock_source *clock = waiter->slots->config.clock;

    while (!waiter->is_granted) {
        if (cancel_fired(cancel))
            return err_set(error, ERR_CANCELLED, "Cancelled", "%s", cancel_reason(cancel));
        if (clock->monotonic(clock) >= deadline)
            return err_set(error, ERR_TIMEOUT, "Timeout",
                           "a large object was not read in time: others were read before it");
        clock->wait(clock, &waiter->wake, &waiter->slots->lock, deadline);
    }
    return 0;
}

static int take(struct slot *slot, int64_t deadline, struct cancel *cancel, struct error *error)
{
    struct slots *slots = slot->slots;
    struct waiter waiter = {.slots = slots};
    struct cancel_listener *listener;
    int r;

    condition_init(&waiter.wake);
    listener = cancel_listen(cancel, on_cancel, &waiter);
    pthread_mutex_lock(&slots->lock);
    waiter.share = share_of(slots, slot->namespace_name);
    waiter.share->waiting++;
    slots->waiting++;
    TAILQ_INSERT_TAIL(&slots->waiters, &waiter, place);
    grant(slots);
    r = wait_for_grant(&waiter, deadline, cancel, error);
    TAILQ_REMOVE(&slots->waiters, &waiter, place);
    waiter.share->waiting--;
    slots->waiting--;
    if (r >= 0)
        slot->share = waiter.share;
    else
        drop_unused(slots, waiter.share);
    pthread_mutex_unlock(&slots->lock);
    cancel_unlisten(cancel, listener);
    pthread_cond_destroy(&waiter.wake);
    return r;
}

/* ---- Callers ---- */

int slot_take(struct slot *slot, int64_t deadline, struct cancel *cancel, struct error *error)
{
    int r = slot->is_taken || !slot->slots ? 0 : take(slot, deadline, cancel, error);

    slot->is_taken = r >= 0;
    return r;
}

void slot_give_back(struct slot *slot)
{
    struct share *share = slot->share;

    if (slot->is_taken && slot->slots) {
        pthread_mutex_lock(&slot->slots->lock);
        release(slot->slots, share);
        drop_unused(slot->slots, share);
        pthread_mutex_unlock(&slot->slots->lock);
    }
    slot->is_taken = false;
    slot->share = NULL;
}

void slots_stats(struct slots *slots, struct slots_stats *ret)
{
    LOCKED(&slots->lock);

    *ret = (struct slots_stats){slots->taken, slots->waiting};
}
