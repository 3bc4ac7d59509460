#include "runtimes/http/resource/select.h"

#include "engine/base/buf.h"
#include "engine/spec/secret_ref.h"
#include "engine/value/json.h"
#include "engine/value/path.h"

static int unexpected(struct error *error, const char *what)
{
    return err_set(error, ERR_INTERNAL, "UnexpectedAnswer", "%s", what);
}

static const struct value *wanted_at(const struct value *where, size_t index,
                                     const struct value *attributes)
{
    return pointer_find(attributes, value_string(value_member(where, index)));
}

static bool item_fits(const struct value *where, const struct value *item,
                      const struct value *attributes)
{
    size_t length;

    for (size_t i = 0; i < value_count(where); i++) {
        const struct value *has = pointer_find(item, value_member_key(where, i, &length));
        const struct value *wanted = wanted_at(where, i, attributes);

        if (!has || !wanted || !value_equal(has, wanted))
            return false;
    }
    return true;
}

bool select_is_known(const struct value *read, const struct value *attributes)
{
    const struct value *where = value_get(read, "where");

    for (size_t i = 0; i < value_count(where); i++) {
        const struct value *wanted = wanted_at(where, i, attributes);

        if (value_has_unknown(wanted) || secret_ref_has_mark(wanted))
            return false;
    }
    return true;
}

static int select_item(const struct value *where, const struct value *list,
                       const struct value *attributes, const struct value **ret,
                       struct error *error)
{
    if (!value_is(list, VALUE_ARRAY))
        return unexpected(error, "read.where looks into a list, and what read.select leads to is "
                                 "none");
    for (size_t i = 0; i < value_count(list); i++) {
        if (!item_fits(where, value_at(list, i), attributes))
            continue;
        if (*ret)
            return unexpected(error, "several items of the list fit read.where");
        *ret = value_at(list, i);
    }
    return 0;
}

int select_thing(const struct value *read, const struct value *answer,
                 const struct value *attributes, const struct value **ret, bool *ret_is_known,
                 struct error *error)
{
    const char *pointer = value_get_string(read, "select");
    const struct value *part = pointer ? pointer_find(answer, pointer) : answer;
    const struct value *where = value_get(read, "where");

    *ret = NULL;
    *ret_is_known = select_is_known(read, attributes);
    if (!part)
        return unexpected(error, "the answer has nothing where read.select points to");
    if (value_count(where))
        return *ret_is_known ? select_item(where, part, attributes, ret, error) : 0;
    if (value_is(part, VALUE_NULL))
        return 0;
    if (!value_is(part, VALUE_OBJECT))
        return unexpected(error, "what was read is no object");
    *ret = part;
    return 0;
}

char *select_key(const struct value *read, const struct value *attributes)
{
    const struct value *where = value_get(read, "where");
    struct buf text = BUF_INIT;

    if (!value_count(where) || !select_is_known(read, attributes))
        return NULL;
    for (size_t i = 0; i < value_count(where); i++) {
        const struct value *wanted = wanted_at(where, i, attributes);

        buf_add_char(&text, i ? ',' : '[');
        if (wanted)
            json_write(&text, wanted, JSON_CANONICAL);
    }
    buf_add_char(&text, ']');
    return buf_take(&text);
}
