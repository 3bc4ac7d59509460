/*
 * The two controllers, one for Specs and one for Releases. Each has an informer, a queue and
 * workers.
 *
 * The informer reports each change twice: to the operations in memory, so that an operation that is
 * out of date is cancelled at once, and to the queue, so that a worker reconciles the object.
 */
#pragma once

#include "controller/connection.h"
#include "controller/reconcile/records/context.h"
#include "controller/serve/metrics.h"
#include "engine/base/buf.h"

struct controllers;

/* Makes the queues and the tables of operations, and sets them in the context. The context and the
 * metrics are borrowed. memory: bytes, the budget of the operations of each kind (desk.h). */
struct controllers *controllers_new(struct reconcile_context *context, struct metrics *metrics,
                                    size_t memory);
/* Starts the informers and the workers. */
int controllers_start(struct controllers *controllers, const struct connection *connection,
                      struct error *error);
/* Stops the informers and the workers, and cancels all operations. When it returns nothing begins
 * any more; calls in flight continue. reason: in static storage. */
void controllers_stop(struct controllers *controllers, const char *reason);
/* Only when no call is in flight any more. */
void controllers_free(struct controllers *controllers);
DEFINE_CLEANUP(struct controllers *, controllers_free)

/* Sets the gauges of the queues and of the waiting operations. */
void controllers_measure(struct controllers *controllers);

/* The functions below are for the time between start and stop. */

/* False: the first lists are not complete, or a watch has failed for longer than `patience` ms;
 * appends why. */
bool controllers_are_ready(struct controllers *controllers, int64_t patience, struct buf *why_not);
/* True: keys are ready, and no worker has taken one for `patience` ms (0: never), so the workers
 * hang; appends why. */
bool controllers_are_stuck(struct controllers *controllers, int64_t patience, struct buf *why);
/* Keys that are ready to be reconciled; SIZE_MAX: the first lists are not complete. */
size_t controllers_count_ready(struct controllers *controllers);
/* arg: the controllers. key: of a Spec, or of a Release, as of quarantine.h: the watch shows it. */
bool controllers_list(void *arg, const char *key);
/* ms for which a watch has failed that may work in another process; 0: no watch has. */
int64_t controllers_blind_for(struct controllers *controllers);
