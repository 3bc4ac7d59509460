/* The projection without a dry-run. */
#include "engine/base/buf.h"
#include "engine/value/children.h"
#include "runtimes/kubernetes/objects/fields.h"
#include "runtimes/kubernetes/objects/projection_private.h"

/* All that is sent is there; there may be more, such as defaults. */
static bool covers(const struct value *live, const struct value *sent)
{
    if (!live || value_type(live) != value_type(sent))
        return false;
    if (value_is(sent, VALUE_ARRAY) && value_count(live) != value_count(sent))
        return false;
    if (!value_is(sent, VALUE_ARRAY) && !value_is(sent, VALUE_OBJECT))
        return value_equal(live, sent);
    for (size_t i = 0; i < value_count(sent); i++)
        if (!covers(value_counterpart(live, sent, i), value_child(sent, i)))
            return false;
    return true;
}

/* A reference. fields: what we have of it; NULL: nothing. */
static const struct value *expect(const struct value *live, const struct value *fields,
                                  const struct value *sent);

static const struct value *expect_object(const struct value *live, const struct value *fields,
                                         const struct value *sent)
{
    struct side side = projection_side_begin(sent, VALUE_OBJECT);

    for (size_t i = 0; i < value_count(sent); i++) {
        size_t length;
        const char *name = value_member_key(sent, i, &length);
        _cleanup_value_ const struct value *member =
            expect(value_get_n(live, name, length), fields_member(fields, name, length),
                   value_member(sent, i));

        projection_side_add(&side, name, length, member);
    }
    side.has_any = true;
    return projection_side_end(&side);
}

/* An item that is sent, with the key fields that it leaves out. */
static const struct value *expect_item(const struct value *list, const struct value *fields,
                                       const struct value *sent)
{
    for (size_t i = 0; i < value_count(fields); i++) {
        _cleanup_value_ const struct value *keys = projection_step_target(fields, i, 'k'),
                                           *made = NULL;
        const struct value *found = NULL;

        if (projection_count_keys(sent, keys) <= 0)
            continue;
        for (size_t k = 0; k < value_count(list) && !found; k++)
            if (projection_count_keys(value_at(list, k), keys) == (int)value_count(keys))
                found = value_at(list, k);
        made = expect(found, value_member(fields, i), sent);
        return found ? projection_with_keys(found, keys, made) : TAKE(made);
    }
    return value_ref(sent);
}

static const struct value *expect_list(const struct value *live, const struct value *fields,
                                       const struct value *sent)
{
    struct side side = projection_side_begin(sent, VALUE_ARRAY);

    for (size_t i = 0; i < value_count(sent); i++) {
        _cleanup_value_ const struct value *item = expect_item(live, fields, value_at(sent, i));

        projection_side_add(&side, NULL, 0, item);
    }
    side.has_any = true;
    return projection_side_end(&side);
}

static const struct value *expect(const struct value *live, const struct value *fields,
                                  const struct value *sent)
{
    char kind = projection_step_kind(fields);
    bool is_atomic = fields && !kind;

    if (value_is(sent, VALUE_OBJECT) && value_is(live, VALUE_OBJECT) && !is_atomic)
        return expect_object(live, fields, sent);
    if (value_is(sent, VALUE_ARRAY) && value_is(live, VALUE_ARRAY) && kind == 'k' &&
        value_count(sent) <= MAX_GUESSED)
        return expect_list(live, fields, sent);
    return value_ref(!kind && covers(live, sent) ? live : sent);
}

/* The fields that are sent; a list is one. */
static void add_fields(struct value_builder *b, const struct value *sent)
{
    value_begin_object(b);
    for (size_t i = 0; i < value_count(sent) && value_is(sent, VALUE_OBJECT); i++) {
        _cleanup_buf_ struct buf key = BUF_INIT;
        size_t length;
        const char *name = value_member_key(sent, i, &length);

        buf_add_str(&key, "f:");
        buf_add(&key, name, length);
        value_key_n(b, key.data, key.length);
        add_fields(b, value_member(sent, i));
    }
    value_end_object(b);
}

void projection_expect(const struct value *live, const struct value *was, const struct value *sent,
                       struct projection *ret)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *own = NULL, *all = NULL;

    add_fields(b, sent);
    value_builder_finish(b, &own, NULL);
    all = fields_union(own, was);
    *ret = (struct projection){projection_part(live, all), expect(live, was, sent)};
}
