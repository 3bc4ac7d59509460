#include "engine/value/value_mark.h"

#include <time.h>

#include "engine/value/json.h"
#include "engine/value/path.h"
#include "test/unit/suite.h"

static const struct value *parse(const char *text)
{
    const struct value *value = NULL;

    if (text)
        EXPECT_INT(json_read_str(text, &value, NULL), 0, text);
    return value;
}

/* A value with what is at the pointers sensitive; both as JSON. */
static const struct value *marked(const char *text, const char *pointers)
{
    _cleanup_value_ const struct value *plain = parse(text), *list = parse(pointers);

    return value_mark_paths(plain, list);
}

static void expect_paths(const struct value *value, const char *expected, const char *note)
{
    _cleanup_value_ const struct value *paths = value_sensitive_paths(value);
    _cleanup_free_ char *text = paths ? json_to_str(paths) : NULL;

    EXPECT_STR(text, expected, note);
    EXPECT(value_has_sensitive(value) == (paths != NULL), note);
}

/* Rows of marks, by pointers, and of pointers to what they leave. */
static const struct {
    const char *value, *pointers, *paths;
} marks[] = {
    {"{\"a\":{\"b\":1,\"c\":2},\"d\":[3,{\"e\":4}]}", "[\"/a/b\",\"/d/1/e\"]",
     "[\"/a/b\",\"/d/1/e\"]"},
    {"{\"d\":1,\"a\":2}", "[\"/a\",\"/d\"]", "[\"/d\",\"/a\"]"}, /* in the value's order */
    {"{\"a\":{\"b\":1}}", "[\"/a/b\",\"/a\",\"/a\"]", "[\"/a\"]"},
    {"{\"a\":{\"b\":1}}", "[\"\",\"/a\"]", "[\"\"]"},
    {"1", "[\"\"]", "[\"\"]"},
    {"{\"a\":{},\"b\":[],\"c\":null}", "[\"/a\",\"/b\",\"/c\"]", "[\"/a\",\"/b\",\"/c\"]"},
    {"{\"a/b\":{\"~\":1},\"a\":{\"b\":2}}", "[\"/a~1b/~0\"]", "[\"/a~1b/~0\"]"},
    {"{\"a\":{\"x\":1},\"a-\":2,\"a/\":3}", "[\"/a/x\",\"/a-\"]", "[\"/a/x\",\"/a-\"]"},
    {"{\"\":{\"\":1}}", "[\"//\"]", "[\"//\"]"},
    {"{\"a\\u0000b\":1,\"a\":2}", "[\"/a\\u0000b\"]", "[\"/a\\u0000b\"]"},
    /* nowhere */
    {"{\"a\":[1],\"b\":\"text\"}", "[\"/c\",\"/a/1\",\"/a/00\",\"/a/b\",\"/b/x\",\"a\",\"/~\",7]",
     NULL},
    {"[1]", "[]", NULL},
    {"[1]", "{\"/0\":1}", NULL},
};

static void pointers_become_bits_and_back(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
        _cleanup_value_ const struct value *plain = parse(marks[i].value);
        _cleanup_value_ const struct value *value = marked(marks[i].value, marks[i].pointers);

        EXPECT(value_equal(value, plain), marks[i].value);
        expect_paths(value, marks[i].paths, marks[i].value);
    }
    EXPECT(!value_sensitive_paths(NULL) && !marked(NULL, "[\"\"]"), "nothing");
}

static void what_is_taken_is_put_back(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
        _cleanup_value_ const struct value *value = marked(marks[i].value, marks[i].pointers);
        _cleanup_value_ const struct value *taken = NULL, *back = NULL;
        _cleanup_value_ const struct value *left = value_take_sensitive(value, &taken);

        EXPECT(!value_has_sensitive(left), marks[i].value);
        back = value_put_sensitive(left, taken);
        EXPECT(value_equal(back, value), marks[i].value);
        expect_paths(back, marks[i].paths, marks[i].value);
    }
}

static void leaves_null_for_what_it_takes(void)
{
    _cleanup_value_ const struct value *value =
        marked("{\"a\":[1,{\"b\":2}],\"c\":{\"d\":3}}", "[\"/a/1\",\"/c/d\"]");
    _cleanup_value_ const struct value *taken = NULL;
    _cleanup_value_ const struct value *left = value_take_sensitive(value, &taken);
    _cleanup_free_ char *left_text = json_to_str(left), *taken_text = json_to_str(taken);

    EXPECT_STR(left_text, "{\"a\":[1,null],\"c\":{\"d\":null}}", "left");
    EXPECT_STR(taken_text, "{\"/a/1\":{\"b\":2},\"/c/d\":3}", "taken");
}

static void puts_nothing_where_there_is_no_place(void)
{
    static const char *const rows[] = {
        "{\"/c\":1}", "{\"/a/0\":1}", "{\"a\":1}", "{\"/a\":1,\"/a/b\":2}", "{\"\":1,\"/a\":2}",
    };
    _cleanup_value_ const struct value *value = parse("{\"a\":{\"b\":1}}");

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *taken = parse(rows[i]);

        EXPECT(!value_put_sensitive(value, taken), rows[i]);
    }
}

