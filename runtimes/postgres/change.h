/* Changes and reads by a connection of the pool: store.h says how a change is made. */
#ifndef RUNTIMES_POSTGRES_CHANGE_H
#define RUNTIMES_POSTGRES_CHANGE_H

#include "engine/store.h"
#include "runtimes/postgres/pool.h"

/* Begins a change, and commits it if the statement returned a row and the permit is given.
 * *ret_is_done: it returned one. */
int postgres_change(struct postgres_pool *pool, const struct store_call *call,
                    const struct postgres_statement *statement, const char *doing,
                    bool *ret_is_done, struct error *error);
/* Runs the statement and rolls it back: it waits for what is under way. *ret_is_possible: it
 * returned a row. */
int postgres_try(struct postgres_pool *pool, const struct store_call *call,
                 const struct postgres_statement *statement, const char *doing,
                 bool *ret_is_possible, struct error *error);
/* Reads. *ret: PQclear(). */
int postgres_select(struct postgres_pool *pool, const struct store_call *call,
                    const struct postgres_statement *statement, const char *doing, PGresult **ret,
                    struct error *error);

#endif
