#include "cli/frame/width.h"

#include <string.h>

#include "engine/base/cleanup.h"
#include "engine/base/utf8.h"

struct range {
    uint32_t first, last;
};

/* The blocks of combining marks, and those that Unicode's EastAsianWidth.txt has as W or F. */
static const struct range marks[] = {
    {0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},   {0x64b, 0x65f},
    {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x20d0, 0x20ff}, {0xfe20, 0xfe2f},
};
static const struct range wide[] = {
    {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},
    {0x4e00, 0x9fff},   {0xa000, 0xa4cf},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},
    {0xfe30, 0xfe4f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x1f300, 0x1f64f},
    {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
};

static int is_in(uint32_t code, const struct range *ranges, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (code >= ranges[i].first && code <= ranges[i].last)
            return 1;
    return 0;
}

unsigned width_of(uint32_t code_point)
{
    if (code_point < 0x300)
        return 1;
    if (is_in(code_point, marks, ARRAY_SIZE(marks)))
        return 0;
    return is_in(code_point, wide, ARRAY_SIZE(wide)) ? 2 : 1;
}

size_t text_width(const char *text)
{
    size_t width = 0, length = strlen(text);

    for (size_t at = 0, n; at < length; at += n) {
        n = utf8_char(text + at, length - at);
        width += n ? width_of(utf8_code_point(text + at, n)) : 1;
        n = n ? n : 1;
    }
    return width;
}
