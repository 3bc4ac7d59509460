#include "engine/base/unquote.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/utf8.h"

#define LEFT_OUT    0x01 /* a byte that stands for what is left out */
#define REPLACEMENT "\xef\xbf\xbd"

void unquoted_done(struct unquoted *unquoted)
{
    free(unquoted->bytes);
    free(unquoted->places);
    *unquoted = (struct unquoted){.has_places = unquoted->has_places};
}

/* ---- Escapes ---- */

struct reader {
    const char *text;
    size_t length, at;
    struct unquoted *to;
};

static void add(struct reader *reader, unsigned char byte, size_t begin)
{
    struct unquoted *to = reader->to;

    if (to->places)
        to->places[to->count] =
            (struct unquoted_place){(uint32_t)begin, (uint32_t)reader->at, false};
    to->bytes[to->count++] = byte;
}

/* A character has at most as many bytes as its escape. */
static void add_char(struct reader *reader, uint32_t c, size_t begin)
{
    if (c < 0x80) {
        add(reader, (unsigned char)c, begin);
    } else if (c < 0x800) {
        add(reader, (unsigned char)(0xc0 | c >> 6), begin);
        add(reader, (unsigned char)(0x80 | (c & 0x3f)), begin);
    } else if (c < 0x10000) {
        add(reader, (unsigned char)(0xe0 | c >> 12), begin);
        add(reader, (unsigned char)(0x80 | (c >> 6 & 0x3f)), begin);
        add(reader, (unsigned char)(0x80 | (c & 0x3f)), begin);
    } else {
        add(reader, (unsigned char)(0xf0 | (c >> 18 & 0x7)), begin);
        add(reader, (unsigned char)(0x80 | (c >> 12 & 0x3f)), begin);
        add(reader, (unsigned char)(0x80 | (c >> 6 & 0x3f)), begin);
        add(reader, (unsigned char)(0x80 | (c & 0x3f)), begin);
    }
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16;
}

/* `count` digits to this base at a place of the text. False: there are none. */
static bool number_at(const struct reader *reader, size_t at, size_t count, int base, uint32_t *ret)
{
    uint32_t number = 0;

    if (at + count > reader->length)
        return false;
    for (size_t i = at; i < at + count; i++) {
        int digit = digit_of(reader->text[i]);

        if (digit >= base)
            return false;
        number = number * (uint32_t)base + (uint32_t)digit;
    }
    *ret = number;
    return true;
}

static bool is_at(const struct reader *reader, size_t at, const char *text)
{
    size_t length = strlen(text);

    return at + length <= reader->length && memcmp(reader->text + at, text, length) == 0;
}

/* The second half of a surrogate pair follows its first half with as many backslashes. */
static uint32_t join_pair(struct reader *reader, uint32_t high, size_t backslashes)
{
    size_t at = reader->at;
    uint32_t low;

    if (high < 0xd800 || high >= 0xdc00)
        return high;
    while (backslashes && is_at(reader, at, "\\")) {
        backslashes--;
        at++;
    }
    if (backslashes || !is_at(reader, at, "u") || !number_at(reader, at + 1, 4, 16, &low) ||
        low < 0xdc00 || low >= 0xe000)
        return high;
    reader->at = at + 5;
    return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

/* A byte as "x41" or "101". */
static bool read_byte(struct reader *reader, size_t at, uint32_t *ret)
{
    if (!(is_at(reader, at, "x") && number_at(reader, at + 1, 2, 16, ret)) &&
        !number_at(reader, at, 3, 8, ret))
        return false;
    reader->at = at + 3;
    return true;
}

/* Backslashes, and what they escape. Each further quoting doubles their number. */
static void read_backslashes(struct reader *reader)
{
    size_t begin = reader->at, at;
    uint32_t c = 0;
    bool is_byte;

    while (is_at(reader, reader->at, "\\"))
        reader->at++;
    at = reader->at;
    is_byte = read_byte(reader, at, &c);
    if (!is_byte || c < 0x80) /* other bytes are parts of a character */
        add(reader, LEFT_OUT, begin);
    if (is_byte) {
        add(reader, (unsigned char)c, begin);
        return;
    }
    if (at == reader->length)
        return;
    if (reader->text[at] == 'u' && number_at(reader, at + 1, 4, 16, &c)) {
        reader->at = at + 5;
        add_char(reader, join_pair(reader, c, at - begin), begin);
    } else if (reader->text[at] == 'U' && number_at(reader, at + 1, 8, 16, &c)) {
        reader->at = at + 9;
        add_char(reader, c, begin);
    } else if (strchr("abefnrtv", reader->text[at]) && reader->text[at]) {
        reader->at = at + 1; /* a control character */
    }
}

/* "%41"; "%2541" is the same, escaped once more. False: it is none. */
static bool read_percent(struct reader *reader)
{
    size_t begin = reader->at, at = begin + 1;
    uint32_t c;

    while (is_at(reader, at, "25"))
        at += 2;
    if (!number_at(reader, at, 2, 16, &c)) {
        at -= 2; /* "%25" alone */
        if (at < begin + 1 || !number_at(reader, at, 2, 16, &c))
            return false;
    }
    reader->at = at + 2;
    add(reader, (unsigned char)c, begin);
    return true;
}

/* ---- What is left out ---- */

/* ASCII as it is kept; 0: it is left out. */
static unsigned char kept_ascii(unsigned char c)
{
    switch (c) {
    case '"':
    case '\'':
    case '`':
    case ',':
    case '?':
    case '\\':
    case 0x7f:
        return 0;
    case '+':
        return '-';
    case '/':
        return '_';
    default:
        return c > ' ' ? c : 0;
    }
}

/* Bytes of the character that begins here; 0: it is none, or is left out. */
static size_t kept_character(const unsigned char *bytes, size_t length)
{
    size_t n = utf8_char((const char *)bytes, length);

    return n == 3 && memcmp(bytes, REPLACEMENT, 3) == 0 ? 0 : n;
}

static void keep(struct unquoted *to, size_t kept, size_t from, unsigned char byte, bool is_apart)
{
    to->bytes[kept] = byte;
    if (to->places) {
        to->places[kept] = to->places[from];
        to->places[kept].is_apart = is_apart;
    }
}

static void leave_out(struct unquoted *to)
{
    size_t kept = 0;
    bool is_apart = true;

    for (size_t i = 0; i < to->count;) {
        bool is_ascii = to->bytes[i] < 0x80;
        unsigned char c = is_ascii ? kept_ascii(to->bytes[i]) : to->bytes[i];
        size_t n = is_ascii ? c != 0 : kept_character(to->bytes + i, to->count - i);

        for (size_t k = 0; k < n; k++, is_apart = false)
            keep(to, kept++, i + k, k ? to->bytes[i + k] : c, is_apart);
        is_apart = n == 0;
        i += n ? n : 1;
    }
    to->count = kept;
}

void unquote(const char *text, size_t length, struct unquoted *ret)
{
    struct reader reader = {.text = text, .length = length, .to = ret};

    ret->count = 0;
    if (length > ret->capacity) {
        ret->capacity = length;
        ret->bytes = mem_resize(ret->bytes, length, 1);
        if (ret->has_places)
            ret->places = mem_resize(ret->places, length, sizeof(*ret->places));
    }
    while (reader.at < length) {
        if (text[reader.at] == '\\') {
            read_backslashes(&reader);
        } else if (text[reader.at] != '%' || !read_percent(&reader)) {
            reader.at++;
            add(&reader, (unsigned char)text[reader.at - 1], reader.at - 1);
        }
    }
    leave_out(ret);
}
