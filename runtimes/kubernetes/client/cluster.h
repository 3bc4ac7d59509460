/*
 * One cluster: how its API server is asked, and which kinds it has. A value, that is copied; both
 * are borrowed, and outlive what has the value. Another cluster is another value.
 */
#ifndef RUNTIMES_KUBERNETES_CLIENT_CLUSTER_H
#define RUNTIMES_KUBERNETES_CLIENT_CLUSTER_H

#include "runtimes/kubernetes/client/client.h"
#include "runtimes/kubernetes/client/discovery.h"

struct kube_cluster {
    struct kube_client *client;
    struct kube_discovery *discovery;
};

#endif
