/*
 * The runtimes, the store of State and the history of Releases that the flags select. The table of
 * runtimes is in backends.c, that of stores in stores.c.
 */
#pragma once

#include "controller/connection.h"
#include "controller/http.h"
#include "controller/secrets.h"
#include "controller/stores.h"
#include "controller/terraform.h"
#include "engine/release/history.h"
#include "engine/runtime.h"
#include "engine/store.h"
#include "engine/store/gate.h"

#define BACKENDS_RUNTIMES 8

struct backends {
    struct terraform_settings terraform;
    struct http_settings http;
    struct secret_settings secrets;
    struct runtime *runtimes[BACKENDS_RUNTIMES];
    size_t n_runtimes;
    struct opened_store opened;
    struct store_gate *gate; /* shut, until somebody has looked at the store (controller/store) */
    struct store *store;     /* around the opened one: it asks the gate */
    struct release_history *history;
};

/* After connection_open(). connection: borrowed. ERR_INVALID: a flag of them is
 * invalid. */
int backends_init(struct backends *backends, const struct connection *connection,
                  struct error *error);
/* For the shutdown: tells the runtimes that calls in flight are to end soon. */
void backends_drain(struct backends *backends);
void backends_done(struct backends *backends);
