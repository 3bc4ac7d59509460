/*
 * The Kubernetes runtime: engine/runtime.h over server-side apply.
 *
 * Each Spec applies under a field manager of its own ("kusion-operator-" and a hash), so that
 * two Specs which claim the same object conflict on the owner label instead of
 * overwriting each other. Every request on a user's behalf impersonates the
 * Spec's service account.
 *
 * An object is known by its name, whose it is by a label, and which it is by
 * its uid. Absent is what the API server says is not there (404, with a
 * Status that names it), and what is of a kind that nothing defines; a kind
 * that is only not served is an error.
 */
#ifndef RUNTIMES_KUBERNETES_RUNTIME_H
#define RUNTIMES_KUBERNETES_RUNTIME_H

#include "engine/base/clock.h"
#include "engine/runtime.h"
#include "runtimes/kubernetes/client/cluster.h"

#define KUBE_RUNTIME_TYPE "Kubernetes"

#define KUBE_OWNER_LABEL     "api.kusion.io/owner" /* spec_hash_name() of the Spec that has it */
#define KUBE_SPEC_ANNOTATION "api.kusion.io/spec"  /* "namespace/name" */
/* "disabled", on a Namespace or CustomResourceDefinition, in the Spec or on the live object: it is
 * deleted without a look at what goes with it. */
#define KUBE_DELETION_GUARD_ANNOTATION "api.kusion.io/deletion-guard"

struct kube_runtime_config {
    struct kube_cluster cluster;
    const struct clock_source *clock;
    bool act_as_controller; /* sessions without a service account are allowed */
};

struct runtime *kube_runtime_new(const struct kube_runtime_config *config);
void kube_runtime_free(struct runtime *runtime);

#endif
