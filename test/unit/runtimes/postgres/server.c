#include "test/unit/runtimes/postgres/server.h"

#include <libpq-fe.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "runtimes/postgres/place.h"
#include "runtimes/postgres/store.h"
#include "test/unit/suite.h"

static const char *const variables[] = {"KUSION_TEST_POSTGRES", "KUSION_TEST_PGBOUNCER"};
static struct postgres_place places[2];
static char database[64];
static pid_t owner; /* of the database; 0: there is none yet */

static char *sql_in(const char *where, const char *text)
{
    const char *admin = getenv("KUSION_TEST_POSTGRES_ADMIN");
    _cleanup_free_ char *connection = str_printf("%s dbname=%s", admin ? admin : "", where);
    PGconn *pg = PQconnectdb(connection);
    PGresult *result = PQexec(pg, text);
    ExecStatusType status = PQresultStatus(result);
    char *first = NULL;

    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        fprintf(stderr, "%s: %s\n", text, PQerrorMessage(pg));
        abort();
    }
    if (PQntuples(result) > 0)
        first = str_new(PQgetvalue(result, 0, 0));
    PQclear(result);
    PQfinish(pg);
    return first;
}

char *server_sql(const char *format, ...)
{
    _cleanup_free_ char *text = NULL;
    va_list args;

    va_start(args, format);
    text = str_vprintf(format, args);
    va_end(args);
    return sql_in(database, text);
}

static void drop_database(void)
{
    _cleanup_free_ char *sql = str_printf("DROP DATABASE IF EXISTS %s WITH (FORCE)", database);

    for (int i = 0; i < 2; i++)
        postgres_place_done(&places[i]);
    if (getpid() == owner)
        free(sql_in("postgres", sql));
}

/* Reads where the server is. */
static void find_places(void)
{
    for (int way = 0; way < 2; way++) {
        const char *address = getenv(variables[way]);
        struct error error = {0};

        if (address && !places[way].host)
            EXPECT_INT(postgres_place_parse(address, &places[way], &error), 0, error.message);
    }
}

bool server_begin(enum server_way way)
{
    _cleanup_free_ char *reason = str_printf("%s is not set (hack/stores)", variables[way]);

    find_places();
    if (!places[SERVER_DIRECTLY].host || !places[way].host) {
        skip_test(reason);
        return false;
    }
    if (owner == 0) {
        _cleanup_free_ char *sql = NULL;

        owner = getpid();
        snprintf(database, sizeof(database), "test_%ld", (long)owner);
        sql = str_printf("CREATE DATABASE %s OWNER kusion", database);
        free(sql_in("postgres", sql));
        atexit(drop_database);
    }
    free(server_sql("SET client_min_messages TO error; DROP SCHEMA IF EXISTS kusion CASCADE"));
    return true;
}

struct store *server_attach_changed(enum server_way way, const struct server_change *change)
{
    const struct postgres_place *place = &places[way];
    const char *passfile = change->passfile ? change->passfile : place->passfile;
    const char *sslrootcert = change->sslrootcert ? change->sslrootcert : place->sslrootcert;
    _cleanup_free_ char *address = str_printf(
        "postgres://%s@%s:%s/%s?sslmode=%s%s%s%s%s", change->user ? change->user : place->user,
        change->host ? change->host : place->host, change->port ? change->port : place->port,
        change->database ? change->database : database,
        change->sslmode ? change->sslmode : place->sslmode, passfile ? "&passfile=" : "",
        passfile ? passfile : "", sslrootcert ? "&sslrootcert=" : "",
        sslrootcert ? sslrootcert : "");
    struct store *store = NULL;
    struct error error = {0};

    EXPECT_INT(postgres_store_open(address, &store, &error), 0, error.message);
    return store;
}

struct store *server_attach(void *way)
{
    return server_attach_changed(*(enum server_way *)way, &(struct server_change){0});
}

const char *server_port(enum server_way way)
{
    return places[way].port;
}

const char *server_database(void)
{
    return database;
}

const char *server_folder(void)
{
    return getenv("KUSION_TEST_POSTGRES_FOLDER");
}
