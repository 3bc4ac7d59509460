#include "runtimes/kubernetes/objects/ranks.h"

#include "engine/base/cleanup.h"

/* Kusion's order of kinds (kusion.md). The index of a kind is its rank. */
static const struct {
    const char *group, *kind;
} kinds[] = {
    {"", "Namespace"},
    {"", "ResourceQuota"},
    {"storage.k8s.io", "StorageClass"},
    {"apiextensions.k8s.io", "CustomResourceDefinition"},
    {"", "ServiceAccount"},
    {"rbac.authorization.k8s.io", "Role"},
    {"rbac.authorization.k8s.io", "ClusterRole"},
    {"rbac.authorization.k8s.io", "RoleBinding"},
    {"rbac.authorization.k8s.io", "ClusterRoleBinding"},
    {"", "ConfigMap"},
    {"", "Secret"},
    {"", "Endpoints"},
    {"", "Service"},
    {"", "LimitRange"},
    {"scheduling.k8s.io", "PriorityClass"},
    {"", "PersistentVolume"},
    {"", "PersistentVolumeClaim"},
    {"apps", "Deployment"},
    {"apps", "StatefulSet"},
    {"batch", "CronJob"},
    {"policy", "PodDisruptionBudget"},
    {"admissionregistration.k8s.io", "ValidatingWebhookConfiguration"},
    {"admissionregistration.k8s.io", "MutatingWebhookConfiguration"},
};

/* The rank of Deployment, which is in the table. */
static uint16_t rank_of_others(void)
{
    static const struct object_ref deployment = {.api_version = "apps/v1", .kind = "Deployment"};

    return kind_rank(&deployment);
}

uint16_t kind_rank(const struct object_ref *ref)
{
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (object_ref_is(ref, kinds[i].group, kinds[i].kind))
            return (uint16_t)i;
    return rank_of_others();
}
