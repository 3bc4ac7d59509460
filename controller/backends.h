/*
 * The worlds that resources live in, the store that State is kept in, and the
 * history of Releases: which ones there are, in one place.
 */
#ifndef CONTROLLER_BACKENDS_H
#define CONTROLLER_BACKENDS_H

#include "controller/connection.h"
#include "engine/release/history.h"
#include "engine/runtime.h"
#include "engine/store.h"

#define BACKENDS_RUNTIMES 8

struct backends {
    struct runtime *runtimes[BACKENDS_RUNTIMES];
    size_t n_runtimes;
    struct store *store;
    struct release_history *history; /* of Releases: beside State */
};

/* After connection_open(), which is borrowed. ERR_INVALID: --state-backend makes no sense. */
int backends_init(struct backends *backends, const struct connection *connection,
                  struct error *error);
/* The process ends: calls in flight are to come to an end soon. */
void backends_drain(struct backends *backends);
void backends_done(struct backends *backends);

#endif
