#include "engine/base/escape.h"

#include <string.h>

void escape_add(struct buf *to, const char *text, size_t length, char mark,
                escape_is_plain *is_plain)
{
    for (size_t i = 0; i < length; i++) {
        if (is_plain(text[i]))
            buf_add_char(to, text[i]);
        else
            buf_printf(to, "%c%02X", mark, (unsigned)(unsigned char)text[i]);
    }
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static int digit_of_url(char c)
{
    return digit(c >= 'a' && c <= 'f' ? (char)(c - 'a' + 'A') : c);
}

char *escape_read(const char *escaped, char mark, escape_is_plain *is_plain)
{
    _cleanup_buf_ struct buf text = BUF_INIT;

    for (const char *c = escaped; *c; c++) {
        int high, low;

        if (is_plain(*c)) {
            buf_add_char(&text, *c);
            continue;
        }
        high = *c == mark ? digit(c[1]) : -1;
        low = high >= 0 ? digit(c[2]) : -1;
        if (low < 0 || high + low == 0)
            return NULL;
        buf_add_char(&text, (char)(high * 16 + low));
        c += 2;
    }
    return buf_take(&text);
}

bool escape_is_unreserved(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

static bool is_unreserved_or_slash(char c)
{
    return escape_is_unreserved(c) || c == '/';
}

void escape_url(struct buf *to, const char *text, bool keep_slashes)
{
    escape_add(to, text, strlen(text), '%',
               keep_slashes ? is_unreserved_or_slash : escape_is_unreserved);
}

char *escape_url_read(const char *text, size_t length)
{
    _cleanup_buf_ struct buf to = BUF_INIT;

    for (size_t i = 0; i < length; i++) {
        int high, low;

        if (text[i] != '%') {
            buf_add_char(&to, text[i]);
            continue;
        }
        high = i + 2 < length ? digit_of_url(text[i + 1]) : -1;
        low = high >= 0 ? digit_of_url(text[i + 2]) : -1;
        if (low < 0 || high + low == 0)
            return NULL;
        buf_add_char(&to, (char)(high * 16 + low));
        i += 2;
    }
    return buf_take(&to);
}
