#include "runtimes/kubernetes/objects/fields.h"
#include "runtimes/kubernetes/objects/projection_private.h"

void projection_done(struct projection *projection)
{
    value_unref(projection->before);
    value_unref(projection->after);
    *projection = (struct projection){NULL, NULL};
}

bool projection_place_equal(const struct value *a, const struct value *b)
{
    return a && b ? value_equal(a, b) : a == b;
}

static const struct value *finish(struct value_builder *b, bool has_any)
{
    _cleanup_value_ const struct value *made = value_finish(b);

    return has_any ? TAKE(made) : NULL;
}

static void show_whole(const struct place *place, struct projection *ret)
{
    ret->before = value_ref(place->before);
    ret->after = value_ref(place->after);
}

/* What is sent as empty, and stays what it is, has others' content. */
static bool is_sent_empty(const struct place *place)
{
    const struct value *sent = place->sent;

    return value_is(sent, VALUE_NULL) ||
           ((value_is(sent, VALUE_OBJECT) || value_is(sent, VALUE_ARRAY)) && !value_count(sent));
}

void projection_of_leaf(const struct place *place, struct projection *ret)
{
    bool is_shown = !projection_place_equal(place->before, place->after) ||
                    (place->own && !is_sent_empty(place));

    if (is_shown)
        show_whole(place, ret);
}

char projection_step_kind(const struct value *fields)
{
    for (size_t i = 0; i < value_count(fields); i++) {
        size_t length, rest;
        const char *key = value_member_key(fields, i, &length);

        for (const char *type = "fkv"; *type; type++)
            if (fields_step(key, length, *type, &rest))
                return *type;
    }
    return 0;
}

/* ---- Objects ---- */

struct side projection_side_begin(const struct value *from, enum value_type type)
{
    struct side side = {.from = from};

    if (value_is(from, type)) {
        side.b = value_builder_new();
        value_begin_like(side.b, from);
    }
    return side;
}

void projection_side_add(struct side *side, const char *key, size_t length,
                         const struct value *value)
{
    if (!side->b || !value)
        return;
    if (key)
        value_key_n(side->b, key, length);
    value_add(side->b, value);
    side->has_any = true;
}

const struct value *projection_side_end(struct side *side)
{
    const struct value *made;

    if (!side->b)
        return value_ref(side->from);
    value_end(side->b);
    made = finish(side->b, side->has_any);
    value_builder_free(side->b);
    return made;
}

static void project_object(const struct place *place, struct projection *ret)
{
    struct side before = projection_side_begin(place->before, VALUE_OBJECT);
    struct side after = projection_side_begin(place->after, VALUE_OBJECT);

    for (size_t i = 0; i < value_count(place->all); i++) {
        struct projection member = {NULL, NULL};
        size_t length, rest;
        const char *key = value_member_key(place->all, i, &length);
        const char *name = fields_step(key, length, 'f', &rest);
        const struct place in = {.all = value_member(place->all, i),
                                 .own = value_get_n(place->own, key, length),
                                 .before = name ? value_get_n(place->before, name, rest) : NULL,
                                 .after = name ? value_get_n(place->after, name, rest) : NULL,
                                 .sent = name ? value_get_n(place->sent, name, rest) : NULL};

        if (!name)
            continue;
        projection_of_place(&in, &member);
        if (in.own || !projection_place_equal(member.before, member.after)) {
            projection_side_add(&before, name, rest, member.before);
            projection_side_add(&after, name, rest, member.after);
        }
        projection_done(&member);
    }
    ret->before = projection_side_end(&before);
    ret->after = projection_side_end(&after);
}

/* ---- All of it ---- */

void projection_of_place(const struct place *place, struct projection *ret)
{
    char kind = projection_step_kind(place->all);

    if (!place->own && !place->after)
        show_whole(place, ret); /* it is gone, with all that others have in it */
    else if (!kind)
        projection_of_leaf(place, ret);
    else if (kind == 'f')
        project_object(place, ret);
    else
        projection_of_list(place, kind, ret);
}

void projection_of(const struct projection_input *input, struct projection *ret)
{
    _cleanup_value_ const struct value *all = fields_union(input->own, input->was);
    const struct place root = {.all = all,
                               .own = input->own,
                               .before = input->live,
                               .after = input->after,
                               .sent = input->sent};

    *ret = (struct projection){NULL, NULL};
    if (projection_step_kind(all))
        projection_of_place(&root, ret);
}

const struct value *projection_part(const struct value *live, const struct value *fields)
{
    struct projection both;
    const struct projection_input input = {
        .live = live, .after = live, .own = fields, .was = fields};

    projection_of(&input, &both);
    value_unref(both.after);
    return both.before;
}
