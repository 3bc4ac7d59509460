/* Transactions of one connection. */
#ifndef RUNTIMES_POSTGRES_TRANSACTION_H
#define RUNTIMES_POSTGRES_TRANSACTION_H

#include "runtimes/postgres/connection.h"

/* Begins a transaction and runs a statement in it (NULL: none), in one round trip. The server ends
 * the statement, and the transaction, when the wait's time has passed. After an error:
 * postgres_rollback(). */
int postgres_begin(struct postgres_connection *connection, const struct postgres_wait *wait,
                   const struct postgres_statement *statement, const char *doing, PGresult **ret,
                   struct error *error);
/* A cancel does not end it. StoreInDoubt: it was not answered. */
int postgres_commit(struct postgres_connection *connection, const struct postgres_wait *wait,
                    const char *doing, struct error *error);
/* What fails breaks the connection. */
void postgres_rollback(struct postgres_connection *connection, const struct postgres_wait *wait);

#endif
