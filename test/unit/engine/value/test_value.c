#include <pthread.h>
#include <stdlib.h>

#include "engine/base/limits.h"
#include "engine/value/json.h"
#include "engine/value/value.h"
#include "test/unit/suite.h"

static const struct value *read(const char *text)
{
    const struct value *value = NULL;
    struct error error = {0};

    json_read_str(text, &value, &error);
    EXPECT_STR(error.message, "", text);
    return value;
}

static void expect_json(const struct value *value, const char *expected, const char *note)
{
    _cleanup_free_ char *text = json_to_str(value);

    EXPECT_STR(text, expected, note);
}

static const struct value *finish(struct value_builder *b)
{
    const struct value *value = NULL;
    struct error error = {0};

    value_builder_finish(b, &value, &error);
    EXPECT_STR(error.message, "", "finish");
    return value;
}

static void getters_accept_anything(void)
{
    _cleanup_value_ const struct value *v = read("{\"a\":[1,\"x\",true,null,{}],\"b\":{}}");
    const struct value *others[] = {NULL, v, value_get(v, "a"), value_at(value_get(v, "a"), 3)};

    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        size_t length = 42;

        EXPECT(!value_string(others[i]) && !value_number(others[i]), "no text");
        EXPECT(!value_string_n(others[i], &length) && length == 42, "no text");
        EXPECT(value_bool(others[i], true) && !value_bool(others[i], false), "no boolean");
        EXPECT_INT(value_int(others[i], 5), 5, "no number");
        EXPECT(!value_get(others[i], "none") && !value_at(others[i], 99), "nothing there");
        EXPECT(!value_get(others[i], NULL) && !value_member(others[i], 99), "nothing there");
        EXPECT(!value_member_key(others[i], 99, NULL), "nothing there");
    }
    EXPECT_STR(value_type_name(v), "object", "type");
    EXPECT_STR(value_type_name(NULL), "null", "type");
    EXPECT(!value_is(NULL, VALUE_NULL) && value_is(v, VALUE_OBJECT), "is");
    EXPECT_INT(value_count(value_at(value_get(v, "a"), 1)), 0, "a string's count");
    EXPECT_INT(value_size(v), 8, "size");
    EXPECT_INT(value_size(NULL), 0, "size");
    EXPECT(value_path(v, "a", NULL) == value_get(v, "a"), "path");
    EXPECT(value_path(v, NULL) == v, "path of nothing");
    EXPECT(!value_path(v, "x", "y", NULL), "path");
    value_unref(NULL);
    EXPECT(!value_ref(NULL), "NULL stays NULL");
}

static void reads_whole_numbers(void)
{
    static const struct {
        const char *text;
        int64_t number;
    } rows[] = {
        {"0", 0},
        {"-0", 0},
        {"1e3", 1000},
        {"1.0", 1},
        {"10e-1", 1},
        {"-12.50e2", -1250},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775808", INT64_MIN},
        {"9223372036854775808", 42},
        {"-9223372036854775809", 42},
        {"1e19", 42},
        {"1e999999999", 42},
        {"1e-999999999", 42},
        {"1.5", 42},
        {"0.1e1", 1},
        {"0e999999999", 0},
        {"\"3\"", 42},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *v = read(rows[i].text);

        EXPECT_INT(value_int(v, 42), rows[i].number, rows[i].text);
    }
}

