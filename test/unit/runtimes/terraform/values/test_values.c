#include "runtimes/terraform/values/values.h"

#include "engine/base/str.h"
#include "engine/value/json.h"
#include "test/unit/suite.h"

#define UNKNOWN "(known after apply)"

static const struct value *parse(const char *text)
{
    const struct value *value = NULL;

    if (str_equal(text, UNKNOWN))
        return value_pack("u");
    EXPECT_INT(json_read_str(text, &value, NULL), 0, text);
    return value;
}

static const struct tf_type *type_of(struct arena *arena, const char *text)
{
    _cleanup_value_ const struct value *json = parse(text);
    const struct tf_type *type = NULL;

    EXPECT_INT(tf_type_read(arena, json, &type, NULL), 0, text);
    return type;
}

static char *hex(const struct buf *bytes)
{
    _cleanup_buf_ struct buf text = BUF_INIT;

    for (size_t i = 0; i < bytes->length; i++)
        buf_printf(&text, "%02x", (unsigned char)bytes->data[i]);
    return buf_take(&text);
}

static void unhex(struct buf *to, const char *text)
{
    unsigned byte;

    for (; sscanf(text, "%2x", &byte) == 1; text += 2)
        buf_add_char(to, (char)byte);
}

/* ---- Both directions ---- */

static const struct {
    const char *type, *value, *bytes;
} pairs[] = {
    {"\"string\"", "\"\"", "a0"},
    {"\"string\"", "\"abc\"", "a3616263"},
    {"\"string\"", "null", "c0"},
    {"\"string\"", UNKNOWN, "d40000"},
    {"\"bool\"", "true", "c3"},
    {"\"bool\"", "false", "c2"},
    {"\"number\"", "0", "00"},
    {"\"number\"", "127", "7f"},
    {"\"number\"", "-32", "e0"},
    {"\"number\"", "128", "d30000000000000080"},
    {"\"number\"", "-33", "d3ffffffffffffffdf"},
    {"\"number\"", "9223372036854775807", "d37fffffffffffffff"},
    {"\"number\"", "18446744073709551616", "cb43f0000000000000"},
    {"\"number\"", "0.5", "cb3fe0000000000000"},
    {"\"number\"", "0.1", "a3302e31"}, /* as a double it is another number */
    {"\"number\"", "-0.001", "a62d302e303031"},
    {"\"number\"", "12345678901234567890.5", "b631323334353637383930313233343536373839302e35"},
    {"[\"list\",\"number\"]", "[1,2]", "920102"},
    {"[\"list\",\"string\"]", "[]", "90"},
    {"[\"list\",\"string\"]", "null", "c0"},
    {"[\"set\",\"number\"]", "[1,2]", "920102"},
    {"[\"map\",\"bool\"]", "{\"a\":true}", "81a161c3"},
    {"[\"object\",{\"a\":\"string\",\"b\":\"number\"}]", "{\"a\":null,\"b\":1}", "82a161c0a16201"},
    {"[\"tuple\",[\"string\",\"bool\"]]", "[\"x\",null]", "92a178c0"},
    {"\"dynamic\"", "null", "c0"},
    {"\"dynamic\"", "\"x\"", "92c40822737472696e6722a178"},
};

static void values_become_msgpack_and_back(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
        _cleanup_(arena_done) struct arena arena = ARENA_INIT;
        const struct tf_type *type = type_of(&arena, pairs[i].type);
        _cleanup_value_ const struct value *value = parse(pairs[i].value), *back = NULL;
        _cleanup_buf_ struct buf bytes = BUF_INIT;
        _cleanup_free_ char *shown = NULL;

        EXPECT_INT(tf_encode(&bytes, value, type, NULL), 0, pairs[i].value);
        shown = hex(&bytes);
        EXPECT_STR(shown, pairs[i].bytes, pairs[i].value);
        EXPECT_INT(tf_decode(bytes.data, bytes.length, type, TF_PLAIN, &back, NULL), 0,
                   pairs[i].value);
        EXPECT(value_equal(value, back), pairs[i].value);
    }
}

/* ---- From a provider ---- */

