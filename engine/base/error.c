#include "engine/base/error.h"

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

/* Bytes of a message's line that hints leave. */
#define LEAST_LINE 128

const char *err_hints(const char *message)
{
    return message + strcspn(message, "\n");
}

/* Sets the line, which is cut to make room for the hints. */
static void write_lines(struct error *error, const char *line, const char *hints)
{
    size_t length = strlen(hints);

    str_copy(error->message, sizeof(error->message) - length, line);
    memcpy(error->message + strlen(error->message), hints, length + 1);
}

/* Formats the line of a message, before that of `after` (may be NULL), whose hints stay. It may
 * have names, and messages, of tenants, and is made safe to show. */
static void PRINTF_LIKE(3, 0)
    write_message(struct error *error, const char *after, const char *format, va_list args)
{
    _cleanup_free_ char *text = str_vprintf(format, args), *whole = NULL, *shown = NULL;
    _cleanup_free_ char *hints = str_new(after ? err_hints(after) : "");

    if (after)
        whole = str_printf("%s: %.*s", text, (int)(err_hints(after) - after), after);
    shown = utf8_show(after ? whole : text);
    write_lines(error, shown, hints);
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

/* Whether one of the hints is this line. */
static bool has_hint(const char *hints, const char *line, size_t length)
{
    for (; *hints; hints += 1 + strcspn(hints + 1, "\n"))
        if (strcspn(hints + 1, "\n") == length && strncmp(hints + 1, line, length) == 0)
            return true;
    return false;
}

static bool add_hint(struct error *error, const char *line, size_t length)
{
    const char *hints = err_hints(error->message);
    _cleanup_free_ char *words = str_new_n(error->message, (size_t)(hints - error->message));
    _cleanup_free_ char *all = NULL;

    if (has_hint(hints, line, length))
        return true;
    all = str_printf("%s\n%.*s", hints, (int)length, line);
    if (strlen(all) + LEAST_LINE > sizeof(error->message))
        return false;
    write_lines(error, words, all);
    return true;
}

bool err_hint(struct error *error, const char *format, ...)
{
    _cleanup_free_ char *text = NULL, *shown = NULL;
    va_list args;

    if (!error || !error->code)
        return false;
    va_start(args, format);
    text = str_vprintf(format, args);
    va_end(args);
    shown = utf8_show(text);
    return add_hint(error, shown, strlen(shown));
}

void err_add_hints(struct error *error, const char *message)
{
    const char *hints = err_hints(message);

    if (!error || !error->code)
        return;
    for (size_t length; *hints; hints += 1 + length) {
        length = strcspn(hints + 1, "\n");
        add_hint(error, hints + 1, length);
    }
}

size_t err_size(const struct error *error)
{
    return error ? offsetof(struct error, message) + strlen(error->message) + 1 : 0;
}

int err_copy(struct error *to, const struct error *from)
{
    if (!from || !from->code)
        return 0;
    if (to && to != from)
        memcpy(to, from, err_size(from));
    return from->code;
}

void err_clear(struct error *error)
{
    if (error)
        *error = (struct error){0};
}

struct error *err_new(const struct error *error)
{
    size_t size = err_size(error);

    return memcpy(mem_new(size), error, size);
}