static void compares_by_meaning(void)
{
    static const struct {
        const char *a, *b;
        bool equal;
    } rows[] = {
        {"1", "1.0", true},
        {"1", "10e-1", true},
        {"100", "1e2", true},
        {"-0", "0", true},
        {"0.0e5", "0", true},
        {"1e+05", "100000", true},
        {"-1", "1", false},
        {"12345678901234567890123", "12345678901234567890124", false},
        {"0.1", "0.10000000000000000001", false},
        {"1e999999999", "1e999999998", false},
        {"1", "\"1\"", false},
        {"null", "false", false},
        {"true", "true", true},
        {"true", "false", false},
        {"\"a\\u0000b\"", "\"a\\u0000c\"", false},
        {"\"\\u00e4\"", "\"ä\"", true},
        {"{\"a\":1,\"b\":2}", "{\"b\":2.0,\"a\":1}", true},
        {"{\"a\":1}", "{\"a\":1,\"b\":2}", false},
        {"{\"a\":1,\"b\":2}", "{\"a\":1,\"c\":2}", false},
        {"[1,2]", "[2,1]", false},
        {"[]", "{}", false},
        {"[]", "[]", true},
        {"{}", "{}", true},
        {"[[1]]", "[[1.0]]", true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *a = read(rows[i].a), *b = read(rows[i].b);

        EXPECT_INT(value_equal(a, b), rows[i].equal, rows[i].a);
        EXPECT_INT(value_equal(b, a), rows[i].equal, rows[i].a);
        EXPECT(value_equal(a, a) && !value_equal(a, NULL) && !value_equal(NULL, a), rows[i].a);
    }
    EXPECT(value_equal(NULL, NULL), "NULL");
}

static void keeps_order_and_finds_in_large_objects(void)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *v = NULL;
    size_t wrong = 0;
    char key[32];

    value_begin_object(b);
    for (int i = 0; i < 5000; i++) {
        snprintf(key, sizeof(key), "key-%d", (i * 7919) % 5000);
        value_key(b, key);
        value_add_int(b, i);
    }
    value_end_object(b);
    v = finish(b);
    for (int i = 0; i < 5000; i++) {
        snprintf(key, sizeof(key), "key-%d", (i * 7919) % 5000);
        wrong += value_int(value_get(v, key), -1) != i;
        wrong += strcmp(value_member_key(v, (size_t)i, NULL), key) != 0;
    }
    EXPECT_INT(wrong, 0, "all found, in order");
    EXPECT(!value_get(v, "key-") && !value_get(v, "key-5000") && !value_get(v, ""), "absent");
}

static void refuses_a_key_twice(void)
{
    for (int n = 1; n < 100; n += 7) {
        _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
        const struct value *v = NULL;
        struct error error = {0};
        char key[32];

        value_begin_object(b);
        for (int i = 0; i <= n; i++) {
            snprintf(key, sizeof(key), "k%d", i == n ? n / 2 : i);
            value_key(b, key);
            value_add_null(b);
        }
        value_end_object(b);
        EXPECT_INT(value_builder_finish(b, &v, &error), ERR_INVALID, key);
        EXPECT_STR(error.reason, "DuplicateKey", key);
        EXPECT(strstr(error.message, key) != NULL, error.message);
        EXPECT(!v, "untouched");
        value_add_int(b, 1);
        v = finish(b);
        EXPECT_INT(value_int(v, 0), 1, "the builder may be used again");
        value_unref(v);
    }
}

static void outlives_what_it_shares(void)
{
    const struct value *inner = read("{\"deep\":{\"list\":[1,\"two\"]},\"text\":\"hello\"}");
    const struct value *outer = value_pack("{s:v, s:v}", "shared", value_get(inner, "deep"), "text",
                                           value_get(inner, "text"));
    const struct value *list = value_ref(value_path(outer, "shared", "list", NULL));

    value_unref(inner);
    expect_json(outer, "{\"shared\":{\"list\":[1,\"two\"]},\"text\":\"hello\"}",
                "the origin is gone");
    value_unref(outer);
    expect_json(list, "[1,\"two\"]", "any value keeps its document");
    value_unref(list);
}

/* A status that is written again and again, from the one before: neither a
 * chain that grows nor a stack that overflows. */
