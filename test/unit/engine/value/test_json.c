#include <stdlib.h>
#include <time.h>

#include "engine/base/limits.h"
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "test/unit/suite.h"

static void expect_json(const struct value *value, const char *expected, const char *note)
{
    _cleanup_free_ char *text = json_to_str(value);

    EXPECT_STR(text, expected, note);
}

static void reads_and_writes_the_same(void)
{
    static const struct {
        const char *text, *expected; /* NULL: the same */
    } rows[] = {
        {"null", NULL},
        {"12345678901234567890123", NULL},
        {"1.10", NULL},
        {"-0", NULL},
        {"1E+2", NULL},
        {" [ ] ", "[]"},
        {"{\n}\n", "{}"},
        {"{\"b\":1,\"a\":[true,false,null]}", NULL},
        {"\"\\u0000\"", NULL},
        {"\"\\u00e4\\ud83d\\ude00\"", "\"ä😀\""},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u001f\x7f\"", "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u001f\x7f\""},
        {"{\"\":{\"\":\"\"}}", NULL},
        {"{\"a\\u0000b\":1,\"a\\u0000c\":2}", NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *value = NULL;
        struct error error = {0};

        EXPECT_INT(json_read_str(rows[i].text, &value, &error), 0, rows[i].text);
        EXPECT_STR(error.message, "", rows[i].text);
        expect_json(value, rows[i].expected ? rows[i].expected : rows[i].text, rows[i].text);
    }
}

static void keeps_nul_in_strings(void)
{
    _cleanup_value_ const struct value *value = NULL;
    const char *text;
    size_t length = 0;

    EXPECT_INT(json_read_str("\"a\\u0000b\"", &value, NULL), 0, "read");
    text = value_string_n(value, &length);
    EXPECT_INT(length, 3, "length");
    EXPECT(text && memcmp(text, "a\0b", 4) == 0, "terminated as well");
}

