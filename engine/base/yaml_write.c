#include <stdint.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/buf.h"
#include "engine/base/utf8.h"
#include "engine/base/yaml.h"
#include "engine/base/yaml_private.h"
#include "engine/base/yaml_text.h"

/* A reader looks for a key's colon in the next 1024 characters. A key that may be longer than that
 * when escaped gets "? " before it. */
#define SIMPLE_KEY_BYTES 160

struct writer {
    struct buf *to;
    struct arena scratch; /* scratch memory for resolving scalars */
};

static void indent(struct writer *w, size_t columns)
{
    for (size_t i = 0; i < columns; i++)
        buf_add_char(w->to, ' ');
}

/* ---- Strings ---- */

/* Characters that YAML allows in a line but that end a line, begin a file or are invisible: NEL,
 * LS, PS and the byte order mark. */
static bool is_unseen(const char *c, size_t n)
{
    static const char *const unseen[] = {"\xc2\x85", "\u2028", "\u2029", "\ufeff"};

    for (size_t i = 0; i < ARRAY_SIZE(unseen); i++)
        if (strlen(unseen[i]) == n && memcmp(unseen[i], c, n) == 0)
            return true;
    return false;
}

/* Bytes of the character that text begins with; 0 if it has to be escaped. */
static size_t printable(const char *text, size_t length)
{
    size_t n = yaml_text_char(text, length);

    return n == 0 || (n == 1 && (unsigned char)*text < ' ') || is_unseen(text, n) ? 0 : n;
}

static bool is_printable(const char *text, size_t length, bool lines)
{
    for (size_t at = 0, n; at < length; at += n) {
        n = lines && text[at] == '\n' ? 1 : printable(text + at, length - at);
        if (n == 0)
            return false;
    }
    return true;
}

/* 2001-01-01 and 190:20:30 are strings here, but other YAML readers read dates and numbers. */
static bool is_date_or_sexagesimal(const char *text, size_t length)
{
    return strspn(text, "0123456789-+:._ TtZz") == length && strpbrk(text, "-:") &&
           strpbrk(text, "0123456789");
}

static bool resolves_to_string(struct writer *w, const char *text, size_t length)
{
    struct yaml_scalar scalar;
    bool is_string = yaml_scalar_resolve(&w->scratch, text, length, &scalar, NULL) == 0 &&
                     scalar.type == VALUE_STRING;

    if (w->scratch.used > 4096)
        arena_done(&w->scratch);
    return is_string;
}

/* Whether the text alone tells every reader that it is a string. */
static bool speaks_for_itself(struct writer *w, const char *text, size_t length)
{
    return length > 0 && is_printable(text, length, false) && strcmp(text, "<<") != 0 &&
           strcmp(text, "=") != 0 && !is_date_or_sexagesimal(text, length) &&
           resolves_to_string(w, text, length);
}

/* Whether none of its characters means something to YAML where it stands. */
static bool needs_no_quotes(const char *text, size_t length)
{
    if (strchr("?:,[]{}#&*!|>'\"%@` ", *text) || text[length - 1] == ' ' || text[length - 1] == ':')
        return false;
    if (*text == '-' && (length == 1 || text[1] == ' ' || strncmp(text, "---", 3) == 0))
        return false;
    return strncmp(text, "...", 3) != 0 && !strstr(text, ": ") && !strstr(text, " #");
}

static uint32_t code_point(const unsigned char *c, size_t n)
{
    static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t code = c[0] & masks[n];

    for (size_t i = 1; i < n; i++)
        code = code << 6 | (c[i] & 0x3f);
    return code;
}

static void write_escape(struct buf *to, const char *c, size_t n)
{
    static const char escapes[] = "\0000\aa\bb\tt\nn\vv\ff\rr\033e\"\"\\\\";
    uint32_t code = code_point((const unsigned char *)c, n);

    for (size_t i = 0; i + 1 < sizeof(escapes); i += 2)
        if (code == (unsigned char)escapes[i]) {
            buf_add_char(to, '\\');
            buf_add_char(to, escapes[i + 1]);
            return;
        }
    if (code <= 0xff)
        buf_printf(to, "\\x%02X", code);
    else
        buf_printf(to, "\\u%04X", code); /* what needs escaping is below U+10000 */
}

static void write_quoted(struct buf *to, const char *text, size_t length)
{
    buf_add_char(to, '"');
    for (size_t at = 0, n; at < length; at += n) {
        n = printable(text + at, length - at);
        if (n && text[at] != '"' && text[at] != '\\') {
            buf_add(to, text + at, n);
            continue;
        }
        n = utf8_char(text + at, length - at);
        if (n == 0) { /* an invalid byte, which values should not contain: the output is UTF-8 all
                         the same */
            buf_add_str(to, "\\uFFFD");
            n = 1;
            continue;
        }
        write_escape(to, text + at, n);
    }
    buf_add_char(to, '"');
}

