#include <string.h>

#include "engine/state/state_value.h"

int state_corrupt(struct error *error, const char *format, ...)
{
    va_list args;
    int r;

    va_start(args, format);
    r = err_set_v(error, ERR_CORRUPT, "StateCorrupt", format, args);
    va_end(args);
    return r;
}

static bool is_one_of(const char *const *names, const char *name, size_t length)
{
    for (; *names; names++)
        if (strlen(*names) == length && memcmp(*names, name, length) == 0)
            return true;
    return false;
}

int members_check(const struct value *object, const char *const *names, struct error *error)
{
    if (!value_is(object, VALUE_OBJECT))
        return state_corrupt(error, "an object is missing");
    for (size_t i = 0; i < value_count(object); i++) {
        size_t length = 0;
        const char *name = value_member_key(object, i, &length);

        if (!is_one_of(names, name, length))
            return state_corrupt(error, "this version does not know the field \"%.64s\"", name);
    }
    return 0;
}

int member_text_if(const struct value *object, const char *key, const char **ret,
                   struct error *error)
{
    const struct value *member = value_get(object, key);
    size_t length = 0;
    const char *text = value_string_n(member, &length);

    if (member && (!text || strlen(text) != length))
        return state_corrupt(error, "the field \"%s\" is not a text", key);
    *ret = text;
    return 0;
}

int member_text(const struct value *object, const char *key, const char **ret, struct error *error)
{
    int r = member_text_if(object, key, ret, error);

    if (r >= 0 && (!*ret || !**ret))
        return state_corrupt(error, "the field \"%s\" is missing", key);
    return r;
}

int member_int_if(const struct value *object, const char *key, int64_t *ret, struct error *error)
{
    const struct value *member = value_get(object, key);
    int64_t number = value_int(member, 0);

    if (member && number != value_int(member, 1))
        return state_corrupt(error, "the field \"%s\" is not a number", key);
    *ret = number;
    return 0;
}

int member_int(const struct value *object, const char *key, int64_t *ret, struct error *error)
{
    if (!value_get(object, key))
        return state_corrupt(error, "the field \"%s\" is missing", key);
    return member_int_if(object, key, ret, error);
}

int member_flag_if(const struct value *object, const char *key, bool *ret, struct error *error)
{
    const struct value *member = value_get(object, key);

    if (member && !value_is(member, VALUE_BOOL))
        return state_corrupt(error, "the field \"%s\" is no boolean", key);
    *ret = value_bool(member, false);
    return 0;
}

int format_check(const struct value *document, struct error *error)
{
    int64_t format = value_int(value_get(document, "format"), 0);

    if (format != STATE_FORMAT)
        return state_corrupt(error, "State is of format %lld, which this version does not read",
                             (long long)format);
    return 0;
}
