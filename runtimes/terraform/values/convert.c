#include "engine/base/str.h"
#include "engine/value/children.h"
#include "engine/value/decimal.h"
#include "engine/value/json.h"
#include "runtimes/terraform/values/digits.h"
#include "runtimes/terraform/values/values.h"

struct conversion {
    struct value_builder *b;
    struct path *path;
    struct error *error;
};

static int convert(struct conversion *conversion, const struct value *value,
                   const struct tf_type *type);

static int mismatch(const struct conversion *conversion, const struct value *value,
                    const struct tf_type *type)
{
    _cleanup_buf_ struct buf wanted = BUF_INIT;

    tf_type_describe(&wanted, type);
    return err_set(conversion->error, ERR_INVALID, "InvalidAttribute",
                   "%s: must be %s, and is of type %s", path_text(conversion->path), wanted.data,
                   value_type_name(value));
}

/* ---- Scalars ---- */

static void add(struct conversion *conversion, const struct value *value, const struct value *made)
{
    if (value_is_sensitive(value))
        value_add_sensitive(conversion->b, made);
    else
        value_add(conversion->b, made);
}

static int to_string(struct conversion *conversion, const struct value *value)
{
    _cleanup_value_ const struct value *made = NULL;
    _cleanup_buf_ struct buf text = BUF_INIT;

    if (value_is(value, VALUE_BOOL))
        buf_add_str(&text, value_bool(value, false) ? "true" : "false");
    else if (!value_is(value, VALUE_NUMBER) || !tf_add_digits(&text, value_number(value)))
        return mismatch(conversion, value, &tf_string);
    made = value_pack("s", text.data);
    add(conversion, value, made);
    return 0;
}

static int to_number(struct conversion *conversion, const struct value *value)
{
    _cleanup_value_ const struct value *made = NULL;
    const char *text = value_string(value);
    struct decimal decimal;

    if (!text || !decimal_read(&decimal, text, strlen(text)) ||
        json_read_str(text, &made, NULL) < 0)
        return mismatch(conversion, value, &tf_number);
    add(conversion, value, made);
    return 0;
}

static int to_bool(struct conversion *conversion, const struct value *value)
{
    const char *text = value_string(value);
    bool is_true = str_equal(text, "true");
    _cleanup_value_ const struct value *made = value_pack("b", is_true);

    if (!is_true && !str_equal(text, "false"))
        return mismatch(conversion, value, &tf_bool);
    add(conversion, value, made);
    return 0;
}

/* ---- Collections ---- */

static int convert_children(struct conversion *conversion, const struct value *value,
                            const struct tf_type *type)
{
    int r = 0;

    if (!value_is(value, type->kind == TF_MAP ? VALUE_OBJECT : VALUE_ARRAY) ||
        (type->kind == TF_TUPLE && value_count(value) != type->n_members))
        return mismatch(conversion, value, type);
    value_begin_like(conversion->b, value);
    for (size_t i = 0; i < value_count(value) && r >= 0; i++) {
        path_push_child(conversion->path, value, i);
        value_key_like(conversion->b, value, i);
        r = convert(conversion, value_child(value, i),
                    type->element ? type->element : type->members[i].type);
        path_pop(conversion->path);
    }
    if (r >= 0)
        value_end(conversion->b);
    return r;
}

static int refuse_others(const struct conversion *conversion, const struct value *value,
                         const struct tf_type *type)
{
    for (size_t i = 0; i < value_count(value); i++) {
        size_t length;
        const char *key = value_member_key(value, i, &length);

        if (!tf_type_member(type, key, length))
            return err_set(conversion->error, ERR_INVALID, "InvalidAttribute",
                           "%s: there is no \"%s\" in it", path_text(conversion->path), key);
    }
    return 0;
}

static int convert_object(struct conversion *conversion, const struct value *value,
                          const struct tf_type *type)
{
    int r;

    if (!value_is(value, VALUE_OBJECT))
        return mismatch(conversion, value, type);
    r = refuse_others(conversion, value, type);
    value_begin_like(conversion->b, value);
    for (size_t i = 0; i < type->n_members && r >= 0; i++) {
        const struct tf_member *member = &type->members[i];

        path_push_key(conversion->path, member->name);
        value_key(conversion->b, member->name);
        r = convert(conversion, value_get(value, member->name), member->type);
        path_pop(conversion->path);
    }
    if (r >= 0)
        value_end(conversion->b);
    return r;
}

/* ---- Any. After a failure containers stay open: the builder is only freed. ---- */

static int convert(struct conversion *conversion, const struct value *value,
                   const struct tf_type *type)
{
    static const enum value_type same[] = {
        [TF_STRING] = VALUE_STRING, [TF_NUMBER] = VALUE_NUMBER, [TF_BOOL] = VALUE_BOOL};

    if (!value || value_is(value, VALUE_NULL) || value_is(value, VALUE_UNKNOWN) ||
        type->kind == TF_DYNAMIC ||
        (type->kind < ARRAY_SIZE(same) && value_type(value) == same[type->kind])) {
        value_add(conversion->b, value);
        return 0;
    }
    switch (type->kind) {
    case TF_STRING:
        return to_string(conversion, value);
    case TF_NUMBER:
        return to_number(conversion, value);
    case TF_BOOL:
        return to_bool(conversion, value);
    case TF_OBJECT:
        return convert_object(conversion, value, type);
    default:
        return convert_children(conversion, value, type);
    }
}

int tf_convert(const struct value *value, const struct tf_type *type, struct path *path,
               const struct value **ret, struct error *error)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    struct conversion conversion = {.b = b, .path = path, .error = error};
    int r = convert(&conversion, value, type);

    return r < 0 ? r : value_builder_finish(b, ret, error);
}