static void what_providers_send_is_read(void)
{
    static const struct {
        const char *type, *bytes, *plain, *typed;
    } table[] = {
        {"\"number\"", "ccff", "255", NULL},
        {"\"number\"", "d1ff00", "-256", NULL},
        {"\"number\"", "cfffffffffffffffff", "18446744073709551615", NULL},
        {"\"number\"", "ca3f000000", "0.5", NULL},
        {"\"number\"", "cb3fb999999999999a", "0.1", NULL},
        {"\"string\"", "d90161", "\"a\"", NULL},
        {"\"string\"", "c70b0c81010181a3616263c30000", UNKNOWN, NULL}, /* refined */
        {"[\"set\",\"string\"]", "92a162a161", "[\"a\",\"b\"]", NULL},
        {"[\"set\",[\"object\",{\"x\":\"number\"}]]", "9281a1780281a17801", "[{\"x\":1},{\"x\":2}]",
         NULL},
        {"[\"object\",{\"a\":\"string\",\"b\":\"number\"}]", "82a16201a161a0",
         "{\"b\":1,\"a\":\"\"}", NULL},
        {"\"dynamic\"", "92c40822737472696e6722a178", "\"x\"",
         "{\"value\":\"x\",\"type\":\"string\"}"},
        {"[\"list\",\"dynamic\"]", "91d40000", "[\"(known after apply)\"]", NULL},
        /* dynamic ones inside: ["object",{"a":"dynamic","b":["list","dynamic"]}], a string, and a
         * list of one; ["list","dynamic"] of a string and a number */
        {"\"dynamic\"",
         "92c4315b226f626a656374222c7b2261223a2264796e616d6963222c2262223a5b226c697374222c2264796e6"
         "1"
         "6d6963225d7d5d82a16192c40822737472696e6722a178a1629192c40822737472696e6722a179",
         "{\"a\":\"x\",\"b\":[\"y\"]}",
         "{\"value\":{\"a\":\"x\",\"b\":[\"y\"]},"
         "\"type\":[\"object\",{\"a\":\"string\",\"b\":[\"list\",\"string\"]}]}"},
        {"\"dynamic\"",
         "92c4125b226c697374222c2264796e616d6963225d9292c40822737472696e6722a17892c408226e756d6265"
         "722201",
         "[\"x\",1]",
         "{\"value\":[{\"value\":\"x\",\"type\":\"string\"},{\"value\":1,\"type\":\"number\"}],"
         "\"type\":[\"list\",\"dynamic\"]}"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_(arena_done) struct arena arena = ARENA_INIT;
        const struct tf_type *type = type_of(&arena, table[i].type);
        _cleanup_buf_ struct buf bytes = BUF_INIT;

        unhex(&bytes, table[i].bytes);
        for (enum tf_form form = TF_PLAIN; form <= TF_TYPED; form++) {
            const char *expected =
                form == TF_TYPED && table[i].typed ? table[i].typed : table[i].plain;
            _cleanup_value_ const struct value *value = NULL;
            _cleanup_free_ char *text = NULL;

            EXPECT_INT(tf_decode(bytes.data, bytes.length, type, form, &value, NULL), 0,
                       table[i].bytes);
            text = json_to_str(value);
            if (str_equal(expected, UNKNOWN))
                EXPECT(value_is(value, VALUE_UNKNOWN), table[i].bytes);
            else
                EXPECT_STR(text, expected, table[i].bytes);
        }
    }
}

static void rubbish_is_refused(void)
{
    static const struct {
        const char *type, *bytes;
    } table[] = {
        {"\"string\"", ""},
        {"\"string\"", "c1"},
        {"\"string\"", "a361"}, /* cut off */
        {"\"string\"", "a0a0"}, /* one more */
        {"\"string\"", "a1ff"}, /* not UTF-8 */
        {"\"string\"", "01"},
        {"\"string\"", "dbffffffff"}, /* 4 GiB */
        {"\"number\"", "a0"},
        {"\"number\"", "a161"},
        {"\"number\"", "cb7ff0000000000000"}, /* infinite */
        {"\"bool\"", "a474727565"},
        {"[\"list\",\"string\"]", "ddffffffff"}, /* 4 G items */
        {"[\"list\",\"string\"]", "80"},
        {"[\"set\",\"string\"]", "a0"},
        {"[\"set\",\"string\"]", "9101"},
        {"[\"map\",\"string\"]", "8101a0"},         /* a key that is no string */
        {"[\"map\",\"string\"]", "82a161a0a161a0"}, /* twice */
        {"[\"map\",\"string\"]", "dfffffffff"},
        {"[\"object\",{\"a\":\"string\"}]", "80"},
        {"[\"object\",{\"a\":\"string\"}]", "81a162a0"},
        {"[\"object\",{\"a\":\"string\"}]", "82a161a0a162a0"},
        {"[\"tuple\",[\"string\"]]", "92a0a0"},
        {"\"dynamic\"", "a0"},
        {"\"dynamic\"", "92a0a0"},
        {"\"dynamic\"", "92c4037b7d7da0"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_(arena_done) struct arena arena = ARENA_INIT;
        const struct tf_type *type = type_of(&arena, table[i].type);
        _cleanup_buf_ struct buf bytes = BUF_INIT;
        const struct value *value = NULL;
        struct error error = {0};

        unhex(&bytes, table[i].bytes);
        EXPECT_INT(tf_decode(bytes.data, bytes.length, type, TF_PLAIN, &value, &error), ERR_INVALID,
                   table[i].bytes);
        EXPECT_INT(error.code, ERR_INVALID, table[i].bytes);
        EXPECT(!value, table[i].bytes);
    }
}

/* A dynamic value inside of a dynamic value, without end. */
static void depth_is_bounded(void)
{
    _cleanup_buf_ struct buf bytes = BUF_INIT;
    const struct value *value = NULL;

    for (int i = 0; i < 100000; i++)
        unhex(&bytes, "92c4092264796e616d696322");
    CU_ASSERT(tf_decode(bytes.data, bytes.length, &tf_dynamic, TF_PLAIN, &value, NULL) ==
              ERR_TOO_LARGE);
}

static void what_has_not_the_form_of_its_type_is_not_sent(void)
{
    static const struct {
        const char *type, *value, *message;
    } table[] = {
        {"\"string\"", "1", "number is not a string"},
        {"\"number\"", "\"1\"", "string is not a number"},
        {"[\"list\",\"string\"]", "{}", "object is not a list of strings"},
        {"[\"map\",\"number\"]", "[]", "array is not an object of numbers"},
        {"[\"tuple\",[\"bool\"]]", "[]", "array is not a list"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_(arena_done) struct arena arena = ARENA_INIT;
        const struct tf_type *type = type_of(&arena, table[i].type);
        _cleanup_value_ const struct value *value = parse(table[i].value);
        _cleanup_buf_ struct buf bytes = BUF_INIT;
        struct error error = {0};

        EXPECT_INT(tf_encode(&bytes, value, type, &error), ERR_INVALID, table[i].value);
        EXPECT_STR(error.message, table[i].message, table[i].value);
    }
}

/* ---- From a Spec ---- */

static void what_a_spec_says_is_converted(void)
{
    static const struct {
        const char *type, *value, *expected;
    } table[] = {
        {"\"string\"", "5", "\"5\""},
        {"\"string\"", "1.50", "\"1.5\""},
        {"\"string\"", "1e30", "\"1000000000000000000000000000000\""},
        {"\"string\"", "0.001", "\"0.001\""},
        {"\"string\"", "true", "\"true\""},
        {"\"number\"", "\"16\"", "16"},
        {"\"bool\"", "\"false\"", "false"},
        {"\"dynamic\"", "{\"a\":[1,\"x\"]}", "{\"a\":[1,\"x\"]}"},
        {"[\"list\",\"string\"]", "[1,true,null]", "[\"1\",\"true\",null]"},
        {"[\"map\",\"number\"]", "{\"a\":\"1\"}", "{\"a\":1}"},
        {"[\"object\",{\"a\":\"string\",\"b\":\"bool\"}]", "{\"b\":\"true\"}",
         "{\"a\":null,\"b\":true}"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_(arena_done) struct arena arena = ARENA_INIT;
        const struct tf_type *type = type_of(&arena, table[i].type);
        _cleanup_value_ const struct value *value = parse(table[i].value), *converted = NULL;
        _cleanup_free_ char *text = NULL;
        struct path path;

        path_init(&path);
        EXPECT_INT(tf_convert(value, type, &path, &converted, NULL), 0, table[i].value);
        text = json_to_str(converted);
        EXPECT_STR(text, table[i].expected, table[i].value);
        path_done(&path);
    }
}

static void what_cannot_be_converted_is_named(void)
{
    static const struct {
        const char *type, *value, *message;
    } table[] = {
        {"\"number\"", "\"many\"", "length: must be a number, and is of type string"},
        {"\"bool\"", "1", "length: must be true or false, and is of type number"},
        {"[\"list\",\"string\"]", "[\"a\",{}]",
         "length[1]: must be a string, and is of type object"},
        {"[\"list\",\"string\"]", "\"a\"",
         "length: must be a list of strings, and is of type string"},
        {"[\"map\",\"number\"]", "{\"x.y\":[]}",
         "length[x.y]: must be a number, and is of type array"},
        {"[\"object\",{\"a\":\"string\"}]", "{\"b\":1}", "length: there is no \"b\" in it"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_(arena_done) struct arena arena = ARENA_INIT;
        const struct tf_type *type = type_of(&arena, table[i].type);
        _cleanup_value_ const struct value *value = parse(table[i].value);
        const struct value *converted = NULL;
        struct error error = {0};
        struct path path;

        path_init(&path);
        path_push_key(&path, "length");
        EXPECT_INT(tf_convert(value, type, &path, &converted, &error), ERR_INVALID, table[i].value);
        EXPECT_STR(error.message, table[i].message, table[i].value);
        path_done(&path);
    }
}

static void what_is_sensitive_stays_so(void)
{
    _cleanup_(arena_done) struct arena arena = ARENA_INIT;
    const struct tf_type *type =
        type_of(&arena, "[\"object\",{\"a\":\"string\",\"l\":[\"list\",\"string\"]}]");
    _cleanup_value_ const struct value *plain = parse("{\"a\":5,\"l\":[1]}"), *converted = NULL;
    _cleanup_value_ const struct value *secret = value_sensitive(value_get(plain, "a"));
    _cleanup_value_ const struct value *list = value_sensitive(value_get(plain, "l"));
    _cleanup_value_ const struct value *value = value_pack("{s:v, s:v}", "a", secret, "l", list);
    struct path path;

    path_init(&path);
    CU_ASSERT(tf_convert(value, type, &path, &converted, NULL) == 0);
    CU_ASSERT_STRING_EQUAL(value_get_string(converted, "a"), "5");
    CU_ASSERT(value_is_sensitive(value_get(converted, "a")));
    CU_ASSERT(value_is_sensitive(value_get(converted, "l")));
    path_done(&path);
}

/* ---- Types ---- */

static void types_are_read_and_written(void)
{
    static const char *const types[] = {
        "\"string\"",
        "[\"list\",[\"map\",\"dynamic\"]]",
        "[\"object\",{\"a\":\"bool\",\"b\":[\"set\",\"number\"]}]",
        "[\"tuple\",[\"string\",[\"tuple\",[]]]]",
    };
    static const char *const bad[] = {"\"text\"",
                                      "[]",
                                      "[\"list\"]",
                                      "{}",
                                      "null",
                                      "[\"object\",[]]",
                                      "[\"string\",\"string\"]",
                                      "[\"map\",\"x\"]"};
    _cleanup_(arena_done) struct arena arena = ARENA_INIT;

    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        _cleanup_buf_ struct buf text = BUF_INIT;

        tf_type_write(&text, type_of(&arena, types[i]));
        EXPECT_STR(text.data, types[i], types[i]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        _cleanup_value_ const struct value *json = parse(bad[i]);
        const struct tf_type *type;

        EXPECT_INT(tf_type_read(&arena, json, &type, NULL), ERR_INVALID, bad[i]);
    }
}

/* An unknown value that brings no type along, and whose place has none. */
static void open_values_are_found(void)
{
    static const char type_text[] =
        "[\"object\",{\"s\":\"string\",\"d\":\"dynamic\",\"l\":[\"list\",\"dynamic\"],"
        "\"o\":[\"object\",{\"d\":\"dynamic\"}],\"t\":[\"tuple\",[\"string\",\"dynamic\"]]}]";
    _cleanup_value_ const struct value *type_json = NULL, *known = value_pack("{s:i}", "d", 1),
                                       *typed = value_pack("{s:u}", "s"),
                                       *whole = value_pack("{s:u}", "d"),
                                       *inside = value_pack("{s:{s:[u]}}", "d", "x"),
                                       *item = value_pack("{s:[u]}", "l"),
                                       *list = value_pack("{s:u}", "l"),
                                       *first = value_pack("{s:[u, i]}", "t", 1),
                                       *second = value_pack("{s:[s, u]}", "t", "x"),
                                       *deep = value_pack("{s:{s:u}}", "o", "d");
    struct arena arena;
    const struct tf_type *type = NULL;

    arena_init(&arena);
    CU_ASSERT_FATAL(json_read_str(type_text, &type_json, NULL) == 0);
    CU_ASSERT_FATAL(tf_type_read(&arena, type_json, &type, NULL) == 0);
    EXPECT(!tf_type_is_open(type, known, NULL, NULL), "known");
    EXPECT(!tf_type_is_open(type, typed, NULL, NULL), "a string");
    EXPECT(!tf_type_is_open(type, first, NULL, NULL), "a string of a tuple");
    EXPECT(tf_type_is_open(type, whole, NULL, NULL), "dynamic");
    EXPECT(tf_type_is_open(type, inside, NULL, NULL), "inside of what is dynamic");
    EXPECT(tf_type_is_open(type, item, NULL, NULL), "in a list");
    EXPECT(tf_type_is_open(type, list, NULL, NULL), "of a list");
    EXPECT(tf_type_is_open(type, second, NULL, NULL), "in a tuple");
    EXPECT(tf_type_is_open(type, deep, NULL, NULL), "in an object");
    arena_done(&arena);
}

static const struct tf_type *find_string(void *arg, const char *reference)
{
    (void)arg;
    return strcmp(reference, "$kusion_path.a.text") == 0 ? &tf_string : NULL;
}

/* What is not known yet has the type of what it refers to, where that is known. */
static void unknown_values_have_the_type_of_what_they_refer_to(void)
{
    static const struct tf_typing typing = {.find = find_string};
    _cleanup_value_ const struct value *text = value_pack("s", "$kusion_path.a.text"),
                                       *unknown = value_pack("u"),
                                       *written =
                                           value_pack("{s:s, s:[s, i]}", "a", "$kusion_path.a.text",
                                                      "b", "$kusion_path.a.other", 1),
                                       *resolved = value_pack("{s:u, s:[u, i]}", "a", "b", 1);
    _cleanup_buf_ struct buf whole = BUF_INIT, inside = BUF_INIT, untyped = BUF_INIT;

    tf_encode_typed(&whole, unknown, &tf_dynamic, text, &typing, NULL);
    EXPECT(memmem(whole.data, whole.length, "\"string\"", 8) != NULL, "the whole value");
    tf_encode_typed(&inside, resolved, &tf_dynamic, written, &typing, NULL);
    EXPECT(memmem(inside.data, inside.length, "{\"a\":\"string\",\"b\":[\"tuple\",[\"dynamic\",",
                  36) != NULL,
           "inside");
    tf_encode(&untyped, unknown, &tf_dynamic, NULL);
    EXPECT(!memmem(untyped.data, untyped.length, "string", 6), "nothing is known");
    EXPECT(!tf_type_is_open(&tf_dynamic, unknown, text, &typing), "its type is known");
    EXPECT(tf_type_is_open(&tf_dynamic, resolved, written, &typing), "that of one is not");
}

SUITE(terraform_values, TEST(values_become_msgpack_and_back), TEST(what_providers_send_is_read),
      TEST(rubbish_is_refused), TEST(depth_is_bounded),
      TEST(what_has_not_the_form_of_its_type_is_not_sent), TEST(what_a_spec_says_is_converted),
      TEST(what_cannot_be_converted_is_named), TEST(what_is_sensitive_stays_so),
      TEST(types_are_read_and_written), TEST(open_values_are_found),
      TEST(unknown_values_have_the_type_of_what_they_refer_to))
