/*
 * A real PostgreSQL, that of $KUSION_TEST_POSTGRES (hack/stores), and a database of this process in
 * it, which goes with the process. $KUSION_TEST_PGBOUNCER is the way to it by pgbouncer.
 */
#pragma once

#include <stdbool.h>

#include "engine/base/cleanup.h"
#include "engine/store.h"

enum server_way { SERVER_DIRECTLY, SERVER_BY_PGBOUNCER };

/* An empty database. False: there is no server to test with; the test is skipped. */
bool server_begin(enum server_way way);
/* The store, as a process has it that begins now. */
struct store *server_attach(void *way);
/* The same by another host or port, or with another value of a parameter; NULL: as it is. */
struct server_change {
    const char *host, *port, *database, *user, *passfile, *sslmode, *sslrootcert;
};
struct store *server_attach_changed(enum server_way way, const struct server_change *change);
const char *server_port(enum server_way way);

/* As the superuser, in this process' database. Aborts if it fails. Returns the first column of the
 * first row, or NULL; free(). */
char *server_sql(const char *format, ...) PRINTF_LIKE(1, 2);
const char *server_database(void);
/* $KUSION_TEST_POSTGRES_FOLDER, of hack/lib/stores/postgres.sh. */
const char *server_folder(void);
