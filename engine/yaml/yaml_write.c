#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/utf8.h"
#include "engine/yaml/yaml.h"
#include "engine/yaml/yaml_private.h"

/* A longer key begins with ?: readers look no further than 1024 characters for its colon. */
#define SIMPLE_KEY_BYTES 120

static void add_blanks(struct buf *to, size_t count)
{
    while (count--)
        buf_add_char(to, ' ');
}

/* ---- Strings ---- */

static bool is_word(const char *text, size_t length)
{
    if (!length || !(isalpha((unsigned char)text[0]) || strchr("/$", text[0])))
        return false;
    for (size_t i = 1; i < length; i++)
        if (!text[i] || !(isalnum((unsigned char)text[i]) || strchr("/._:@$-", text[i])))
            return false;
    return text[length - 1] != ':';
}

/* Whether no reader takes the text for anything but a string. */
static bool is_plain(const char *text, size_t length)
{
    _cleanup_(arena_done) struct arena arena = ARENA_INIT;
    struct yaml_scalar scalar;

    if (!is_word(text, length))
        return false;
    return yaml_scalar_read(&arena, text, length, NULL, true, &scalar, NULL) == 0 &&
           scalar.type == VALUE_STRING;
}

/* A character that is shown as what it is, and that no reader folds or refuses. */
static bool is_shown(uint32_t code)
{
    return !utf8_is_hidden(code) && code != 0x2028 && code != 0x2029 && code != 0xfffe &&
           code != 0xffff;
}

/* Whether the text can stand in a block: it has several lines, and nothing that needs an escape or
 * that nobody sees, as blanks at the end of a line. */
static bool is_block(const char *text, size_t length)
{
    if (!length || isspace((unsigned char)text[0]) || !memchr(text, '\n', length) ||
        memmem(text, length, " \n", 2) || text[length - 1] == ' ')
        return false;
    for (size_t at = 0, n; at < length; at += n) {
        n = utf8_char(text + at, length - at);
        if (!n || (text[at] != '\n' && !is_shown(utf8_code_point(text + at, n))))
            return false;
    }
    return true;
}

static void write_block(struct buf *to, const char *text, size_t length, size_t indent)
{
    const char *end = text + length;

    if (end[-1] != '\n')
        buf_add_str(to, "|-\n");
    else
        buf_add_str(to, length > 1 && end[-2] == '\n' ? "|+\n" : "|\n");
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t n = (size_t)((newline ? newline : end) - text);

        if (n)
            add_blanks(to, indent);
        buf_add(to, text, n);
        buf_add_char(to, '\n');
        text += n + 1;
    }
}

static void write_escape(struct buf *to, uint32_t code)
{
    static const char letters[] = "\"\"\\\\\bb\ff\nn\rr\tt";

    for (size_t i = 0; letters[i]; i += 2)
        if ((unsigned char)letters[i] == code) {
            buf_printf(to, "\\%c", letters[i + 1]);
            return;
        }
    buf_printf(to, code > 0xffff ? "\\U%08x" : "\\u%04x", code);
}

static void write_quoted(struct buf *to, const char *text, size_t length)
{
    buf_add_char(to, '"');
    for (size_t at = 0, n; at < length; at += n) {
        uint32_t code;

        n = utf8_char(text + at, length - at);
        code = n ? utf8_code_point(text + at, n) : 0xfffd;
        n = n ? n : 1;
        if (code == '"' || code == '\\' || !is_shown(code))
            write_escape(to, code);
        else
            buf_add(to, text + at, n);
    }
    buf_add_char(to, '"');
}

/* ---- Numbers ---- */

/* Readers of YAML 1.1 take a number with an exponent for a string unless it has a dot and a sign.
 */
static void write_number(struct buf *to, const struct value *number)
{
    const char *text = value_number(number), *exponent = strpbrk(text, "eE");
    int64_t whole = value_int(number, INT64_MIN);
    size_t mantissa = exponent ? (size_t)(exponent - text) : 0;

    if (!exponent)
        buf_add_str(to, text);
    else if (whole != INT64_MIN)
        buf_printf(to, "%lld", (long long)whole);
    else
        buf_printf(to, "%.*s%se%s%s", (int)mantissa, text, memchr(text, '.', mantissa) ? "" : ".0",
                   exponent[1] == '-' || exponent[1] == '+' ? "" : "+", exponent + 1);
}

/* ---- Nodes ---- */

static void write_members(struct buf *to, const struct value *object, size_t indent,
                          bool first_is_inline);
static void write_items(struct buf *to, const struct value *array, size_t indent,
                        bool first_is_inline);

/* On the line that was begun; ends it. indent: of the lines of a block. */
static void write_scalar(struct buf *to, const struct value *value, size_t indent)
{
    size_t length = 0;
    const char *text = value_string_n(value, &length);

    if (text && is_block(text, length)) {
        write_block(to, text, length, indent);
        return;
    }
    if (text && is_plain(text, length))
        buf_add(to, text, length);
    else if (text)
        write_quoted(to, text, length);
    else if (value_is(value, VALUE_OBJECT))
        buf_add_str(to, "{}");
    else if (value_is(value, VALUE_ARRAY))
        buf_add_str(to, "[]");
    else if (value_is(value, VALUE_NUMBER))
        write_number(to, value);
    else if (value_is(value, VALUE_BOOL))
        buf_add_str(to, value_bool(value, false) ? "true" : "false");
    else if (value_is(value, VALUE_UNKNOWN))
        write_quoted(to, VALUE_UNKNOWN_TEXT, strlen(VALUE_UNKNOWN_TEXT));
    else
        buf_add_str(to, "null");
    buf_add_char(to, '\n');
}

/* After "key:". */
static void write_below(struct buf *to, const struct value *value, size_t indent)
{
    bool is_object = value_is(value, VALUE_OBJECT);

    if (!value_count(value)) {
        buf_add_char(to, ' ');
        write_scalar(to, value, indent + 2);
        return;
    }
    buf_add_char(to, '\n');
    if (is_object)
        write_members(to, value, indent + 2, false);
    else
        write_items(to, value, indent, false);
}

static void write_members(struct buf *to, const struct value *object, size_t indent,
                          bool first_is_inline)
{
    for (size_t i = 0; i < value_count(object); i++) {
        size_t length;
        const char *key = value_member_key(object, i, &length);

        if (i > 0 || !first_is_inline)
            add_blanks(to, indent);
        if (length > SIMPLE_KEY_BYTES)
            buf_add_str(to, "? ");
        if (is_plain(key, length))
            buf_add(to, key, length);
        else
            write_quoted(to, key, length);
        if (length > SIMPLE_KEY_BYTES) {
            buf_add_char(to, '\n');
            add_blanks(to, indent);
        }
        buf_add_char(to, ':');
        write_below(to, value_member(object, i), indent);
    }
}

static void write_items(struct buf *to, const struct value *array, size_t indent,
                        bool first_is_inline)
{
    for (size_t i = 0; i < value_count(array); i++) {
        const struct value *item = value_at(array, i);

        if (i > 0 || !first_is_inline)
            add_blanks(to, indent);
        buf_add_str(to, "- ");
        if (!value_count(item))
            write_scalar(to, item, indent + 2);
        else if (value_is(item, VALUE_OBJECT))
            write_members(to, item, indent + 2, true);
        else
            write_items(to, item, indent + 2, true);
    }
}

void yaml_write(struct buf *to, const struct value *value)
{
    if (!value_count(value))
        write_scalar(to, value, 2);
    else if (value_is(value, VALUE_OBJECT))
        write_members(to, value, 0, false);
    else
        write_items(to, value, 0, false);
}
