/* Declarations that the files of the store share: store.h. */
#pragma once

#include <libpq-fe.h>

#include "engine/store/implement.h"
#include "engine/threads/cancel.h"
#include "runtimes/postgres/place.h"

/* ---- errors.c: store.h has the codes and reasons ---- */

#define POSTGRES_SLOW "StoreSlow"

/* A connection that could not be made, or that was cut. doing: "writing kusion.document"; place:
 * "db.example:5432/kusion". */
int postgres_connection_error(const PGconn *pg, const char *doing, const char *place,
                              struct error *error);
/* An answer that is an error. What it says of rows (its detail) may be secret, and is left out. */
int postgres_result_error(const PGresult *result, const char *doing, const char *place,
                          struct error *error);
/* COMMIT was sent and not answered: *cause says why. */
int postgres_doubt_error(const struct error *cause, struct error *error);

/* What a SQLSTATE means; reason and code. Never NULL. */
struct postgres_meaning {
    const char *state; /* a prefix */
    int code;
    const char *reason;
};
const struct postgres_meaning *postgres_meaning_of(const char *state);

/* ---- connection.c ---- */

/*
 * One connection to the server, driven without blocking, so that a deadline or a cancel ends each
 * wait.
 *
 * Statements are sent in pipeline mode: several in one round trip; an error skips the rest of them.
 * All are unnamed, with parameters apart.
 */

DEFINE_CLEANUP(PGresult *, PQclear)

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

/* ---- transaction.c: of one connection ---- */

/* Begins a transaction and runs a statement in it (NULL: none), in one round trip. The server ends
 * the statement, and the transaction, when the wait's time has passed. After an error:
 * postgres_rollback(). */
int postgres_begin(struct postgres_connection *connection, const struct postgres_wait *wait,
                   const struct postgres_statement *statement, const char *doing, PGresult **ret,
                   struct error *error);
/* A cancel does not end it. StoreInDoubt: it was not answered. */
int postgres_commit(struct postgres_connection *connection, const struct postgres_wait *wait,
                    const char *doing, struct error *error);
/* What fails breaks the connection. */
void postgres_rollback(struct postgres_connection *connection, const struct postgres_wait *wait);

/* ---- pool.c ---- */

/*
 * The connections of a store, two at most, made when they are wanted and kept.
 *
 * The first one of a process brings the tables up to date. Thread-safe.
 */

#define POSTGRES_CONNECTIONS 2

struct postgres_pool;

struct postgres_pool *postgres_pool_new(const struct postgres_place *place); /* place: borrowed */
void postgres_pool_free(struct postgres_pool *pool); /* nobody has one of its connections */

/* A connection that a call has for itself. */
struct postgres_lease {
    struct postgres_connection *connection;
    bool is_reused; /* it was made by an earlier call: the server may have closed it since */
    size_t slot;
};
int postgres_lease_take(struct postgres_pool *pool, const struct postgres_wait *wait,
                        struct postgres_lease *ret, struct error *error);
/* A broken connection is closed; another one is kept. */
void postgres_lease_give(struct postgres_pool *pool, struct postgres_lease *lease);
/* Closes the connection, and makes another in its place. On failure the lease is given back. */
int postgres_lease_renew(struct postgres_pool *pool, const struct postgres_wait *wait,
                         struct postgres_lease *lease, struct error *error);

/* ---- schema.c ---- */

/*
 * The tables, and their migrations.
 *
 * Migration n brings tables of version n - 1 to version n. kusion.schema_version has the version.
 * During an update the operator of before goes on for a moment: a migration must leave tables in
 * which its statements work. A migration is never changed once it was released.
 */

/* Makes the tables, or brings them up to date; one SELECT where they are. Several processes may do
 * it at once. ERR_UNSUPPORTED StoreOfLaterVersion: they are of a later version of the operator. */
int postgres_schema_ensure(struct postgres_connection *connection,
                           const struct postgres_place *place, const struct postgres_wait *wait,
                           struct error *error);

/* ---- change.c: by a connection of the pool; store.h says how a change is made ---- */

/* Begins a change, and commits it if the statement returned a row and the permit is given.
 * *ret_is_done: it returned one. */
int postgres_change(struct postgres_pool *pool, const struct store_call *call,
                    const struct postgres_statement *statement, const char *doing,
                    bool *ret_is_done, struct error *error);
/* Runs the statement and rolls it back: it waits for what is under way. *ret_is_possible: it
 * returned a row. */
int postgres_try(struct postgres_pool *pool, const struct store_call *call,
                 const struct postgres_statement *statement, const char *doing,
                 bool *ret_is_possible, struct error *error);
/* Reads. *ret: PQclear(). */
int postgres_select(struct postgres_pool *pool, const struct store_call *call,
                    const struct postgres_statement *statement, const char *doing, PGresult **ret,
                    struct error *error);

/* ---- document_read.c: one document, open: its rows, read and checked ---- */

#define POSTGRES_UUID_SIZE 37 /* "0b0e4bd0-…", terminated */

struct postgres_store {
    struct store base;
    struct postgres_place place;
    struct postgres_pool *pool;
};

struct postgres_document {
    struct store_file base;
    struct own_name name;
    enum store_mode mode;
    bool is_in_doubt; /* the last change was: the next read waits until that is decided */
    /* The document as this handle last saw it. */
    bool exists, is_damaged;
    char version[POSTGRES_UUID_SIZE], base_version[POSTGRES_UUID_SIZE];
    size_t entry_bytes;
};

void postgres_document_forget(struct postgres_document *file);

/* Adds the four columns of the key: $1 to $4. */
void postgres_add_key(struct postgres_statement *statement, const struct document_name *name);

/* Reads the document, and what this handle has seen with it. */
int postgres_document_read(struct postgres_document *file, const struct store_call *call,
                           struct document *ret, struct error *error);

/* How messages call a document; free(). */
char *postgres_document_describe(const struct postgres_place *place,
                                 const struct document_name *name);
