#include "runtimes/terraform/values/set.h"

#include "engine/base/str.h"
#include "engine/value/json.h"
#include "runtimes/terraform/values/values.h"
#include "test/unit/suite.h"

/* A bare "?" stands for an unknown value. */
static void add(struct value_builder *b, const struct value *value)
{
    if (str_equal(value_string(value), "?")) {
        value_add_unknown(b);
        return;
    }
    if (!value_is(value, VALUE_ARRAY) && !value_is(value, VALUE_OBJECT)) {
        value_add(b, value);
        return;
    }
    value_begin_like(b, value);
    for (size_t i = 0; i < value_count(value); i++) {
        size_t length;

        if (value_is(value, VALUE_OBJECT)) {
            const char *key = value_member_key(value, i, &length);

            value_key_n(b, key, length);
        }
        add(b, value_child(value, i));
    }
    value_end(b);
}

static const struct value *parse(const char *text)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *json = NULL;
    const struct value *value = NULL;

    EXPECT_INT(json_read_str(text, &json, NULL), 0, text);
    add(b, json);
    EXPECT_INT(value_builder_finish(b, &value, NULL), 0, text);
    return value;
}

#define TEXTS   "[\"set\",\"string\"]"
#define NUMBERS "[\"set\",\"number\"]"
#define OBJECTS "[\"set\",[\"object\",{\"a\":\"string\",\"b\":\"bool\",\"n\":\"number\"}]]"
#define LISTS   "[\"set\",[\"list\",\"string\"]]"
#define MAPS    "[\"set\",[\"map\",\"string\"]]"
#define INSIDE  "[\"map\",[\"list\",[\"set\",\"string\"]]]"

/* As OpenTofu orders them. */
static const struct {
    const char *type, *given, *ordered;
} orders[] = {
    {TEXTS, "[\"b\",\"a\",\"a b\",\"a!\",\"\",\"a\"]", "[\"\",\"a\",\"a b\",\"a!\",\"b\"]"},
    {TEXTS, "[null,\"?\",\"x\",\"?\"]",
     "[\"x\",\"(known after apply)\",\"(known after apply)\",null]"},
    {NUMBERS, "[10,9,-1,0.5,1e1]", "[-1,0.5,9,10]"},
    /* by the first member that differs, in the order of their names; null last */
    {OBJECTS,
     "[{\"a\":null,\"b\":true,\"n\":1},{\"a\":\"x\",\"b\":null,\"n\":1},"
     "{\"a\":\"x\",\"b\":true,\"n\":2},{\"a\":\"x\",\"b\":false,\"n\":10},"
     "{\"n\":2,\"b\":true,\"a\":\"x\"}]",
     "[{\"a\":\"x\",\"b\":false,\"n\":10},{\"a\":\"x\",\"b\":true,\"n\":2},"
     "{\"a\":\"x\",\"b\":null,\"n\":1},{\"a\":null,\"b\":true,\"n\":1}]"},
    {LISTS, "[[],[\"a\"],[\"a\",\"b\"],[\"a\"]]", "[[\"a\",\"b\"],[\"a\"],[]]"},
    {MAPS, "[{},{\"k\":\"v\"},{\"k\":\"u\",\"l\":\"\"}]",
     "[{\"k\":\"u\",\"l\":\"\"},{\"k\":\"v\"},{}]"},
    {INSIDE, "{\"k\":[[\"b\",\"a\"],[\"c\",\"c\"],null]}", "{\"k\":[[\"a\",\"b\"],[\"c\"],null]}"},
    {"[\"list\",\"string\"]", "[\"b\",\"a\",\"b\"]", "[\"b\",\"a\",\"b\"]"},
    {"[\"object\",{\"d\":\"dynamic\",\"s\":[\"set\",\"string\"]}]",
     "{\"d\":[\"b\",\"a\"],\"s\":[\"b\",\"a\"]}", "{\"d\":[\"b\",\"a\"],\"s\":[\"a\",\"b\"]}"},
};

static const struct tf_type *type_of(struct arena *arena, const char *text)
{
    _cleanup_value_ const struct value *json = parse(text);
    const struct tf_type *type = NULL;

    EXPECT_INT(tf_type_read(arena, json, &type, NULL), 0, text);
    return type;
}

static void sets_have_terraforms_order(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
        _cleanup_(arena_done) struct arena arena = ARENA_INIT;
        const struct tf_type *type = type_of(&arena, orders[i].type);
        _cleanup_value_ const struct value *given = parse(orders[i].given), *normal = NULL;
        _cleanup_free_ char *text = NULL;

        EXPECT_INT(tf_normalise(given, type, &normal, NULL), 0, orders[i].given);
        text = json_to_str(normal);
        EXPECT_STR(text, orders[i].ordered, orders[i].given);
    }
}

/* The bytes of the value in order are those of the ordered value. */
static void bytes_have_it_too(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
        _cleanup_(arena_done) struct arena arena = ARENA_INIT;
        const struct tf_type *type = type_of(&arena, orders[i].type);
        _cleanup_value_ const struct value *given = parse(orders[i].given), *normal = NULL;
        _cleanup_value_ const struct value *again = NULL;
        _cleanup_buf_ struct buf bytes = BUF_INIT, ordered = BUF_INIT;

        tf_normalise(given, type, &normal, NULL);
        tf_encode(&bytes, given, type, NULL);
        tf_encode(&ordered, normal, type, NULL);
        EXPECT_INT(tf_reorder(&bytes, type, NULL), 0, orders[i].given);
        EXPECT_INT(tf_decode(bytes.data, bytes.length, type, TF_PLAIN, &again, NULL), 0,
                   orders[i].given);
        EXPECT(value_equal(again, normal), orders[i].given);
        EXPECT(bytes.length == ordered.length &&
                   memcmp(bytes.data, ordered.data, bytes.length) == 0,
               orders[i].given);
    }
}

static void rubbish_is_not_reordered(void)
{
    static const struct {
        const char *type, *bytes;
    } table[] = {
        {TEXTS, "\x92\xa1x"},
        {OBJECTS, "\x91\x81\xa1z\x01"},
        {"[\"tuple\",[\"string\"]]", "\x92\xa1x\xa1y"},
        {TEXTS, ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_(arena_done) struct arena arena = ARENA_INIT;
        const struct tf_type *type = type_of(&arena, table[i].type);
        _cleanup_buf_ struct buf bytes = BUF_INIT;

        buf_add_str(&bytes, table[i].bytes);
        EXPECT_INT(tf_reorder(&bytes, type, NULL), ERR_INVALID, table[i].type);
    }
}

SUITE(terraform_set, TEST(sets_have_terraforms_order), TEST(bytes_have_it_too),
      TEST(rubbish_is_not_reordered))
