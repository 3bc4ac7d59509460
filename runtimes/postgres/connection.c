#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "runtimes/postgres/private.h"

#define BINARY 1

struct postgres_connection {
    PGconn *pg;
    const struct postgres_place *place; /* borrowed */
    bool is_broken;
};

void postgres_add_bytes(struct postgres_statement *statement, const void *bytes, size_t length)
{
    statement->values[statement->count] = length ? bytes : ""; /* NULL would be SQL's NULL */
    statement->lengths[statement->count] = (int)length;
    statement->is_binary[statement->count++] = BINARY;
}

void postgres_add_text(struct postgres_statement *statement, const char *value)
{
    statement->values[statement->count++] = value;
}

/* ---- Waiting ---- */

static void wake_up(void *arg)
{
    const struct postgres_wait *wait = arg;

    eventfd_write(wait->wake, 1);
}

void postgres_wait_init(int64_t deadline, struct cancel *cancel, struct postgres_wait *ret)
{
    *ret = (struct postgres_wait){.deadline = deadline, .cancel = cancel, .wake = -1};
    if (!cancel)
        return;
    ret->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (ret->wake >= 0)
        ret->listener = cancel_listen(cancel, wake_up, ret);
}

void postgres_wait_done(struct postgres_wait *wait)
{
    cancel_unlisten(wait->cancel, wait->listener);
    if (wait->wake >= 0)
        close(wait->wake);
}

int64_t postgres_wait_left(const struct postgres_wait *wait)
{
    int64_t left = wait->deadline - system_clock.monotonic(&system_clock);

    return left > 0 ? left : 0;
}

/* Waits until the socket is ready. */
static int wait_for(const struct postgres_connection *connection, short events,
                    const struct postgres_wait *wait, const char *doing, struct error *error)
{
    for (;;) {
        struct pollfd fds[] = {{PQsocket(connection->pg), events, 0}, {wait->wake, POLLIN, 0}};
        int64_t left = postgres_wait_left(wait);

        if (cancel_fired(wait->cancel))
            return err_set(error, ERR_CANCELLED, "Cancelled", "%s", cancel_reason(wait->cancel));
        if (left == 0)
            return err_set(error, ERR_TIMEOUT, POSTGRES_SLOW, "%s: %s: no answer in time",
                           connection->place->shown, doing);
        if (poll(fds, ARRAY_SIZE(fds), left < INT32_MAX ? (int)left : INT32_MAX) < 0 &&
            errno != EINTR)
            return err_set(error, ERR_UNAVAILABLE, NULL, "%s: %s: poll: %s",
                           connection->place->shown, doing, strerror(errno));
        if (fds[0].revents)
            return 0;
    }
}

/* ---- Connecting ---- */

static void ignore_notice(void *arg, const PGresult *result)
{
    (void)arg;
    (void)result;
}

static int await_connection(struct postgres_connection *connection,
                            const struct postgres_wait *wait, struct error *error)
{
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;

    while (status != PGRES_POLLING_OK && status != PGRES_POLLING_FAILED) {
        int r = wait_for(connection, status == PGRES_POLLING_READING ? POLLIN : POLLOUT, wait,
                         "connecting", error);

        if (r < 0)
            return r;
        status = PQconnectPoll(connection->pg);
    }
    if (status == PGRES_POLLING_FAILED || PQsetnonblocking(connection->pg, 1) < 0 ||
        !PQenterPipelineMode(connection->pg))
        return postgres_connection_error(connection->pg, "connecting", connection->place->shown,
                                         error);
    return 0;
}

int postgres_connect(const struct postgres_place *place, const struct postgres_wait *wait,
                     struct postgres_connection **ret, struct error *error)
{
    _cleanup_(str_free_secret_p) char *password = NULL;
    struct postgres_connection *connection;
    int r = postgres_place_password(place, &password, error);
    /* libpq takes what is NULL or empty from the environment (PGSSLCERT, …), or its default. A
     * standby would answer with what was true a moment ago. */
    const char *const names[] = {
        "host",
        "port",
        "dbname",
        "user",
        "password",
        "sslmode",
        "sslrootcert",
        "sslcert",
        "sslkey",
        "target_session_attrs",
        "application_name",
        "client_encoding",
        "tcp_user_timeout",
        NULL,
    };
    const char *const values[] = {
        place->host,   place->port,    place->database,    place->user,
        password,      place->sslmode, place->sslrootcert, place->sslcert,
        place->sslkey, "primary",      "kusion-operator",  "UTF8",
        "30000",       NULL,
    };

    if (r < 0)
        return r;
    connection = NEW(struct postgres_connection);
    connection->place = place;
    connection->pg = PQconnectStartParams(names, values, 0);
    if (!connection->pg)
        abort(); /* no memory */
    PQsetNoticeReceiver(connection->pg, ignore_notice, NULL);
    PQsetErrorVerbosity(connection->pg, PQERRORS_VERBOSE);
    if (PQstatus(connection->pg) == CONNECTION_BAD)
        r = postgres_connection_error(connection->pg, "connecting", place->shown, error);
    else
        r = await_connection(connection, wait, error);
    if (r < 0)
        postgres_disconnect(connection);
    else
        *ret = connection;
    return r;
}

