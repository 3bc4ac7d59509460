#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "runtimes/terraform/tfstate/tfstate.h"
#include "test/unit/suite.h"

#define MOST_RECORDS 8

/* Records, from JSON: {"id", "type", "deposed", "status", "extensions", "memory", "dependencies"}.
 */
struct scene {
    const struct value *json;
    struct record records[MOST_RECORDS];
    const struct record *items[MOST_RECORDS];
    size_t n;
};

static void begin(struct scene *scene, const char *text)
{
    *scene = (struct scene){0};
    CU_ASSERT_FATAL(json_read_str(text, &scene->json, NULL) == 0);
    for (; scene->n < value_count(scene->json); scene->n++) {
        const struct value *one = value_at(scene->json, scene->n);
        const char *type = value_get_string(one, "type");

        scene->records[scene->n] = (struct record){
            .id = value_get_string(one, "id"),
            .type = type ? type : "Terraform",
            .deposed = value_get_string(one, "deposed"),
            .status = (enum record_status)value_int(value_get(one, "status"), RECORD_APPLIED),
            .extensions = value_get(one, "extensions"),
            .memory = value_get(one, "memory"),
            .dependencies = value_get(one, "dependencies"),
        };
        scene->items[scene->n] = &scene->records[scene->n];
    }
}

/* Without what each file has; or "reason: message". */
static char *write(const char *text)
{
    static const char head[] = "{\"version\":4,\"terraform_version\":\"1.12.0\",\"serial\":7,"
                               "\"lineage\":\"l\",\"outputs\":{},\"resources\":[",
                      tail[] = "],\"check_results\":null}";
    const struct runtime_mark mark = {"l", 7};
    _cleanup_buf_ struct buf file = BUF_INIT;
    struct error error = {0};
    struct scene scene;
    int r;

    begin(&scene, text);
    r = tfstate_write(NULL, scene.items, scene.n, &mark, &file, &error);
    value_unref(scene.json);
    if (r < 0)
        return str_printf("%s: %s", error.reason, error.message);
    EXPECT(str_has_prefix(file.data, head) && str_has_suffix(file.data, tail), file.data);
    return str_new_n(file.data + strlen(head), file.length - strlen(head) - strlen(tail));
}

#define MEMORY \
    "\"memory\":{\"provider\":\"h/n/p\",\"schemaVersion\":1,\"private\":\"\",\"state\":{}}"
#define RESOURCE(module, type, name)                                                            \
    "{" module "\"mode\":\"managed\",\"type\":\"" type "\",\"name\":\"" name "\",\"provider\":" \
    "\"provider[\\\"h/n/p\\\"]\",\"instances\":["
#define INSTANCE    "\"schema_version\":1,\"attributes\":{}"
#define AT(address) "\"extensions\":{\"kusionstack.io/state-address\":\"" address "\"}"

