/*
 * The runtime as its sessions know it, without its table of functions.
 */
#pragma once

#include "runtimes/kubernetes/session/session.h"

/* config: what it points to outlives the runtime. */
void kube_runtime_init(struct kube_runtime *runtime, const struct kube_runtime_config *config);
/* After all sessions are closed. */
void kube_runtime_done(struct kube_runtime *runtime);
