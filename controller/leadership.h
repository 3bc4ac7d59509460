/*
 * Whether this process may act.
 *
 * With leader election, it may while it holds the Lease (core/leader.h). Without, it may if no
 * other process holds the Lease. It does not take the Lease itself, but checks every five seconds
 * if another process took it; then the leadership is lost.
 *
 * Each change asks the permit right before it is sent. PERMIT_RECORD (recording the outcome of a
 * call that was sent before, engine/threads/permit.h) is always allowed.
 */
#pragma once

#include "controller/connection.h"
#include "engine/base/buf.h"
#include "engine/threads/permit.h"

struct leadership;

/* Before connection_open(), which needs leadership_guard. connection: borrowed. */
struct leadership *leadership_new(const struct connection *connection);
/* Releases the Lease at once: what is not sent yet is not sent any more. For a process that ends,
 * and not at the same time as leadership_free(). */
void leadership_resign(struct leadership *leadership);
/* Releases the Lease. Only when nothing writes any more. */
void leadership_free(struct leadership *leadership);
DEFINE_CLEANUP(struct leadership *, leadership_free)

const struct permit *leadership_permit(struct leadership *leadership);
/* Asks for PERMIT_ACT. Fits kube_client_config.guard; arg: the leadership. */
int leadership_guard(void *arg, struct error *error);
/* The Lease's epoch (leader_epoch()); 0: without leader election. arg: the leadership. */
int64_t leadership_epoch(void *arg);

/*
 * After connection_open(). Waits for the Lease. Without leader election: waits until it is certain
 * that no process renews the Lease, at most for the Lease's duration. ERR_CONFLICT LeaseHeld: a
 * process renews it; the message names that process. ERR_CANCELLED: stop fired.
 */
int leadership_take(struct leadership *leadership, struct cancel *stop, struct error *error);

/* Blocks until the leadership is lost (ERR_FENCED; the message says how), or stop fires (0). */
int leadership_wait(struct leadership *leadership, struct cancel *stop, struct error *error);
/* Ends leadership_wait() as if it were lost. The Lease is held until leadership_free(). why: in
 * static storage. */
void leadership_give_up(struct leadership *leadership, const char *why);

/* False: the holder of the Lease is not known; appends why. */
bool leadership_is_known(struct leadership *leadership, struct buf *why_not);
