#include "runtimes/kubernetes/objects/object_ref.h"

#include "engine/value/json.h"
#include "test/unit/suite.h"

static void names_objects(void)
{
    static const struct {
        const char *attributes, *id;
    } rows[] = {
        {"{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"demo\"}}",
         "v1:Namespace:demo"},
        {"{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"web\","
         "\"namespace\":\"demo\"}}",
         "apps/v1:Deployment:demo:web"},
        {"{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"ClusterRole\","
         "\"metadata\":{\"name\":\"system:node\",\"namespace\":\"\"}}",
         "rbac.authorization.k8s.io/v1:ClusterRole:system:node"},
        {"{\"kind\":7,\"metadata\":[]}", "::"},
        {"null", "::"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *value = NULL;
        struct arena arena = ARENA_INIT;
        struct object_ref ref;

        json_read_str(rows[i].attributes, &value, NULL);
        ref = object_ref_of(value);
        EXPECT_STR(object_ref_id(&arena, &ref), rows[i].id, rows[i].attributes);
        arena_done(&arena);
    }
}

static void tells_groups(void)
{
    static const struct {
        const char *api_version, *group;
        bool is;
    } rows[] = {
        {"v1", "", true},
        {"apps/v1", "apps", true},
        {"apps/v1", "app", false},
        {"apps/v1", "", false},
        {"apps/v1", "apps/v1", false},
        {"v1", "v1", false},
        {"ap/v1", "apps", false},
        {NULL, "", false},
        {"a.b/v1", "a.b", true},
    };
    size_t length = 99;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        EXPECT_INT(api_group_is(rows[i].api_version, rows[i].group), rows[i].is, rows[i].group);
    EXPECT_INT(strncmp(api_group("apps/v1", &length), "apps", 4), 0, "the group");
    EXPECT_INT(length, 4, "its length");
    EXPECT_STR(api_group("v1", &length), "", "the core group");
    EXPECT_INT(length, 0, "its length");
    EXPECT_STR(api_group(NULL, &length), "", "none");
}

static void tells_kinds_in_any_version(void)
{
    static const struct {
        const char *api_version, *kind;
        bool is_definition, is_namespace;
    } rows[] = {
        {"apiextensions.k8s.io/v1", "CustomResourceDefinition", true, false},
        {"apiextensions.k8s.io/v1beta1", "CustomResourceDefinition", true, false},
        {"v1", "CustomResourceDefinition", false, false},
        {"apiextensions.k8s.io/v1", "CustomResource", false, false},
        {"v1", "Namespace", false, true},
        {"example.com/v1", "Namespace", false, false},
        {"v1", NULL, false, false},
        {NULL, "Namespace", false, false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct object_ref ref = {.api_version = rows[i].api_version, .kind = rows[i].kind};

        EXPECT_INT(object_ref_is_definition(&ref), rows[i].is_definition, rows[i].kind);
        EXPECT_INT(object_ref_is_namespace(&ref), rows[i].is_namespace, rows[i].kind);
    }
}

SUITE(object_ref, TEST(names_objects), TEST(tells_groups), TEST(tells_kinds_in_any_version))