static void marks_like_another(void)
{
    static const struct {
        const char *note, *value, *like, *pointers, *paths;
    } rows[] = {
        {"the same place", "{\"a\":1,\"b\":2}", "{\"b\":3}", "[\"/b\"]", "[\"/b\"]"},
        {"further down", "{\"a\":{\"b\":{\"c\":1},\"d\":2}}", "{\"a\":{\"b\":9}}", "[\"/a/b\"]",
         "[\"/a/b\"]"},
        {"missing", "{\"a\":{\"x\":1}}", "{\"a\":{\"b\":9},\"c\":1}", "[\"/a/b\",\"/c\"]", NULL},
        {"an item", "{\"l\":[1,2,3],\"m\":[1]}", "{\"l\":[{\"s\":9}],\"m\":[1]}", "[\"/l/0/s\"]",
         "[\"/l\"]"},
        {"an item's item", "{\"l\":[[1],[2]]}", "{\"l\":[[9]]}", "[\"/l/0/0\"]", "[\"/l\"]"},
        {"an array at the root", "[1]", "[9,8]", "[\"/1\"]", "[\"\"]"},
        {"no array any more", "{\"l\":\"text\"}", "{\"l\":[9]}", "[\"/l/0\"]", "[\"/l\"]"},
        {"no object any more", "{\"o\":[1]}", "{\"o\":{\"a\":9}}", "[\"/o/a\"]", "[\"/o\"]"},
        {"all", "{\"a\":1}", "{\"b\":1}", "[\"\"]", "[\"\"]"},
        {"nothing", "{\"a\":1}", "{\"a\":1}", "[]", NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *plain = parse(rows[i].value);
        _cleanup_value_ const struct value *like = marked(rows[i].like, rows[i].pointers);
        _cleanup_value_ const struct value *value = value_mark_like(plain, like);

        EXPECT(value_equal(value, plain), rows[i].note);
        expect_paths(value, rows[i].paths, rows[i].note);
    }
}

static void keeps_what_was_marked(void)
{
    _cleanup_value_ const struct value *value = marked("{\"a\":{\"b\":1},\"c\":2}", "[\"/a/b\"]");
    _cleanup_value_ const struct value *like = marked("{\"c\":0}", "[\"/c\"]");
    _cleanup_value_ const struct value *list = parse("[\"/c\"]");
    _cleanup_value_ const struct value *both = value_mark_like(value, like);
    _cleanup_value_ const struct value *again = value_mark_paths(value, list);

    expect_paths(both, "[\"/a/b\",\"/c\"]", "like another");
    expect_paths(again, "[\"/a/b\",\"/c\"]", "by pointers");
}

/* Whatever looks something up inside what is sensitive need not think of it. */
static void all_below_is_sensitive(void)
{
    _cleanup_value_ const struct value *value =
        marked("{\"data\":{\"a\":[1,{\"b\":\"x\"}],\"o\":{}}}", "[\"/data\"]");

    EXPECT(value_is_sensitive(value_path(value, "data", "o", NULL)), "value_path");
    EXPECT(value_is_sensitive(path_find(value, "data.a[1].b", NULL)), "path_find");
    EXPECT(value_is_sensitive(pointer_find(value, "/data/a/0")), "pointer_find");
    EXPECT(!value_is_sensitive(value), "not above");
}

/* As many as a Spec has room for. Were each of them a copy of the whole, this would take minutes.
 */
static void many_marks_take_linear_time(void)
{
    enum { MEMBERS = 40000 };
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *value = NULL, *all = NULL, *paths = NULL, *left = NULL,
                                       *taken = NULL, *put = NULL;
    clock_t start = clock();

    value_begin_object(b);
    for (int i = 0; i < MEMBERS; i++) {
        char key[16];

        snprintf(key, sizeof(key), "k%d", i);
        value_key(b, key);
        value_add_sensitive(b, NULL);
    }
    value_end_object(b);
    value_builder_finish(b, &all, NULL);
    paths = value_sensitive_paths(all);
    EXPECT_INT((long long)value_count(paths), MEMBERS, "pointers");
    value = value_mark_paths(all, paths);
    left = value_take_sensitive(value, &taken);
    EXPECT_INT((long long)value_count(taken), MEMBERS, "taken");
    put = value_put_sensitive(left, taken);
    EXPECT(value_equal(put, all), "put back");
    EXPECT((clock() - start) / CLOCKS_PER_SEC < 10, "linear");
}

SUITE(value_mark, TEST(pointers_become_bits_and_back), TEST(what_is_taken_is_put_back),
      TEST(leaves_null_for_what_it_takes), TEST(puts_nothing_where_there_is_no_place),
      TEST(marks_like_another), TEST(keeps_what_was_marked), TEST(all_below_is_sensitive),
      TEST(many_marks_take_linear_time))
