#include "runtimes/postgres/change.h"

#include <stdio.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "runtimes/postgres/errors.h"

#define OWN_DEADLINE 60000 /* ms: of a call that has none */

/* As a role, a database or a server may be set, a transaction might be another one, or not durable
 * when COMMIT is answered. */
#define BEGIN "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
#define SET_LIMITS                                                                \
    "SELECT pg_catalog.set_config('statement_timeout', $1, true),"                \
    " pg_catalog.set_config('idle_in_transaction_session_timeout', $1, true),"    \
    " pg_catalog.set_config('synchronous_commit', CASE"                           \
    " pg_catalog.current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE" \
    " pg_catalog.current_setting('synchronous_commit') END, true)"

static void wait_init(const struct store_call *call, struct postgres_wait *ret)
{
    int64_t own = system_clock.monotonic(&system_clock) + OWN_DEADLINE;

    postgres_wait_init(call->deadline ? call->deadline : own, call->cancel, ret);
}

/* ---- Transactions ---- */

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

/* ---- Calls ---- */

static void clear_result(PGresult **result)
{
    PQclear(*result);
}

static int run(const struct postgres_lease *lease, const struct postgres_wait *wait,
               const struct postgres_statement *statement, bool in_transaction, const char *doing,
               PGresult **ret, struct error *error)
{
    return in_transaction ? postgres_begin(lease->connection, wait, statement, doing, ret, error)
                          : postgres_run(lease->connection, wait, statement, 1, doing, ret, error);
}

/* The server closed a connection that was kept, and nothing can have happened. */
static bool may_try_again(const struct postgres_lease *lease, int r)
{
    return r < 0 && r != ERR_TIMEOUT && r != ERR_CANCELLED && lease->is_reused &&
           postgres_is_broken(lease->connection);
}

/* Takes a connection and runs the statement. After an error the connection is given back. */
static int begin(struct postgres_pool *pool, const struct postgres_wait *wait,
                 const struct postgres_statement *statement, bool in_transaction, const char *doing,
                 struct postgres_lease *lease, PGresult **ret, struct error *error)
{
    struct error problem = {0};
    int r = postgres_lease_take(pool, wait, lease, error);

    if (r < 0)
        return r;
    r = run(lease, wait, statement, in_transaction, doing, ret, &problem);
    if (may_try_again(lease, r)) {
        r = postgres_lease_renew(pool, wait, lease, error);
        if (r < 0)
            return r;
        err_clear(&problem);
        r = run(lease, wait, statement, in_transaction, doing, ret, &problem);
    }
    if (r < 0) {
        if (in_transaction)
            postgres_rollback(lease->connection, wait);
        postgres_lease_give(pool, lease);
        err_copy(error, &problem);
    }
    return r;
}

int postgres_change(struct postgres_pool *pool, const struct store_call *call,
                    const struct postgres_statement *statement, const char *doing,
                    bool *ret_is_done, struct error *error)
{
    _cleanup_(postgres_wait_done) struct postgres_wait wait;
    _cleanup_(clear_result) PGresult *result = NULL;
    struct postgres_lease lease;
    bool has_row;
    int r;

    wait_init(call, &wait);
    r = begin(pool, &wait, statement, true, doing, &lease, &result, error);
    if (r < 0)
        return r;
    has_row = PQntuples(result) > 0;
    if (has_row)
        r = permit_ask(call->permit, call->use, error);
    if (has_row && r == 0)
        r = postgres_commit(lease.connection, &wait, doing, error);
    else
        postgres_rollback(lease.connection, &wait);
    postgres_lease_give(pool, &lease);
    if (r == 0)
        *ret_is_done = has_row;
    return r;
}

int postgres_try(struct postgres_pool *pool, const struct store_call *call,
                 const struct postgres_statement *statement, const char *doing,
                 bool *ret_is_possible, struct error *error)
{
    _cleanup_(postgres_wait_done) struct postgres_wait wait;
    _cleanup_(clear_result) PGresult *result = NULL;
    struct postgres_lease lease;
    int r;

    wait_init(call, &wait);
    r = begin(pool, &wait, statement, true, doing, &lease, &result, error);
    if (r < 0)
        return r;
    *ret_is_possible = PQntuples(result) > 0;
    postgres_rollback(lease.connection, &wait);
    postgres_lease_give(pool, &lease);
    return 0;
}

int postgres_select(struct postgres_pool *pool, const struct store_call *call,
                    const struct postgres_statement *statement, const char *doing, PGresult **ret,
                    struct error *error)
{
    _cleanup_(postgres_wait_done) struct postgres_wait wait;
    struct postgres_lease lease;
    int r;

    wait_init(call, &wait);
    r = begin(pool, &wait, statement, false, doing, &lease, ret, error);
    if (r == 0)
        postgres_lease_give(pool, &lease);
    return r;
}
