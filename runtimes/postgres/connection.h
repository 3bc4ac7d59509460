/*
 * One connection to the server, driven without blocking, so that a deadline or a cancel ends each
 * wait.
 *
 * Statements are sent in pipeline mode: several in one round trip; an error skips the rest of them.
 * All are unnamed, with parameters apart.
 */
#ifndef RUNTIMES_POSTGRES_CONNECTION_H
#define RUNTIMES_POSTGRES_CONNECTION_H

#include <libpq-fe.h>

#include "engine/threads/cancel.h"
#include "runtimes/postgres/place.h"

#define POSTGRES_MAX_PARAMETERS 12

struct postgres_statement {
    const char *sql;
    int columns; /* of its result; 0: none is read */
    int count;   /* of parameters */
    const char *values[POSTGRES_MAX_PARAMETERS];
    int lengths[POSTGRES_MAX_PARAMETERS];
    int is_binary[POSTGRES_MAX_PARAMETERS]; /* 0: text, terminated */
};
void postgres_add_text(struct postgres_statement *statement, const char *value); /* borrowed */
void postgres_add_bytes(struct postgres_statement *statement, const void *bytes, size_t length);

/* How long a call may wait. */
struct postgres_wait {
    int64_t deadline; /* ms, monotonic */
    struct cancel *cancel;
    struct cancel_listener *listener;
    int wake; /* an eventfd, readable when the cancel fires; -1: there is none */
};
void postgres_wait_init(int64_t deadline, struct cancel *cancel, struct postgres_wait *ret);
void postgres_wait_done(struct postgres_wait *wait);
int64_t postgres_wait_left(const struct postgres_wait *wait); /* ms; 0: the deadline has passed */

struct postgres_connection;

int postgres_connect(const struct postgres_place *place, const struct postgres_wait *wait,
                     struct postgres_connection **ret, struct error *error);
void postgres_disconnect(struct postgres_connection *connection); /* accepts NULL */

/* Runs statements. *ret: the result of the last one, in binary format; PQclear(). ret may be NULL.
 * doing: for the message of an error. ERR_INTERNAL UnexpectedAnswer: the answer is none to them. */
int postgres_run(struct postgres_connection *connection, const struct postgres_wait *wait,
                 const struct postgres_statement *statements, size_t count, const char *doing,
                 PGresult **ret, struct error *error);

/* It cannot be used any more: an answer did not come, so nobody knows what the server did. */
bool postgres_is_broken(const struct postgres_connection *connection);
void postgres_break(struct postgres_connection *connection);
/* The server has closed it, as far as that can be seen without asking it. */
bool postgres_is_closed(struct postgres_connection *connection);

#endif
