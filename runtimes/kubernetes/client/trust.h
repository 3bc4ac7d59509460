/*
 * The CA that the API server is verified by, where it is kept in a file: a
 * cluster's CA is rotated, and the file replaced.
 *
 * The file is read again once a minute, and at once after a server that could
 * not be verified. What is no PEM text (a file that is being written) leaves
 * the CA as it was. Thread-safe.
 */
#ifndef RUNTIMES_KUBERNETES_CLIENT_TRUST_H
#define RUNTIMES_KUBERNETES_CLIENT_TRUST_H

#include "engine/base/clock.h"
#include "runtimes/kubernetes/client/config.h"

struct kube_trust;

struct kube_trust *kube_trust_new(const struct kube_config *config,
                                  const struct clock_source *clock);
void kube_trust_free(struct kube_trust *trust);

/* Counts the CAs that there were, from 0. */
unsigned kube_trust_version(struct kube_trust *trust);
/* Looks whether the file has another CA, where that is due, or now. Gives it once to `take`, with
 * the lock held, so that the last one that was read is the last that is taken. */
void kube_trust_look(struct kube_trust *trust, bool now, void (*take)(void *arg, const char *pem),
                     void *arg);

#endif
