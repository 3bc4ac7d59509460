/* Copies that share nothing: value.h. */
#include <string.h>

#include "engine/value/value.h"

static void copy(struct value_builder *b, const struct value *value, const char *const *keys,
                 size_t n_keys);

static void copy_members(struct value_builder *b, const struct value *object,
                         const char *const *keys, size_t n_keys)
{
    value_begin_like(b, object);
    for (size_t i = 0; i < value_count(object); i++) {
        size_t length = 0;
        const char *key = value_member_key(object, i, &length);
        bool is_on_path = n_keys && strlen(keys[0]) == length && memcmp(keys[0], key, length) == 0;

        if (is_on_path && n_keys == 1)
            continue;
        value_key_n(b, key, length);
        copy(b, value_member(object, i), is_on_path ? keys + 1 : NULL, is_on_path ? n_keys - 1 : 0);
    }
    value_end(b);
}

static void copy_items(struct value_builder *b, const struct value *array)
{
    value_begin_like(b, array);
    for (size_t i = 0; i < value_count(array); i++)
        copy(b, value_at(array, i), NULL, 0);
    value_end(b);
}

static void copy(struct value_builder *b, const struct value *value, const char *const *keys,
                 size_t n_keys)
{
    if (value_is(value, VALUE_OBJECT)) {
        copy_members(b, value, keys, n_keys);
    } else if (value_is(value, VALUE_ARRAY)) {
        copy_items(b, value);
    } else {
        value_add_scalar(b, value);
    }
}

void value_add_copy(struct value_builder *b, const struct value *v)
{
    copy(b, v, NULL, 0);
}

const struct value *value_copy_without(const struct value *object, const char *const *keys,
                                       size_t n_keys)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    if (!object)
        return NULL;
    copy(b, object, keys, n_keys);
    return value_finish(b);
}
