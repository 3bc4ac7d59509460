#include <stdio.h>

#include "engine/base/str.h"
#include "runtimes/postgres/private.h"

/* As a role, a database or a server may be set, a transaction might be another one, or not durable
 * when COMMIT is answered. */
#define BEGIN "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
#define SET_LIMITS                                                                \
    "SELECT pg_catalog.set_config('statement_timeout', $1, true),"                \
    " pg_catalog.set_config('idle_in_transaction_session_timeout', $1, true),"    \
    " pg_catalog.set_config('synchronous_commit', CASE"                           \
    " pg_catalog.current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE" \
    " pg_catalog.current_setting('synchronous_commit') END, true)"

int postgres_begin(struct postgres_connection *connection, const struct postgres_wait *wait,
                   const struct postgres_statement *statement, const char *doing, PGresult **ret,
                   struct error *error)
{
    struct postgres_statement statements[3] = {{.sql = BEGIN}, {.sql = SET_LIMITS}};
    int64_t left = postgres_wait_left(wait);
    char limit[32];

    snprintf(limit, sizeof(limit), "%lld", (long long)(left ? left : 1)); /* 0 were: no limit */
    postgres_add_text(&statements[1], limit);
    if (statement)
        statements[2] = *statement;
    return postgres_run(connection, wait, statements, statement ? 3 : 2, doing, ret, error);
}

/* A transaction that has failed is rolled back by COMMIT, which is no error then. */
static int check_commit(PGresult *result, const char *doing, struct error *error)
{
    const char *tag = PQcmdStatus(result);

    return str_equal(tag, "COMMIT")
               ? 0
               : err_set(error, ERR_INTERNAL, NULL, "%s: COMMIT was answered by %s", doing, tag);
}

int postgres_commit(struct postgres_connection *connection, const struct postgres_wait *wait,
                    const char *doing, struct error *error)
{
    const struct postgres_statement commit = {.sql = "COMMIT"};
    const struct postgres_wait uncancelled = {.deadline = wait->deadline, .wake = -1};
    PGresult *result = NULL;
    struct error problem = {0};
    int r = postgres_run(connection, &uncancelled, &commit, 1, doing, &result, &problem);

    if (r == 0)
        r = check_commit(result, doing, error);
    else if (postgres_is_broken(connection))
        r = postgres_doubt_error(&problem, error);
    else
        r = err_copy(error, &problem);
    PQclear(result);
    return r;
}

void postgres_rollback(struct postgres_connection *connection, const struct postgres_wait *wait)
{
    const struct postgres_statement rollback = {.sql = "ROLLBACK"};

    if (!postgres_is_broken(connection) &&
        postgres_run(connection, wait, &rollback, 1, "rolling back", NULL, NULL) < 0)
        postgres_break(connection);
}
