#include "engine/base/base64.h"

#include <openssl/evp.h>

/* Bytes that are encoded at once: whole groups. */
#define PIECE 3072

void base64_encode(struct buf *to, const void *data, size_t length)
{
    const unsigned char *bytes = data;

    buf_reserve(to, (length + 2) / 3 * 4);
    for (size_t at = 0; at < length; at += PIECE) {
        unsigned char text[PIECE / 3 * 4 + 1];
        int n = length - at < PIECE ? (int)(length - at) : PIECE;

        buf_add(to, text, (size_t)EVP_EncodeBlock(text, bytes + at, n));
    }
}

/* OpenSSL's own decoder takes blanks and bits that are left over. */
static int digit_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Decodes one group with so many digits (2 to 4); false unless all are digits
 * and the bits that padding leaves over are zero. */
static bool decode_group(const char *text, size_t n_digits, unsigned char bytes[3])
{
    unsigned int group = 0;

    for (size_t i = 0; i < 4; i++) {
        int digit = i < n_digits ? digit_of(text[i]) : 0;

        if (digit < 0)
            return false;
        group = group << 6 | (unsigned int)digit;
    }
    bytes[0] = (unsigned char)(group >> 16);
    bytes[1] = (unsigned char)(group >> 8);
    bytes[2] = (unsigned char)group;
    return (n_digits > 2 || bytes[1] == 0) && (n_digits > 3 || bytes[2] == 0);
}

bool base64_decode(struct buf *to, const char *text, size_t length)
{
    size_t before = to->length;

    if (length % 4)
        return false;
    buf_reserve(to, length / 4 * 3);
    for (size_t at = 0; at < length; at += 4) {
        unsigned char bytes[3];
        size_t n_digits = 4;

        if (at + 4 == length && text[at + 3] == '=')
            n_digits = text[at + 2] == '=' ? 2 : 3;
        if (!decode_group(text + at, n_digits, bytes)) {
            if (to->capacity) {
                to->length = before;
                to->data[before] = '\0';
            }
            return false;
        }
        buf_add(to, bytes, n_digits - 1);
    }
    return true;
}
