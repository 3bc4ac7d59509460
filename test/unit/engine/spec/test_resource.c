#include "engine/spec/private.h"
#include "engine/value/json.h"
#include "test/unit/suite.h"

static struct resource resource_of(struct arena *arena, const struct value *value)
{
    const struct entry entry = entry_of(value);

    return entry_resource(arena, &entry);
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

SUITE(resource, TEST(reads_entries))
