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
#ifndef RUNTIMES_KUBERNETES_RUNTIME_H
#define RUNTIMES_KUBERNETES_RUNTIME_H

#include "engine/base/clock.h"
#include "engine/runtime.h"
#include "runtimes/kubernetes/client/cluster.h"

#define KUBE_RUNTIME_TYPE "Kubernetes"

#define KUBE_OWNER_LABEL     "api.kusion.io/owner" /* the owning Spec, as spec_hash_name() */
#define KUBE_SPEC_ANNOTATION "api.kusion.io/spec"  /* "namespace/name" */
/* "disabled" on a Namespace or CustomResourceDefinition (in the Spec or on the live object) turns
 * the deletion guard off for it. */
#define KUBE_DELETION_GUARD_ANNOTATION "api.kusion.io/deletion-guard"

/* "enabled" on an object (in the Spec, or else on the live object) allows to replace it, "disabled"
 * forbids it. */
#define KUBE_FORCE_ANNOTATION "api.kusion.io/force"

/* On a Spec: another value requests a reconcile now. */
#define KUBE_RECONCILE_ANNOTATION "api.kusion.io/reconcile-requested-at"
/* The command that sets it; free(). NULL: the names are not to be typed. */
char *kube_reconcile_command(const char *namespace_name, const char *name);

struct kube_runtime_config {
    struct kube_cluster cluster;
    const struct clock_source *clock;
    bool act_as_controller; /* Specs without a service account are allowed: the controller acts as
                               itself */
    int64_t effect_time; /* ms after it was sent that a request may still take effect: the API
                            server's --request-timeout; 0: EFFECT_TIME (record.h) */
};

struct runtime *kube_runtime_new(const struct kube_runtime_config *config);
void kube_runtime_free(struct runtime *runtime);

#endif
