/*
 * The kubeconfig of another cluster, in a Secret of the Spec's namespace: `kubeConfig.secretRef` of
 * a Spec. It is the tenant's: what it may not have is said in client/config.h, and it has to have a
 * CA.
 */
#pragma once

#include "runtimes/kubernetes/client/config.h"
#include "runtimes/kubernetes/session/session.h"

/* Reads it with the rights of the session's account, in the session's cluster. connection: of a
 * runtime_scope. ERR_INVALID KubeConfigNotFound, InvalidKubeConfig. ERR_FORBIDDEN AccessDenied. */
int kubeconfig_read(struct runtime_session *home, const struct value *connection,
                    const struct runtime_call *call, struct kube_config **ret, struct error *error);