static void survives_long_histories(void)
{
    const struct value *object = read("{\"spec\":{\"a\":[1,2,3]},\"status\":{\"n\":0}}");
    const struct value *chain = read("[[0]]");

    for (int i = 0; i < 20000; i++) {
        _cleanup_value_ const struct value *status = value_pack("{s:i}", "n", i);
        const struct value *next = value_with(object, "status", status);

        value_unref(object);
        object = next;
    }
    expect_json(object, "{\"spec\":{\"a\":[1,2,3]},\"status\":{\"n\":19999}}", "the last");
    value_unref(object);
    /* Each holds the one before here, since it shares an array of its own. */
    for (int i = 0; i < 50000; i++) {
        const struct value *next = value_pack("[[i],v]", i, value_at(chain, 0));

        value_unref(chain);
        chain = next;
    }
    value_unref(chain);
}

static void shares_many(void)
{
    enum { COUNT = 5000 };
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    const struct value *documents[COUNT], *all;

    value_begin_array(b);
    for (int i = 0; i < COUNT; i++) {
        documents[i] = value_pack("{s:[i]}", "n", i);
        value_add(b, documents[i]);
    }
    for (int i = 0; i < COUNT; i++)
        value_add(b, documents[i % 3]);
    value_end_array(b);
    all = finish(b);
    for (int i = 0; i < COUNT; i++)
        value_unref(documents[i]);
    EXPECT_INT(value_count(all), 2 * COUNT, "count");
    EXPECT_INT(value_size(all), 6 * COUNT + 1, "size");
    EXPECT_INT(value_int(value_at(value_get(value_at(all, 4711), "n"), 0), -1), 4711, "kept");
    value_unref(all);
}

static void bounds_depth_and_size(void)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *deep = NULL, *bomb = value_pack("[n]");
    const struct value *v = NULL;
    struct error error = {0};

    for (int i = 0; i < LIMIT_DEPTH; i++)
        value_begin_array(b);
    EXPECT_INT(value_builder_depth(b), LIMIT_DEPTH, "the bound itself is allowed");
    for (int i = 0; i < LIMIT_DEPTH; i++)
        value_end_array(b);
    deep = finish(b);
    value_begin_array(b);
    value_add(b, deep);
    EXPECT_INT(value_builder_error(b), ERR_TOO_LARGE, "sharing counts");
    value_end_array(b);
    EXPECT_INT(value_builder_finish(b, &v, &error), ERR_TOO_LARGE, "too deep");
    EXPECT_STR(error.reason, "TooDeep", "reason");
    EXPECT(!value_with(NULL, "a", deep), "NULL past the bound");
    for (int i = 0; i < 60 && bomb; i++) {
        const struct value *larger = value_pack("[v,v]", bomb, bomb);

        value_unref(bomb);
        bomb = larger;
    }
    EXPECT(!bomb, "a tree that doubles");
}

static void refuses_what_is_no_number(void)
{
    static const char *const rows[] = {"",    "-",   "01",  "1.", ".5",  "1e",          "+1",
                                       "0x1", "NaN", "1e+", "1 ", "-01", "1e1000000000"};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

        value_add_number(b, rows[i], strlen(rows[i]));
        EXPECT_INT(value_builder_error(b), ERR_INVALID, rows[i]);
    }
}

static void packs(void)
{
    _cleanup_value_ const struct value *inner = read("{\"x\":1}");
    _cleanup_value_ const struct value *v = NULL, *list = NULL;

    v = value_pack("{s:n, s:b, s:i, s:I, s:s, s:s, s:v, s:V, s:{s:[]}, s:[i,s?,v?,V?]}", "n", "b",
                   2, "i", -3, "I", INT64_MIN, "s", "text", "none", NULL, "v", inner, "V",
                   value_ref(inner), "o", "a", "l", 1, NULL, NULL, NULL);
    expect_json(v,
                "{\"n\":null,\"b\":true,\"i\":-3,\"I\":-9223372036854775808,\"s\":\"text\","
                "\"none\":null,\"v\":{\"x\":1},\"V\":{\"x\":1},\"o\":{\"a\":[]},\"l\":[1]}",
                "all");
    list = value_pack("{s:s?, s:v?, s:s?}", "a", NULL, "b", NULL, "c", "here");
    expect_json(list, "{\"c\":\"here\"}", "left out");
}

