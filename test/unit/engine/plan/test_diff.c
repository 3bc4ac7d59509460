#include "engine/plan/diff.h"

#include "engine/base/json.h"
#include "engine/base/limits.h"
#include "engine/base/mem.h"
#include "test/unit/suite.h"

static const struct value *parse(const char *text)
{
    const struct value *value = NULL;

    if (text)
        EXPECT_INT(json_read_str(text, &value, NULL), 0, text);
    return value;
}

static void names_fields(void)
{
    static const struct {
        const char *from, *to;
        const char *path, *shown_from, *shown_to; /* of the only difference; path NULL: none */
    } rows[] = {
        {"{\"a\":1}", "{\"a\":2}", "a", "1", "2"},
        {"{\"a\":1}", "{\"a\":1.0}", NULL, NULL, NULL},
        {"{\"a\":{\"b\":[1,2]}}", "{\"a\":{\"b\":[1,3]}}", "a.b[1]", "2", "3"},
        {"{\"a\":[1,2]}", "{\"a\":[1]}", "a[1]", "2", NULL},
        {"{}", "{\"a\":\"x\"}", "a", NULL, "\"x\""},
        {"{\"a\":1}", "{\"a\":\"\\u202e\\u009b\\u001b\"}", "a", "1", "\"\\u202e\\u009b\\u001b\""},
        {"{\"x\":{\"a.b/c\":1}}", "{\"x\":{\"a.b/c\":2}}", "x[a.b/c]", "1", "2"},
        {"{}", "{\"a\":null}", "a", NULL, "null"},
        {NULL, "{\"a\":null,\"b\":{\"c\":null,\"d\":1}}", "b.d", NULL, "1"},
        {"{\"a\":null,\"b\":1}", NULL, "b", "1", NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *from = parse(rows[i].from), *to = parse(rows[i].to);
        struct diff diff;

        diff_values(from, to, &diff);
        EXPECT_INT((long long)diff.total, rows[i].path ? 1 : 0,
                   rows[i].to ? rows[i].to : "deleted");
        if (diff.n_fields) {
            EXPECT_STR(diff.fields[0].path, rows[i].path, "path");
            EXPECT_STR(diff.fields[0].from, rows[i].shown_from, "from");
            EXPECT_STR(diff.fields[0].to, rows[i].shown_to, "to");
        }
        diff_done(&diff);
    }
}

/* A user's string may have any text. */
static void tells_unknown_values_from_their_text(void)
{
    _cleanup_value_ const struct value *unknown = value_pack("{s:u}", "a"),
                                       *again = value_pack("{s:u}", "a"),
                                       *text = value_pack("{s:s}", "a", VALUE_UNKNOWN_TEXT);
    struct diff diff;

    diff_values(unknown, again, &diff);
    EXPECT_INT((long long)diff.total, 0, "unknown before and after");
    diff_done(&diff);
    diff_values(text, unknown, &diff);
    EXPECT_INT((long long)diff.total, 1, "the text, and unknown");
    EXPECT_STR(diff.fields[0].from, "\"" VALUE_UNKNOWN_TEXT "\"", "the text, for people");
    EXPECT_STR(diff.fields[0].to, VALUE_UNKNOWN_TEXT, "unknown, for people");
    diff_done(&diff);
}

static void is_bounded(void)
{
    static const struct {
        const char *note;
        size_t key_bytes, n_fields, most, least;
    } rows[] = {
        {"short ones", 10, 300, LIMIT_DIFF_FIELDS, LIMIT_DIFF_FIELDS},
        {"below a long key", 100000, 300, 4, 1},
        {"below one that is too long", LIMIT_DIFF_BYTES + 1, 300, 1, 1},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
        _cleanup_free_ char *above = NEW_ARRAY(char, rows[i].key_bytes + 1);
        _cleanup_value_ const struct value *from = value_pack("{}"), *to = NULL;
        struct diff diff;

        memset(above, 'k', rows[i].key_bytes);
        value_begin_object(b);
        value_key(b, above);
        value_begin_array(b);
        for (size_t j = 0; j < rows[i].n_fields; j++)
            value_add_int(b, (int64_t)j);
        value_end_array(b);
        value_end_object(b);
        value_builder_finish(b, &to, NULL);
        diff_values(from, to, &diff);
        EXPECT_INT((long long)diff.total, (long long)rows[i].n_fields, rows[i].note);
        EXPECT(diff.n_fields <= rows[i].most && diff.n_fields >= rows[i].least, rows[i].note);
        diff_done(&diff);
    }
}

SUITE(diff, TEST(names_fields), TEST(tells_unknown_values_from_their_text), TEST(is_bounded))
