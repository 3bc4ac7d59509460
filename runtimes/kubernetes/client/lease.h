/*
 * One Lease (coordination.k8s.io/v1), taken and renewed by compare-and-swap of
 * its resourceVersion. Each function is one step; the caller repeats them.
 *
 * The Lease's duration begins before the request that renewed it was sent, on
 * the monotonic clock. So it ends here before another process may take the
 * Lease. The times in the object are never compared with this machine's clock:
 * another holder counts as gone when the object has not changed for its
 * duration, measured here since it was first seen so.
 */
#pragma once

#include "engine/threads/clock.h"
#include "runtimes/kubernetes/client/client.h"

struct lease_config {
    const char *namespace_name, *name;
    const char *identity;     /* of this process, unique */
    int64_t duration;         /* ms: 15 s by convention */
};

struct lease;

struct lease *lease_new(struct kube_client *client, const struct clock_source *clock,
                        const struct lease_config *config);
void lease_free(struct lease *lease);
DEFINE_CLEANUP(struct lease *, lease_free)

/* Takes or renews the Lease. 0: it is ours. ERR_CONFLICT: another process holds it. Other errors:
 * it is not known. */
int lease_acquire(struct lease *lease, struct cancel *cancel, struct error *error);
/* Reads the Lease and does not take it. 0: it has no holder, or was not renewed for its duration,
 * by what these calls have seen. ERR_CONFLICT LeaseHeld: another process holds it, or may hold it;
 * *ret_was_renewed: it certainly does, as the Lease changed since the last call. */
int lease_look(struct lease *lease, struct cancel *cancel, bool *ret_was_renewed,
               struct error *error);
/* Gives the Lease up, so that another process need not wait. Best effort. */
void lease_release(struct lease *lease);

/* Whether the Lease is ours now, and for `margin` ms more. Thread-safe; sends no request. */
bool lease_is_held(const struct lease *lease, int64_t margin);

/* The Lease's leaseTransitions: grows with each change of holder, and is never less than the
 * seconds from 2024 to when the holder took it. So it grows also where etcd was set back. */
int64_t lease_epoch(const struct lease *lease);
char *lease_holder(struct lease *lease); /* as last seen; free() it */
