/* Unknown values, and the sensitive bit, through all that makes values of values. */
#include "engine/base/limits.h"
#include "engine/value/json.h"
#include "engine/value/path.h"
#include "engine/value/value_mark.h"
#include "test/unit/suite.h"

static const struct value *parse(const char *text)
{
    const struct value *value = NULL;

    EXPECT_INT(json_read_str(text, &value, NULL), 0, text);
    return value;
}

static const struct value *secret_of(const char *text)
{
    _cleanup_value_ const struct value *plain = parse(text);

    return value_sensitive(plain);
}

/* Takes made over. */
static void expect_made(const struct value *made, const char *json, const char *paths,
                        const char *note)
{
    _cleanup_value_ const struct value *found = value_sensitive_paths(made);
    _cleanup_free_ char *text = json_to_str(made), *pointers = found ? json_to_str(found) : NULL;

    EXPECT_STR(text, json, note);
    EXPECT_STR(pointers, paths, note);
    EXPECT_INT(value_has_sensitive(made), paths != NULL, note);
    value_unref(made);
}

static const char *const scalars[] = {"null", "true", "1.10", "\"x\"", "{}", "[]"};

static void copies_of_scalars_stay_sensitive(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(scalars); i++) {
        _cleanup_value_ const struct value *plain = parse(scalars[i]), *v = value_sensitive(plain);
        _cleanup_value_ const struct value *again = value_sensitive(v);
        _cleanup_value_ const struct value *packed = value_pack("{s:v, s:v}", "p", plain, "s", v);

        EXPECT(value_is_sensitive(v) && value_has_sensitive(v), scalars[i]);
        EXPECT(!value_is_sensitive(plain) && !value_has_sensitive(plain), "it was not");
        EXPECT(again == v, "the same again");
        EXPECT(value_equal(plain, v) && value_equal(v, plain), "equal all the same");
        EXPECT(!value_is_sensitive(packed) && value_has_sensitive(packed), "its parent has it");
        EXPECT(!value_is_sensitive(value_get(packed, "p")), "the other has not");
        EXPECT(value_is_sensitive(value_get(packed, "s")), scalars[i]);
    }
    EXPECT(!value_sensitive(NULL) && !value_is_sensitive(NULL) && !value_has_sensitive(NULL),
           "nothing is not");
}

static void operations_keep_the_bit(void)
{
    static const char *const path[] = {"o", "a"};
    _cleanup_value_ const struct value *secret = secret_of("{\"a\":[1],\"b\":2}");
    _cleanup_value_ const struct value *part =
        value_pack("{s:v, s:{s:s}}", "s", secret, "o", "a", "x");
    _cleanup_value_ const struct value *one = parse("9"), *object = parse("{\"k\":[9]}");

    expect_made(value_ref(part), "{\"s\":{\"a\":[1],\"b\":2},\"o\":{\"a\":\"x\"}}", "[\"/s\"]",
                "{s:v}");
    expect_made(value_pack("[v, [v], i]", secret, value_get(secret, "a"), 1),
                "[{\"a\":[1],\"b\":2},[[1]],1]", "[\"/0\",\"/1/0\"]", "[v]");
    expect_made(value_with(part, "n", one),
                "{\"s\":{\"a\":[1],\"b\":2},\"o\":{\"a\":\"x\"},\"n\":9}", "[\"/s\"]",
                "value_with, beside it");
    expect_made(value_with(part, "s", one), "{\"s\":9,\"o\":{\"a\":\"x\"}}", NULL,
                "value_with, in its place");
    expect_made(value_with_path(part, path, 2, secret),
                "{\"s\":{\"a\":[1],\"b\":2},\"o\":{\"a\":{\"a\":[1],\"b\":2}}}",
                "[\"/s\",\"/o/a\"]", "value_with_path");
    expect_made(value_without(part, "o"), "{\"s\":{\"a\":[1],\"b\":2}}", "[\"/s\"]",
                "value_without");
    expect_made(value_without(part, "s"), "{\"o\":{\"a\":\"x\"}}", NULL, "value_without it");
    expect_made(value_without_path(part, path, 2), "{\"s\":{\"a\":[1],\"b\":2},\"o\":{}}",
                "[\"/s\"]", "value_without_path");
    expect_made(pointer_replace(part, "/o/a", one), "{\"s\":{\"a\":[1],\"b\":2},\"o\":{\"a\":9}}",
                "[\"/s\"]", "pointer_replace, beside it");
    /* What is put into something sensitive becomes sensitive: the bit covers all below. */
    expect_made(value_with(secret, "n", object), "{\"a\":[1],\"b\":2,\"n\":{\"k\":[9]}}", "[\"\"]",
                "value_with into it");
    expect_made(value_without(secret, "b"), "{\"a\":[1]}", "[\"\"]", "value_without in it");
    expect_made(pointer_replace(part, "/s/a/0", object),
                "{\"s\":{\"a\":[{\"k\":[9]}],\"b\":2},\"o\":{\"a\":\"x\"}}", "[\"/s\"]",
                "pointer_replace in it");
}

static void what_is_put_in_is_sensitive_all_the_way_down(void)
{
    _cleanup_value_ const struct value *secret = secret_of("{\"a\":1}"),
                                       *object = parse("{\"k\":[{\"l\":9}]}");
    _cleanup_value_ const struct value *made = value_with(secret, "n", object);

    EXPECT(value_is_sensitive(pointer_find(made, "/n/k/0/l")), "with");
    EXPECT(!value_is_sensitive(pointer_find(object, "/k/0/l")), "the origin is as it was");
}

