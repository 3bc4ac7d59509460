/*
 * Is a live Kubernetes object as its spec wants it? The rules of kstatus
 * (sigs.k8s.io/cli-utils), as a table by kind.
 *
 * First, for all kinds: a deletionTimestamp means TERMINATING, an
 * observedGeneration behind the generation PROGRESSING. Then the kind's rule
 * (Deployment, StatefulSet, DaemonSet, ReplicaSet, Pod, Job, CronJob, Service,
 * PersistentVolumeClaim, PodDisruptionBudget, CustomResourceDefinition, Namespace,
 * Ingress, HorizontalPodAutoscaler …). Else conditions: Reconciling=True, Stalled=True,
 * Ready. An object without any of these is CURRENT once it exists.
 */
#ifndef ENGINE_HEALTH_HEALTH_H
#define ENGINE_HEALTH_HEALTH_H

#include <stdbool.h>

#include "engine/base/value.h"

enum health_status {
    HEALTH_UNKNOWN,     /* could not be looked at */
    HEALTH_PROGRESSING,
    HEALTH_CURRENT,
    HEALTH_FAILED,      /* waiting will probably not mend it */
    HEALTH_TERMINATING,
};

struct health {
    enum health_status status;
    bool may_wait_for_consumer; /* PROGRESSING, perhaps until something is made that uses it */
    char message[256]; /* "Available: 1/3 replicas"; one line, nothing of the object's data */
};

void health_of_object(const struct value *object, struct health *ret);

const char *health_status_name(enum health_status status); /* "InProgress", "Current", … as kstatus */

#endif