/* Text of several lines is more readable as a block, if YAML allows it. */
static bool can_be_block(const char *text, size_t length)
{
    return memchr(text, '\n', length) && *text != '\n' && *text != ' ' &&
           is_printable(text, length, true);
}

static void write_block(struct writer *w, const char *text, size_t length, size_t column)
{
    bool ends = text[length - 1] == '\n';
    const char *end = text + length;

    buf_add_str(w->to, !ends ? "|-\n" : text[length - 2] == '\n' ? "|+\n" : "|\n");
    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t n = (size_t)((stop ? stop : end) - text);

        if (n)
            indent(w, column);
        buf_add(w->to, text, n);
        buf_add_char(w->to, '\n');
        text += n + 1;
    }
}

static void write_single_quoted(struct buf *to, const char *text, size_t length)
{
    buf_add_char(to, '\'');
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\'')
            buf_add_char(to, '\'');
        buf_add_char(to, text[i]);
    }
    buf_add_char(to, '\'');
}

/* Double quotes if the plain text would not be a string; single quotes if YAML's syntax needs
 * quotes. */
static void write_inline(struct writer *w, const char *text, size_t length)
{
    if (!speaks_for_itself(w, text, length))
        write_quoted(w->to, text, length);
    else if (needs_no_quotes(text, length))
        buf_add(w->to, text, length);
    else
        write_single_quoted(w->to, text, length);
}

/* ---- Values ---- */

static void write_number(struct writer *w, const char *text)
{
    if (resolves_to_string(w, text, strlen(text)))
        buf_add_str(w->to, "!!float "); /* 1e400: YAML has no float for it */
    buf_add_str(w->to, text);
}

/* A scalar or an empty container, with the end of its line. */
static void write_leaf(struct writer *w, const struct value *value, size_t column)
{
    const char *text;
    size_t length;

    switch (value_type(value)) {
    case VALUE_NULL:
        buf_add_str(w->to, "null");
        break;
    case VALUE_BOOL:
        buf_add_str(w->to, value_bool(value, false) ? "true" : "false");
        break;
    case VALUE_NUMBER:
        write_number(w, value_number(value));
        break;
    case VALUE_STRING:
        text = value_string_n(value, &length);
        if (can_be_block(text, length)) {
            write_block(w, text, length, column);
            return;
        }
        write_inline(w, text, length);
        break;
    case VALUE_ARRAY:
        buf_add_str(w->to, "[]");
        break;
    case VALUE_OBJECT:
        buf_add_str(w->to, "{}");
        break;
    case VALUE_UNKNOWN:
        buf_add_str(w->to, VALUE_UNKNOWN_TEXT);
        break;
    }
    buf_add_char(w->to, '\n');
}

static bool is_open(const struct value *value, enum value_type type)
{
    return value_is(value, type) && value_count(value) > 0;
}

static void write_node(struct writer *w, const struct value *value, size_t column);

static void write_key(struct writer *w, const char *key, size_t length, size_t column)
{
    if (length <= SIMPLE_KEY_BYTES) {
        write_inline(w, key, length);
    } else {
        buf_add_str(w->to, "? ");
        write_inline(w, key, length);
        buf_add_char(w->to, '\n');
        indent(w, column);
    }
    buf_add_char(w->to, ':');
}

static void write_members(struct writer *w, const struct value *object, size_t column)
{
    for (size_t i = 0; i < value_count(object); i++) {
        const struct value *member = value_member(object, i);
        size_t length;
        const char *key = value_member_key(object, i, &length);

        if (i > 0)
            indent(w, column);
        write_key(w, key, length, column);
        if (is_open(member, VALUE_OBJECT)) {
            buf_add_char(w->to, '\n');
            indent(w, column + 2);
            write_node(w, member, column + 2);
        } else if (is_open(member, VALUE_ARRAY)) {
            buf_add_char(w->to, '\n');
            indent(w, column);
            write_node(w, member, column);
        } else {
            buf_add_char(w->to, ' ');
            write_leaf(w, member, column + 2);
        }
    }
}

/* The first line's indent is there already. */
static void write_node(struct writer *w, const struct value *value, size_t column)
{
    if (is_open(value, VALUE_OBJECT)) {
        write_members(w, value, column);
    } else if (is_open(value, VALUE_ARRAY)) {
        for (size_t i = 0; i < value_count(value); i++) {
            if (i > 0)
                indent(w, column);
            buf_add_str(w->to, "- ");
            write_node(w, value_at(value, i), column + 2);
        }
    } else {
        write_leaf(w, value, column);
    }
}

void yaml_write(struct buf *to, const struct value *value)
{
    struct writer w = {.to = to, .scratch = ARENA_INIT};

    if (is_open(value, VALUE_OBJECT) || is_open(value, VALUE_ARRAY))
        write_node(&w, value, 0);
    else
        write_leaf(&w, value, 2);
    arena_done(&w.scratch);
}