static void refuses_with_position(void)
{
    static const struct {
        const char *text, *start; /* of the message */
        const char *more;         /* in the message */
    } rows[] = {
        {"", "line 1, column 1: ", "premature EOF"},
        {"  ", "line 1, column 3: ", "premature EOF"},
        {"{\"a\":1", "line 1, column 7: ", "premature EOF"},
        {"\"abc", "line 1, column 5: ", "premature EOF"},
        {"{\n  \"a\": tru\n}", "line 2, column 8: ", "invalid string"},
        {"{\n  \"a\": 1,\n  \"a\": 2\n}", "line 3, column 3: ", "\"a\" occurs twice"},
        {"[1,,2]", "line 1, column 4: ", "unallowed token"},
        {"[1] [2]", "line 1, column 5: ", "trailing garbage"},
        {"{} x", "line 1, column 4: ", ""},
        {"{\"a\" 1}", "line 1, column 6: ", "object key and value"},
        {"[\"\\ud800\"]", "line 1, column 9: ", "surrogate"},
        {"[\"\\ud800\\u0041\"]", "line 1, column 14: ", "surrogate"},
        {"[\"\\ud800\\n\"]", "line 1, column 10: ", "surrogate"},
        {"[\"\\ud800\\ud800\"]", "line 1, column 14: ", "surrogate"},
        {"[\"\\udc00\"]", "line 1, column 8: ", "surrogate"},
        {"{\"\\ud800\":1}", "line 1, column 9: ", "surrogate"},
        {"\"\\ud83d", "line 1, column 8: ", "premature EOF"},
        {"\"\xff\"", "line 1, column 2: ", "UTF-8"},
        {"\"\xc0\x80\"", "line 1, column 2: ", "UTF-8"},
        {"\"\xed\xa0\x80\"", "line 1, column 3: ", "UTF-8"},
        {"\"\xf4\x90\x80\x80\"", "line 1, column 3: ", "UTF-8"},
        {"\"\xe2\x82\"", "line 1, column 4: ", "UTF-8"},
        {"\n\n \xe4", "line 3, column 2: ", "invalid char"},
        {"\"a\nb\"", "line 1, column ", "invalid character"},
        {"[01]", "line 1, column ", ""},
        {"[1.]", "line 1, column ", ""},
        {"[.5]", "line 1, column ", ""},
        {"[+1]", "line 1, column 2: ", ""},
        {"[NaN]", "line 1, column 2: ", ""},
        {"['a']", "line 1, column 2: ", ""},
        {"[1,]", "line 1, column 4: ", ""},
        {"{\"a\":1,}", "line 1, column 8: ", ""},
        {"// x\n1", "line 1, column ", ""},
        {"[1] /* x */", "line 1, column ", ""},
        {"[1e1000000000]", "line 1, column 2: ", "exponent"},
        {"]", "line 1, column 1: ", ""},
        {"[}", "line 1, column 2: ", ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct value *value = NULL;
        struct error error = {0};

        EXPECT_INT(json_read_str(rows[i].text, &value, &error), ERR_INVALID, rows[i].text);
        EXPECT(str_has_prefix(error.message, rows[i].start), error.message);
        EXPECT(strstr(error.message, rows[i].more), error.message);
        EXPECT(!value, "untouched");
        EXPECT_INT(json_read_str(rows[i].text, &value, NULL), ERR_INVALID, "the code alone");
    }
}

static void bounds_depth(void)
{
    enum { MUCH = 100000 };
    static char text[MUCH + 1];
    const struct value *value = NULL;
    struct error error = {0};

    memset(text, '[', MUCH);
    EXPECT_INT(json_read_str(text, &value, &error), ERR_TOO_LARGE, "100,000");
    EXPECT_STR(error.message, "line 1, column 257: nested more than 256 levels", "where");
    memset(text + LIMIT_DEPTH, ']', LIMIT_DEPTH);
    text[2 * LIMIT_DEPTH] = '\0';
    EXPECT_INT(json_read_str(text, &value, &error), 0, "the bound itself");
    value_unref(value);
}

static void bounds_sizes(void)
{
    size_t large = LIMIT_STRING_BYTES + 1;
    _cleanup_free_ char *text = calloc(LIMIT_DOCUMENT_BYTES + 2, 1);
    const struct value *value = NULL;
    struct error error = {0};

    memset(text, '1', LIMIT_NUMBER_BYTES + 1);
    text[LIMIT_NUMBER_BYTES + 1] = ' ';
    EXPECT_INT(json_read_str(text, &value, &error), ERR_TOO_LARGE, "a number");
    EXPECT_STR(error.message, "line 1, column 1: a number of more than 1024 bytes", "a number");
    memset(text, 'a', large + 1);
    text[0] = '"';
    text[large + 1] = '"';
    EXPECT_INT(json_read_str(text, &value, &error), ERR_TOO_LARGE, "a string");
    EXPECT_STR(error.message, "line 1, column 1: a string of more than 16777216 bytes", "a string");
    memset(text, ' ', LIMIT_DOCUMENT_BYTES + 1);
    text[0] = '1';
    EXPECT_INT(json_read(text, LIMIT_DOCUMENT_BYTES + 1, &value, &error), ERR_TOO_LARGE,
               "document");
    EXPECT_INT(json_read(text, LIMIT_DOCUMENT_BYTES, &value, NULL), 0, "the bound itself");
    value_unref(value);
}

/* ---- Streams ---- */

struct seen {
    struct buf text;
    size_t count;
    int stop_with;
};

static int see(void *arg, const struct value *value, struct error *error)
{
    struct seen *seen = arg;

    if (seen->stop_with)
        return err_set(error, seen->stop_with, NULL, "enough");
    json_write(&seen->text, value, JSON_COMPACT);
    buf_add_char(&seen->text, ';');
    seen->count++;
    return 0;
}

static int see_rest(void *arg, const struct value *value, struct error *error)
{
    struct seen *seen = arg;

    buf_add_str(&seen->text, "rest ");
    return see(arg, value, error);
}

static int add_in_pieces(struct json_stream *stream, const char *text, size_t piece,
                         struct error *error)
{
    int r = 0;

    for (size_t at = 0, length = strlen(text); r == 0 && at < length; at += piece)
        r = json_stream_add(stream, text + at, length - at < piece ? length - at : piece, error);
    return r ? r : json_stream_end(stream, error);
}

static void streams_documents(void)
{
    static const struct {
        const char *text, *seen;
        const char *error; /* the start of its message, or NULL */
    } rows[] = {
        {"", "", NULL},
        {" \n ", "", NULL},
        {"{\"a\":1}\n{\"b\":\"x\\n\\ud83d\\ude00ä\"}\n", "{\"a\":1};{\"b\":\"x\\n😀ä\"};", NULL},
        {"{}{}[][]", "{};{};[];[];", NULL},
        {"1 2 \"a\" \"b\" true null 3", "1;2;\"a\";\"b\";true;null;3;", NULL},
        {"{\"a\":1}\n{\"a\":", "{\"a\":1};", "line 2, column 6: "},
        {"{\"a\":1}\n\"abc", "{\"a\":1};", "line 2, column 5: "},
        {"{\"a\":1}\n\n {\"b\":1,\n\"b\":2}", "{\"a\":1};", "line 4, column 1: the key \"b\""},
        {"[1]\n[\"\\ud800\"]", "[1];", "line 2, column 9: a surrogate"},
        {"[1]\n[\"a\xff\"]", "[1];", "line 2, column 4: invalid UTF-8"},
        {"[1]\n]", "[1];", "line 2, column 1: "},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        for (size_t piece = 1; piece < 20; piece += piece < 4 ? 1 : 5) {
            struct seen seen = {.text = BUF_INIT};
            struct error error = {0};
            _cleanup_(json_stream_free_p) struct json_stream *stream = json_stream_new(see, &seen);
            int r = add_in_pieces(stream, rows[i].text, piece, &error);

            EXPECT_STR(seen.text.data, rows[i].seen, rows[i].text);
            EXPECT_INT(r, rows[i].error ? ERR_INVALID : 0, rows[i].text);
            EXPECT(str_has_prefix(error.message, rows[i].error ? rows[i].error : ""),
                   error.message);
            if (r)
                EXPECT_INT(json_stream_add(stream, "1", 1, NULL), r, "failed for good");
            buf_done(&seen.text);
        }
}

/* A watch's event must not wait for what comes after it. */
static void hands_documents_out_at_once(void)
{
    struct seen seen = {.text = BUF_INIT};
    struct json_stream *stream = json_stream_new(see, &seen);

    EXPECT_INT(json_stream_add(stream, "{\"a\":\"x", 7, NULL), 0, "half");
    EXPECT_INT(seen.count, 0, "not yet");
    EXPECT_INT(json_stream_add(stream, "y\"}", 3, NULL), 0, "whole");
    EXPECT_STR(seen.text.data, "{\"a\":\"xy\"};", "at its last byte");
    EXPECT_INT(json_stream_end(stream, NULL), 0, "end");
    json_stream_free(stream);
    json_stream_free(NULL);
    buf_done(&seen.text);
}

static void stops_where_the_reader_does(void)
{
    struct seen seen = {.text = BUF_INIT, .stop_with = ERR_GONE};
    struct json_stream *stream = json_stream_new(see, &seen);
    struct error error = {0};

    EXPECT_INT(json_stream_add(stream, "{}{}", 4, &error), ERR_GONE, "its code");
    EXPECT_STR(error.message, "enough", "its message, as it is");
    EXPECT_INT(json_stream_end(stream, NULL), ERR_GONE, "for good");
    json_stream_free(stream);
}

/* One string of 8 MB in small pieces: linear, or this takes minutes. */
static void takes_long_strings_in_pieces(void)
{
    static char piece[1024];
    struct seen seen = {.text = BUF_INIT};
    struct json_stream *stream = json_stream_new(see, &seen);
    clock_t start = clock();

    memset(piece, 'x', sizeof(piece));
    json_stream_add(stream, "[\"", 2, NULL);
    for (int i = 0; i < 8192; i++)
        json_stream_add(stream, piece, sizeof(piece), NULL);
    EXPECT_INT(json_stream_add(stream, "\"]", 2, NULL), 0, "read");
    EXPECT_INT(seen.count, 1, "one");
    EXPECT_INT(seen.text.length, 8192 * sizeof(piece) + 5, "all of it");
    EXPECT(clock() - start < 5 * CLOCKS_PER_SEC, "in time");
    json_stream_free(stream);
    buf_done(&seen.text);
}

/* Strings of all lengths, with and without escapes, cut at every length. */
static void takes_any_pieces(void)
{
    _cleanup_buf_ struct buf text = BUF_INIT, expected = BUF_INIT;

    for (int i = 0; i < 150; i++) {
        buf_printf(&text, "{\"k%d\":\"%0*d%s\"}\n", i, i + 1, i, i % 3 ? "" : "\\\"\\\\ä");
        buf_printf(&expected, "{\"k%d\":\"%0*d%s\"};", i, i + 1, i, i % 3 ? "" : "\\\"\\\\ä");
    }
    for (size_t piece = 1; piece < 300; piece += 3) {
        struct seen seen = {.text = BUF_INIT};
        struct json_stream *stream = json_stream_new(see, &seen);

        EXPECT_INT(add_in_pieces(stream, text.data, piece, NULL), 0, "read");
        EXPECT(strcmp(seen.text.data, expected.data) == 0, "the same");
        json_stream_free(stream);
        buf_done(&seen.text);
    }
}

static void takes_a_smaller_bound(void)
{
    struct seen seen = {.text = BUF_INIT};
    struct json_stream *stream = json_stream_new(see, &seen);
    struct error error = {0};

    json_stream_limit(stream, 8);
    EXPECT_INT(json_stream_add(stream, "{\"a\":1}\n{\"b\":2}\n", 16, &error), 0, "each is smaller");
    EXPECT_INT(json_stream_add(stream, "{\"abcdefg\":", 11, &error), ERR_TOO_LARGE, "one is not");
    EXPECT_STR(error.reason, "DocumentTooLarge", error.message);
    EXPECT_STR(seen.text.data, "{\"a\":1};{\"b\":2};", "what came before");
    json_stream_free(stream);
    buf_done(&seen.text);
}

static void bounds_each_document_of_a_stream(void)
{
    static char blanks[1 << 20];
    struct seen seen = {.text = BUF_INIT};
    struct json_stream *stream = json_stream_new(see, &seen);
    struct error error = {0};
    int r = 0;

    memset(blanks, ' ', sizeof(blanks));
    for (int i = 0; i < 80 && r == 0; i++)
        r = json_stream_add(stream, blanks, sizeof(blanks), &error);
    EXPECT_INT(r, 0, "80 MB between documents");
    for (int i = 0; i < 3 && r == 0; i++) {
        r = json_stream_add(stream, "[", 1, &error);
        for (int j = 0; j < 30 && r == 0; j++)
            r = json_stream_add(stream, blanks, sizeof(blanks), &error);
        r = r ? r : json_stream_add(stream, "]", 1, &error);
    }
    EXPECT_INT(r, 0, "three documents of 30 MB");
    EXPECT_INT(seen.count, 3, "three");
    json_stream_add(stream, "[", 1, &error);
    for (int j = 0; j < 70 && r == 0; j++)
        r = json_stream_add(stream, blanks, sizeof(blanks), &error);
    EXPECT_INT(r, ERR_TOO_LARGE, "one of 70 MB");
    json_stream_free(stream);
    buf_done(&seen.text);
}

static void streams_items(void)
{
    static const struct {
        const char *text, *seen;
        const char *error;
    } rows[] = {
        {"{\"kind\":\"List\",\"items\":[{\"a\":[1]},2,[3]],\"metadata\":{\"items\":[4]}}",
         "{\"a\":[1]};2;[3];rest {\"kind\":\"List\",\"metadata\":{\"items\":[4]}};", NULL},
        {"{\"items\":[],\"a\":1}", "rest {\"a\":1};", NULL},
        {"{\"items\":null}", "rest {};", NULL},
        {"{\"a\":[1]}\n", "rest {\"a\":[1]};", NULL},
        {"{\"items\":{}}", "", "line 1, column 10: the items are not a list"},
        {"{\"items\":\"a\"}", "", "line 1, column 10: the items are not a list"},
        {"{\"items\":[1],\"items\":[2]}", "1;", "line 1, column 14: the items occur twice"},
        {"{\"items\":[1,{\"a\":1,\"a\":2}]}", "1;", "line 1, column 20: the key \"a\""},
        {"{\"a\":1,\"items\":[1],\"a\":2}", "1;", "line 1, column 20: the key \"a\""},
        {"[1]", "", "line 1, column 1: not an object"},
        {"\"a\"", "", "line 1, column 1: not an object"},
        {"null", "", "line 1, column 1: not an object"},
        {"{\"items\":[1]} {}", "1;rest {};", "line 1, column 15: "},
        {"{\"items\":[1]", "1;", "line 1, column 13: "},
        {"", "", "line 1, column 1: "},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        for (size_t piece = 1; piece < 50; piece += 12) {
            struct seen seen = {.text = BUF_INIT};
            struct error error = {0};
            _cleanup_(json_stream_free_p) struct json_stream *stream =
                json_item_stream_new("items", see, see_rest, &seen);
            int r = add_in_pieces(stream, rows[i].text, piece, &error);

            EXPECT_STR(seen.text.data, rows[i].seen, rows[i].text);
            EXPECT_INT(r, rows[i].error ? ERR_INVALID : 0, rows[i].text);
            if (piece > 12 || !rows[i].error) /* in single bytes, tokens have no start */
                EXPECT(str_has_prefix(error.message, rows[i].error ? rows[i].error : ""),
                       error.message);
            buf_done(&seen.text);
        }
}

/* ---- Writing ---- */

static void writes_canonically(void)
{
    static const struct {
        const char *text, *expected;
    } rows[] = {
        {"{\"b\":1,\"a\":{\"d\":1,\"c\":2},\"aa\":0,\"B\":0,\"\":0}",
         "{\"\":0,\"B\":0,\"a\":{\"c\":2,\"d\":1},\"aa\":0,\"b\":1}"},
        {"[1,1.0,10e-1,0.1e1,100e-2]", "[1,1,1,1,1]"},
        {"[-0,0.0,0e7,-0.00E-5]", "[0,0,0,0]"},
        {"[100,1e2,0.00012,12.50,-1.5e3]", "[100,100,0.00012,12.5,-1500]"},
        {"[1e100,1.50E-100,12e99]", "[1e+100,1.5e-100,1.2e+100]"},
        {"[12345678901234567890123,0.1,1e40]", "[12345678901234567890123,0.1,1e+40]"},
        {"\"\\u0041\\/\\u00e4\\u001f\"", "\"A/ä\\u001f\""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *value = NULL;
        _cleanup_buf_ struct buf text = BUF_INIT;

        json_read_str(rows[i].text, &value, NULL);
        json_write(&text, value, JSON_CANONICAL);
        EXPECT_STR(text.data, rows[i].expected, rows[i].text);
    }
}

static void sorts_large_objects(void)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *value = NULL;
    _cleanup_buf_ struct buf text = BUF_INIT, expected = BUF_INIT;
    char key[8];

    value_begin_object(b);
    buf_add_char(&expected, '{');
    for (int i = 0; i < 100; i++) {
        snprintf(key, sizeof(key), "%02d", 99 - i);
        value_key(b, key);
        value_add_null(b);
        buf_printf(&expected, "%s\"%02d\":null", i ? "," : "", i);
    }
    value_end_object(b);
    buf_add_char(&expected, '}');
    value_builder_finish(b, &value, NULL);
    json_write(&text, value, JSON_CANONICAL);
    EXPECT_STR(text.data, expected.data, "100 keys");
}

static void writes_prettily(void)
{
    _cleanup_value_ const struct value *value = NULL;
    _cleanup_buf_ struct buf text = BUF_INIT;

    json_read_str("{\"a\":[1,{}],\"b\":[],\"c\":{\"d\":\"x\"}}", &value, NULL);
    json_write(&text, value, JSON_PRETTY);
    EXPECT_STR(
        text.data,
        "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": [],\n  \"c\": {\n    \"d\": \"x\"\n  }\n}",
        "pretty");
}

static void replaces_what_is_not_utf8(void)
{
    _cleanup_buf_ struct buf text = BUF_INIT;

    json_write_string(&text, "a\xff\xc3", 3);
    EXPECT_STR(text.data, "\"a\xef\xbf\xbd\xef\xbf\xbd\"", "JSON all the same");
    buf_reset(&text);
    json_write(&text, NULL, JSON_COMPACT);
    EXPECT_STR(text.data, "null", "no value");
}

SUITE(json, TEST(reads_and_writes_the_same), TEST(keeps_nul_in_strings),
      TEST(refuses_with_position), TEST(bounds_depth), TEST(bounds_sizes), TEST(streams_documents),
      TEST(hands_documents_out_at_once), TEST(stops_where_the_reader_does),
      TEST(takes_long_strings_in_pieces), TEST(takes_any_pieces), TEST(takes_a_smaller_bound),
      TEST(bounds_each_document_of_a_stream), TEST(streams_items), TEST(writes_canonically),
      TEST(sorts_large_objects), TEST(writes_prettily), TEST(replaces_what_is_not_utf8))
