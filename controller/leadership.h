/*
 * Whether this process may act: by the Lease, or without one where none is
 * asked for and nobody else has it. Nobody: that is looked at all the time, and
 * who takes the Lease later has it, as if it had been lost to them. (To take
 * it as well would be a leader election.)
 *
 * What acts asks the permit at the last moment. What is only told, of calls
 * that were begun before, is always allowed (engine/base/permit.h).
 */
#ifndef CONTROLLER_LEADERSHIP_H
#define CONTROLLER_LEADERSHIP_H

#include "controller/connection.h"
#include "engine/base/buf.h"
#include "engine/base/permit.h"

struct leadership;

/* Before connection_open(), which takes its guard; borrowed. */
struct leadership *leadership_new(const struct connection *connection);
/* Gives the Lease up: when nothing writes any more. */
void leadership_free(struct leadership *leadership);
DEFINE_CLEANUP(struct leadership *, leadership_free)

const struct permit *leadership_permit(struct leadership *leadership);
/* PERMIT_ACT, as kube_client_config.guard. arg: the leadership. */
int leadership_guard(void *arg, struct error *error);
/* Of the Lease; 0: there is none. arg: the leadership. */
int64_t leadership_epoch(void *arg);

/*
 * Waits for the Lease; after connection_open(). Without one: makes sure that it is nobody else's,
 * for which one that was left behind is watched until it has run out. ERR_CONFLICT LeaseHeld: it is
 * somebody's, says whose. ERR_CANCELLED: stop fired.
 */
int leadership_take(struct leadership *leadership, struct cancel *stop, struct error *error);

/* Blocks until it is lost (ERR_FENCED, and how), or stop fired (0). */
int leadership_wait(struct leadership *leadership, struct cancel *stop, struct error *error);
/* It is to be lost, though the Lease is held until leadership_free(). why: of static storage. */
void leadership_give_up(struct leadership *leadership, const char *why);

/* False: whose the Lease is, is not known, and why not. */
bool leadership_is_known(struct leadership *leadership, struct buf *why_not);

#endif
