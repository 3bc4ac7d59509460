/*
 * Which kinds the server knows, under which plural, namespaced or not.
 *
 * Read by group and version on first use and kept; a kind that is not found
 * in a group and version that was read more than a moment ago makes one
 * refresh (a CRD may just have come), at most one a second for each. Groups and versions that the
 * server never had are remembered up to a number: then those go that were asked for longest ago.
 * Thread-safe.
 */
#ifndef RUNTIMES_KUBERNETES_CLIENT_DISCOVERY_H
#define RUNTIMES_KUBERNETES_CLIENT_DISCOVERY_H

#include "engine/base/clock.h"
#include "runtimes/kubernetes/client/client.h"
#include "runtimes/kubernetes/client/wait.h"

struct kube_discovery;

/* Groups and versions that are remembered; more, if the server has more. */
#define KUBE_DISCOVERY_GROUPS 1000


struct kube_discovery *kube_discovery_new(struct kube_client *client, const struct clock_source *clock);
void kube_discovery_free(struct kube_discovery *discovery);
DEFINE_CLEANUP(struct kube_discovery *, kube_discovery_free)

/*
 * wait: for what has to be asked. The kind's record, which lives as long as the discovery. ERR_NOT_FOUND with
 * reason KindNotServed: the server answered, and has no such kind. Any other
 * code: unknown.
 */
int kube_discovery_find(struct kube_discovery *discovery, const char *group_version,
                        const char *kind, const struct kube_wait *wait, const struct kube_kind **ret,
                        struct error *error);

/* The same, or else the kind in another version of its group: a door to the same objects. */
int kube_discovery_find_any(struct kube_discovery *discovery, const char *group_version,
                            const char *kind, const struct kube_wait *wait, const struct kube_kind **ret,
                            struct error *error);

/* What is known of it without asking the server, and without waiting for what asks; NULL: nothing. */
const struct kube_kind *kube_discovery_known(struct kube_discovery *discovery,
                                             const char *group_version, const char *kind);

/* Forgets one group and version: the next question asks the server. */
void kube_discovery_forget(struct kube_discovery *discovery, const char *group_version);

#endif
