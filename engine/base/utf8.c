#include "engine/base/utf8.h"

#include <stdint.h>
#include <string.h>

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
