#include "cli/check/schema.h"

#include "cli/check/check.h"
#include "engine/value/json.h"
#include "engine/yaml/yaml.h"
#include "test/unit/suite.h"

static const struct value *read(const char *text)
{
    const struct value *value = NULL;
    struct error error = {0};

    EXPECT_INT(yaml_read(text, strlen(text), &value, &error), 0, error.message);
    return value;
}

static void note(void *arg, const char *path, const char *message)
{
    buf_printf(arg, "%s: %s\n", path, message);
}

static void says_what_the_api_server_would_refuse(void)
{
    static const char schema_text[] =
        "type: object\nrequired: [a]\nproperties:\n"
        "  a: {type: string, minLength: 2, maxLength: 4, pattern: '^[a-zé]+$'}\n"
        "  b: {type: integer, format: int32, minimum: 0, maximum: 9}\n"
        "  c: {type: string, enum: [Manual, Other]}\n"
        "  d: {type: array, maxItems: 2, minItems: 1, items: {type: boolean}}\n"
        "  e: {type: object, additionalProperties: {type: string}, minProperties: 1,"
        " maxProperties: 1}\n"
        "  f: {type: object, x-kubernetes-preserve-unknown-fields: true}\n"
        "  g: {type: object, properties: {height: {type: number}}}\n";
    static const struct {
        const char *value, *problems;
    } table[] = {
        {"{a: aé}", ""},
        {"{a: aéaé}", ""},
        {"{}", "x: a is required\n"},
        {"{a: null}", "x: a is required\n"},
        {"{a: a}", "x.a: must have at least 2 characters\n"},
        {"{a: \"\"}", "x.a: must not be empty\n"},
        {"{a: abcde}", "x.a: has 5 characters, of at most 4\n"},
        {"{a: A1}", "x.a: \"A1\" must match ^[a-zé]+$\n"},
        {"{a: aa, b: -1}", "x.b: must be at least 0\n"},
        {"{a: aa, b: 10}", "x.b: must be at most 9\n"},
        {"{a: aa, b: 1.5}", "x.b: must be of type integer, and is of type number\n"},
        {"{a: aa, b: '1'}", "x.b: must be of type integer, and is of type string\n"},
        {"{a: aa, c: Manuel}",
         "x.c: \"Manuel\" is none of Manual, Other: did you mean \"Manual\"?\n"},
        {"{a: aa, c: nothing}", "x.c: \"nothing\" is none of Manual, Other\n"},
        {"{a: aa, d: []}", "x.d: has 0 items, at least 1 are needed\n"},
        {"{a: aa, d: [true, false, 3]}", "x.d: has 3 items, of at most 2\nx.d[2]: must be of type "
                                         "boolean, and is of type number\n"},
        {"{a: aa, e: {}}", "x.e: has 0 members, at least 1 are needed\n"},
        {"{a: aa, e: {a: b, c: 3}}", "x.e: has 2 members, of at most 1\nx.e.c: must be of type "
                                     "string, and is of type number\n"},
        {"{a: aa, f: {z: 1, y: [{}]}}", ""},
        {"{a: aa, g: {heigth: 1}}", "x.g.heigth: there is no such field: did you mean height?\n"},
        {"{a: aa, other: 1}", "x.other: there is no such field\n"},
        {"3", "x: must be of type object, and is of type number\n"},
    };
    _cleanup_value_ const struct value *schema = read(schema_text);

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        _cleanup_value_ const struct value *value = read(table[i].value);
        _cleanup_buf_ struct buf said = BUF_INIT;
        struct path path;

        path_init(&path);
        path_push_key(&path, "x");
        schema_check(value, schema, &path, note, &said);
        path_done(&path);
        EXPECT_STR(said.data, table[i].problems, table[i].value);
    }
}

/* Every key of the definition's schema is one that the checker knows, or that checks nothing. */
static void find_unknown(const struct value *schema, struct buf *unknown)
{
    static const char known[] =
        " type properties additionalProperties items required enum pattern minLength maxLength "
        "minItems maxItems minProperties maxProperties minimum maximum format "
        "x-kubernetes-preserve-unknown-fields description x-kubernetes-list-type "
        "x-kubernetes-map-type x-kubernetes-validations ";
    const struct value *properties = value_get(schema, "properties");

    for (size_t i = 0; i < value_count(schema); i++) {
        _cleanup_buf_ struct buf word = BUF_INIT;

        buf_printf(&word, " %s ", value_member_key(schema, i, NULL));
        if (!strstr(known, word.data))
            buf_add_str(unknown, word.data);
    }
    for (size_t i = 0; i < value_count(properties); i++)
        find_unknown(value_member(properties, i), unknown);
    if (value_is(value_get(schema, "items"), VALUE_OBJECT))
        find_unknown(value_get(schema, "items"), unknown);
    if (value_is(value_get(schema, "additionalProperties"), VALUE_OBJECT))
        find_unknown(value_get(schema, "additionalProperties"), unknown);
}

static void the_definition_has_nothing_that_is_not_checked(void)
{
    _cleanup_value_ const struct value *definition = read(check_definition);
    const struct value *schema = schema_of_definition(definition, "spec");
    _cleanup_buf_ struct buf unknown = BUF_INIT;

    EXPECT(value_count(value_get(schema, "properties")) > 10, "the schema is there");
    buf_add_str(&unknown, "");
    find_unknown(schema, &unknown);
    EXPECT_STR(unknown.data, "", "keys of the schema that schema.c does not know");
}

SUITE(schema, TEST(says_what_the_api_server_would_refuse),
      TEST(the_definition_has_nothing_that_is_not_checked))
