/*
 * The tables, and their migrations.
 *
 * Migration n brings tables of version n - 1 to version n. kusion.schema_version has the version.
 * During an update the operator of before goes on for a moment: a migration must leave tables in
 * which its statements work. A migration is never changed once it was released.
 */
#ifndef RUNTIMES_POSTGRES_SCHEMA_H
#define RUNTIMES_POSTGRES_SCHEMA_H

#include "runtimes/postgres/connection.h"

/* Makes the tables, or brings them up to date; one SELECT where they are. Several processes may do
 * it at once. ERR_UNSUPPORTED StoreOfLaterVersion: they are of a later version of the operator. */
int postgres_schema_ensure(struct postgres_connection *connection,
                           const struct postgres_place *place, const struct postgres_wait *wait,
                           struct error *error);

#endif
