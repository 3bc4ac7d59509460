/*
 * What the process tells of itself over HTTP: whether it is ready, and metrics.
 */
#ifndef CONTROLLER_SERVING_H
#define CONTROLLER_SERVING_H

#include "controller/controllers.h"
#include "controller/leadership.h"

/* What it is at. */
enum serving_phase {
    SERVING_CONNECTING,
    SERVING_ELECTING,    /* waits for the Lease, ready to take over */
    SERVING_RECONCILING,
    SERVING_DRAINING,
};

struct serving_config {
    const struct flags *flags;
    struct metrics *metrics;
    struct outage *outage; /* of the connection, at start */
    struct leadership *leadership;
    struct controllers *controllers; /* looked at while it reconciles; may be set up to then */
};

struct serving;

/* NULL: error says why. The config is borrowed. */
struct serving *serving_new(const struct serving_config *config, struct error *error);
void serving_free(struct serving *serving);
DEFINE_CLEANUP(struct serving *, serving_free)

/* After it returns, nothing is looked at that goes with the phase before. */
void serving_set_phase(struct serving *serving, enum serving_phase phase);

#endif
