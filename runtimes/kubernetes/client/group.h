/*
 * The API group of our kinds, as crds/ has it.
 */
#pragma once

#include "runtimes/kubernetes/client/ref.h"

#define API_GROUP_VERSION "api.kusion.io/v1"

extern const struct kube_kind kube_specs, kube_releases;
