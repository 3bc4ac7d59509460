/*
 * The CA that verifies the API server, if it is in a file. When a cluster's CA
 * is rotated, the file is replaced.
 *
 * The file is read again once a minute, and at once when a server could not be
 * verified. A file that is not PEM text (it may be half written) is ignored.
 * Thread-safe.
 */
#ifndef RUNTIMES_KUBERNETES_CLIENT_TRUST_H
#define RUNTIMES_KUBERNETES_CLIENT_TRUST_H

#include "engine/base/clock.h"
#include "runtimes/kubernetes/client/config.h"

struct kube_trust;

struct kube_trust *kube_trust_new(const struct kube_config *config,
                                  const struct clock_source *clock);
void kube_trust_free(struct kube_trust *trust);

/* The number of times that the CA has changed. */
unsigned kube_trust_version(struct kube_trust *trust);
/* Reads the file if a minute has passed; now: in any case. Another CA is given to `take`, once,
 * with the lock held: so the CA that was read last is also taken last. */
void kube_trust_look(struct kube_trust *trust, bool now, void (*take)(void *arg, const char *pem),
                     void *arg);

#endif
