/*
 * What the Kubernetes runtime is told when it is made.
 */
#pragma once

#include <stdbool.h>

#include "engine/threads/clock.h"
#include "runtimes/kubernetes/client/cluster.h"
#include "runtimes/kubernetes/session/clusters.h"

struct kube_runtime_config {
    struct kube_cluster cluster;
    const struct clock_source *clock;
    bool act_as_controller; /* Specs without a service account are allowed: the controller acts as
                               itself */
    struct clusters_config foreign; /* of clusters that tenants choose */
    const char *health_namespace;   /* whose ConfigMaps have health checks of the cluster: the
                              operator's; NULL: there are none */
    int64_t effect_time; /* ms after it was sent that a request may still take effect: the API
                            server's --request-timeout; 0: EFFECT_TIME (record.h) */
};

/* The command that sets KUBE_RECONCILE_ANNOTATION; free(). NULL: the names are not to be typed. */
char *kube_reconcile_command(const char *namespace_name, const char *name);
