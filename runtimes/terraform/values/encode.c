#include <math.h>

#include "engine/base/limits.h"
#include "engine/value/decimal.h"
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

struct encoding {
    struct buf *to;
    const struct tf_typing *typing; /* or NULL */
    struct error *error;
};

static int encode(const struct encoding *encoding, const struct value *value,
                  const struct tf_type *type, const struct value *written);

/* Elements of a set are in another order than they are written in. */
static int encode_items(const struct encoding *encoding, const struct value *value,
                        const struct tf_type *type, const struct value *written)
{
    size_t count = value_count(value);
    int r = 0;

    if (type->kind == TF_TUPLE && count != type->n_members)
        return not_of_type(value, type, encoding->error);
    msgpack_add_array(encoding->to, count);
    for (size_t i = 0; i < count && r >= 0; i++)
        r = encode(encoding, value_at(value, i),
                   type->element ? type->element : type->members[i].type,
                   type->kind == TF_SET ? NULL : value_at(written, i));
    return r;
}

static int encode_map(const struct encoding *encoding, const struct value *value,
                      const struct tf_type *type, const struct value *written)
{
    size_t count = value_count(value);
    int r = 0;

    msgpack_add_map(encoding->to, count);
    for (size_t i = 0; i < count && r >= 0; i++) {
        size_t length;
        const char *key = value_member_key(value, i, &length);

        msgpack_add_string(encoding->to, key, length);
        r = encode(encoding, value_member(value, i), type->element,
                   value_get_n(written, key, length));
    }
    return r;
}

/* With all members, and no other. */
static int encode_object(const struct encoding *encoding, const struct value *value,
                         const struct tf_type *type, const struct value *written)
{
    int r = 0;

    msgpack_add_map(encoding->to, type->n_members);
    for (size_t i = 0; i < type->n_members && r >= 0; i++) {
        const char *name = type->members[i].name;

        msgpack_add_string(encoding->to, name, strlen(name));
        r = encode(encoding, value_get(value, name), type->members[i].type,
                   value_get(written, name));
    }
    return r;
}

/* The type as JSON, then the value. What is not known, and has no type, is unknown alone. */
static int encode_dynamic(const struct encoding *encoding, const struct value *value,
                          const struct value *written)
{
    _cleanup_(arena_done) struct arena arena = ARENA_INIT;
    _cleanup_buf_ struct buf text = BUF_INIT;
    const struct tf_type *type = tf_type_infer(&arena, value, written, encoding->typing);

    if (type->kind == TF_DYNAMIC) {
        msgpack_add_unknown(encoding->to);
        return 0;
    }
    tf_type_write(&text, type);
    msgpack_add_array(encoding->to, 2);
    msgpack_add_bytes(encoding->to, text.data, text.length);
    return encode(encoding, value, type, written);
}

static const enum value_type forms[] = {
    [TF_STRING] = VALUE_STRING, [TF_NUMBER] = VALUE_NUMBER, [TF_BOOL] = VALUE_BOOL,
    [TF_LIST] = VALUE_ARRAY,    [TF_SET] = VALUE_ARRAY,     [TF_TUPLE] = VALUE_ARRAY,
    [TF_MAP] = VALUE_OBJECT,    [TF_OBJECT] = VALUE_OBJECT,
};

static int encode(const struct encoding *encoding, const struct value *value,
                  const struct tf_type *type, const struct value *written)
{
    struct buf *to = encoding->to;
    size_t length;
    const char *text;

    if (!value || value_is(value, VALUE_NULL)) {
        msgpack_add_nil(to);
        return 0;
    }
    if (type->kind == TF_DYNAMIC)
        return encode_dynamic(encoding, value, written);
    if (value_is(value, VALUE_UNKNOWN)) {
        msgpack_add_unknown(to);
        return 0;
    }
    if (value_type(value) != forms[type->kind])
        return not_of_type(value, type, encoding->error);
    switch (type->kind) {
    case TF_STRING:
        text = value_string_n(value, &length);
        msgpack_add_string(to, text, length);
        return 0;
    case TF_NUMBER:
        return encode_number(to, value, encoding->error);
    case TF_BOOL:
        msgpack_add_bool(to, value_bool(value, false));
        return 0;
    case TF_MAP:
        return encode_map(encoding, value, type, written);
    case TF_OBJECT:
        return encode_object(encoding, value, type, written);
    default:
        return encode_items(encoding, value, type, written);
    }
}

int tf_encode_typed(struct buf *to, const struct value *value, const struct tf_type *type,
                    const struct value *written, const struct tf_typing *typing,
                    struct error *error)
{
    return encode(&(struct encoding){to, typing, error}, value, type, written);
}

int tf_encode(struct buf *to, const struct value *value, const struct tf_type *type,
              struct error *error)
{
    return tf_encode_typed(to, value, type, NULL, NULL, error);
}
