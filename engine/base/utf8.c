#include "engine/base/utf8.h"

#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/str.h"

static size_t char_bytes(unsigned char first)
{
    if (first < 0x80)
        return 1;
    if (first < 0xc2)
        return 0;
    if (first < 0xe0)
        return 2;
    if (first < 0xf0)
        return 3;
    return first < 0xf5 ? 4 : 0;
}

/* The bounds of the second byte exclude overlong forms, surrogates and code points past U+10FFFF.
 * */
static int is_second(unsigned char first, unsigned char second)
{
    unsigned char lowest = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    unsigned char highest = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;

    return second >= lowest && second <= highest;
}

size_t utf8_char(const char *text, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t n = length ? char_bytes(bytes[0]) : 0;

    if (!n || n > length)
        return 0;
    if (n > 1 && !is_second(bytes[0], bytes[1]))
        return 0;
    for (size_t i = 2; i < n; i++)
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

size_t utf8_valid(const char *text, size_t length)
{
    size_t at = 0;

    while (at < length) {
        uint64_t eight;
        size_t n;

        if (length - at >= sizeof(eight)) {
            memcpy(&eight, text + at, sizeof(eight));
            if (!(eight & 0x8080808080808080u)) {
                at += sizeof(eight);
                continue;
            }
        }
        n = utf8_char(text + at, length - at);
        if (!n)
            break;
        at += n;
    }
    return at;
}

uint32_t utf8_code_point(const char *text, size_t n)
{
    const unsigned char *bytes = (const unsigned char *)text;
    uint32_t code = n == 1 ? bytes[0] : bytes[0] & (0xffu >> (n + 1));

    for (size_t i = 1; i < n; i++)
        code = code << 6 | (bytes[i] & 0x3fu);
    return code;
}

/* ---- For people ---- */

static const struct {
    uint32_t first, last;
} hidden[] = {
    {0x0, 0x1f},        /* C0 */
    {0x7f, 0x9f},       /* DEL, C1 */
    {0xad, 0xad},       /* soft hyphen */
    {0x34f, 0x34f},     /* combining grapheme joiner */
    {0x61c, 0x61c},     /* Arabic letter mark */
    {0x115f, 0x1160},   /* fillers of Hangul */
    {0x17b4, 0x17b5},   /* inherent vowels of Khmer */
    {0x180b, 0x180f},   /* Mongolian selectors and vowel separator */
    {0x200b, 0x200f},   /* zero width, marks of direction */
    {0x2028, 0x202e},   /* separators; embeddings and overrides of direction */
    {0x2060, 0x206f},   /* word joiner, invisible operators, isolates of direction */
    {0x3164, 0x3164},   /* filler of Hangul */
    {0xfe00, 0xfe0f},   /* variation selectors */
    {0xfeff, 0xfeff},   /* byte order mark */
    {0xffa0, 0xffa0},   /* filler of Hangul, half as wide */
    {0xfff0, 0xfffb},   /* not assigned; annotations */
    {0x1bca0, 0x1bca3}, /* controls of shorthand */
    {0x1d173, 0x1d17a}, /* controls of musical notation */
    {0xe0000, 0xe0fff}, /* tags, more variation selectors */
};

bool utf8_is_hidden(uint32_t code_point)
{
    for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
        if (code_point >= hidden[i].first && code_point <= hidden[i].last)
            return true;
    return false;
}

static void add_shown(struct buf *to, const char *text, size_t n)
{
    uint32_t code = n ? utf8_code_point(text, n) : 0;

    if (!n)
        buf_add_char(to, '?');
    else if (code == '\t' || code == '\n' || code == '\r')
        buf_add_char(to, ' ');
    else if (utf8_is_hidden(code))
        buf_printf(to, code < 0x10000 ? "\\u%04x" : "\\U%08x", (unsigned)code);
    else
        buf_add(to, text, n);
}

static void add_line(struct buf *to, const char *text)
{
    size_t length = strlen(text);

    for (size_t at = 0, n; at < length; at += n ? n : 1) {
        n = utf8_char(text + at, length - at);
        add_shown(to, text + at, n);
    }
}

char *utf8_show(const char *text)
{
    struct buf shown = BUF_INIT;

    add_line(&shown, text);
    return buf_take(&shown);
}

char *utf8_show_lines(const char *text)
{
    struct buf shown = BUF_INIT;

    for (;;) {
        size_t length = strcspn(text, "\n");
        _cleanup_free_ char *line = str_new_n(text, length);

        add_line(&shown, line);
        if (!text[length])
            return buf_take(&shown);
        buf_add_char(&shown, '\n');
        text += length + 1;
    }
}