static const struct {
    const char *note, *records, *resources;
} table[] = {
    {"nothing", "[]", ""},
    {"one",
     "[{\"id\":\"n:p:p_t:a\",\"memory\":{\"provider\":\"h/n/p\",\"schemaVersion\":3,\"private\":"
     "\"YQ==\",\"state\":{\"x\":1.10},\"sensitive\":[[{\"type\":\"get_attr\",\"value\":\"x\"}]]},"
     "\"extensions\":{\"lifecycle\":{\"createBeforeDestroy\":true}}}]",
     RESOURCE("", "p_t", "a") "{\"schema_version\":3,\"attributes\":{\"x\":1.10},"
                              "\"sensitive_attributes\":[[{\"type\":\"get_attr\",\"value\":\"x\"}]]"
                              ",\"private\":\"YQ==\","
                              "\"create_before_destroy\":true}]}"},
    {"sensitive by the Spec and by the schema, each once",
     "[{\"id\":\"n:p:p_t:a\",\"memory\":{\"provider\":\"h/n/p\",\"schemaVersion\":1,\"state\":{},"
     "\"sensitive\":[[1],[2]],\"sensitiveBySchema\":[[2],[3]]}}]",
     RESOURCE("", "p_t", "a") "{" INSTANCE ",\"sensitive_attributes\":[[1],[2],[3]]}]}"},
    {"with an identity",
     "[{\"id\":\"n:p:p_t:a\",\"memory\":{\"provider\":\"h/n/p\",\"schemaVersion\":1,\"state\":{},"
     "\"identity\":{\"x\":\"y\"},\"identitySchemaVersion\":2}}]",
     RESOURCE("", "p_t", "a") "{" INSTANCE ",\"identity\":{\"x\":\"y\"},"
                              "\"identity_schema_version\":2}]}"},
    {"tainted", "[{\"id\":\"n:p:p_t:a\",\"status\":3," MEMORY "}]",
     RESOURCE("", "p_t", "a") "{\"status\":\"tainted\"," INSTANCE "}]}"},
    {"an old one, too",
     "[{\"id\":\"n:p:p_t:a\",\"deposed\":\"x\"," MEMORY "},{\"id\":\"n:p:p_t:a\"," MEMORY "}]",
     RESOURCE("", "p_t", "a") "{" INSTANCE "},{\"deposed\":\"2d711642\"," INSTANCE "}]}"},
    {"what is not there yet, and of others",
     "[{\"id\":\"n:p:p_t:a\",\"status\":0},{\"id\":\"n:p:p_t:b\",\"status\":1},{\"id\":\"c\","
     "\"type\":\"Kubernetes\"}]",
     ""},
    {"keys and modules, in order",
     "[{\"id\":\"a\"," AT("module.m[0].p_t.a[\\\"k\\\"]") "," MEMORY "},{\"id\":\"b\"," AT(
         "p_t.b[10]") "," MEMORY "},{\"id\":\"c\"," AT("p_t.b[9]") "," MEMORY
                                                                   "},{\"id\":\"d\"," AT(
                                                                       "p_t.a") "," MEMORY "}]",
     RESOURCE("", "p_t", "a") "{" INSTANCE "}]}," RESOURCE(
         "", "p_t", "b") "{\"index_key\":9," INSTANCE "},{\"index_key\":10," INSTANCE
                         "}]}," RESOURCE("\"module\":\"module.m[0]\",", "p_t",
                                         "a") "{\"index_key\":\"k\"," INSTANCE "}]}"},
    {"dependencies, also through others",
     "[{\"id\":\"n:p:p_t:a\",\"dependencies\":[\"k\",\"n:p:p_t:c\",\"gone\"]," MEMORY "},"
     "{\"id\":\"k\",\"type\":\"Kubernetes\",\"dependencies\":[\"b\",\"k2\"]},"
     "{\"id\":\"k2\",\"type\":\"Kubernetes\",\"dependencies\":[\"k\",\"n:p:p_t:c\"]},"
     "{\"id\":\"b\",\"dependencies\":[\"n:p:p_t:c\"]," AT(
         "module.m[0].p_t.b[1]") "," MEMORY "},"
                                 "{\"id\":\"n:p:p_t:c\"," MEMORY "}]",
     RESOURCE("", "p_t", "a") "{" INSTANCE
                              ",\"dependencies\":[\"module.m.p_t.b\",\"p_t.c\"]}]}," RESOURCE(
                                  "", "p_t",
                                  "c") "{" INSTANCE
                                       "}]}," RESOURCE("\"module\":\"module.m[0]\",", "p_t",
                                                       "b") "{\"index_key\":1," INSTANCE
                                                            ",\"dependencies\":[\"p_t.c\"]}]}"},
    {"one address twice",
     "[{\"id\":\"a\"," AT("p_t.a") "," MEMORY "},{\"id\":\"n:p:p_t:a\"," MEMORY "}]",
     "InvalidAddress: \"a\" and \"n:p:p_t:a\" have the same address in Terraform's state, p_t.a: "
     "say others by extensions[kusionstack.io/state-address]"},
    {"no name that Terraform allows", "[{\"id\":\"n:p:p_t:a b\"," MEMORY "}]",
     "InvalidAddress: resource \"n:p:p_t:a b\": its id ends in no name that Terraform allows "
     "(letters, digits, _ and -): say its address by extensions[kusionstack.io/state-address]"},
    {"two providers",
     "[{\"id\":\"a\"," AT("p_t.a[0]") "," MEMORY "},{\"id\":\"b\"," AT(
         "p_t.a[1]") ",\"memory\":{"
                     "\"provider\":\"h/n/q\",\"schemaVersion\":1,\"state\":{}}}]",
     "InvalidAddress: \"a\" and \"b\" have the same resource in Terraform's state, p_t.a, and "
     "different providers: say others by extensions[kusionstack.io/state-address]"},
    {"nothing of it", "[{\"id\":\"n:p:p_t:a\"}]",
     "Invalid: State has nothing of \"n:p:p_t:a\" that Terraform could use"},
};