/* Far more members than those that are looked up one by one. */
static void large_objects_are_marked_whole(void)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *plain = NULL, *secret = NULL;

    value_begin_object(b);
    for (int i = 0; i < 1000; i++) {
        char key[16];

        snprintf(key, sizeof(key), "k%d", i);
        value_key(b, key);
        value_add_int(b, i);
    }
    value_end_object(b);
    CU_ASSERT_EQUAL_FATAL(value_builder_finish(b, &plain, NULL), 0);
    secret = value_sensitive(plain);
    EXPECT(value_equal(secret, plain) && value_size(secret) == value_size(plain), "the same");
    EXPECT(value_is_sensitive(value_get(secret, "k999")), "found by its key");
}

static void builders_begin_like_another(void)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *secret = secret_of("[1]"), *plain = parse("{\"a\":1}");
    const struct value *made = NULL;

    value_begin_like(b, plain);
    value_key(b, "l");
    value_begin_like(b, secret);
    value_add_unknown(b);
    value_add(b, plain);
    value_end(b);
    value_key(b, "n");
    value_add_int(b, 1);
    value_end(b);
    CU_ASSERT_EQUAL_FATAL(value_builder_finish(b, &made, NULL), 0);
    EXPECT(value_has_unknown(made), "unknown");
    expect_made(made, "{\"l\":[\"" VALUE_UNKNOWN_TEXT "\",{\"a\":1}],\"n\":1}", "[\"/l\"]",
                "one of two");
    /* Of what went wrong nothing is left for the next document. */
    value_begin_array(b);
    for (size_t i = 0; i <= LIMIT_DEPTH; i++)
        value_begin_like(b, secret);
    EXPECT_INT(value_builder_finish(b, &made, NULL), ERR_TOO_LARGE, "too deep");
    value_add_int(b, 1);
    CU_ASSERT_EQUAL_FATAL(value_builder_finish(b, &made, NULL), 0);
    expect_made(made, "1", NULL, "nothing left");
}

/* ---- Unknown ---- */

static void nothing_but_unknown_equals_unknown(void)
{
    static const char *const others[] = {"\"" VALUE_UNKNOWN_TEXT "\"", "null", "\"\"", "{}",
                                         "\"?\""};
    _cleanup_value_ const struct value *unknown = value_pack("u"), *again = value_pack("u");
    _cleanup_value_ const struct value *list = value_pack("[u]");

    EXPECT(value_is(unknown, VALUE_UNKNOWN), "type");
    EXPECT_STR(value_type_name(unknown), "unknown", "type");
    EXPECT(!value_string(unknown) && !value_count(unknown), "no content");
    EXPECT_INT(value_size(unknown), 1, "size");
    EXPECT(value_equal(unknown, again), "so that plans are stable");
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        _cleanup_value_ const struct value *other = parse(others[i]);
        _cleanup_value_ const struct value *other_list = value_pack("[v]", other);

        EXPECT(!value_equal(unknown, other) && !value_equal(other, unknown), others[i]);
        EXPECT(!value_equal(list, other_list), others[i]);
        EXPECT(!value_has_unknown(other), others[i]);
    }
}

static void containers_know_of_unknown_values(void)
{
    _cleanup_value_ const struct value *deep =
        value_pack("{s:i, s:[{s:u}], s:{}}", "a", 1, "b", "c", "d");
    _cleanup_value_ const struct value *shared = value_pack("[v]", deep);
    _cleanup_value_ const struct value *one = parse("1");
    _cleanup_value_ const struct value *known = pointer_replace(deep, "/b/0/c", one);
    _cleanup_value_ const struct value *less = value_without(deep, "b");
    _cleanup_value_ const struct value *secret = value_sensitive(deep);

    EXPECT(value_has_unknown(deep) && value_has_unknown(value_get(deep, "b")), "above it");
    EXPECT(!value_has_unknown(value_get(deep, "d")), "not beside it");
    EXPECT(value_has_unknown(shared), "shared");
    EXPECT(!value_has_unknown(known) && !value_has_unknown(less), "replaced, and left out");
    EXPECT(value_has_unknown(secret), "marked");
    EXPECT(value_is(pointer_find(secret, "/b/0/c"), VALUE_UNKNOWN), "still unknown");
    EXPECT(!value_has_unknown(NULL), "nothing");
}

static void expect_written(const struct value *value, enum json_style style, const char *expected)
{
    _cleanup_buf_ struct buf text = BUF_INIT;

    json_write(&text, value, style);
    EXPECT_STR(text.data, expected, expected);
}

static void is_written_for_people_and_for_digests(void)
{
    _cleanup_value_ const struct value *value = value_pack("[u, s]", VALUE_UNKNOWN_TEXT);
    _cleanup_value_ const struct value *list = NULL;

    expect_written(value, JSON_COMPACT, "[\"(known after apply)\",\"(known after apply)\"]");
    expect_written(value, JSON_PRETTY,
                   "[\n  \"(known after apply)\",\n  \"(known after apply)\"\n]");
    expect_written(value, JSON_CANONICAL, "[?,\"(known after apply)\"]");
    EXPECT_INT(json_read_str("[?]", &list, NULL), ERR_INVALID, "no JSON");
}

SUITE(value_bits, TEST(copies_of_scalars_stay_sensitive), TEST(operations_keep_the_bit),
      TEST(what_is_put_in_is_sensitive_all_the_way_down), TEST(large_objects_are_marked_whole),
      TEST(builders_begin_like_another), TEST(nothing_but_unknown_equals_unknown),
      TEST(containers_know_of_unknown_values), TEST(is_written_for_people_and_for_digests))
