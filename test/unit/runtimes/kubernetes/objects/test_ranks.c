#include "runtimes/kubernetes/objects/ranks.h"

#include "engine/base/cleanup.h"
#include "test/unit/suite.h"

static uint16_t rank(const char *api_version, const char *kind)
{
    return kind_rank(&(struct object_ref){.api_version = api_version, .kind = kind});
}

/* kusion.md's order; what is not in it comes with Deployment. */
static void ranks_kinds_in_the_default_order(void)
{
    static const struct {
        const char *api_version, *kind;
    } order[] = {
        {"v1", "Namespace"},
        {"v1", "ResourceQuota"},
        {"storage.k8s.io/v1", "StorageClass"},
        {"apiextensions.k8s.io/v1", "CustomResourceDefinition"},
        {"v1", "ServiceAccount"},
        {"rbac.authorization.k8s.io/v1", "Role"},
        {"rbac.authorization.k8s.io/v1", "ClusterRole"},
        {"rbac.authorization.k8s.io/v1", "RoleBinding"},
        {"rbac.authorization.k8s.io/v1", "ClusterRoleBinding"},
        {"v1", "ConfigMap"},
        {"v1", "Secret"},
        {"v1", "Endpoints"},
        {"v1", "Service"},
        {"v1", "LimitRange"},
        {"scheduling.k8s.io/v1", "PriorityClass"},
        {"v1", "PersistentVolume"},
        {"v1", "PersistentVolumeClaim"},
        {"apps/v1", "Deployment"},
        {"apps/v1", "StatefulSet"},
        {"batch/v1", "CronJob"},
        {"policy/v1", "PodDisruptionBudget"},
        {"admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"},
        {"admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"},
    };

    EXPECT_INT(rank("v1", "Namespace"), 0, "the first");
    for (size_t i = 1; i < ARRAY_SIZE(order); i++)
        EXPECT(rank(order[i - 1].api_version, order[i - 1].kind) <
                   rank(order[i].api_version, order[i].kind),
               order[i].kind);
}

static void ranks_other_kinds_with_deployment(void)
{
    static const struct {
        const char *api_version, *kind;
    } rows[] = {
        {"example.com/v1", "Widget"},
        {"serving.knative.dev/v1", "Service"}, /* another group's */
        {"apps/v1", "Namespace"},
        {"batch/v1", "Job"},
        {NULL, "Namespace"},
        {"v1", NULL},
        {NULL, NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        EXPECT_INT(rank(rows[i].api_version, rows[i].kind), rank("apps/v1", "Deployment"),
                   rows[i].kind);
    EXPECT_INT(rank("apps/v1beta1", "StatefulSet"), rank("apps/v1", "StatefulSet"),
               "whatever the version");
}

SUITE(ranks, TEST(ranks_kinds_in_the_default_order), TEST(ranks_other_kinds_with_deployment))
