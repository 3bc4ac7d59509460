#include "runtimes/terraform/lifecycle.h"

#include "engine/base/json.h"
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
        {"{\"ignoreChanges\":[\"a\",\"\"]}",
         "ignoreChanges[1]: must be an argument's name, or names with dots between them"},
        {"{\"ignoreChanges\":[\"a..b\"]}",
         "ignoreChanges[0]: must be an argument's name, or names with dots between them"},
        {"{\"ignoreChanges\":[\"a[0]\"]}",
         "ignoreChanges[0]: must be an argument's name, or names with dots between them"},
        {"{\"ignoreChanges\":[1]}",
         "ignoreChanges[0]: must be an argument's name, or names with dots between them"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_value_ const struct value *lifecycle = parse(table[i].lifecycle);
        struct error error = {0};

        EXPECT_INT(lifecycle_check(lifecycle, &error), *table[i].message ? ERR_INVALID : 0,
                   table[i].lifecycle);
        EXPECT_STR(error.message, table[i].message, table[i].lifecycle);
    }
}

static void changes_are_ignored(void)
{
    static const char config[] = "{\"a\":1,\"b\":{\"c\":1,\"d\":1},\"e\":[1]}";
    static const char before[] = "{\"a\":2,\"b\":{\"c\":2,\"d\":2},\"e\":[2,2],\"f\":2}";
    static const struct {
        const char *ignored, *before, *expected;
    } table[] = {
        {"null", before, config},
        {"[\"a\"]", "null", config}, /* a new object */
        {"[\"a\"]", before, "{\"a\":2,\"b\":{\"c\":1,\"d\":1},\"e\":[1]}"},
        {"[\"b.c\",\"e\"]", before, "{\"a\":1,\"b\":{\"c\":2,\"d\":1},\"e\":[2,2]}"},
        {"[\"f\",\"x\",\"b.x\",\"a.b\"]", before, config},
        {"\"all\"", before, "{\"a\":2,\"b\":{\"c\":2,\"d\":2},\"e\":[2,2]}"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_value_ const struct value *ignored = parse(table[i].ignored);
        _cleanup_value_ const struct value *wanted = parse(config);
        _cleanup_value_ const struct value *was = parse(table[i].before);
        _cleanup_value_ const struct value *extensions =
            value_pack("{s:{s:v}}", "lifecycle", "ignoreChanges", ignored);
        _cleanup_value_ const struct value *left =
            lifecycle_ignore(extensions, wanted, value_is(was, VALUE_NULL) ? NULL : was);
        _cleanup_free_ char *text = json_to_str(left);

        EXPECT_STR(text, table[i].expected, table[i].ignored);
    }
}

SUITE(terraform_lifecycle, TEST(settings_are_checked), TEST(changes_are_ignored))
