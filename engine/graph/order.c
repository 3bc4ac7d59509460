#include <string.h>

#include "engine/graph/build.h"
#include "engine/spec/resource.h"

/* Kusion's order of kinds (kusion.md). A kind's place here is its rank. */
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

static size_t find(const char *api_version, const char *kind)
{
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (*kinds[i].kind == *kind && strcmp(kinds[i].kind, kind) == 0 &&
            api_group_is(api_version, kinds[i].group))
            return i;
    return ARRAY_SIZE(kinds);
}

uint16_t kind_rank(const char *api_version, const char *kind)
{
    size_t found = ARRAY_SIZE(kinds);

    if (api_version && kind)
        found = find(api_version, kind);
    if (found == ARRAY_SIZE(kinds))
        found = find("apps/v1", "Deployment");
    return (uint16_t)found;
}
