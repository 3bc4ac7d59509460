#include "runtimes/kubernetes/client/path.h"

#include "engine/base/str.h"
#include "test/unit/suite.h"

static const struct kube_kind deployments = {"apps/v1", "Deployment", "deployments", true};
static const struct kube_kind roles = {"rbac.authorization.k8s.io/v1", "ClusterRole",
                                       "clusterroles", false};
static const struct kube_kind apps = {.group_version = "apps/v1"};
static const struct kube_kind core = {.group_version = "v1"};
static const struct kube_kind strange = {"a/../../api/v1", "Secret", "secrets/b", true};

static void expect_path(const struct kube_request *request, const char *expected)
{
    _cleanup_free_ char *path = kube_path(request);

    EXPECT_STR(path, expected, expected);
}

static void renders_references(void)
{
    static const struct {
        struct kube_ref ref;
        const char *expected;
    } rows[] = {
        {{&kube_namespaces, NULL, NULL, NULL}, "/api/v1/namespaces"},
        {{&kube_namespaces, NULL, "a", NULL}, "/api/v1/namespaces/a"},
        {{&kube_namespaces, NULL, "a", "status"}, "/api/v1/namespaces/a/status"},
        {{&kube_config_maps, "a", NULL, NULL}, "/api/v1/namespaces/a/configmaps"},
        {{&kube_config_maps, NULL, NULL, NULL}, "/api/v1/configmaps"},
        {{&deployments, "a", "web", "status"}, "/apis/apps/v1/namespaces/a/deployments/web/status"},
        {{&roles, NULL, "system:node", NULL},
         "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode"},
        {{&apps, NULL, NULL, NULL}, "/apis/apps/v1"},
        {{&core, NULL, NULL, NULL}, "/api/v1"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        expect_path(&(struct kube_request){.ref = rows[i].ref}, rows[i].expected);
}

/* Of what a Spec says nothing may name another object, a subresource or the collection. */
static void keeps_every_name_one_segment(void)
{
    static const struct {
        struct kube_ref ref;
        const char *expected;
    } rows[] = {
        {{&kube_config_maps, "a", "50%?&# é", NULL},
         "/api/v1/namespaces/a/configmaps/50%25%3F%26%23%20%C3%A9"},
        {{&kube_config_maps, "a", "%2e%2e", NULL}, "/api/v1/namespaces/a/configmaps/%252e%252e"},
        {{&kube_config_maps, "a", "", NULL}, "/api/v1/namespaces/a/configmaps/%25"},
        {{&kube_config_maps, "a", ".", NULL}, "/api/v1/namespaces/a/configmaps/%252E"},
        {{&kube_config_maps, "a", "..", NULL}, "/api/v1/namespaces/a/configmaps/%252E%252E"},
        {{&kube_config_maps, "a", "..a", NULL}, "/api/v1/namespaces/a/configmaps/..a"},
        {{&kube_config_maps, "a", "b/exec", NULL}, "/api/v1/namespaces/a/configmaps/b%252Fexec"},
        {{&kube_config_maps, "../b", "../../c", NULL},
         "/api/v1/namespaces/..%252Fb/configmaps/..%252F..%252Fc"},
        {{&kube_config_maps, "", "c", "x?y"}, "/api/v1/namespaces/%25/configmaps/c/x%3Fy"},
        {{&strange, NULL, "c", NULL}, "/apis/a/..%252F..%252Fapi%252Fv1/secrets%252Fb/c"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        expect_path(&(struct kube_request){.ref = rows[i].ref}, rows[i].expected);
}

static void renders_queries(void)
{
    static const struct {
        struct kube_request request;
        const char *expected;
    } rows[] = {
        {{0}, ""},
        {{.dry_run = true}, "?dryRun=All"},
        {{.field_manager = "m&dryRun=All"}, "?fieldManager=m%26dryRun%3DAll"},
        {{.field_manager = "m", .strict = true, .force = true, .dry_run = true},
         "?fieldManager=m&fieldValidation=Strict&force=true&dryRun=All"},
        {{.selector = {.labels = "a=b,c!=d"}}, "?labelSelector=a%3Db%2Cc%21%3Dd"},
        {{.selector = {.labels = "team in (ä, 50%)"}},
         "?labelSelector=team%20in%20%28%C3%A4%2C%2050%25%29"},
        {{.selector = {.fields = "metadata.name=b"}, .limit = 5},
         "?fieldSelector=metadata.name%3Db&limit=5"},
        {{.selector = {.labels = "a"}, .limit = 500, .continue_token = "t/+1=="},
         "?labelSelector=a&limit=500&continue=t%2F%2B1%3D%3D"},
        {{.selector = {"a", "b"}, .watch_seconds = 200, .resource_version = "7"},
         "?fieldSelector=b&labelSelector=a&watch=1&allowWatchBookmarks=true&resourceVersion=7"
         "&timeoutSeconds=200"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct kube_request request = rows[i].request;
        _cleanup_free_ char *raw = str_printf("/apis%s", rows[i].expected);
        _cleanup_free_ char *of_ref =
            str_printf("/api/v1/namespaces/a/configmaps%s", rows[i].expected);

        request.ref = (struct kube_ref){&kube_config_maps, "a", NULL, NULL};
        expect_path(&request, of_ref);
        request.path = "/apis"; /* instead of it */
        expect_path(&request, raw);
    }
}

SUITE(kube_path, TEST(renders_references), TEST(keeps_every_name_one_segment),
      TEST(renders_queries))
