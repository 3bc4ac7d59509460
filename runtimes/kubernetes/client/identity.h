/*
 * The bearer token that requests carry. One that is in a file is read again
 * when the file is another or has changed (kubelet replaces it), once a
 * minute in any case, and after kube_identity_forget(). While the file cannot
 * be read, the last token is used. Thread-safe.
 */
#ifndef RUNTIMES_KUBERNETES_CLIENT_IDENTITY_H
#define RUNTIMES_KUBERNETES_CLIENT_IDENTITY_H

#include <stdbool.h>

#include "engine/base/clock.h"
#include "runtimes/kubernetes/client/config.h"

struct kube_identity;

struct kube_identity *kube_identity_new(const struct kube_config *config,
                                        const struct clock_source *clock);
void kube_identity_free(struct kube_identity *identity);
DEFINE_CLEANUP(struct kube_identity *, kube_identity_free)

/* "Authorization: Bearer …" to free(), or NULL: no token is needed.
 * ERR_UNAUTHENTICATED: there should be one. */
int kube_identity_header(struct kube_identity *identity, char **ret, struct error *error);

void kube_identity_forget(struct kube_identity *identity);
/* Another token may be had than the one refused. */
bool kube_identity_rotates(const struct kube_identity *identity);

#endif
