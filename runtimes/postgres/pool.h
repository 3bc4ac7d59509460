/*
 * The connections of a store, two at most, made when they are wanted and kept.
 *
 * The first one of a process brings the tables up to date (schema.h). Thread-safe.
 */
#ifndef RUNTIMES_POSTGRES_POOL_H
#define RUNTIMES_POSTGRES_POOL_H

#include "runtimes/postgres/connection.h"

#define POSTGRES_CONNECTIONS 2

struct postgres_pool;

struct postgres_pool *postgres_pool_new(const struct postgres_place *place); /* place: borrowed */
void postgres_pool_free(struct postgres_pool *pool); /* nobody has one of its connections */

/* A connection that a call has for itself. */
struct postgres_lease {
    struct postgres_connection *connection;
    bool is_reused; /* it was made by an earlier call: the server may have closed it since */
    size_t slot;
};
int postgres_lease_take(struct postgres_pool *pool, const struct postgres_wait *wait,
                        struct postgres_lease *ret, struct error *error);
/* A broken connection is closed; another one is kept. */
void postgres_lease_give(struct postgres_pool *pool, struct postgres_lease *lease);
/* Closes the connection, and makes another in its place. On failure the lease is given back. */
int postgres_lease_renew(struct postgres_pool *pool, const struct postgres_wait *wait,
                         struct postgres_lease *lease, struct error *error);

#endif
