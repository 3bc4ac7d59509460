/*
 * The names by which this runtime is known in Specs, and the labels and annotations that it reads.
 */
#pragma once

#define KUBE_RUNTIME_TYPE "Kubernetes"

#define KUBE_OWNER_LABEL     "api.kusion.io/owner" /* the owning Spec, as spec_hash_name() */
#define KUBE_SPEC_ANNOTATION "api.kusion.io/spec"  /* "namespace/name" */
/* "disabled" on a Namespace or CustomResourceDefinition (in the Spec or on the live object) turns
 * the deletion guard off for it. */
#define KUBE_DELETION_GUARD_ANNOTATION "api.kusion.io/deletion-guard"

/* "enabled" on an object (in the Spec, or else on the live object) allows to replace it, "disabled"
 * forbids it. */
#define KUBE_FORCE_ANNOTATION "api.kusion.io/force"

/* "enabled" on a ConfigMap of the operator's namespace: it has health checks of the cluster
 * (health_script.h). */
#define KUBE_HEALTH_LABEL "api.kusion.io/health-checks"

/* On a Spec: another value requests a reconcile now. */
#define KUBE_RECONCILE_ANNOTATION "api.kusion.io/reconcile-requested-at"
