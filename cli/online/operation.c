#include "cli/online/operation.h"

#include "cli/online/objects.h"
#include "engine/base/duration.h"
#include "engine/base/str.h"
#include "engine/base/timestamp.h"

char *operation_name(const struct value *release)
{
    const char *operation = object_text(release, "", "spec", "operation", NULL);
    int64_t to = object_int(release, 0, "spec", "toRevision", NULL);

    return to ? str_printf("%s to %lld", operation, (long long)to) : str_new(operation);
}

static int64_t time_at(const struct value *release, const char *key)
{
    return timestamp_parse(object_text(release, "", "status", key, NULL));
}

char *operation_took(const struct value *release)
{
    int64_t began = time_at(release, "createTime"), ended = time_at(release, "modifiedTime");

    if (!began || !release_has_ended(release) || ended < began)
        return str_new("-");
    return duration_show(ended - began);
}

enum style operation_style(const char *phase)
{
    if (str_equal(phase, "succeeded"))
        return STYLE_GOOD;
    return str_equal(phase, "failed") ? STYLE_BAD : STYLE_WARN;
}
