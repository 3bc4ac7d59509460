/*
 * The Kubernetes runtime: implements engine/runtime.h with server-side apply.
 *
 * Each Spec has its own field manager ("kusion-operator-" and a hash). If two Specs want the same
 * object, the second gets a conflict on the owner label and does not overwrite the object. Every
 * request for a Spec impersonates the Spec's service account.
 *
 * An object is found by its name. Its owner label says to which Spec it belongs, and its uid tells
 * it from an earlier object of that name. An object is absent if the API server answers 404 with a
 * Status that names the object, or if no API defines its kind. A kind that is defined but not
 * served is an error.
 */
#pragma once

#include "engine/runtime.h"
#include "runtimes/kubernetes/objects/marks.h"
#include "runtimes/kubernetes/session/config.h"

struct runtime *kube_runtime_new(const struct kube_runtime_config *config);
void kube_runtime_free(struct runtime *runtime);
