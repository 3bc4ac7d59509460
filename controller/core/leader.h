/*
 * Leader election: a thread takes and renews a Lease (client/lease.h), and each request that
 * changes something asks the permit right before it is sent.
 *
 * A process leads at most once. When it loses the Lease, on_stopped is called and the thread ends;
 * the process must end, too. The Lease is lost
 *
 *   - if it was not renewed for `renew` ms,
 *   - if another process holds it, or
 *   - if another process held it in between, even if this one has it again: its epoch is higher
 *     then.
 *
 * The permit does not wait until the thread notices: it compares the clock with the time of the
 * last renewal. So a process that was suspended is fenced at once when it continues. The permit
 * ends (duration - renew) ms before the Lease does; this is the time that a request has to arrive.
 *
 * The client needs the permit, and the leader needs the client. So the order is: leader_new(),
 * kube_client_new() with leader_permit as its guard, leader_start(). At the end: stop everything
 * that writes, then leader_free(), then free the client.
 */
#pragma once

#include "engine/base/buf.h"
#include "engine/threads/clock.h"
#include "runtimes/kubernetes/client/client.h"

#define LEADER_DURATION 15000 /* ms, the default */

struct leader_config {
    const struct clock_source *clock;
    const char *namespace_name, *lease_name;
    const char *identity; /* of this process, unique */
    int64_t duration;     /* ms, of the Lease; 0: LEADER_DURATION */
    int64_t renew;        /* ms without renewal after which it is lost; 0: two thirds of duration */
    int64_t retry;        /* ms between attempts to take or renew it; 0: 2000 */
    /* Each is called at most once, on the leader's thread: they must be quick, because the renewal
     * waits for them. */
    void (*on_started)(void *arg);
    void (*on_stopped)(void *arg); /* the cause is in the log */
    void *arg;
};

struct leader;

/* config: copied. */
struct leader *leader_new(const struct leader_config *config);
void leader_start(struct leader *leader, struct kube_client *client); /* once */
/* Stops the thread, without on_stopped, and releases the Lease; not at the same time as
 * leader_free(), which does the same. */
void leader_resign(struct leader *leader);
void leader_free(struct leader *leader);
DEFINE_CLEANUP(struct leader *, leader_free)

/* All functions below are thread-safe. */

/* 0: this process leads; or ERR_FENCED. leader: a struct leader. Fits kube_client_config.guard. */
int leader_permit(void *leader, struct error *error);
/* Whether leader_permit() would return 0. */
bool leader_is(const struct leader *leader);
/* The Lease's count of transitions when this process took it; -1: it does not lead. */
int64_t leader_epoch(const struct leader *leader);

/* True: the Lease cannot be read or written, so its holder is not known; appends why. A process
 * that waits for another holder is not in the dark: it is ready to take over. */
bool leader_is_in_the_dark(struct leader *leader, struct buf *why);
