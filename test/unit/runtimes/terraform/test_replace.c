#include "runtimes/terraform/replace.h"

#include "engine/base/str.h"
#include "engine/value/json.h"
#include "test/unit/runtimes/terraform/schema/make_schema.h"
#include "test/unit/suite.h"

#define SCHEMA                                                                               \
    "{\"attributes\":{\"a\":{\"type\":\"string\",\"optional\":true},"                        \
    "\"b\":{\"type\":\"string\",\"optional\":true},"                                         \
    "\"w\":{\"type\":\"string\",\"optional\":true,\"writeOnly\":true}},"                     \
    "\"blocks\":{\"l\":{\"nesting\":\"list\",\"attributes\":{\"z\":{\"type\":\"string\","    \
    "\"optional\":true},\"w\":{\"type\":\"string\",\"optional\":true,\"writeOnly\":true}}}," \
    "\"s\":{\"nesting\":\"set\",\"attributes\":{\"z\":{\"type\":\"string\",\"optional\":true}}}}}"

/* The provider's paths, "l.0.z w": "*" is an element of a set. */
static const struct {
    const char *paths, *before, *after, *reason;
} table[] = {
    {"a", "{\"a\":\"1\"}", "{\"a\":\"2\"}", "attributes.a cannot be changed"},
    {"a", "{\"a\":\"1\",\"b\":\"1\"}", "{\"a\":\"1\",\"b\":\"2\"}", ""},
    {"", "{\"a\":\"1\"}", "{\"a\":\"2\"}", ""},
    {"a", "{\"a\":null}", "{}", ""},
    {"a", "{}", "{\"a\":\"2\"}", "attributes.a cannot be changed"},
    {"a b l.0.z l.1.z", "{\"a\":\"1\",\"b\":\"1\",\"l\":[{\"z\":\"1\"}]}",
     "{\"a\":\"2\",\"b\":\"2\",\"l\":[{\"z\":\"1\"},{\"z\":\"2\"}]}",
     "attributes.a, attributes.b, attributes.l[1].z cannot be changed"},
    {"s.*.z s.*.z", "{\"s\":[{\"z\":\"1\"}]}", "{\"s\":[{\"z\":\"2\"}]}",
     "attributes.s cannot be changed"},
    {"s.*.z", "{\"s\":[{\"z\":\"1\"}]}", "{\"s\":[{\"z\":\"1\"}]}", ""},
    /* null before and after, though another one is configured */
    {"w", "{\"w\":null}", "{\"w\":null}", "attributes.w cannot be changed"},
    {"l.0.w", "{\"l\":[{\"w\":null}]}", "{\"l\":[{\"w\":null}]}",
     "attributes.l[0].w cannot be changed"},
    {"l.0.z l.1.z l.2.z l.3.z l.4.z l.5.z l.6.z l.7.z l.8.z l.9.z", "{}",
     "{\"l\":[{\"z\":\"1\"},{\"z\":\"1\"},{\"z\":\"1\"},{\"z\":\"1\"},{\"z\":\"1\"},"
     "{\"z\":\"1\"},{\"z\":\"1\"},{\"z\":\"1\"},{\"z\":\"1\"},{\"z\":\"1\"}]}",
     "attributes.l[0].z, attributes.l[1].z, attributes.l[2].z, attributes.l[3].z, "
     "attributes.l[4].z, attributes.l[5].z, attributes.l[6].z, attributes.l[7].z and 2 more "
     "cannot be changed"},
};

static Tfplugin__Step *step_of(struct arena *arena, const char *text, size_t length)
{
    Tfplugin__Step *step = ARENA_NEW(arena, Tfplugin__Step);

    tfplugin__step__init(step);
    if (*text >= '0' && *text <= '9') {
        step->selector_case = TFPLUGIN__STEP__SELECTOR_ELEMENT_KEY_INT;
        step->element_key_int = *text - '0';
    } else if (*text != '*') {
        step->selector_case = TFPLUGIN__STEP__SELECTOR_ATTRIBUTE_NAME;
        step->attribute_name = arena_str_n(arena, text, length);
    }
    return step;
}

static Tfplugin__Path *path_of(struct arena *arena, const char *text, size_t length)
{
    Tfplugin__Path *path = ARENA_NEW(arena, Tfplugin__Path);

    tfplugin__path__init(path);
    path->steps = ARENA_ARRAY(arena, Tfplugin__Step *, length);
    for (size_t at = 0; at < length;) {
        size_t n = strcspn(text + at, ". ");

        path->steps[path->n_steps++] = step_of(arena, text + at, n);
        at += n + 1;
    }
    return path;
}

static void plan_of(struct arena *arena, const char *text, Tfplugin__PlanResponse *ret)
{
    tfplugin__plan_response__init(ret);
    ret->requires_replace = ARENA_ARRAY(arena, Tfplugin__Path *, strlen(text) + 1);
    for (size_t at = 0; text[at];) {
        size_t n = strcspn(text + at, " ");

        ret->requires_replace[ret->n_requires_replace++] = path_of(arena, text + at, n);
        at += n + (text[at + n] == ' ');
    }
}

static void fields_that_replace_are_named(void)
{
    _cleanup_(tf_schema_unref_p) struct tf_schema *schema = make_schema(SCHEMA, 6);

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_(arena_done) struct arena arena = ARENA_INIT;
        _cleanup_value_ const struct value *before = NULL, *after = NULL;
        _cleanup_free_ char *reason = NULL;
        Tfplugin__PlanResponse answer;

        CU_ASSERT_FATAL(json_read_str(table[i].before, &before, NULL) == 0);
        CU_ASSERT_FATAL(json_read_str(table[i].after, &after, NULL) == 0);
        plan_of(&arena, table[i].paths, &answer);
        reason = replace_reason(schema->block, &answer, before, after);
        EXPECT_STR(reason ? reason : "", table[i].reason, table[i].paths);
    }
}

SUITE(terraform_replace, TEST(fields_that_replace_are_named))
