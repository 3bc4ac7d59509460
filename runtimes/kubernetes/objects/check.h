/*
 * Checks of Kubernetes resources in a Spec, beyond the rules for every type:
 *
 *   - An id fits the attributes (apiVersion, kind, name, and namespace if the attributes have one).
 *   - No two ids name the same object.
 *   - No resource is the Spec itself or the Spec's own Namespace.
 *   - A reference into data that the Spec itself writes names an existing key.
 */
#pragma once

#include "engine/spec/check.h"

extern const struct spec_checks kube_checks;
