/*
 * The Secret with the kubeconfig of a Spec (`kubeConfig`): each operation reads it
 * (runtimes/kubernetes/session/kubeconfig.h), and a change of it has the Spec reconciled.
 *
 * That takes the rights of the Spec's ServiceAccount to list and to watch Secrets; without them a
 * change is seen at `interval`.
 */
#pragma once

#include "controller/reconcile/attempt.h"

/* Before an operation of the Spec, which has just been read, begins: changes count from now on. */
void cluster_secret_follow(const struct attempt *attempt);
