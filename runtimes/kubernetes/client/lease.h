/*
 * One Lease (coordination.k8s.io/v1), taken and renewed with compare-and-swap
 * on its resourceVersion: a step at a time, the loop is the caller's.
 *
 * Validity is measured on the monotonic clock from before the request that
 * renewed it was sent, so it ends here no later than others may take it. The
 * time in the object is never compared with our clock: a holder is dead when
 * its record has not changed for its duration as we saw it.
 */
#ifndef RUNTIMES_KUBERNETES_CLIENT_LEASE_H
#define RUNTIMES_KUBERNETES_CLIENT_LEASE_H

#include "engine/base/clock.h"
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

/* Takes or renews it. 0: ours. ERR_CONFLICT: another holds it. Else: unknown. */
int lease_acquire(struct lease *lease, struct cancel *cancel, struct error *error);
/* Looks at it, and takes nothing. 0: nobody has it, or the one who had it has not renewed it for its
 * duration as these looks saw it. ERR_CONFLICT LeaseHeld: it is somebody's, or may be;
 * *ret_was_renewed: it changed since the last look, so it surely is. */
int lease_look(struct lease *lease, struct cancel *cancel, bool *ret_was_renewed,
               struct error *error);
/* Gives it up, so that another need not wait. Best effort. */
void lease_release(struct lease *lease);

/* Thread-safe, without a request: is it ours at this instant? The margin (ms) is taken
 * from the end of its duration. */
bool lease_is_held(const struct lease *lease, int64_t margin);

/* The Lease's leaseTransitions: grows with each change of holder. */
int64_t lease_epoch(const struct lease *lease);
char *lease_holder(struct lease *lease); /* as last seen; free() it */

#endif