static void makes_changed_objects(void)
{
    static const char *const path[] = {"metadata", "labels", "a"};
    _cleanup_value_ const struct value *v = read("{\"a\":1,\"b\":{\"c\":2},\"d\":3}");
    _cleanup_value_ const struct value *one = value_pack("i", 9);
    const struct value *made;

#define EXPECT_MADE(expression, expected)       \
    made = (expression);                        \
    expect_json(made, (expected), #expression); \
    value_unref(made)

    EXPECT_MADE(value_with(v, "b", one), "{\"a\":1,\"b\":9,\"d\":3}");
    EXPECT_MADE(value_with(v, "e", one), "{\"a\":1,\"b\":{\"c\":2},\"d\":3,\"e\":9}");
    EXPECT_MADE(value_with(NULL, "e", one), "{\"e\":9}");
    EXPECT_MADE(value_with(one, "e", NULL), "{\"e\":null}");
    EXPECT_MADE(value_without(v, "b"), "{\"a\":1,\"d\":3}");
    EXPECT_MADE(value_without(v, "x"), "{\"a\":1,\"b\":{\"c\":2},\"d\":3}");
    EXPECT_MADE(value_without(NULL, "x"), "{}");
    EXPECT_MADE(value_with_path(v, path, 3, one),
                "{\"a\":1,\"b\":{\"c\":2},\"d\":3,\"metadata\":{\"labels\":{\"a\":9}}}");
    EXPECT_MADE(value_with_path(v, (const char *[]){"b", "c"}, 2, one),
                "{\"a\":1,\"b\":{\"c\":9},\"d\":3}");
    EXPECT_MADE(value_with_path(v, (const char *[]){"a", "c"}, 2, one),
                "{\"a\":{\"c\":9},\"b\":{\"c\":2},\"d\":3}");
    EXPECT_MADE(value_without_path(v, (const char *[]){"b", "c"}, 2), "{\"a\":1,\"b\":{},\"d\":3}");
    EXPECT_MADE(value_without_path(v, path, 3), "{\"a\":1,\"b\":{\"c\":2},\"d\":3}");
}

static void *share_for_a_while(void *arg)
{
    const struct value *v = arg;

    for (int i = 0; i < 5000; i++) {
        const struct value *mine = value_pack("{s:v}", "spec", value_get(v, "spec"));

        value_unref(v);
        v = value_ref(value_get(mine, "spec"));
        value_unref(mine);
        mine = value_pack("{s:V}", "spec", v);
        v = mine;
    }
    value_unref(v);
    return NULL;
}

static void is_shared_between_threads(void)
{
    const struct value *v = read("{\"spec\":{\"a\":[1,2,3],\"b\":\"text\"}}");
    pthread_t threads[4];

    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        union {
            const void *in;
            void *out;
        } arg = {.in = value_ref(v)};

        pthread_create(&threads[i], NULL, share_for_a_while, arg.out);
    }
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        pthread_join(threads[i], NULL);
    expect_json(v, "{\"spec\":{\"a\":[1,2,3],\"b\":\"text\"}}", "unchanged");
    value_unref(v);
}

/* A long string that is in many places is there once, for as long as any of them. */
static void long_text_is_shared(void)
{
    enum { BYTES = 100000, PLACES = 1000 };
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_free_ char *text = malloc(BYTES + 1);
    const struct value *from, *places = NULL, *one;

    memset(text, 'x', BYTES);
    text[BYTES] = '\0';
    from = value_pack("{s:s}", "text", text);
    value_begin_array(b);
    for (size_t i = 0; i < PLACES; i++)
        value_add(b, value_get(from, "text"));
    value_end_array(b);
    value_builder_finish(b, &places, NULL);
    EXPECT(value_memory(places) < BYTES, "the nodes");
    value_unref(from);
    one = value_pack("v", value_at(places, PLACES - 1));
    value_unref(places);
    EXPECT_STR(value_string(one), text, "of a value that is gone");
    value_unref(one);
}

