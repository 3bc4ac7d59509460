/*
 * Why a Pod is not ready, as its status says: it cannot be scheduled, its image cannot be pulled,
 * a container ends with an exit code. Pure.
 *
 * What a container itself wrote (its termination message) is left out: it is the application's
 * data. What the scheduler, the kubelet and the registry say is passed on.
 */
#pragma once

#include <stdbool.h>

#include "engine/value/value.h"

/* Bytes of one cause, which is cut with "…" if it is longer. */
#define CAUSE_SIZE 320

/* How much a cause tells, least first: what tells more is said. */
enum pod_cause_weight {
    POD_CAUSE_LEFT_OVER, /* a Pod that failed: its controller has made another by now, perhaps */
    POD_CAUSE_STATE,     /* what it is doing: an Event of the Pod may say why that takes long */
    POD_CAUSE_CLEAR,
};

struct pod_cause {
    enum pod_cause_weight weight;
    char text[CAUSE_SIZE]; /* "ImagePullBackOff: image nginx:nope: not found" */
};

/* False: the Pod is ready, has succeeded, is being deleted, or does not say anything. */
bool pod_cause(const struct value *pod, struct pod_cause *ret);
