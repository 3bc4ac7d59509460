/*
 * A scripted HTTP/1.1 server on loopback, for what a real API server cannot
 * be made to do. Each request that arrives takes the next step of the script,
 * which says what the request should be and how it is answered; what does not
 * fit the script is a problem, and answered with 599.
 *
 * The script is borrowed until the server is freed. Connections are closed
 * after each answer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum fake_end {
    FAKE_COMPLETE, /* the whole answer */
    FAKE_BREAK,    /* the body stops in its middle, and the connection is reset */
    FAKE_DROP,     /* no answer at all */
    FAKE_HOLD,     /* the body is sent, but never ends: until fake_server_free() */
};

struct fake_step {
    const char *expect;  /* how the request line begins: "GET /api/v1?limit=500"; NULL: anything */
    int status;
    const char *body;    /* NULL: "" */
    const char *headers; /* more of them, each ending in \r\n; NULL: none */
    enum fake_end end;
    bool repeat;         /* this step, the last, answers all that follows too */
    const char *type;    /* NULL: application/json */
    unsigned delay;      /* ms before the answer */
    void (*come)(void *arg); /* called when the request has come, by the server; NULL: nothing is */
    void *arg;
};

struct fake_server;

struct fake_server *fake_server_new(const struct fake_step *steps, size_t n_steps);
void fake_server_free(struct fake_server *server);

const char *fake_server_url(const struct fake_server *server); /* http://127.0.0.1:port */
size_t fake_server_count(struct fake_server *server);          /* of requests so far */
/* Request n, from 0: its head and body as they came; free() it. NULL: there was none. */
char *fake_server_request(struct fake_server *server, size_t n);
/* Waits until n requests have come; false: not within a minute. */
bool fake_server_wait(struct fake_server *server, size_t n);

/* What went wrong, or NULL; free() it. Steps that were never asked for count, if all should be. */
char *fake_server_problems(struct fake_server *server, bool is_finished);
