#include "engine/yaml/yaml_text.h"

#include <stdbool.h>

#include "engine/base/limits.h"
#include "engine/base/utf8.h"

#define MAX_DIRECTIVES 100

static bool is_allowed_byte(unsigned char c)
{
    return c == '\t' || c == '\n' || c == '\r' || (c >= ' ' && c < 0x7f);
}

/* YAML allows all UTF-8 characters except C1 controls (but NEL is allowed), U+FFFE and U+FFFF. */
static bool is_allowed_char(const unsigned char *c, size_t length)
{
    if (length == 1)
        return is_allowed_byte(*c);
    if (c[0] == 0xc2)
        return c[1] >= 0xa0 || c[1] == 0x85;
    return !(c[0] == 0xef && c[1] == 0xbf && c[2] >= 0xbe);
}

/* Bytes of the character that text begins with; 0: it is not allowed, or not UTF-8. */
static size_t allowed_char(const char *text, size_t length)
{
    size_t n = utf8_char(text, length);

    return n && is_allowed_char((const unsigned char *)text, n) ? n : 0;
}

static int refuse(const char *text, size_t at, size_t length, size_t line, size_t start,
                  struct error *error)
{
    size_t column = 1;

    for (size_t i = start; i < at; i++)
        if (((unsigned char)text[i] & 0xc0) != 0x80)
            column++;
    if (utf8_char(text + at, length - at) == 0)
        return err_set(error, ERR_INVALID, "Invalid", "line %zu, column %zu: the text is not UTF-8",
                       line, column);
    return err_set(error, ERR_INVALID, "Invalid",
                   "line %zu, column %zu: a control character, which YAML does not allow", line,
                   column);
}

int yaml_text_check(const char *text, size_t length, struct error *error)
{
    size_t line = 1, start = 0, directives = 0;

    if (length > LIMIT_DOCUMENT_BYTES)
        return err_set(error, ERR_TOO_LARGE, "TooLarge", "%zu bytes of YAML, of at most %u", length,
                       LIMIT_DOCUMENT_BYTES);
    for (size_t at = 0; at < length;) {
        size_t n =
            is_allowed_byte((unsigned char)text[at]) ? 1 : allowed_char(text + at, length - at);

        if (n == 0)
            return refuse(text, at, length, line, start, error);
        if (text[at] == '%' && at == start && ++directives > MAX_DIRECTIVES)
            return err_set(error, ERR_TOO_LARGE, "TooLarge",
                           "line %zu, column 1: more than %d lines that begin with %%", line,
                           MAX_DIRECTIVES);
        if (text[at] == '\n') {
            line++;
            start = at + 1;
        }
        at += n;
    }
    return 0;
}
