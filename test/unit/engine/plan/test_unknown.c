#include <string.h>

#include "engine/plan/unknown.h"
#include "engine/value/json.h"
#include "test/unit/suite.h"

static const struct value *read(const char *text)
{
    const struct value *value = NULL;
    struct error error = {0};

    if (text)
        EXPECT_INT(json_read(text, strlen(text), &value, &error), 0, text);
    return value;
}

static void expect_value(const struct value *value, const char *expected, const char *note)
{
    _cleanup_free_ char *text = value ? json_to_str(value) : NULL;

    EXPECT_STR(text ? text : "NULL", expected, note);
}

static void finds_what_is_unknown(void)
{
    static const char *const keys[] = {"a/b~c"};
    _cleanup_value_ const struct value *unknown = value_pack("u"), *plain = read("{\"a\":1}"),
                                       *escaped = value_with_path(NULL, keys, 1, unknown),
                                       *deep = value_pack("{s:i, s:[n,{s:u,s:i},u], s:u}", "x", 1,
                                                          "list", "y", "z", 2, "w");
    static const char *const texts[] = {"NULL", "NULL", "[\"\"]", "[\"/a~1b~0c\"]",
                                        "[\"/list/1/y\",\"/list/2\",\"/w\"]"};
    const struct value *const values[] = {NULL, plain, unknown, escaped, deep};

    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
        _cleanup_value_ const struct value *paths = unknown_paths(values[i]);

        expect_value(paths, texts[i], texts[i]);
    }
}

/* "?" below is VALUE_UNKNOWN_TEXT, quoted as a string would be. */
static void masks_what_was_unknown(void)
{
    static const struct {
        const char *note, *value, *paths, *masked;
    } rows[] = {
        {"nothing", "{\"a\":1}", "[]", "{\"a\":1}"},
        {"no list", "{\"a\":1}", "{\"a\":1}", "{\"a\":1}"},
        {"a member", "{\"a\":1,\"b\":2}", "[\"/a\"]", "{\"a\":?,\"b\":2}"},
        {"one that is missing", "{\"b\":2}", "[\"/a\"]", "{\"b\":2,\"a\":?}"},
        {"one that is missing, named twice", "{\"b\":2}", "[\"/a\",\"/a\"]", "{\"b\":2,\"a\":?}"},
        {"one that is missing below what is there", "{\"b\":{}}", "[\"/b/a\"]",
         "{\"b\":{\"a\":?}}"},
        {"one below what is missing", "{\"b\":{}}", "[\"/c/a\"]", "{\"b\":{}}"},
        {"the whole", "{\"a\":1}", "[\"\"]", "?"},
        {"a scalar has nothing below", "3", "[\"/a\"]", "3"},
        {"items", "[1,[2,3],4]", "[\"/0\",\"/1/1\"]", "[?,[2,?],4]"},
        {"an item that is missing", "[1]", "[\"/1\"]", "[1]"},
        {"what is no item", "[1,2]", "[\"/01\",\"/-\",\"/a\"]", "[1,2]"},
        {"a container", "{\"a\":{\"b\":[1,2]}}", "[\"/a\"]", "{\"a\":?}"},
        {"in any order", "{\"a\":1,\"b\":{\"c\":2,\"d\":3}}", "[\"/b/d\",\"/a\",\"/b/c\"]",
         "{\"a\":?,\"b\":{\"c\":?,\"d\":?}}"},
        {"neighbours by their bytes", "{\"a\":{\"x\":1},\"a-\":{\"x\":2},\"a0\":{\"x\":3}}",
         "[\"/a/x\",\"/a0/x\"]", "{\"a\":{\"x\":?},\"a-\":{\"x\":2},\"a0\":{\"x\":?}}"},
        {"escaped", "{\"a/b\":1,\"c~d\":2}", "[\"/a~1b\",\"/c~0d\"]", "{\"a/b\":?,\"c~d\":?}"},
        {"escaped and missing", "{}", "[\"/a~1b~0c\"]", "{\"a/b~c\":?}"},
        {"what is no path", "{\"a\":1}", "[3,null,\"a\",\"a/b\"]", "{\"a\":1}"},
        {"a path and one below it", "{\"a\":{\"b\":1}}", "[\"/a/b\",\"/a\"]", "{\"a\":?}"},
        {"a key of no length", "{\"\":{\"\":1}}", "[\"//\"]", "{\"\":{\"\":?}}"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        _cleanup_value_ const struct value *value = read(rows[i].value),
                                           *paths = read(rows[i].paths),
                                           *masked = unknown_mask(value, paths);
        _cleanup_buf_ struct buf expected = BUF_INIT;

        for (const char *at = rows[i].masked; *at; at++)
            if (*at == '?')
                buf_printf(&expected, "\"%s\"", VALUE_UNKNOWN_TEXT);
            else
                buf_add_char(&expected, *at);
        expect_value(masked, expected.data, rows[i].note);
        EXPECT_INT(value_has_unknown(masked), strchr(rows[i].masked, '?') != NULL, rows[i].note);
    }
}

/* What a plan did not know is masked in one that does: they are equal again. */
static void is_the_inverse_of_knowing(void)
{
    _cleanup_value_ const struct value *then = value_pack("{s:i, s:u, s:[u, i], s:{s:u}}", "a", 1,
                                                          "b", "c", 2, "d", "e"),
                                       *now = read("{\"a\":1,\"b\":{\"x\":[1]},\"c\":[7,2],"
                                                   "\"d\":{}}"),
                                       *other = read("{\"a\":2,\"b\":0,\"c\":[7,2],\"d\":{}}"),
                                       *paths = unknown_paths(then),
                                       *masked = unknown_mask(now, paths),
                                       *again = unknown_mask(then, paths),
                                       *different = unknown_mask(other, paths);

    EXPECT(value_equal(masked, then), "known now");
    EXPECT(value_equal(again, then), "still unknown");
    EXPECT(!value_equal(different, then), "another value beside it");
}

SUITE(plan_unknown, TEST(finds_what_is_unknown), TEST(masks_what_was_unknown),
      TEST(is_the_inverse_of_knowing))
