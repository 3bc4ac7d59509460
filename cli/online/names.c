#include "cli/online/names.h"

#include <string.h>

#include "engine/base/duration.h"
#include "engine/base/str.h"
#include "engine/base/timestamp.h"

#define PARTS 4

struct part {
    const char *text;
    int length;
};

/* Names may have no colon; the last part is all that is left. */
static unsigned split(const char *id, struct part parts[PARTS])
{
    unsigned n = 0;

    for (; n < PARTS; n++) {
        size_t length = n + 1 < PARTS ? strcspn(id, ":") : strlen(id);

        parts[n] = (struct part){id, (int)length};
        id += length;
        if (!*id++)
            return n + 1;
    }
    return n;
}

/* "v1", "apps/v1", "example.com/v1beta1": versions begin with a v and a digit. */
static int is_version(struct part part)
{
    const char *slash = memchr(part.text, '/', (size_t)part.length);
    const char *version = slash ? slash + 1 : part.text;

    return version[0] == 'v' && version[1] >= '0' && version[1] <= '9';
}

char *name_of_id(const char *id, const char *namespace_name)
{
    struct part parts[PARTS];
    unsigned n = split(id, parts);
    struct part kind = parts[1], place = parts[2], name = parts[n - 1];

    if (n < 3 || (n == 3 && !is_version(parts[0])))
        return str_new(id);
    if (!is_version(parts[0]))
        return str_printf("%.*s/%.*s", place.length, place.text, name.length, name.text);
    if (n == 4 && namespace_name &&
        (strlen(namespace_name) != (size_t)place.length ||
         memcmp(namespace_name, place.text, (size_t)place.length) != 0))
        return str_printf("%.*s/%.*s in %.*s", kind.length, kind.text, name.length, name.text,
                          place.length, place.text);
    return str_printf("%.*s/%.*s", kind.length, kind.text, name.length, name.text);
}

int64_t time_of(const char *text)
{
    const char *dot = strchr(text, '.');
    _cleanup_free_ char *whole = dot ? str_printf("%.*sZ", (int)(dot - text), text) : str_new(text);

    return timestamp_parse(whole);
}

char *age_since(int64_t time, int64_t now)
{
    int64_t seconds = (now - time) / 1000;

    if (!time)
        return str_new("?");
    if (seconds < 0)
        seconds = 0;
    if (seconds < 120)
        return str_printf("%llds", (long long)seconds);
    if (seconds < 2 * 3600)
        return str_printf("%lldm", (long long)seconds / 60);
    if (seconds < 2 * 86400)
        return str_printf("%lldh", (long long)seconds / 3600);
    return str_printf("%lldd", (long long)seconds / 86400);
}

char *took_text(const char *duration)
{
    int64_t ms = duration ? duration_parse(duration) : -1;
    long long seconds = ms / 1000;

    if (ms < 0)
        return str_new("");
    if (ms < 1000)
        return str_printf("%lldms", (long long)ms);
    if (ms < 60000)
        return str_printf("%lld.%llds", seconds, (long long)ms % 1000 / 100);
    if (ms < 3600000)
        return str_printf("%lldm%02llds", seconds / 60, seconds % 60);
    return str_printf("%lldh%02lldm", seconds / 3600, seconds / 60 % 60);
}
