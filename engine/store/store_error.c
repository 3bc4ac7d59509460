#include "engine/store/store_error.h"

#include <stdarg.h>
#include <stdlib.h>

#include "engine/base/str.h"

static const struct {
    int code;
    const char *reason, *says, *remedy;
} rows[STORE_ERRORS] = {
#define STORE_ERROR(name, code, reason, says, remedy) [STORE_##name] = {code, reason, says, remedy},
#include "engine/store/store_error.def"
#undef STORE_ERROR
};

bool store_error_is_for_people(const char *reason)
{
    return str_equal(reason, rows[STORE_REPLACED].reason) ||
           str_equal(reason, rows[STORE_RESTORED].reason) ||
           str_equal(reason, rows[STORE_MOVED].reason);
}

int store_error(struct error *error, enum store_error_kind kind, const char *place,
                const char *detail, ...)
{
    _cleanup_free_ char *text = NULL;
    va_list args;

    va_start(args, detail);
    text = str_vprintf(detail, args);
    va_end(args);
    err_set(error, rows[kind].code, rows[kind].reason, "the store %s %s: %s", place,
            rows[kind].says, text);
    err_hint(error, "%s", rows[kind].remedy);
    return rows[kind].code;
}

/* Words that stores have for themselves: their message is complete. */
static bool is_of_store(const char *reason)
{
    return str_has_prefix(reason, "Store") || str_has_prefix(reason, "State") ||
           str_has_prefix(reason, "Key") || str_equal(reason, "NotSealed");
}

static enum store_error_kind kind_of(const struct error *error)
{
    switch (error->code) {
    case ERR_UNAVAILABLE:
        return str_equal(error->reason, STORE_NO_SPACE)      ? STORE_FULL
               : str_equal(error->reason, "TooManyRequests") ? STORE_SLOW
                                                             : STORE_UNREACHABLE;
    case ERR_TIMEOUT:
        return STORE_SLOW;
    case ERR_FORBIDDEN:
    case ERR_UNAUTHENTICATED:
        return STORE_REFUSED;
    default:
        return STORE_ERRORS;
    }
}

void store_error_explain(struct error *error, const char *place)
{
    enum store_error_kind kind = error ? kind_of(error) : STORE_ERRORS;
    int code = error ? error->code : 0;

    if (kind == STORE_ERRORS || is_of_store(error->reason))
        return;
    err_wrap(error, "the store %s %s", place, rows[kind].says);
    str_copy(error->reason, sizeof(error->reason), rows[kind].reason);
    error->code = code;
    err_hint(error, "%s", rows[kind].remedy);
}
