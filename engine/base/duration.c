#include "engine/base/duration.h"

#include <stdbool.h>
#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/cleanup.h"

#define NS_PER_MS INT64_C(1000000)

/* The first matching name is taken, so "ms" is listed before "m". */
static const struct unit {
    const char *name;
    int64_t ns;
} units[] = {
    {"ns", 1},
    {"us", 1000},
    {"\u00b5s", 1000}, /* micro sign */
    {"\u03bcs", 1000}, /* Greek mu */
    {"ms", NS_PER_MS},
    {"s", 1000 * NS_PER_MS},
    {"m", 60000 * NS_PER_MS},
    {"h", 3600000 * NS_PER_MS},
};

static const struct unit *find_unit(const char *text)
{
    for (size_t i = 0; i < ARRAY_SIZE(units); i++)
        if (strncmp(text, units[i].name, strlen(units[i].name)) == 0)
            return &units[i];
    return NULL;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Takes a number and its unit ("1.5h") off *text and adds them to *total_ns. */
static bool take_part(const char **text, int64_t *total_ns)
{
    int64_t whole = 0, below = 0, part, place;
    const char *digits = *text, *fraction, *end;
    const struct unit *unit;

    for (; is_digit(**text); (*text)++)
        if (__builtin_mul_overflow(whole, 10, &whole) ||
            __builtin_add_overflow(whole, **text - '0', &whole))
            return false;
    end = *text;
    fraction = **text == '.' ? ++*text : *text;
    while (is_digit(**text))
        (*text)++;
    if (end == digits && *text == fraction)
        return false;
    unit = find_unit(*text);
    if (!unit || __builtin_mul_overflow(whole, unit->ns, &part))
        return false;
    place = unit->ns;
    for (const char *p = fraction; p < *text; p++) {
        place /= 10; /* fractions of a nanosecond are dropped */
        below += (*p - '0') * place;
    }
    *text += strlen(unit->name);
    return !__builtin_add_overflow(part, below, &part) &&
           !__builtin_add_overflow(*total_ns, part, total_ns);
}

int64_t duration_parse(const char *text)
{
    int64_t ns = 0;

    if (!text)
        return -1;
    if (*text == '+')
        text++;
    if (strcmp(text, "0") == 0)
        return 0;
    do {
        if (!take_part(&text, &ns))
            return -1;
    } while (*text);
    return ns / NS_PER_MS + (ns % NS_PER_MS > 0);
}

char *duration_show(int64_t ms)
{
    struct buf text = BUF_INIT;
    long long seconds = ms / 1000;

    if (seconds >= 3600)
        buf_printf(&text, "%lldh", seconds / 3600);
    if (seconds % 3600 >= 60)
        buf_printf(&text, "%lldm", seconds % 3600 / 60);
    if (seconds % 60 || !seconds)
        buf_printf(&text, "%llds", seconds % 60);
    return buf_take(&text);
}
