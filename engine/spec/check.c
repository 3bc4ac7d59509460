#include "engine/spec/check.h"

#include <string.h>

#include "engine/base/str.h"
#include "engine/spec/private.h"

void check_problem(struct check *check, const char *reason, const struct place *place,
                   const char *format, ...)
{
    struct path path;
    va_list args;

    if (!check->problems)
        return;
    path_init(&path);
    place_path(place, &path);
    va_start(args, format);
    _cleanup_free_ char *message = str_vprintf(format, args);
    va_end(args);
    problems_add(check->problems, reason, check->id, place ? path_text(&path) : NULL, "%s",
                 message);
    path_done(&path);
}

bool check_is_absent(const struct value *value)
{
    return value_type(value) == VALUE_NULL;
}

const char *check_text(struct check *check, const struct value *value, const struct place *place)
{
    size_t length = 0;
    const char *text = value_string_n(value, &length);

    if (check_is_absent(value))
        check_problem(check, INVALID_SPEC, place, "is required");
    else if (!text)
        check_problem(check, INVALID_SPEC, place, "must be a string, and is of type %s",
                      value_type_name(value));
    else if (length == 0)
        check_problem(check, INVALID_SPEC, place, "must not be empty");
    else if (strlen(text) != length)
        check_problem(check, INVALID_SPEC, place, "must not hold a NUL");
    else
        return text;
    return NULL;
}

size_t check_choice(struct check *check, const struct value *value, const struct place *place,
                    const char *const *names, size_t absent, size_t unreadable)
{
    const char *text = check_is_absent(value) ? NULL : check_text(check, value, place);
    _cleanup_buf_ struct buf all = BUF_INIT;
    size_t n = 0;

    if (check_is_absent(value))
        return absent;
    for (; names[n]; n++)
        if (str_equal(text, names[n]))
            return n;
    for (size_t i = 0; i < n; i++)
        buf_printf(&all, "%s%s", !i ? "" : i + 1 < n ? ", " : n == 2 ? " nor " : " and ", names[i]);
    if (text)
        check_problem(check, INVALID_SPEC, place, "\"%s\" is %s %s", text,
                      n == 2 ? "neither" : "none of", all.data);
    return unreadable;
}
