/*
 * A secret in what the API server says of a value: never in what is made of it. The input makes the
 * message: text around, and two values as Go or JSON write them, of any shape, with the secret in.
 *
 * Lines: text before; the markers' number; text between and after; the rest makes the values, a
 * half of it each, byte by byte: " string with the secret   { object   [ list   m Go map   b Go
 * bytes   n number   ) end of one any other byte: into the string that comes next
 */
#include "runtimes/kubernetes/client/redact.h"
#include "engine/base/base64.h"
#include "engine/base/str.h"
#include "test/fuzz/fuzz.h"

#define SECRET   "hunter2hunter2"
#define DEEPEST  20
#define REDACTED "(redacted)"

static const char *const markers[] = {
    "Invalid value: ", "Unsupported value: ", "Duplicate value: ", ", got &"};

/* As Go's %q and JSON. */
static void add_quoted(struct buf *to, const char *text, size_t length)
{
    buf_add_char(to, '"');
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c == '"' || c == '\\')
            buf_printf(to, "\\%c", c);
        else if (c == '\n')
            buf_add_str(to, "\\n");
        else if (c < 0x20 || c >= 0x7f)
            buf_printf(to, "\\u%04x", c);
        else
            buf_add_char(to, (char)c);
    }
    buf_add_char(to, '"');
}

/* What the bytes before it say, with the secret in its midst. */
static void add_string(struct buf *to, struct buf *before)
{
    size_t half = before->length / 2;
    _cleanup_buf_ struct buf text = BUF_INIT;

    buf_add(&text, before->data, half);
    buf_add_str(&text, SECRET);
    buf_add(&text, before->data + half, before->length - half);
    add_quoted(to, text.data, text.length);
    buf_done(before);
}

static void add_bytes(struct buf *to)
{
    buf_add_str(to, "[]uint8{");
    for (size_t i = 0; i < strlen(SECRET); i++)
        buf_printf(to, "%s0x%x", i ? ", " : "", SECRET[i]);
    buf_add_char(to, '}');
}

struct level {
    char end;
    bool has_keys, has_items;
};

static void begin_item(struct buf *to, struct level *level)
{
    if (level->has_items)
        buf_add_str(to, level->has_keys ? "," : ", ");
    level->has_items = true;
    if (level->has_keys)
        buf_add_str(to, "\"key: \\\"\":");
}

static bool opens(struct buf *to, uint8_t byte, struct level *next)
{
    static const struct {
        char byte;
        const char *text;
        struct level level;
    } rows[] = {
        {'{', "{", {'}', true, false}},
        {'[', "[", {']', false, false}},
        {'m', "map[string]interface {}{", {'}', true, false}},
        {'(', "value.valueUnstructured{Value:", {'}', false, false}},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (byte == rows[i].byte) {
            buf_add_str(to, rows[i].text);
            *next = rows[i].level;
            return true;
        }
    return false;
}

/* One value: of what comes after it nothing is used. */
static void add_value(struct buf *to, const uint8_t *data, size_t size)
{
    struct level levels[DEEPEST + 1] = {{0}};
    size_t depth = 0;
    _cleanup_buf_ struct buf before = BUF_INIT;

    for (size_t i = 0; i < size && (depth || !levels[0].has_items); i++) {
        bool is_item = strchr("\"{[m(bn", data[i]) && data[i];

        if (is_item && depth < DEEPEST) {
            begin_item(to, &levels[depth]);
            if (opens(to, data[i], &levels[depth + 1]))
                depth++;
            else if (data[i] == '"')
                add_string(to, &before);
            else if (data[i] == 'b')
                add_bytes(to);
            else
                buf_add_str(to, "-1.5e7");
        } else if (data[i] == ')' && depth) {
            buf_add_char(to, levels[depth--].end);
        } else {
            buf_add_char(&before, (char)data[i]);
        }
    }
    while (depth)
        buf_add_char(to, levels[depth--].end);
    if (!levels[0].has_items)
        add_string(to, &before);
}

/* Plain, in base64 at any alignment, as Go's bytes. */
static bool tells(const char *text)
{
    static const char *const ends[] = {"unter2hunter2", "hunter2hunter", "0x68"};
    bool is_told = false;

    for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
        is_told |= strstr(text, ends[i]) != NULL;
    for (size_t skip = 0; skip < 3; skip++) {
        _cleanup_buf_ struct buf encoded = BUF_INIT;

        base64_encode(&encoded, &SECRET[skip], (strlen(SECRET) - skip) / 3 * 3);
        is_told |= strstr(text, encoded.data) != NULL;
    }
    return is_told;
}

static void check_redacted(const char *message)
{
    _cleanup_buf_ struct buf text = BUF_INIT, again = BUF_INIT;

    redact_message(&text, message);
    must(strlen(text.data) == text.length);
    for (size_t i = 0; i < text.length; i++)
        must((unsigned char)text.data[i] >= ' ');
    must(!tells(text.data));
    redact_message(&again, text.data);
    must(!tells(again.data));
}

static bool has_value(const char *text)
{
    for (size_t i = 0; i < ARRAY_SIZE(markers); i++)
        if (strstr(text, markers[i]))
            return true;
    return false;
}

/* Of a message without values nothing is lost but what ends a line. */
static void check_kept(const char *message)
{
    _cleanup_buf_ struct buf text = BUF_INIT;

    if (has_value(message))
        return;
    redact_message(&text, message);
    must(text.length == strlen(message));
    for (size_t i = 0; i < text.length; i++)
        must(text.data[i] == ((unsigned char)message[i] < ' ' ? ' ' : message[i]));
}

/* A Secret's data is base64. */
static void add_data(struct buf *to)
{
    _cleanup_buf_ struct buf encoded = BUF_INIT;

    base64_encode(&encoded, SECRET, strlen(SECRET));
    add_quoted(to, encoded.data, encoded.length);
}

/* Between two values: what opens here would close in the second. */
static void add_between(struct buf *to, const char *text)
{
    for (; *text; text++)
        buf_add_char(to, strchr("\"({[", *text) ? ' ' : *text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *before = take_line(&data, &size), *number = take_line(&data, &size);
    _cleanup_free_ char *after = take_line(&data, &size);
    _cleanup_buf_ struct buf message = BUF_INIT;
    unsigned which = *number ? (unsigned char)*number : 0;

    check_kept(before);
    check_kept(after);
    if (has_value(before) || tells(before) || tells(after))
        return 0;
    buf_printf(&message, "%s%s", before, markers[which % ARRAY_SIZE(markers)]);
    if (which & 0x20)
        add_data(&message);
    else
        add_value(&message, data, size / 2);
    add_between(&message, after);
    buf_add_str(&message, markers[which / 4 % ARRAY_SIZE(markers)]);
    add_value(&message, data + size / 2, size - size / 2);
    buf_printf(&message, ": %s", after);
    check_redacted(message.data);
    return 0;
}
