/*
 * Leader election: a thread that takes and renews a Lease (client/lease.h),
 * and the permit that every mutating request asks for.
 *
 * Leadership is had once. When it is lost the thread ends after on_stopped,
 * whose answer is to bring the process to its end: what starts after it begins
 * from State, not from what this one believed. It counts as lost when the Lease was not
 * renewed in time, when another holds it, and also when another held it in
 * between (its epoch grew), even if it came back to us.
 *
 * The permit does not wait for the thread to notice: it looks at the clock,
 * so that a process that slept, or was stopped, is fenced the instant it
 * goes on. It refuses a margin (duration - renew) before the Lease ends, which
 * is the time that a request on its way has to arrive.
 *
 * The permit is needed to make the client that the leader needs, so:
 * leader_new(), then kube_client_new() with leader_permit as its guard, then
 * leader_start(). The leader is freed before the client, but asked no more
 * after that: stop what writes first.
 */
#ifndef CONTROLLER_CORE_LEADER_H
#define CONTROLLER_CORE_LEADER_H

#include "engine/base/buf.h"
#include "engine/base/clock.h"
#include "runtimes/kubernetes/client/client.h"

#define LEADER_DURATION 15000 /* ms, where none is given */

struct leader_config {
    const struct clock_source *clock;
    const char *namespace_name, *lease_name;
    const char *identity; /* of this process, unique */
    int64_t duration;     /* ms; 0: LEADER_DURATION */
    int64_t renew;        /* ms without renewal after which it is given up; 0: two thirds of it */
    int64_t retry;        /* ms between tries and between renewals; 0: 2 s */
    /* On the leader's thread: quick, since renewal waits for them. Each once at most. */
    void (*on_started)(void *arg);
    void (*on_stopped)(void *arg); /* why was logged */
    void *arg;
};

struct leader;

struct leader *leader_new(const struct leader_config *config);
void leader_start(struct leader *leader, struct kube_client *client); /* once */
/* Stops the thread (on_stopped is not called) and gives the Lease up. */
void leader_free(struct leader *leader);
DEFINE_CLEANUP(struct leader *, leader_free)

/* 0, or ERR_FENCED. leader: a struct leader; fits kube_client_config.guard. Thread-safe. */
int leader_permit(void *leader, struct error *error);

/* False: whose the Lease is, is known (ours or another's: one that waits for it is ready to take
 * over). True: it cannot be told, and why. Thread-safe. */
bool leader_is_in_the_dark(struct leader *leader, struct buf *why);

bool leader_is(const struct leader *leader); /* what the permit would say */

/* The Lease's count of holders when we took it; -1: not the leader, or no longer. */
int64_t leader_epoch(const struct leader *leader);

#endif
