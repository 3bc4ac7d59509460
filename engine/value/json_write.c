
#include "engine/base/utf8.h"
#include "engine/value/decimal.h"
#include "engine/value/json.h"
#include "engine/value/value_private.h"

#define REPLACEMENT "\xef\xbf\xbd"

static bool is_plain(char c)
{
    unsigned char byte = (unsigned char)c;

    return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

static void write_escape(struct buf *to, unsigned code)
{
    static const char letters[] = "\"\"\\\\\bb\ff\nn\rr\tt";

    for (size_t i = 0; letters[i]; i += 2)
        if ((unsigned char)letters[i] == code) {
            buf_add_char(to, '\\');
            buf_add_char(to, letters[i + 1]);
            return;
        }
    if (code > 0xffff)
        buf_printf(to, "\\u%04x\\u%04x", 0xd7c0 + (code >> 10), 0xdc00 + (code & 0x3ff));
    else
        buf_printf(to, "\\u%04x", code);
}

static bool is_escaped(unsigned code, enum json_style style)
{
    if (style == JSON_FOR_YAML &&
        ((code >= 0x7f && code <= 0x9f) || code == 0x2028 || code == 0x2029 || code == 0xfeff ||
         code == 0xfffe || code == 0xffff))
        return true;
    if (style == JSON_VISIBLE && utf8_is_hidden(code))
        return true;
    return code < 0x20 || code == '"' || code == '\\';
}

/* Writes a character of n bytes; n 0: an invalid byte. */
static void write_char(struct buf *to, const char *s, size_t n, enum json_style style)
{
    if (n == 0)
        buf_add_str(to, REPLACEMENT); /* so that the output is valid JSON */
    else if (is_escaped(utf8_code_point(s, n), style))
        write_escape(to, utf8_code_point(s, n));
    else
        buf_add(to, s, n);
}

static void write_string(struct buf *to, const char *s, size_t length, enum json_style style)
{
    size_t at = 0;

    buf_add_char(to, '"');
    while (at < length) {
        size_t from = at, n;

        while (at < length && is_plain(s[at]))
            at++;
        buf_add(to, s + from, at - from);
        if (at == length)
            break;
        n = utf8_char(s + at, length - at);
        write_char(to, s + at, n, style);
        at += n ? n : 1;
    }
    buf_add_char(to, '"');
}

void json_write_string(struct buf *to, const char *s, size_t length)
{
    write_string(to, s, length, JSON_VISIBLE);
}

static void write_number(struct buf *to, const struct value *value, enum json_style style)
{
    struct decimal decimal;

    if (style == JSON_CANONICAL && decimal_read(&decimal, value->text, value->count))
        decimal_write(to, &decimal);
    else
        buf_add(to, value->text, value->count);
}

static void new_line(struct buf *to, enum json_style style, unsigned depth)
{
    if (style != JSON_PRETTY)
        return;
    buf_add_char(to, '\n');
    for (unsigned i = 0; i < depth; i++)
        buf_add(to, "  ", 2);
}

static void write_value(struct buf *to, const struct value *value, enum json_style style,
                        unsigned depth);

static void write_array(struct buf *to, const struct value *array, enum json_style style,
                        unsigned depth)
{
    buf_add_char(to, '[');
    for (size_t i = 0; i < array->count; i++) {
        if (i)
            buf_add_char(to, ',');
        new_line(to, style, depth + 1);
        write_value(to, &array->array->items[i], style, depth + 1);
    }
    if (array->count)
        new_line(to, style, depth);
    buf_add_char(to, ']');
}

/* The order in which to write the members. For small objects it is sorted in `room`. */
static const uint32_t *order(const struct value *object, uint32_t room[VALUE_LINEAR_MEMBERS])
{
    const struct object_block *block = object->object;

    if (!block || block->sorted)
        return block ? block->sorted : room;
    for (uint32_t i = 0; i < object->count; i++) {
        uint32_t at = i;

        while (at > 0 && value_key_compare(&block->members[i], &block->members[room[at - 1]]) < 0) {
            room[at] = room[at - 1];
            at--;
        }
        room[at] = i;
    }
    return room;
}

static void write_object(struct buf *to, const struct value *object, enum json_style style,
                         unsigned depth)
{
    uint32_t room[VALUE_LINEAR_MEMBERS];
    const uint32_t *sorted = style == JSON_CANONICAL ? order(object, room) : NULL;

    buf_add_char(to, '{');
    for (size_t i = 0; i < object->count; i++) {
        const struct member *member = &object->object->members[sorted ? sorted[i] : i];

        if (i)
            buf_add_char(to, ',');
        new_line(to, style, depth + 1);
        write_string(to, member->key, member->key_length, style);
        buf_add(to, ": ", style == JSON_PRETTY ? 2 : 1);
        write_value(to, &member->value, style, depth + 1);
    }
    if (object->count)
        new_line(to, style, depth);
    buf_add_char(to, '}');
}

static void write_value(struct buf *to, const struct value *value, enum json_style style,
                        unsigned depth)
{
    /* One large value may stand in many places of a document. */
    if (buf_overflowed(to))
        return;
    switch (value_type(value)) {
    case VALUE_NULL:
        buf_add(to, "null", 4);
        break;
    case VALUE_BOOL:
        buf_add_str(to, value->boolean ? "true" : "false");
        break;
    case VALUE_NUMBER:
        write_number(to, value, style);
        break;
    case VALUE_STRING:
        write_string(to, value->text, value->count, style);
        break;
    case VALUE_ARRAY:
        write_array(to, value, style, depth);
        break;
    case VALUE_OBJECT:
        write_object(to, value, style, depth);
        break;
    case VALUE_UNKNOWN:
        buf_add_str(to, style == JSON_CANONICAL ? "?" : "\"" VALUE_UNKNOWN_TEXT "\"");
        break;
    }
}

void json_write(struct buf *to, const struct value *value, enum json_style style)
{
    write_value(to, value, style, 0);
}

char *json_to_str(const struct value *value)
{
    struct buf text;

    /* Values are bounded when they are built. Escaped, they may be longer than a reader accepts. */
    buf_init(&text, SIZE_MAX / 4);
    json_write(&text, value, JSON_COMPACT);
    return buf_take(&text);
}
