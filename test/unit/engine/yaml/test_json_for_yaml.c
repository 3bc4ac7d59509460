/* JSON that readers of JSON and of YAML read alike. */
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "engine/yaml/yaml.h"
#include "test/unit/suite.h"

#define PLANE 0x10000 /* code points in each of 17 planes */

static const struct value *value_of_string(const char *s, size_t length)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    const struct value *value = NULL;

    value_add_string_n(b, s, length);
    EXPECT_INT(value_builder_finish(b, &value, NULL), 0, s);
    return value;
}

static void escapes_what_yaml_treats_in_its_own_way(void)
{
    static const struct {
        const char *note, *text, *yaml, *json;
    } rows[] = {
        {"plain", "a b~", "\"a b~\"", NULL},
        {"both escape", "\"\\\b\f\n\r\t\x1f", "\"\\\"\\\\\\b\\f\\n\\r\\t\\u001f\"",
         "\"\\\"\\\\\\b\\f\\n\\r\\t\\u001f\""},
        {"U+007F", "\x7f", "\"\\u007f\"", NULL},
        {"U+0080", "\xc2\x80", "\"\\u0080\"", NULL},
        {"U+0085, a line's end", "\xc2\x85", "\"\\u0085\"", NULL},
        {"U+009F", "\xc2\x9f", "\"\\u009f\"", NULL},
        {"U+00A0", "\xc2\xa0", "\"\xc2\xa0\"", NULL},
        {"U+2027", "\xe2\x80\xa7", "\"\xe2\x80\xa7\"", NULL},
        {"U+2028, a line's end", "\xe2\x80\xa8", "\"\\u2028\"", NULL},
        {"U+2029, a line's end", "\xe2\x80\xa9", "\"\\u2029\"", NULL},
        {"U+202A", "\xe2\x80\xaa", "\"\xe2\x80\xaa\"", NULL},
        {"U+D7FF", "\xed\x9f\xbf", "\"\xed\x9f\xbf\"", NULL},
        {"U+E000", "\xee\x80\x80", "\"\xee\x80\x80\"", NULL},
        {"U+FEFF, a byte order mark", "\xef\xbb\xbf", "\"\\ufeff\"", NULL},
        {"U+FFFD", "\xef\xbf\xbd", "\"\xef\xbf\xbd\"", NULL},
        {"U+FFFE", "\xef\xbf\xbe", "\"\\ufffe\"", NULL},
        {"U+FFFF", "\xef\xbf\xbf", "\"\\uffff\"", NULL},
        {"U+10000, never as surrogates", "\xf0\x90\x80\x80", "\"\xf0\x90\x80\x80\"", NULL},
        {"U+10FFFF", "\xf4\x8f\xbf\xbf", "\"\xf4\x8f\xbf\xbf\"", NULL},
        {"among others", "a\xc2\x85\xc3\xa4\xe2\x80\xa8 ", "\"a\\u0085\xc3\xa4\\u2028 \"", NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *value =
            value_of_string(rows[i].text, strlen(rows[i].text));
        _cleanup_free_ char *as_it_is = str_printf("\"%s\"", rows[i].text);
        _cleanup_buf_ struct buf yaml = BUF_INIT, json = BUF_INIT;

        json_write(&yaml, value, JSON_FOR_YAML);
        EXPECT_STR(yaml.data, rows[i].yaml, rows[i].note);
        json_write(&json, value, JSON_COMPACT);
        EXPECT_STR(json.data, rows[i].json ? rows[i].json : as_it_is, rows[i].note);
    }
}

/* ---- All code points that may differ ---- */

static void add_code_point(struct buf *to, unsigned code)
{
    if (code < 0x80) {
        buf_add_char(to, (char)code);
    } else if (code < 0x800) {
        buf_add_char(to, (char)(0xc0 | code >> 6));
        buf_add_char(to, (char)(0x80 | (code & 0x3f)));
    } else {
        if (code < 0x10000) {
            buf_add_char(to, (char)(0xe0 | code >> 12));
        } else {
            buf_add_char(to, (char)(0xf0 | code >> 18));
            buf_add_char(to, (char)(0x80 | (code >> 12 & 0x3f)));
        }
        buf_add_char(to, (char)(0x80 | (code >> 6 & 0x3f)));
        buf_add_char(to, (char)(0x80 | (code & 0x3f)));
    }
}

/* Each at the beginning, in the middle and at the end, with blanks at its sides, which is where
 * lines are folded: of keys and of values. */
static const struct value *all_of(unsigned from, unsigned to)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_buf_ struct buf text = BUF_INIT;
    const struct value *value = NULL;

    value_begin_object(b);
    for (unsigned code = from; code < to; code++) {
        if (code >= 0xd800 && code <= 0xdfff)
            continue;
        buf_reset(&text);
        add_code_point(&text, code);
        buf_add_str(&text, "a ");
        add_code_point(&text, code);
        buf_add_str(&text, " b");
        add_code_point(&text, code);
        value_key_n(b, text.data, text.length);
        value_add_string_n(b, text.data, text.length);
    }
    value_end_object(b);
    EXPECT_INT(value_builder_finish(b, &value, NULL), 0, "made");
    return value;
}

static void expect_alike(unsigned from, unsigned to)
{
    _cleanup_value_ const struct value *value = all_of(from, to);
    _cleanup_value_ const struct value *json = NULL, *yaml = NULL;
    _cleanup_buf_ struct buf text = BUF_INIT;
    struct error error = {0};

    json_write(&text, value, JSON_FOR_YAML);
    EXPECT_INT(json_read(text.data, text.length, &json, &error), 0, error.message);
    EXPECT(value_equal(value, json), "as JSON");
    EXPECT_INT(yaml_read(text.data, text.length, &yaml, &error), 0, error.message);
    EXPECT(value_equal(value, yaml), "as YAML");
}

/* All of the first plane; of the others, which readers treat as one, the ends. */
static void is_read_alike_by_both_readers(void)
{
    expect_alike(0, PLANE);
    for (unsigned plane = PLANE; plane < 17 * PLANE; plane += PLANE) {
        expect_alike(plane, plane + 0x100);
        expect_alike(plane + PLANE - 0x100, plane + PLANE);
    }
}

SUITE(json_for_yaml, TEST(escapes_what_yaml_treats_in_its_own_way),
      TEST(is_read_alike_by_both_readers))
