/*
 * What a Spec's Kubernetes resources have to be beyond what holds for every type: ids are true to the
 * attributes (apiVersion, kind, name, and namespace where the attributes name one), no two name one
 * object, none is the Spec itself or its own Namespace, and a reference into data that the Spec
 * writes names a key that is there.
 */
#ifndef RUNTIMES_KUBERNETES_CHECK_H
#define RUNTIMES_KUBERNETES_CHECK_H

#include "engine/spec/check.h"

extern const struct spec_checks kube_checks;

#endif