static void records_become_instances(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_free_ char *resources = write(table[i].records);

        EXPECT_STR(resources, table[i].resources, table[i].note);
    }
}

/* The order in which State has them, which another process may find changed, makes no other file.
 */
static void the_order_of_records_does_not_matter(void)
{
    const struct runtime_mark mark = {"l", 1};
    _cleanup_buf_ struct buf file = BUF_INIT, turned = BUF_INIT;
    struct scene scene;
    const struct record *first;

    begin(&scene, "[{\"id\":\"n:p:p_t:b\"," MEMORY "},{\"id\":\"n:p:p_t:a\"," MEMORY "}]");
    EXPECT_INT(tfstate_write(NULL, scene.items, scene.n, &mark, &file, NULL), 0, "one");
    first = scene.items[0];
    scene.items[0] = scene.items[1];
    scene.items[1] = first;
    EXPECT_INT(tfstate_write(NULL, scene.items, scene.n, &mark, &turned, NULL), 0, "other");
    EXPECT_STR(turned.data, file.data, "the same");
    value_unref(scene.json);
}

static void what_is_written_is_found(void)
{
    const char *extensions = "{\"provider\":\"h.io/n/p\",\"kusionstack.io/state-address\":"
                             "\"module.m[\\\"k\\\"].p_t.a[0]\"}";
    const struct runtime_mark mark = {"l", 1};
    _cleanup_buf_ struct buf file = BUF_INIT;
    _cleanup_value_ const struct value *found = NULL, *read = NULL;
    struct runtime_target target = {.id = "a"};
    struct scene scene;

    begin(&scene,
          "[{\"id\":\"a\"," AT(
              "module.m[\\\"k\\\"].p_t.a[0]") ",\"memory\":{\"provider\":"
                                              "\"h.io/n/"
                                              "p\",\"schemaVersion\":4,\"private\":\"YQ=="
                                              "\",\"state\":{\"x\":\"y\"},\"identity\":{\"i\":"
                                              "1},\"identitySchemaVersion\":5}}]");
    EXPECT_INT(tfstate_write(NULL, scene.items, scene.n, &mark, &file, NULL), 0, "written");
    json_read_str(extensions, &read, NULL);
    target.extensions = read;
    EXPECT_INT(tfstate_find(NULL, file.data, file.length, &target, 1, &found, NULL), 0, "read");
    EXPECT_STR(value_string(value_path(found, "a", "state", "x", NULL)), "y", "found");
    EXPECT_INT(value_int(value_path(found, "a", "schemaVersion", NULL), 0), 4, "found");
    EXPECT_STR(value_string(value_path(found, "a", "private", NULL)), "YQ==", "found");
    EXPECT_INT(value_int(value_path(found, "a", "identity", "i", NULL), 0), 1, "found");
    EXPECT_INT(value_int(value_path(found, "a", "identitySchemaVersion", NULL), 0), 5, "found");
    value_unref(scene.json);
}

SUITE(terraform_tfstate_write, TEST(records_become_instances),
      TEST(the_order_of_records_does_not_matter), TEST(what_is_written_is_found))
