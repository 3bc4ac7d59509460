#include "engine/store/store_error.h"

#include <stdarg.h>

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

/* What a store says of itself in a reason of the table, but not what to do about it. */
static enum store_error_kind kind_of_reason(const char *reason)
{
    static const enum store_error_kind kinds[] = {
        STORE_UNREACHABLE, STORE_REFUSED, STORE_SLOW, STORE_FULL, STORE_BUSY, STORE_NOT_FOUND};

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (str_equal(reason, rows[kinds[i]].reason))
            return kinds[i];
    return STORE_ERRORS;
}

static enum store_error_kind kind_of_code(const struct error *error)
{
    switch (error->code) {
    case ERR_UNAVAILABLE:
        return str_equal(error->reason, STORE_NO_SPACE)                 ? STORE_FULL
               : str_equal(error->reason, "TooManyRequests")            ? STORE_SLOW
               : str_equal(error->reason, rows[STORE_UNTRUSTED].reason) ? STORE_UNTRUSTED
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
    bool is_told = error && is_of_store(error->reason);
    int code = error ? error->code : 0;
    enum store_error_kind kind = STORE_ERRORS;

    if (code)
        kind = is_told ? kind_of_reason(error->reason) : kind_of_code(error);
    if (kind == STORE_ERRORS)
        return;
    if ((is_told || kind == STORE_UNTRUSTED) && *err_hints(error->message))
        return; /* it was explained before */
    if (!is_told) {
        err_wrap(error, "the store %s %s", place, rows[kind].says);
        str_copy(error->reason, sizeof(error->reason), rows[kind].reason);
        error->code = code;
    }
    err_hint(error, "%s", rows[kind].remedy);
}
