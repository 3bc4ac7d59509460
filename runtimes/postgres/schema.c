#include <arpa/inet.h>
#include <string.h>

#include "runtimes/postgres/private.h"

#define DOING "preparing the tables"

/* A number of our own: pg_advisory_xact_lock() is for the whole database. */
#define TAKE_LOCK "SELECT pg_catalog.pg_advisory_xact_lock(7238946152093)"

/* EXTERNAL: documents are compressed, or sealed, already. Collation C: names are compared as bytes,
 * and an index is not spoiled when the system's C library changes its order. */
static const char *const first[] = {
    "CREATE TABLE kusion.document ("
    " kind text COLLATE \"C\" NOT NULL,"
    " namespace text COLLATE \"C\" NOT NULL,"
    " name text COLLATE \"C\" NOT NULL,"
    " item text COLLATE \"C\" NOT NULL," /* '': none */
    " version uuid NOT NULL,"            /* drawn by each change */
    " base uuid NOT NULL,"               /* drawn by each write; its entries name it */
    " entries integer NOT NULL,"
    " open bytea NOT NULL,"
    " secret bytea NOT NULL,"
    " open_sha256 bytea NOT NULL,"
    " secret_sha256 bytea NOT NULL,"
    " written timestamp with time zone NOT NULL,"
    " PRIMARY KEY (kind, namespace, name, item))",
    "ALTER TABLE kusion.document ALTER open SET STORAGE EXTERNAL, ALTER secret SET STORAGE "
    "EXTERNAL",
    "CREATE TABLE kusion.entry ("
    " base uuid NOT NULL,"
    " number integer NOT NULL," /* from 1 */
    " bytes bytea NOT NULL,"
    " bytes_sha256 bytea NOT NULL,"
    " PRIMARY KEY (base, number))",
    "ALTER TABLE kusion.entry ALTER bytes SET STORAGE EXTERNAL",
    /* What is no JSON, because it is sealed or damaged, must not make the whole view fail. */
    "CREATE FUNCTION kusion.json(bytea) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE STRICT AS $$"
    " BEGIN RETURN pg_catalog.convert_from($1, 'UTF8')::pg_catalog.jsonb;"
    " EXCEPTION WHEN others THEN RETURN NULL; END $$",
    "CREATE VIEW kusion.releases AS"
    " SELECT namespace, name AS spec, item AS revision, json ->> 'operation' AS operation,"
    " json #>> '{status,phase}' AS phase, written, json AS release"
    " FROM (SELECT *, kusion.json(open) AS json FROM kusion.document WHERE kind = 'release')"
    " AS document",
    NULL,
};
static const char *const *const migrations[] = {first};
#define VERSION ((int32_t)ARRAY_SIZE(migrations))

static int run(struct postgres_connection *connection, const struct postgres_wait *wait,
               const char *sql, PGresult **ret, struct error *error)
{
    return postgres_run(connection, wait, &(struct postgres_statement){.sql = sql}, 1, DOING, ret,
                        error);
}

/* *ret: the version of the tables; 0: there are none. */
static int read_version(struct postgres_connection *connection, const struct postgres_wait *wait,
                        int32_t *ret, struct error *error)
{
    _cleanup_(PQclear_p) PGresult *found = NULL, *result = NULL;
    int r = run(connection, wait,
                "SELECT 1 FROM pg_catalog.pg_class c, pg_catalog.pg_namespace n"
                " WHERE c.relnamespace = n.oid AND n.nspname = 'kusion'"
                " AND c.relname = 'schema_version'",
                &found, error);

    *ret = 0;
    if (r < 0 || PQntuples(found) == 0)
        return r;
    r = run(connection, wait, "SELECT version FROM kusion.schema_version", &result, error);
    if (r == 0 && PQgetlength(result, 0, 0) == sizeof(uint32_t)) {
        uint32_t version;

        memcpy(&version, PQgetvalue(result, 0, 0), sizeof(version));
        *ret = (int32_t)ntohl(version);
    }
    return r;
}

/* Within a transaction. Who has only what is needed to use the schema need not be able to make it.
 */
static int make_schema(struct postgres_connection *connection, const struct postgres_wait *wait,
                       struct error *error)
{
    _cleanup_(PQclear_p) PGresult *found = NULL;
    int r = run(connection, wait, "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = 'kusion'",
                &found, error);

    if (r == 0 && PQntuples(found) == 0)
        r = run(connection, wait, "CREATE SCHEMA kusion", NULL, error);
    if (r == 0)
        r = run(connection, wait, "CREATE TABLE kusion.schema_version (version integer NOT NULL)",
                NULL, error);
    if (r == 0)
        r = run(connection, wait, "INSERT INTO kusion.schema_version VALUES (0)", NULL, error);
    return r;
}

static int migrate_from(struct postgres_connection *connection, const struct postgres_wait *wait,
                        int32_t version, struct error *error)
{
    int r = version == 0 ? make_schema(connection, wait, error) : 0;

    for (; r == 0 && version < VERSION; version++) {
        for (const char *const *sql = migrations[version]; r == 0 && *sql; sql++)
            r = run(connection, wait, *sql, NULL, error);
        if (r == 0)
            r = run(connection, wait, "UPDATE kusion.schema_version SET version = version + 1",
                    NULL, error);
    }
    return r;
}

/* Another process may have migrated while this one waited for the lock. */
static int migrate(struct postgres_connection *connection, const struct postgres_wait *wait,
                   struct error *error)
{
    int32_t version = 0;
    int r = postgres_begin(connection, wait, NULL, DOING, NULL, error);

    if (r == 0)
        r = run(connection, wait, TAKE_LOCK, NULL, error);
    if (r == 0)
        r = read_version(connection, wait, &version, error);
    if (r == 0 && version < VERSION)
        r = migrate_from(connection, wait, version, error);
    if (r == 0)
        return postgres_commit(connection, wait, DOING, error);
    postgres_rollback(connection, wait);
    return r;
}

int postgres_schema_ensure(struct postgres_connection *connection,
                           const struct postgres_place *place, const struct postgres_wait *wait,
                           struct error *error)
{
    int32_t version;
    int r = read_version(connection, wait, &version, error);

    if (r == 0 && version < VERSION)
        r = migrate(connection, wait, error);
    if (r == 0 && version > VERSION)
        r = err_set(error, ERR_UNSUPPORTED, "StoreOfLaterVersion",
                    "the tables of %s are of version %d, which a later operator made; this one "
                    "knows version %d and those before it",
                    place->shown, (int)version, (int)VERSION);
    return r;
}
