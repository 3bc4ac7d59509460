#include "engine/value/children.h"

const struct value *value_counterpart(const struct value *other, const struct value *container,
                                      size_t index)
{
    size_t length;
    const char *key = value_member_key(container, index, &length);

    return key ? value_get_n(other, key, length) : value_at(other, index);
}

void value_key_like(struct value_builder *b, const struct value *container, size_t index)
{
    size_t length;
    const char *key = value_member_key(container, index, &length);

    if (key)
        value_key_n(b, key, length);
}

void path_push_child(struct path *path, const struct value *container, size_t index)
{
    const char *key = value_member_key(container, index, NULL);

    if (key)
        path_push_key(path, key);
    else
        path_push_index(path, index);
}

void value_move(const struct value **field, const struct value *taken)
{
    value_unref(*field);
    *field = taken;
}
