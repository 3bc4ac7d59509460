#include "runtimes/kubernetes/objects/ignored.h"

#include <string.h>

#include "engine/base/str.h"
#include "engine/value/children.h"
#include "engine/value/json.h"
#include "runtimes/kubernetes/objects/fields.h"

/* What is left of a path. Recursions over it are bounded by the length of a path. */
struct rest {
    const struct ignore_step *steps;
    size_t n;
};

static struct rest rest_of(const struct ignore_path *path)
{
    return (struct rest){path->steps, path->n_steps};
}

static struct rest next(struct rest rest)
{
    return (struct rest){rest.steps + 1, rest.n - 1};
}

/* ---- Items ---- */

static bool is_value(const struct value *value, const char *text)
{
    if (value_is(value, VALUE_BOOL))
        return str_equal(value_bool(value, false) ? "true" : "false", text);
    return value_is(value, VALUE_NUMBER) ? str_equal(value_number(value), text)
                                         : str_equal(value_string(value), text);
}

static bool is_item(const struct value *item, const struct ignore_step *step)
{
    for (size_t i = 0; i < step->n_keys; i++)
        if (!is_value(value_get(item, step->keys[i].name), step->keys[i].value))
            return false;
    return value_is(item, VALUE_OBJECT);
}

/* ---- Objects ---- */

/* NULL: nothing is left. */
static const struct value *leave_out(const struct value *value, struct rest rest);

static const struct value *leave_out_member(const struct value *object, struct rest rest)
{
    const struct ignore_step *step = rest.steps;
    _cleanup_free_ char *name = str_new_n(step->name, step->length);
    const struct value *member = value_get(object, name);
    _cleanup_value_ const struct value *left = NULL;

    if (!member)
        return value_ref(object);
    left = leave_out(member, next(rest));
    if (left)
        return left == member ? value_ref(object) : value_with(object, name, left);
    return value_count(object) > 1 ? value_without(object, name) : NULL;
}

static const struct value *leave_out_items(const struct value *array, struct rest rest)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *made = NULL;
    size_t n = 0;

    value_begin_like(b, array);
    for (size_t i = 0; i < value_count(array); i++) {
        const struct value *item = value_at(array, i);
        _cleanup_value_ const struct value *left =
            is_item(item, rest.steps) ? leave_out(item, next(rest)) : value_ref(item);

        if (left)
            value_add(b, left);
        n += left != NULL;
    }
    value_end(b);
    value_builder_finish(b, &made, NULL);
    return n ? TAKE(made) : NULL;
}

static const struct value *leave_out(const struct value *value, struct rest rest)
{
    if (!rest.n)
        return NULL;
    if (rest.steps->name && value_is(value, VALUE_OBJECT))
        return leave_out_member(value, rest);
    if (!rest.steps->name && value_is(value, VALUE_ARRAY) && value_count(value))
        return leave_out_items(value, rest);
    return value_ref(value);
}

const struct value *ignored_leave_out(const struct ignored *ignored, const struct value *object)
{
    const struct value *left = value_ref(object);

    for (size_t i = 0; i < ignored->n && left; i++)
        value_move(&left, leave_out(left, rest_of(ignored->paths[i])));
    return left ? left : value_pack("{}");
}

/* ---- With what is live ---- */

/* object NULL: it has nothing there. live: what is at that place. */
static const struct value *fill_in(const struct value *object, const struct value *live,
                                   struct rest rest);

static const struct value *fill_in_member(const struct value *object, const struct value *live,
                                          struct rest rest)
{
    const struct ignore_step *step = rest.steps;
    _cleanup_free_ char *name = str_new_n(step->name, step->length);
    const struct value *there = value_get(live, name);
    _cleanup_value_ const struct value *base = object ? value_ref(object) : value_pack("{}");
    _cleanup_value_ const struct value *filled =
        there ? fill_in(value_get(object, name), there, next(rest)) : NULL;

    return filled ? value_with(base, name, filled) : value_ref(object);
}

/* The keys by which the API server knows the item, so that a part of it can be sent. */
static const struct value *keys_of(const struct value *item, const struct ignore_step *step)
{
    const struct value *keys = value_pack("{}");

    for (size_t i = 0; i < step->n_keys; i++)
        value_move(&keys,
                   value_with(keys, step->keys[i].name, value_get(item, step->keys[i].name)));
    return keys;
}

static const struct value *find_item(const struct value *array, const struct ignore_step *step)
{
    for (size_t i = 0; i < value_count(array); i++)
        if (is_item(value_at(array, i), step))
            return value_at(array, i);
    return NULL;
}

static const struct value *fill_in_items(const struct value *array, const struct value *live,
                                         struct rest rest)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    value_begin_array(b);
    for (size_t i = 0; i < value_count(array); i++) {
        const struct value *item = value_at(array, i);
        const struct value *there = is_item(item, rest.steps) ? find_item(live, rest.steps) : NULL;
        _cleanup_value_ const struct value *filled =
            there ? fill_in(item, there, next(rest)) : value_ref(item);

        value_add(b, filled);
    }
    for (size_t i = 0; i < value_count(live); i++) {
        const struct value *there = value_at(live, i);
        _cleanup_value_ const struct value *keys = NULL, *filled = NULL;

        if (!is_item(there, rest.steps) || find_item(array, rest.steps))
            continue;
        keys = keys_of(there, rest.steps);
        filled = fill_in(keys, there, next(rest));
        value_add(b, filled);
    }
    value_end_array(b);
    return value_finish(b);
}

