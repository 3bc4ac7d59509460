#include "engine/base/json.h"
#include "engine/spec/resource.h"
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

static void reads_entries(void)
{
    _cleanup_value_ const struct value *full = NULL, *bare = NULL;
    struct arena arena = ARENA_INIT;
    struct resource resource;

    json_read_str("{\"extensions\":{\"x\":1},\"dependsOn\":[\"b\",\"c\"],\"attributes\":{\"k\":2},"
                  "\"type\":\"Kubernetes\",\"id\":\"a\"}",
                  &full, NULL);
    resource = resource_of(&arena, full);
    EXPECT_STR(resource.id, "a", "id");
    EXPECT_STR(resource.type, "Kubernetes", "type");
    EXPECT_INT(value_int(value_get(resource.attributes, "k"), 0), 2, "attributes");
    EXPECT_INT(value_int(value_get(resource.extensions, "x"), 0), 1, "extensions");
    EXPECT_INT(resource.n_depends_on, 2, "dependsOn");
    EXPECT_STR(resource.depends_on[0], "b", "in the order written");
    EXPECT_STR(resource.depends_on[1], "c", "in the order written");

    json_read_str("{\"id\":1,\"attributes\":[],\"dependsOn\":[1,\"b\",null],\"ids\":\"x\"}", &bare,
                  NULL);
    resource = resource_of(&arena, bare);
    EXPECT(!resource.id && !resource.type && !resource.attributes && !resource.extensions,
           "nothing that is not well formed");
    EXPECT_INT(resource.n_depends_on, 1, "strings only");
    arena_done(&arena);
}

SUITE(resource, TEST(names_objects), TEST(tells_groups), TEST(reads_entries))
