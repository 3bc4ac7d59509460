#include <math.h>

#include "engine/base/decimal.h"
#include "engine/base/limits.h"
#include "engine/base/str.h"
#include "runtimes/terraform/values/digits.h"
#include "runtimes/terraform/values/msgpack.h"
#include "runtimes/terraform/values/values.h"

static int not_of_type(const struct value *value, const struct tf_type *type, struct error *error)
{
    _cleanup_buf_ struct buf wanted = BUF_INIT;

    tf_type_describe(&wanted, type);
    return err_set(error, ERR_INVALID, "ProviderFailed", "%s is not %s", value_type_name(value),
                   wanted.data);
}

/* True if the double is exactly the decimal. A double has at most some 1,100 digits, printed. */
static bool is_exact(double number, const struct decimal *decimal)
{
    struct decimal back;
    char text[LIMIT_NUMBER_BYTES + 1];
    int length;

    if (!isfinite(number))
        return false;
    length = snprintf(text, sizeof(text), "%.*e", 800, number);
    return length > 0 && (size_t)length < sizeof(text) &&
           decimal_read(&back, text, (size_t)length) && decimal_equal(&back, decimal);
}

static int add_digits(struct buf *to, const char *number, struct error *error)
{
    _cleanup_buf_ struct buf text = BUF_INIT;

    if (!tf_add_digits(&text, number))
        return err_set(error, ERR_TOO_LARGE, NULL, "a number has too many digits");
    msgpack_add_string(to, text.data, text.length);
    return 0;
}

/* An integer of 64 bits, or else a double if that is exact, or else digits. */
static int encode_number(struct buf *to, const struct value *value, struct error *error)
{
    const char *text = value_number(value);
    struct decimal decimal;
    int64_t integer;
    double number;

    if (!decimal_read(&decimal, text, strlen(text)))
        return not_of_type(value, &tf_number, error);
    if (decimal_to_int64(&decimal, &integer)) {
        msgpack_add_int(to, integer);
        return 0;
    }
    number = strtod(text, NULL);
    if (!is_exact(number, &decimal))
        return add_digits(to, text, error);
    msgpack_add_double(to, number);
    return 0;
}

static int encode_items(struct buf *to, const struct value *value, const struct tf_type *type,
                        struct error *error)
{
    size_t count = value_count(value);
    int r = 0;

    if (type->kind == TF_TUPLE && count != type->n_members)
        return not_of_type(value, type, error);
    msgpack_add_array(to, count);
    for (size_t i = 0; i < count && r >= 0; i++)
        r = tf_encode(to, value_at(value, i), type->element ? type->element : type->members[i].type,
                      error);
    return r;
}

static int encode_map(struct buf *to, const struct value *value, const struct tf_type *type,
                      struct error *error)
{
    size_t count = value_count(value);
    int r = 0;

    msgpack_add_map(to, count);
    for (size_t i = 0; i < count && r >= 0; i++) {
        size_t length;
        const char *key = value_member_key(value, i, &length);

        msgpack_add_string(to, key, length);
        r = tf_encode(to, value_member(value, i), type->element, error);
    }
    return r;
}

/* With all members, and no other. */
static int encode_object(struct buf *to, const struct value *value, const struct tf_type *type,
                         struct error *error)
{
    int r = 0;

    msgpack_add_map(to, type->n_members);
    for (size_t i = 0; i < type->n_members && r >= 0; i++) {
        const char *name = type->members[i].name;

        msgpack_add_string(to, name, strlen(name));
        r = tf_encode(to, value_get(value, name), type->members[i].type, error);
    }
    return r;
}

/* The type as JSON, then the value. */
static int encode_dynamic(struct buf *to, const struct value *value, struct error *error)
{
    _cleanup_(arena_done) struct arena arena = ARENA_INIT;
    _cleanup_buf_ struct buf text = BUF_INIT;
    const struct tf_type *type = tf_type_infer(&arena, value);

    tf_type_write(&text, type);
    msgpack_add_array(to, 2);
    msgpack_add_bytes(to, text.data, text.length);
    return tf_encode(to, value, type, error);
}

static const enum value_type forms[] = {
    [TF_STRING] = VALUE_STRING, [TF_NUMBER] = VALUE_NUMBER, [TF_BOOL] = VALUE_BOOL,
    [TF_LIST] = VALUE_ARRAY,    [TF_SET] = VALUE_ARRAY,     [TF_TUPLE] = VALUE_ARRAY,
    [TF_MAP] = VALUE_OBJECT,    [TF_OBJECT] = VALUE_OBJECT,
};

int tf_encode(struct buf *to, const struct value *value, const struct tf_type *type,
              struct error *error)
{
    size_t length;
    const char *text;

    if (value_is(value, VALUE_UNKNOWN)) {
        msgpack_add_unknown(to);
        return 0;
    }
    if (!value || value_is(value, VALUE_NULL)) {
        msgpack_add_nil(to);
        return 0;
    }
    if (type->kind == TF_DYNAMIC)
        return encode_dynamic(to, value, error);
    if (value_type(value) != forms[type->kind])
        return not_of_type(value, type, error);
    switch (type->kind) {
    case TF_STRING:
        text = value_string_n(value, &length);
        msgpack_add_string(to, text, length);
        return 0;
    case TF_NUMBER:
        return encode_number(to, value, error);
    case TF_BOOL:
        msgpack_add_bool(to, value_bool(value, false));
        return 0;
    case TF_MAP:
        return encode_map(to, value, type, error);
    case TF_OBJECT:
        return encode_object(to, value, type, error);
    default:
        return encode_items(to, value, type, error);
    }
}
