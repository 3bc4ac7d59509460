#include <pthread.h>
#include <stdatomic.h>

#include "engine/base/mem.h"
#include "engine/threads/condition.h"
#include "engine/threads/locked.h"
#include "runtimes/io/clock.h"
#include "runtimes/postgres/private.h"

struct postgres_pool {
    const struct postgres_place *place;
    atomic_bool has_schema;
    pthread_mutex_t lock; /* of what is below */
    pthread_cond_t is_free;
    struct {
        struct postgres_connection *connection; /* NULL: none yet */
        bool is_taken;
    } slots[POSTGRES_CONNECTIONS];
};

struct postgres_pool *postgres_pool_new(const struct postgres_place *place)
{
    struct postgres_pool *pool = NEW(struct postgres_pool);

    pool->place = place;
    pthread_mutex_init(&pool->lock, NULL);
    condition_init(&pool->is_free);
    return pool;
}

void postgres_pool_free(struct postgres_pool *pool)
{
    for (size_t i = 0; i < POSTGRES_CONNECTIONS; i++)
        postgres_disconnect(pool->slots[i].connection);
    pthread_cond_destroy(&pool->is_free);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

/* ---- Slots ---- */

/* One that is free, if possible with a connection; the lock is held. False: there is none. */
static bool find_slot(const struct postgres_pool *pool, size_t *ret)
{
    bool found = false;

    for (size_t i = 0; i < POSTGRES_CONNECTIONS; i++) {
        if (pool->slots[i].is_taken || (found && !pool->slots[i].connection))
            continue;
        *ret = i;
        found = true;
    }
    return found;
}

static void wake_waiting(void *arg)
{
    struct postgres_pool *pool = arg;

    LOCKED(&pool->lock);
    pthread_cond_broadcast(&pool->is_free);
}

static int take_slot(struct postgres_pool *pool, const struct postgres_wait *wait,
                     struct postgres_lease *ret, struct error *error)
{
    struct cancel_listener *listener = cancel_listen(wait->cancel, wake_waiting, pool);
    int r = 0;

    pthread_mutex_lock(&pool->lock);
    while (r == 0 && !find_slot(pool, &ret->slot)) {
        if (cancel_fired(wait->cancel))
            r = err_set(error, ERR_CANCELLED, "Cancelled", "%s", cancel_reason(wait->cancel));
        else if (postgres_wait_left(wait) == 0)
            r = err_set(error, ERR_TIMEOUT, POSTGRES_SLOW,
                        "waiting for a connection to %s: those that there are were busy",
                        pool->place->shown);
        else
            system_clock.wait(&system_clock, &pool->is_free, &pool->lock, wait->deadline);
    }
    if (r == 0) {
        ret->connection = pool->slots[ret->slot].connection;
        pool->slots[ret->slot].connection = NULL;
        pool->slots[ret->slot].is_taken = true;
    }
    pthread_mutex_unlock(&pool->lock);
    cancel_unlisten(wait->cancel, listener);
    return r;
}

/* ---- Leases ---- */

static int prepare(struct postgres_pool *pool, const struct postgres_wait *wait,
                   struct postgres_lease *lease, struct error *error)
{
    int r = 0;

    if (!lease->connection)
        r = postgres_connect(pool->place, wait, &lease->connection, error);
    if (r == 0 && !atomic_load(&pool->has_schema)) {
        r = postgres_schema_ensure(lease->connection, pool->place, wait, error);
        atomic_store(&pool->has_schema, r == 0);
    }
    if (r < 0)
        postgres_lease_give(pool, lease);
    return r;
}

int postgres_lease_take(struct postgres_pool *pool, const struct postgres_wait *wait,
                        struct postgres_lease *ret, struct error *error)
{
    int r = take_slot(pool, wait, ret, error);

    if (r < 0)
        return r;
    if (ret->connection && postgres_is_closed(ret->connection)) {
        postgres_disconnect(ret->connection);
        ret->connection = NULL;
    }
    ret->is_reused = ret->connection != NULL;
    return prepare(pool, wait, ret, error);
}

int postgres_lease_renew(struct postgres_pool *pool, const struct postgres_wait *wait,
                         struct postgres_lease *lease, struct error *error)
{
    postgres_disconnect(lease->connection);
    lease->connection = NULL;
    lease->is_reused = false;
    return prepare(pool, wait, lease, error);
}

void postgres_lease_give(struct postgres_pool *pool, struct postgres_lease *lease)
{
    struct postgres_connection *connection = TAKE(lease->connection);

    if (connection && postgres_is_broken(connection)) {
        postgres_disconnect(connection);
        connection = NULL;
    }
    LOCKED(&pool->lock);
    pool->slots[lease->slot].connection = connection;
    pool->slots[lease->slot].is_taken = false;
    pthread_cond_signal(&pool->is_free);
}