void postgres_disconnect(struct postgres_connection *connection)
{
    if (!connection)
        return;
    PQfinish(connection->pg);
    free(connection);
}

bool postgres_is_broken(const struct postgres_connection *connection)
{
    return connection->is_broken;
}

void postgres_break(struct postgres_connection *connection)
{
    connection->is_broken = true;
}

/* Nothing is to be read of a connection that is idle, but that it was closed. */
bool postgres_is_closed(struct postgres_connection *connection)
{
    struct pollfd fd = {PQsocket(connection->pg), POLLIN, 0};

    return poll(&fd, 1, 0) > 0 &&
           (!PQconsumeInput(connection->pg) || PQstatus(connection->pg) == CONNECTION_BAD);
}

/* ---- Statements ---- */

static int connection_error(const struct postgres_connection *connection, const char *doing,
                            struct error *error)
{
    return postgres_connection_error(connection->pg, doing, connection->place->shown, error);
}

static int send_all(struct postgres_connection *connection, const struct postgres_wait *wait,
                    const struct postgres_statement *statements, size_t count, const char *doing,
                    struct error *error)
{
    int left;

    for (size_t i = 0; i < count; i++)
        if (!PQsendQueryParams(connection->pg, statements[i].sql, statements[i].count, NULL,
                               statements[i].values, statements[i].lengths, statements[i].is_binary,
                               BINARY))
            return connection_error(connection, doing, error);
    if (!PQpipelineSync(connection->pg))
        return connection_error(connection, doing, error);
    while ((left = PQflush(connection->pg)) > 0) {
        int r = wait_for(connection, POLLIN | POLLOUT, wait, doing, error);

        if (r < 0)
            return r;
        /* The server may send while it reads: it must not wait for us, and we for it. */
        if (!PQconsumeInput(connection->pg))
            return connection_error(connection, doing, error);
    }
    return left < 0 ? connection_error(connection, doing, error) : 0;
}

/* *ret: NULL after the results of each statement. */
static int next_result(struct postgres_connection *connection, const struct postgres_wait *wait,
                       const char *doing, PGresult **ret, struct error *error)
{
    while (PQisBusy(connection->pg)) {
        int r = wait_for(connection, POLLIN, wait, doing, error);

        if (r < 0)
            return r;
        if (!PQconsumeInput(connection->pg))
            return connection_error(connection, doing, error);
    }
    *ret = PQgetResult(connection->pg);
    return 0;
}

static int not_expected(const struct postgres_connection *connection, const char *doing,
                        struct error *error)
{
    return err_set(error, ERR_INTERNAL, "UnexpectedAnswer",
                   "%s: %s: the server sent what is no answer to it", connection->place->shown,
                   doing);
}

static bool is_copy(ExecStatusType status)
{
    return status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH;
}

/* Reads the results up to the pipeline's end. *ret: the last one that is no error; *ret_failed: the
 * first that is one. */
static int receive_all(struct postgres_connection *connection, const struct postgres_wait *wait,
                       const char *doing, PGresult **ret, PGresult **ret_failed,
                       struct error *error)
{
    bool was_end = false; /* of a statement's results */

    for (;;) {
        PGresult *result = NULL;
        int r = next_result(connection, wait, doing, &result, error);
        ExecStatusType status = PQresultStatus(result); /* of NULL: PGRES_FATAL_ERROR */

        if (r < 0)
            return r;
        if (status == PGRES_PIPELINE_SYNC) {
            PQclear(result);
            return 0;
        }
        if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) {
            PQclear(*ret);
            *ret = result;
        } else if (status == PGRES_FATAL_ERROR && result && !*ret_failed) {
            *ret_failed = result;
        } else {
            PQclear(result);
        }
        if (PQstatus(connection->pg) == CONNECTION_BAD)
            return *ret_failed
                       ? postgres_result_error(*ret_failed, doing, connection->place->shown, error)
                       : connection_error(connection, doing, error);
        /* libpq gives such results for ever, without waiting. */
        if (is_copy(status) || (was_end && !result))
            return not_expected(connection, doing, error);
        was_end = !result;
    }
}

static bool has_columns(const PGresult *result, const struct postgres_statement *statement)
{
    return result && (!statement->columns || PQnfields(result) == statement->columns);
}

int postgres_run(struct postgres_connection *connection, const struct postgres_wait *wait,
                 const struct postgres_statement *statements, size_t count, const char *doing,
                 PGresult **ret, struct error *error)
{
    PGresult *result = NULL, *failed = NULL;
    int r = send_all(connection, wait, statements, count, doing, error);

    if (r == 0)
        r = receive_all(connection, wait, doing, &result, &failed, error);
    if (r == 0 && !failed && !has_columns(result, &statements[count - 1]))
        r = not_expected(connection, doing, error);
    if (r < 0)
        connection->is_broken = true;
    else if (failed)
        r = postgres_result_error(failed, doing, connection->place->shown, error);
    else if (ret)
        *ret = TAKE(result);
    PQclear(result);
    PQclear(failed);
    return r;
}