/* What it would give back: not what it shares with others. */
static void tells_its_memory(void)
{
    char text[5000];
    const struct value *large, *sharing;

    for (size_t i = 0; i < sizeof(text) - 1; i++)
        text[i] = 'x';
    text[sizeof(text) - 1] = '\0';
    large = value_pack("{s:{s:s}}", "spec", "text", text);
    sharing = value_with(large, "more", NULL);
    EXPECT(value_memory(large) > sizeof(text) && value_memory(large) < 2 * sizeof(text), "all");
    EXPECT(value_memory(sharing) > 0 && value_memory(sharing) < sizeof(text), "its own");
    EXPECT_INT((long long)value_memory(value_get(large, "spec")), 0, "part of another's");
    EXPECT_INT((long long)value_memory(NULL), 0, "none");
    value_unref(sharing);
    value_unref(large);
}

static void copies_without_a_member(void)
{
    static const char *const path[] = {"metadata", "managedFields"};
    static const struct {
        const char *from, *to;
    } rows[] = {
        {"{\"metadata\":{\"name\":\"a\",\"managedFields\":[{\"x\":1}]},\"n\":[1.10,true,null,\"s\"]"
         "}",
         "{\"metadata\":{\"name\":\"a\"},\"n\":[1.10,true,null,\"s\"]}"},
        {"{\"managedFields\":{\"metadata\":{}},\"metadata\":\"none\"}",
         "{\"managedFields\":{\"metadata\":{}},\"metadata\":\"none\"}"},
        {"[{\"metadata\":{\"managedFields\":[]}}]", "[{\"metadata\":{\"managedFields\":[]}}]"},
        {"{}", "{}"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *from = NULL, *copy = NULL;
        _cleanup_free_ char *text = NULL;

        EXPECT_INT(json_read_str(rows[i].from, &from, NULL), 0, rows[i].from);
        copy = value_copy_without(from, path, ARRAY_SIZE(path));
        text = json_to_str(copy);
        EXPECT_STR(text, rows[i].to, rows[i].from);
        EXPECT(value_memory(copy) && value_memory(copy) <= value_memory(from),
               "a document of its own");
    }
    EXPECT(!value_copy_without(NULL, path, 2), "nothing");
}

/* A copy keeps nothing of the original, and what it holds is known. */
static void copies_share_no_text(void)
{
    enum { BYTES = 100000 };
    _cleanup_free_ char *text = malloc(BYTES + 1);
    const struct value *from, *copy;

    memset(text, 'x', BYTES);
    text[BYTES] = '\0';
    from = value_pack("{s:s, s:s}", "text", text, "other", text);
    copy = value_copy_without(from, (const char *const[]){"other"}, 1);
    value_unref(from);
    EXPECT(value_memory(copy) > BYTES && value_memory(copy) < 2 * BYTES, "one text");
    EXPECT_STR(value_get_string(copy, "text"), text, "the same");
    value_unref(copy);
}

SUITE(value, TEST(copies_without_a_member), TEST(copies_share_no_text),
      TEST(getters_accept_anything), TEST(reads_whole_numbers), TEST(compares_by_meaning),
      TEST(keeps_order_and_finds_in_large_objects), TEST(refuses_a_key_twice),
      TEST(outlives_what_it_shares), TEST(survives_long_histories), TEST(shares_many),
      TEST(bounds_depth_and_size), TEST(refuses_what_is_no_number), TEST(packs),
      TEST(makes_changed_objects), TEST(is_shared_between_threads), TEST(long_text_is_shared),
      TEST(tells_its_memory))