static const struct value *fill_in(const struct value *object, const struct value *live,
                                   struct rest rest)
{
    if (!rest.n)
        return value_ref(live);
    if (rest.steps->name && value_is(live, VALUE_OBJECT) &&
        (!object || value_is(object, VALUE_OBJECT)))
        return fill_in_member(object, live, rest);
    if (!rest.steps->name && value_is(live, VALUE_ARRAY) && find_item(live, rest.steps) &&
        (!object || value_is(object, VALUE_ARRAY)))
        return fill_in_items(object, live, rest);
    return value_ref(object);
}

const struct value *ignored_fill_in(const struct ignored *ignored, const struct value *object,
                                    const struct value *live)
{
    const struct value *filled = value_ref(object);

    for (size_t i = 0; i < ignored->n; i++)
        value_move(&filled, fill_in(filled, live, rest_of(ignored->paths[i])));
    return filled;
}

/* ---- Sets of fields ---- */

/* Whether the member of a set leads to what the step names. */
static bool leads(const char *key, size_t length, const struct ignore_step *step)
{
    _cleanup_value_ const struct value *keys = NULL;
    size_t rest = 0;
    const char *text = fields_step(key, length, step->name ? 'f' : 'k', &rest);

    if (!text)
        return false;
    if (step->name)
        return rest == step->length && memcmp(text, step->name, rest) == 0;
    return json_read(text, rest, &keys, NULL) >= 0 && is_item(keys, step);
}

/* What is ignored of a set, or what is not. NULL: nothing. */
static const struct value *fields_part(const struct value *set, struct rest rest, bool is_ignored)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = NULL;
    _cleanup_value_ const struct value *made = NULL;
    size_t n = 0;

    if (!rest.n || !value_count(set))
        return is_ignored == !rest.n ? value_ref(set) : NULL;
    b = value_builder_new();
    value_begin_object(b);
    for (size_t i = 0; i < value_count(set); i++) {
        size_t length;
        const char *key = value_member_key(set, i, &length);
        const struct value *inner = value_member(set, i);
        _cleanup_value_ const struct value *part = leads(key, length, rest.steps)
                                                       ? fields_part(inner, next(rest), is_ignored)
                                                   : is_ignored ? NULL
                                                                : value_ref(inner);

        if (!part)
            continue;
        value_key_n(b, key, length);
        value_add(b, part);
        n++;
    }
    value_end_object(b);
    value_builder_finish(b, &made, NULL);
    return n ? TAKE(made) : NULL;
}

const struct value *ignored_leave_out_fields(const struct ignored *ignored,
                                             const struct value *fields)
{
    const struct value *left = value_ref(fields);

    for (size_t i = 0; i < ignored->n && left; i++)
        value_move(&left, fields_part(left, rest_of(ignored->paths[i]), false));
    return left;
}

const struct value *ignored_keep_fields(const struct ignored *ignored, const struct value *fields)
{
    const struct value *all = NULL;

    for (size_t i = 0; i < ignored->n; i++) {
        _cleanup_value_ const struct value *kept =
            fields_part(fields, rest_of(ignored->paths[i]), true);

        if (kept)
            value_move(&all, fields_union(all, kept));
    }
    return all;
}

static bool is_there(const struct value *value, struct rest rest)
{
    for (; value && rest.n; rest = next(rest))
        value = rest.steps->name ? value_get_n(value, rest.steps->name, rest.steps->length)
                                 : find_item(value, rest.steps);
    return value != NULL;
}

static bool is_inside(const struct value *set, struct rest rest)
{
    for (size_t i = 0; rest.n && i < value_count(set); i++) {
        size_t length;
        const char *key = value_member_key(set, i, &length);

        if (leads(key, length, rest.steps))
            return is_inside(value_member(set, i), next(rest));
    }
    return rest.n && set && !value_count(set);
}

const struct ignore_path *ignored_find_inside(const struct ignored *ignored,
                                              const struct value *object,
                                              const struct value *fields)
{
    for (size_t i = 0; i < ignored->n; i++) {
        struct rest rest = rest_of(ignored->paths[i]);

        if (value_count(fields) && is_there(object, rest) && is_inside(fields, rest))
            return ignored->paths[i];
    }
    return NULL;
}

char *ignored_name(const struct ignored *ignored, const struct value *fields)
{
    struct buf text = BUF_INIT;

    for (size_t i = 0; i < ignored->n; i++) {
        _cleanup_value_ const struct value *left =
            fields_part(fields, rest_of(ignored->paths[i]), false);

        if (fields && !(left && value_equal(left, fields)))
            buf_printf(&text, "%s%s", text.length ? ", " : "", ignored->paths[i]->text);
    }
    return text.length ? buf_take(&text) : NULL;
}
