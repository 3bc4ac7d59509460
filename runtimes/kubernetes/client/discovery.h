/*
 * Which kinds the API server has, under which plural, namespaced or not.
 *
 * A group and version is read when it is first needed, and kept. If it does not have a kind, and
 * the answer is older than a second, it is read again: a CustomResourceDefinition may have just
 * been created. Of the calls that need one group and version, one asks the server. The others wait
 * for it, each up to its own deadline or cancel (kube_wait). No call waits for another group.
 *
 * Of the groups and versions that the server never had, a limited number is remembered; those that
 * were needed longest ago are forgotten first. Thread-safe.
 */
#pragma once

#include "engine/threads/clock.h"
#include "runtimes/kubernetes/client/client.h"
#include "runtimes/kubernetes/client/wait.h"

struct kube_discovery;

/* Groups and versions that are remembered; more, if the server has more. */
#define KUBE_DISCOVERY_GROUPS 1000
/* Of the kinds of all of them: a server may be anybody's. Others are as if it had none of them. */
#define KUBE_DISCOVERY_BYTES        (16u << 20)
#define KUBE_TENANT_DISCOVERY_BYTES (1u << 20) /* of a server that a tenant chose */

struct kube_discovery *kube_discovery_new(struct kube_client *client,
                                          const struct clock_source *clock);
void kube_discovery_free(struct kube_discovery *discovery);
DEFINE_CLEANUP(struct kube_discovery *, kube_discovery_free)

/*
 * *ret: the kind's record, which lives as long as the discovery. wait: for requests of this call
 * and of others. ERR_NOT_FOUND KindNotServed: the server answered, and has no such kind. Any other
 * code: it is not known.
 */
int kube_discovery_find(struct kube_discovery *discovery, const char *group_version,
                        const char *kind, const struct kube_wait *wait,
                        const struct kube_kind **ret, struct error *error);

/* The same, or else the kind in another version of its group, which has the same objects. */
int kube_discovery_find_any(struct kube_discovery *discovery, const char *group_version,
                            const char *kind, const struct kube_wait *wait,
                            const struct kube_kind **ret, struct error *error);

/* The same from what is known, without a request and without waiting for one; NULL: it is not
 * known. */
const struct kube_kind *kube_discovery_known(struct kube_discovery *discovery,
                                             const char *group_version, const char *kind);

/* The name of a kind of this group and version that is like this one, from what is known; NULL:
 * none is. It lives as long as the discovery. */
const char *kube_discovery_similar(struct kube_discovery *discovery, const char *group_version,
                                   const char *kind);

/* Forgets one group and version: the next call that needs it asks the server. Does not wait. */
void kube_discovery_forget(struct kube_discovery *discovery, const char *group_version);
