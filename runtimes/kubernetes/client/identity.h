/*
 * The bearer token of requests. A token in a file is read again when the file
 * has changed (kubelet replaces it), once a minute in any case, and after
 * kube_identity_forget(). While the file cannot be read, the last token is
 * used. Thread-safe.
 */
#pragma once

#include <stdbool.h>

#include "engine/threads/clock.h"
#include "runtimes/kubernetes/client/config.h"

struct kube_identity;

struct kube_identity *kube_identity_new(const struct kube_config *config,
                                        const struct clock_source *clock);
void kube_identity_free(struct kube_identity *identity);
DEFINE_CLEANUP(struct kube_identity *, kube_identity_free)

/* "Authorization: Bearer …", to free(); NULL: no token is configured.
 * ERR_UNAUTHENTICATED TokenUnreadable: there is no usable token. */
int kube_identity_header(struct kube_identity *identity, char **ret, struct error *error);

/* The API server refused the token: the file is read again before the next request. */
void kube_identity_forget(struct kube_identity *identity);
/* True if the token is in a file, which may contain another one by now. */
bool kube_identity_rotates(const struct kube_identity *identity);
