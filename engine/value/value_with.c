
#include "engine/value/value.h"

/* A member to set (or, with `remove`, to leave out) at the end of a path of keys. */
struct change {
    const char *const *keys;
    size_t n_keys;
    const struct value *member;
    bool remove;
};

static void add_changed(struct value_builder *b, const struct value *object, struct change change);

/* Adds the new value of the path's first key; `old` is its current value (or NULL). */
static void add_member(struct value_builder *b, const char *key, const struct value *old,
                       struct change change)
{
    if (change.n_keys == 1 && change.remove)
        return;
    value_key(b, key);
    if (change.n_keys == 1) {
        value_add(b, change.member);
        return;
    }
    change.keys++;
    change.n_keys--;
    add_changed(b, old, change);
}

static void add_changed(struct value_builder *b, const struct value *object, struct change change)
{
    const char *key = change.keys[0];
    const struct value *old = value_get(object, key);
    size_t count = value_is(object, VALUE_OBJECT) ? value_count(object) : 0;

    if (value_is(object, VALUE_OBJECT))
        value_begin_like(b, object);
    else
        value_begin_object(b);
    for (size_t i = 0; i < count; i++) {
        const struct value *member = value_member(object, i);
        size_t length = 0;
        const char *its_key = value_member_key(object, i, &length);

        if (member == old) {
            add_member(b, key, old, change);
            continue;
        }
        value_key_n(b, its_key, length);
        value_add(b, member);
    }
    if (!old && !change.remove)
        add_member(b, key, NULL, change);
    value_end_object(b);
}

static const struct value *make(const struct value *object, struct change change)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    add_changed(b, object, change);
    return value_finish(b);
}

const struct value *value_with_path(const struct value *object, const char *const *keys,
                                    size_t n_keys, const struct value *member)
{
    if (n_keys == 0)
        return value_ref(member);
    return make(object, (struct change){.keys = keys, .n_keys = n_keys, .member = member});
}

const struct value *value_without_path(const struct value *object, const char *const *keys,
                                       size_t n_keys)
{
    const struct value *at = object;

    for (size_t i = 0; i < n_keys && at; i++)
        at = value_get(at, keys[i]);
    if (n_keys == 0)
        return NULL;
    if (!at && value_is(object, VALUE_OBJECT))
        return value_ref(object);
    return make(object, (struct change){.keys = keys, .n_keys = n_keys, .remove = true});
}

const struct value *value_with(const struct value *object, const char *key,
                               const struct value *member)
{
    return value_with_path(object, &key, 1, member);
}

const struct value *value_without(const struct value *object, const char *key)
{
    return value_without_path(object, &key, 1);
}
