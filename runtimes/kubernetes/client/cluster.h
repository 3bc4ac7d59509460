/*
 * One cluster: the client of its API server, and the kinds that it has. The struct is copied; what
 * it points to is borrowed, and outlives all copies. Clusters are told apart by their clients.
 */
#pragma once

#include "runtimes/kubernetes/client/client.h"
#include "runtimes/kubernetes/client/discovery.h"

struct kube_cluster {
    struct kube_client *client;
    struct kube_discovery *discovery;
};
