#include "engine/value/json.h"
#include "engine/value/value_mark.h"
#include "test/unit/runtimes/terraform/schema/make_schema.h"
#include "test/unit/suite.h"

#define SCHEMA                                                                                     \
    "{\"attributes\":{\"a\":{\"type\":\"string\"},\"map\":{\"type\":[\"map\",\"string\"]},"        \
    "\"list\":{"                                                                                   \
    "\"type\":[\"list\",\"string\"]},\"set\":{\"type\":[\"set\",\"string\"]},\"object\":{"         \
    "\"type\":["                                                                                   \
    "\"object\",{\"x\":[\"list\",\"string\"]}]},\"any\":{\"type\":\"dynamic\"},\"token\":{"        \
    "\"type\":"                                                                                    \
    "\"string\",\"writeOnly\":true},\"nested\":{\"nesting\":\"map\",\"attributes\":{\"a\":{"       \
    "\"type\":\"string\"}}}},\"blocks\":{\"one\":{\"nesting\":\"single\",\"attributes\":{\"a\":{"  \
    "\"type\":\"string\"}}},\"list_block\":{\"nesting\":\"list\",\"attributes\":{\"a\":{\"type\":" \
    "\"string\"}}},\"set_block\":{\"nesting\":\"set\",\"attributes\":{\"a\":{\"type\":\"string\"}" \
    "}}}}"
#define ATTRIBUTES                                                                                 \
    "{\"a\":\"x\",\"map\":{\"k.1\":\"x\"},\"list\":[\"x\",\"y\"],\"set\":[\"x\"],\"object\":{"     \
    "\"x\":["                                                                                      \
    "\"y\"]},\"any\":{\"x\":[1]},\"token\":\"t\",\"nested\":{\"k\":{\"a\":\"x\"}},\"one\":{\"a\":" \
    "1},"                                                                                          \
    "\"list_block\":[{\"a\":1},{\"a\":2}],\"set_block\":[{\"a\":1}],\"unknown\":1}"
#define ATTRIBUTE(name) "{\"type\":\"get_attr\",\"value\":\"" name "\"}"
#define KEY(key)        "{\"type\":\"index\",\"value\":{\"value\":\"" key "\",\"type\":\"string\"}}"
#define POSITION(n)     "{\"type\":\"index\",\"value\":{\"value\":" n ",\"type\":\"number\"}}"

static const struct {
    const char *sensitive, *paths; /* where attributes are sensitive, as pointers */
} table[] = {
    {"[]", NULL},
    {"[\"/unknown\"]", NULL},
    {"[\"/a\"]", "[[" ATTRIBUTE("a") "]]"},
    {"[\"/map/k.1\"]", "[[" ATTRIBUTE("map") "," KEY("k.1") "]]"},
    {"[\"/map\"]", "[[" ATTRIBUTE("map") "]]"},
    {"[\"/list/1\"]", "[[" ATTRIBUTE("list") "," POSITION("1") "]]"},
    {"[\"/set/0\"]", "[[" ATTRIBUTE("set") "]]"},
    {"[\"/object/x/0\"]", "[[" ATTRIBUTE("object") "," ATTRIBUTE("x") "," POSITION("0") "]]"},
    {"[\"/any/x/0\"]", "[[" ATTRIBUTE("any") "," ATTRIBUTE("x") "," POSITION("0") "]]"},
    {"[\"/token\"]", "[[" ATTRIBUTE("token") "]]"},
    {"[\"/nested/k/a\"]", "[[" ATTRIBUTE("nested") "," KEY("k") "," ATTRIBUTE("a") "]]"},
    {"[\"/one/a\"]", "[[" ATTRIBUTE("one") "," ATTRIBUTE("a") "]]"},
    {"[\"/one\"]", "[[" ATTRIBUTE("one") "]]"},
    {"[\"/list_block/1\"]", "[[" ATTRIBUTE("list_block") "," POSITION("1") "]]"},
    {"[\"/list_block/1/a\",\"/a\"]",
     "[[" ATTRIBUTE("a") "],[" ATTRIBUTE("list_block") "," POSITION("1") "," ATTRIBUTE("a") "]]"},
    {"[\"/set_block/0/a\"]", "[[" ATTRIBUTE("set_block") "]]"},
};

static void paths_are_terraforms(void)
{
    struct tf_schema *schema = make_schema(SCHEMA, 6);

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_value_ const struct value *plain = NULL, *pointers = NULL;

        CU_ASSERT_FATAL(json_read_str(ATTRIBUTES, &plain, NULL) == 0);
        CU_ASSERT_FATAL(json_read_str(table[i].sensitive, &pointers, NULL) == 0);
        _cleanup_value_ const struct value *marked = value_mark_paths(plain, pointers);
        _cleanup_value_ const struct value *paths = tf_sensitive_paths(schema->block, marked);
        _cleanup_free_ char *text = paths ? json_to_str(paths) : NULL;

        EXPECT_STR(text, table[i].paths, table[i].sensitive);
    }
    tf_schema_unref(schema);
}

#define SECRETS                                                                          \
    "{\"attributes\":{\"a\":{\"type\":\"string\"},\"password\":{\"type\":\"string\","    \
    "\"sensitive\":true},"                                                               \
    "\"token\":{\"type\":\"string\",\"writeOnly\":true}},\"blocks\":{"                   \
    "\"list_block\":{\"nesting\":\"list\",\"attributes\":{\"key\":{\"type\":\"string\"," \
    "\"sensitive\":true}}},\"set_block\":{\"nesting\":\"set\",\"attributes\":{\"key\":{" \
    "\"type\":\"string\",\"sensitive\":true}}}}}"

/* Null, too; in elements of lists; of an element of a set, the set; not what is never in a state.
 */
static void what_the_schema_calls_sensitive_has_paths(void)
{
    struct tf_schema *schema = make_schema(SECRETS, 6), *plain = make_schema(SCHEMA, 6);
    _cleanup_value_ const struct value *state = NULL, *paths = NULL;
    _cleanup_free_ char *text = NULL;

    json_read_str("{\"a\":\"x\",\"password\":null,\"token\":null,\"list_block\":[{\"key\":\"k\"}],"
                  "\"set_block\":[{\"key\":\"k\"}]}",
                  &state, NULL);
    paths = tf_schema_paths(schema->block, state);
    text = paths ? json_to_str(paths) : NULL;
    EXPECT_STR(text,
               "[[" ATTRIBUTE("password") "],[" ATTRIBUTE("list_block") "," POSITION(
                   "0") "," ATTRIBUTE("key") "],[" ATTRIBUTE("set_block") "]]",
               "paths");
    EXPECT(!tf_schema_paths(plain->block, state), "nothing is sensitive");
    tf_schema_unref(schema);
    tf_schema_unref(plain);
}

SUITE(terraform_sensitive, TEST(paths_are_terraforms),
      TEST(what_the_schema_calls_sensitive_has_paths))
