#include <string.h>

#include "engine/base/str.h"
#include "runtimes/postgres/private.h"

#define UNREACHABLE "StoreUnreachable"
#define REFUSED     "StoreRefused"
#define NOT_FOUND   "StoreNotFound"
#define FULL        "StoreFull"
#define BUSY        "StoreBusy"
#define IN_DOUBT    "StoreInDoubt"

#define STATE_LENGTH 5

/* https://www.postgresql.org/docs/15/errcodes-appendix.html; the first that fits. */
static const struct postgres_meaning meanings[] = {
    {"08", ERR_UNAVAILABLE, UNREACHABLE},    /* the connection; pgbouncer, of nearly all */
    {"25006", ERR_UNAVAILABLE, UNREACHABLE}, /* read-only: a standby, during a failover */
    {"25P03", ERR_TIMEOUT, POSTGRES_SLOW},   /* idle in transaction */
    {"28", ERR_UNAUTHENTICATED, REFUSED},    /* user or password */
    {"3D000", ERR_UNAVAILABLE, NOT_FOUND},   /* no such database */
    {"3F000", ERR_UNAVAILABLE, NOT_FOUND},   /* no such schema */
    {"40", ERR_UNAVAILABLE, BUSY},           /* rolled back: to be tried again */
    {"42501", ERR_FORBIDDEN, REFUSED},       /* no permission */
    {"42P01", ERR_UNAVAILABLE, NOT_FOUND},   /* no such table: dropped since the process began */
    {"53300", ERR_UNAVAILABLE, BUSY},        /* too many connections */
    {"53", ERR_UNAVAILABLE, FULL},           /* disk, memory */
    {"54", ERR_TOO_LARGE, "StateTooLarge"},  /* beyond a bound of the server */
    {"55P03", ERR_TIMEOUT, POSTGRES_SLOW},   /* a lock was not had */
    {"57014", ERR_TIMEOUT, POSTGRES_SLOW},   /* statement_timeout */
    {"57", ERR_UNAVAILABLE, UNREACHABLE},    /* the server starts or stops */
    {"58", ERR_UNAVAILABLE, UNREACHABLE},    /* the server's own input and output */
    {"XX001", ERR_CORRUPT, STORE_CORRUPT},
    {"XX002", ERR_CORRUPT, STORE_CORRUPT},
    {"", ERR_INTERNAL, NULL},
};

const struct postgres_meaning *postgres_meaning_of(const char *state)
{
    const struct postgres_meaning *meaning = meanings;

    while (!str_has_prefix(state, meaning->state))
        meaning++;
    return meaning;
}

int postgres_result_error(const PGresult *result, const char *doing, const char *place,
                          struct error *error)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const struct postgres_meaning *meaning = postgres_meaning_of(state ? state : "08");

    return err_set(error, meaning->code, meaning->reason, "%s: %s: %s%s%s%s", place, doing,
                   text ? text : "the connection was cut", state ? " (" : "", state ? state : "",
                   state ? ")" : "");
}

/* ---- Connections ---- */

/* libpq gives no SQLSTATE of a connection that was refused, but writes it into the message, because
 * connection.c asks for verbose ones: "FATAL:  28P01: password …". */
static const char *state_in(const char *text)
{
    for (const char *at = strstr(text, ":  "); at; at = strstr(at + 1, ":  ")) {
        const char *state = at + 3;
        size_t length = strspn(state, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");

        if (length == STATE_LENGTH && state[length] == ':')
            return state;
    }
    return NULL;
}

/* The last line that says what failed: of several addresses, the last. *ret_length: without what
 * comes after it. */
static const char *essence_of(const char *text, size_t *ret_length)
{
    static const char mark[] = "failed: ";
    const char *found = text;

    for (const char *at = strstr(text, mark); at; at = strstr(at + 1, mark))
        found = at + strlen(mark);
    *ret_length = strcspn(found, "\n");
    return found;
}

/* Refused before the server has a SQLSTATE for it: libpq has only texts for that. */
static bool is_refused(const char *text)
{
    return strstr(text, "certificate") || strstr(text, "does not support SSL") ||
           strstr(text, "private key") || strstr(text, "no password supplied");
}

int postgres_connection_error(const PGconn *pg, const char *doing, const char *place,
                              struct error *error)
{
    const char *text = PQerrorMessage(pg), *state = state_in(text), *essence;
    const struct postgres_meaning *meaning = postgres_meaning_of(state ? state : "08");
    size_t length;

    if (!state && is_refused(text))
        meaning = postgres_meaning_of("28");
    essence = essence_of(text, &length);
    if (!length)
        return err_set(error, meaning->code, meaning->reason, "%s: %s: the connection was cut",
                       place, doing);
    return err_set(error, meaning->code, meaning->reason, "%s: %s: %.*s", place, doing, (int)length,
                   essence);
}

int postgres_doubt_error(const struct error *cause, struct error *error)
{
    return err_set(error, cause->code == ERR_TIMEOUT ? ERR_TIMEOUT : ERR_UNAVAILABLE, IN_DOUBT,
                   "%s; it was all but done, and the server did not say if it is", cause->message);
}
