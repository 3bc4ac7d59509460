#include "runtimes/kubernetes/client/path.h"
#include "test/unit/suite.h"

static void builds_paths(void)
{
    static const struct {
        const char *group_version, *space, *plural, *name, *subresource, *expected;
    } rows[] = {
        {"v1", NULL, "namespaces", NULL, NULL, "/api/v1/namespaces"},
        {"v1", NULL, "namespaces", "a", NULL, "/api/v1/namespaces/a"},
        {"v1", "a", "configmaps", NULL, NULL, "/api/v1/namespaces/a/configmaps"},
        {"apps/v1", "a", "deployments", "web", "status",
         "/apis/apps/v1/namespaces/a/deployments/web/status"},
        {"apps/v1", NULL, NULL, NULL, NULL, "/apis/apps/v1"},
        {"rbac.authorization.k8s.io/v1", NULL, "clusterroles", "system:node", NULL,
         "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode"},
        {"v1", "a", "configmaps", "50%?&# é", NULL,
         "/api/v1/namespaces/a/configmaps/50%25%3F%26%23%20%C3%A9"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *path = kube_path(rows[i].group_version, rows[i].space, rows[i].plural,
                                              rows[i].name, rows[i].subresource);

        EXPECT_STR(path, rows[i].expected, rows[i].expected);
    }
}

/* A name from a Spec must not be able to name another object, a subresource or the collection. */
static void keeps_every_name_one_segment(void)
{
    static const struct {
        const char *name, *expected;
    } rows[] = {
        {"", "/api/v1/namespaces/a/pods/%25"},
        {".", "/api/v1/namespaces/a/pods/%252E"},
        {"..", "/api/v1/namespaces/a/pods/%252E%252E"},
        {"b/exec", "/api/v1/namespaces/a/pods/b%252Fexec"},
        {"../../b/secrets/c", "/api/v1/namespaces/a/pods/..%252F..%252Fb%252Fsecrets%252Fc"},
        {"..a", "/api/v1/namespaces/a/pods/..a"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *path = kube_path("v1", "a", "pods", rows[i].name, NULL);

        EXPECT_STR(path, rows[i].expected, rows[i].name);
    }
}

static void adds_queries(void)
{
    _cleanup_buf_ struct buf path = BUF_INIT;

    buf_add_str(&path, "/api/v1/pods");
    kube_path_query(&path, "labelSelector", "a=b,c!=d");
    kube_path_query(&path, "limit", "5");
    EXPECT_STR(path.data, "/api/v1/pods?labelSelector=a%3Db%2Cc%21%3Dd&limit=5", "two");
}

SUITE(kube_path, TEST(builds_paths), TEST(keeps_every_name_one_segment), TEST(adds_queries))
