#include "engine/base/error.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/utf8.h"

static const char *const reasons[] = {
    [-ERR_INVALID] = "Invalid",         [-ERR_NOT_FOUND] = "NotFound",
    [-ERR_CONFLICT] = "Conflict",       [-ERR_EXISTS] = "AlreadyExists",
    [-ERR_FORBIDDEN] = "Forbidden",     [-ERR_UNAUTHENTICATED] = "Unauthenticated",
    [-ERR_TOO_LARGE] = "TooLarge",      [-ERR_CORRUPT] = "Corrupt",
    [-ERR_UNAVAILABLE] = "Unavailable", [-ERR_TIMEOUT] = "Timeout",
    [-ERR_CANCELLED] = "Cancelled",     [-ERR_GONE] = "Gone",
    [-ERR_FENCED] = "Fenced",           [-ERR_UNSUPPORTED] = "Unsupported",
    [-ERR_INTERNAL] = "InternalError",
};

const char *err_reason(int code)
{
    if (code > 0 || code < ERR_INTERNAL)
        return "Unknown";
    return reasons[-code] ? reasons[-code] : "Succeeded";
}

bool err_is_transient(int code)
{
    return code == ERR_UNAVAILABLE || code == ERR_TIMEOUT || code == ERR_CONFLICT;
}

/* Formats a message and appends `after` (may be NULL), as one line that is safe to show: it may
 * have names, and messages, of tenants. */
static void PRINTF_LIKE(3, 0)
    write_message(struct error *error, const char *after, const char *format, va_list args)
{
    _cleanup_free_ char *text = str_vprintf(format, args);
    _cleanup_free_ char *whole = after ? str_printf("%s: %s", text, after) : TAKE(text);
    _cleanup_free_ char *shown = NULL;

    shown = utf8_show(whole);
    str_copy(error->message, sizeof(error->message), shown);
}

#ifdef __clang_analyzer__ /* error.h */
#undef err_set
#undef err_set_v
#endif

int err_set_v(struct error *error, int code, const char *reason, const char *format, va_list args)
{
    if (!error)
        return code;
    if (!reason || !*reason)
        reason = err_reason(code);
    error->code = code;
    str_copy(error->reason, sizeof(error->reason), reason);
    write_message(error, NULL, format, args);
    return code;
}

int err_set(struct error *error, int code, const char *reason, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    err_set_v(error, code, reason, format, args);
    va_end(args);
    return code;
}

void err_wrap(struct error *error, const char *format, ...)
{
    va_list args;

    if (!error)
        return;
    va_start(args, format);
    write_message(error, error->message, format, args);
    va_end(args);
}

int err_copy(struct error *to, const struct error *from)
{
    if (!from || !from->code)
        return 0;
    if (to && to != from)
        *to = *from;
    return from->code;
}

void err_clear(struct error *error)
{
    if (error)
        *error = (struct error){0};
}

struct error *err_new(const struct error *error)
{
    struct error *copy = NEW(struct error);

    *copy = *error;
    return copy;
}
