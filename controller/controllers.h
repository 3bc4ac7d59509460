/*
 * What reconciles the two kinds: for each an informer, a queue, workers.
 *
 * The informer tells the operations that live of every change, so that what is
 * superseded is cancelled at once, and puts the key into the queue.
 */
#ifndef CONTROLLER_CONTROLLERS_H
#define CONTROLLER_CONTROLLERS_H

#include "controller/connection.h"
#include "controller/reconcile/context.h"
#include "controller/serve/metrics.h"
#include "engine/base/buf.h"

struct controllers;

/* The queues, and the tables of operations that put their keys there: those of the context are set.
 * Both contexts are borrowed. memory: operations.h. */
struct controllers *controllers_new(struct reconcile_context *context, struct metrics *metrics,
                                    size_t memory);
int controllers_start(struct controllers *controllers, const struct connection *connection,
                      struct error *error);
/* Nothing is begun any more, what lives is cancelled, and nobody is at work when it returns; calls
 * in flight go on. reason: of static storage. */
void controllers_stop(struct controllers *controllers, const char *reason);
/* When no call is in flight any more. */
void controllers_free(struct controllers *controllers);
DEFINE_CLEANUP(struct controllers *, controllers_free)

/* Between start and stop. False: the first lists are not complete, or a watch has failed for longer
 * than patience (ms); appends why. */
bool controllers_are_ready(struct controllers *controllers, int64_t patience, struct buf *why_not);
/* Keys wait, and no worker has taken one for ten minutes: no worker comes back. */
bool controllers_are_stuck(struct controllers *controllers, struct buf *why);
/* Between start and stop. ms for which one of the watches has failed, and another process might do
 * better; 0: none. */
int64_t controllers_blind_for(struct controllers *controllers);
/* Sets the gauges of the queues and of operations that are parked. */
void controllers_measure(struct controllers *controllers);

#endif
