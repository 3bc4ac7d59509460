#include "runtimes/io/clock.h"
#include "runtimes/postgres/private.h"

#define OWN_DEADLINE 60000 /* ms: of a call that has none */

static void wait_init(const struct store_call *call, struct postgres_wait *ret)
{
    int64_t own = system_clock.monotonic(&system_clock) + OWN_DEADLINE;

    postgres_wait_init(call->deadline ? call->deadline : own, call->cancel, ret);
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
    _cleanup_(PQclear_p) PGresult *result = NULL;
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
    _cleanup_(PQclear_p) PGresult *result = NULL;
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
