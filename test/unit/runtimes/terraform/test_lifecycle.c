#include "runtimes/terraform/lifecycle.h"

#include "engine/base/str.h"
#include "engine/value/json.h"
#include "test/unit/runtimes/terraform/schema/make_schema.h"
#include "test/unit/suite.h"

static const struct value *parse(const char *text)
{
    const struct value *value = NULL;

    EXPECT_INT(json_read_str(text, &value, NULL), 0, text);
    return value;
}

static void settings_are_checked(void)
{
    static const struct {
        const char *lifecycle, *message; /* "": it is right */
    } table[] = {
        {"{}", ""},
        {"{\"createBeforeDestroy\":true,\"preventDestroy\":false}", ""},
        {"{\"ignoreChanges\":\"all\"}", ""},
        {"{\"ignoreChanges\":[\"tags\",\"net.zone\"]}", ""},
        {"[]", "must be an object"},
        {"{\"preventDestroy\":\"yes\"}", "preventDestroy: must be true or false"},
        {"{\"prevent_destroy\":true}", "prevent_destroy: there is no such setting; there are "
                                       "createBeforeDestroy, preventDestroy and "
                                       "ignoreChanges"},
        {"{\"ignoreChanges\":\"tags\"}", "ignoreChanges: must be a list, or \"all\""},
        {"{\"ignoreChanges\":[\"a[0].b\",\"a.0.b\",\"tags[\\\"a.b\\\"]\"]}", ""},
        {"{\"ignoreChanges\":[\"a\",\"\"]}",
         "ignoreChanges[1]: the path \"\", byte 1: a key that is empty"},
        {"{\"ignoreChanges\":[\"a..b\"]}",
         "ignoreChanges[0]: the path \"a..b\", byte 2: a key that is empty"},
        {"{\"ignoreChanges\":[\"a[0\"]}",
         "ignoreChanges[0]: the path \"a[0\", byte 2: a bracket that is not closed"},
        {"{\"ignoreChanges\":[1]}",
         "ignoreChanges[0]: must be the path of an argument, such as tags "
         "or spec[0].replicas"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_value_ const struct value *lifecycle = parse(table[i].lifecycle);
        struct error error = {0};

        EXPECT_INT(lifecycle_check(lifecycle, &error), *table[i].message ? ERR_INVALID : 0,
                   table[i].lifecycle);
        EXPECT_STR(error.message, table[i].message, table[i].lifecycle);
    }
}

#define SCHEMA                                                                             \
    "{\"attributes\":{\"a\":{\"type\":\"number\",\"optional\":true},"                      \
    "\"b\":{\"type\":[\"object\",{\"c\":\"number\",\"d\":\"number\"}],\"optional\":true}," \
    "\"e\":{\"type\":[\"list\",\"number\"],\"optional\":true},"                            \
    "\"m\":{\"type\":[\"map\",\"number\"],\"optional\":true},"                             \
    "\"o\":{\"type\":\"number\",\"optional\":true,\"computed\":true},"                     \
    "\"p\":{\"type\":\"number\",\"computed\":true}},"                                      \
    "\"blocks\":{\"s\":{\"nesting\":\"set\",\"attributes\":{\"z\":{\"type\":\"number\","   \
    "\"optional\":true},\"p\":{\"type\":\"number\",\"computed\":true}}}}}"

static void changes_are_ignored(void)
{
    static const char config[] =
        "{\"a\":1,\"b\":{\"c\":1,\"d\":1},\"e\":[1],\"m\":{\"x\":1,\"y\":1},"
        "\"o\":null,\"p\":null,\"s\":[]}";
    static const char before[] =
        "{\"a\":2,\"b\":{\"c\":2,\"d\":2},\"e\":[2,2],\"m\":{\"x\":2,\"z\":2},"
        "\"o\":2,\"p\":2,\"s\":[{\"z\":2,\"p\":1},{\"z\":2,\"p\":2}]}";
    static const char rest[] = "\"o\":null,\"p\":null,\"s\":[]}";
    static const struct {
        const char *ignored, *before, *expected; /* less `rest`, but for what is whole */
        const char *planned; /* the same of what a legacy provider plans; or NULL */
    } table[] = {
        {"null", before, config, NULL},
        {"[\"a\"]", "null", config, NULL}, /* a new object */
        {"[\"a\"]", before, "{\"a\":2,\"b\":{\"c\":1,\"d\":1},\"e\":[1],\"m\":{\"x\":1,\"y\":1},",
         NULL},
        {"[\"b.c\",\"e\"]", before,
         "{\"a\":1,\"b\":{\"c\":2,\"d\":1},\"e\":[2,2],\"m\":{\"x\":1,\"y\":1},", NULL},
        {"[\"f\",\"x\",\"b.x\",\"a.b\"]", before, config, NULL},
        /* keys of a map: changed, added, removed, in neither */
        {"[\"m.x\",\"m.y\",\"m.z\",\"m.w\"]", before,
         "{\"a\":1,\"b\":{\"c\":1,\"d\":1},\"e\":[1],\"m\":{\"x\":2,\"z\":2},", NULL},
        {"[\"m.x\"]", "{\"m\":null}", "{\"a\":1,\"b\":{\"c\":1,\"d\":1},\"e\":[1],\"m\":{\"y\":1},",
         NULL},
        /* what only the provider computes is not configured: two elements become one */
        {"\"all\"", before,
         "{\"a\":2,\"b\":{\"c\":2,\"d\":2},\"e\":[2,2],\"m\":{\"x\":2,\"z\":2},\"o\":2,\"p\":null,"
         "\"s\":[{\"z\":2,\"p\":null}]}",
         before},
    };
    _cleanup_(tf_schema_unref_p) struct tf_schema *schema = make_schema(SCHEMA, 5);

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_value_ const struct value *ignored = parse(table[i].ignored);
        _cleanup_value_ const struct value *wanted = parse(config);
        _cleanup_value_ const struct value *was = parse(table[i].before);
        _cleanup_value_ const struct value *extensions =
            value_pack("{s:{s:v}}", "lifecycle", "ignoreChanges", ignored);
        const struct value *old = value_is(was, VALUE_NULL) ? NULL : was;
        _cleanup_value_ const struct value *left =
            lifecycle_ignore(extensions, schema->block, wanted, old);
        _cleanup_value_ const struct value *reverted =
            lifecycle_revert(extensions, schema->block, wanted, old);
        const char *expected = table[i].expected;
        bool is_whole = expected[strlen(expected) - 1] == '}';
        _cleanup_free_ char *whole =
            is_whole ? str_new(expected) : str_printf("%s%s", expected, rest);
        _cleanup_free_ char *text = json_to_str(left);
        _cleanup_free_ char *plan = json_to_str(reverted);

        EXPECT_STR(text, whole, table[i].ignored);
        EXPECT_STR(plan, table[i].planned ? table[i].planned : whole, table[i].ignored);
    }
}

SUITE(terraform_lifecycle, TEST(settings_are_checked), TEST(changes_are_ignored))
