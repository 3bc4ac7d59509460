/*
 * Serves /healthz, /readyz and /metrics: the answers depend on the phase of the process.
 */
#pragma once

#include "controller/backends.h"
#include "controller/controllers.h"
#include "controller/leadership.h"

enum serving_phase {
    SERVING_CONNECTING,  /* not ready */
    SERVING_ELECTING,    /* waits for the Lease: ready if its holder is known */
    SERVING_RECONCILING, /* ready if the controllers are */
    SERVING_DRAINING,    /* not ready */
};

struct serving_config {
    const struct flags *flags;
    struct metrics *metrics;
    struct outage *outage; /* why SERVING_CONNECTING is not over */
    struct leadership *leadership;
    const struct backends *backends; /* from SERVING_RECONCILING on */
    struct controllers *controllers; /* of all phases: /metrics has their gauges */
};

struct serving;

/* NULL: see error. The config is borrowed. */
struct serving *serving_new(const struct serving_config *config, struct error *error);
void serving_free(struct serving *serving);
DEFINE_CLEANUP(struct serving *, serving_free)

/* When it returns, no request uses the parts of the phase before any more: they may be freed. */
void serving_set_phase(struct serving *serving, enum serving_phase phase);
