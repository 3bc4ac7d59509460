#include "runtimes/kubernetes/projection.h"

#include <stdint.h>
#include <stdlib.h>

#include "engine/base/buf.h"
#include "engine/base/json.h"
#include "engine/base/mem.h"
#include "engine/base/strmap.h"
#include "runtimes/kubernetes/fields.h"

/* Items of a sent list among which one without all key fields is looked for. */
#define MAX_GUESSED 256

/* ---- Places ---- */

/* One field. Values: NULL: absent. Recursion over places is bounded by LIMIT_DEPTH. */
struct place {
    const struct value *all;            /* the fields in it that we have, take or give up */
    const struct value *own;            /* those that we have afterwards; NULL: it is given up */
    const struct value *before, *after; /* its value */
    const struct value *sent;
};

static void project(const struct place *place, struct projection *ret);

void projection_done(struct projection *projection)
{
    value_unref(projection->before);
    value_unref(projection->after);
    *projection = (struct projection){NULL, NULL};
}

static bool are_equal(const struct value *a, const struct value *b)
{
    return a && b ? value_equal(a, b) : a == b;
}

static const struct value *finish(struct value_builder *b, bool has_any)
{
    const struct value *made = NULL;

    value_builder_finish(b, &made, NULL);
    if (has_any)
        return made;
    value_unref(made);
    return NULL;
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

static void project_leaf(const struct place *place, struct projection *ret)
{
    bool is_shown =
        !are_equal(place->before, place->after) || (place->own && !is_sent_empty(place));

    if (is_shown)
        show_whole(place, ret);
}

/* The first step into the field that the set has; its letter, or 0: it has none. */
static char kind_of(const struct value *fields)
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

/* One side of an object or a list in the making. */
struct side {
    const struct value *from; /* the value; NULL: absent */
    struct value_builder *b;  /* NULL: the value is of another type, and is shown as it is */
    bool has_any;
};

static struct side side_begin(const struct value *from, enum value_type type)
{
    struct side side = {.from = from};

    if (value_is(from, type)) {
        side.b = value_builder_new();
        value_begin_like(side.b, from);
    }
    return side;
}

static void side_add(struct side *side, const char *key, size_t length, const struct value *value)
{
    if (!side->b || !value)
        return;
    if (key)
        value_key_n(side->b, key, length);
    value_add(side->b, value);
    side->has_any = true;
}

static const struct value *side_end(struct side *side)
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
    struct side before = side_begin(place->before, VALUE_OBJECT);
    struct side after = side_begin(place->after, VALUE_OBJECT);

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
        project(&in, &member);
        if (in.own || !are_equal(member.before, member.after)) {
            side_add(&before, name, rest, member.before);
            side_add(&after, name, rest, member.after);
        }
        projection_done(&member);
    }
    ret->before = side_end(&before);
    ret->after = side_end(&after);
}

/* ---- Items of a list ---- */

/* Where a list has its items, by their key fields or by their value, in canonical JSON. */
struct index {
    struct strmap places; /* text, owned -> position + 1 */
};

static void add_keys(struct buf *text, const struct value *item, const struct value *keys)
{
    for (size_t i = 0; i < value_count(keys); i++) {
        size_t length;
        const char *name = value_member_key(keys, i, &length);
        const struct value *value = value_get_n(item, name, length);

        buf_printf(text, "%zu:", length);
        buf_add(text, name, length);
        if (value)
            json_write(text, value, JSON_CANONICAL);
        buf_add_char(text, ' ');
    }
}

/* keys: an object whose members have the names of the key fields; NULL: items are told by value. */
static char *text_of(const struct value *item, const struct value *keys)
{
    struct buf text = BUF_INIT;

    if (keys)
        add_keys(&text, item, keys);
    else
        json_write(&text, item, JSON_CANONICAL);
    return buf_take(&text);
}

static void index_init(struct index *index, const struct value *list, const struct value *keys)
{
    strmap_init(&index->places);
    for (size_t i = 0; i < value_count(list) && value_is(list, VALUE_ARRAY); i++) {
        char *text = text_of(value_at(list, i), keys);

        if (strmap_get(&index->places, text))
            free(text); /* the first of several counts, as for the API server */
        else
            strmap_put(&index->places, text, (void *)(uintptr_t)(i + 1));
    }
}

static void index_done(struct index *index)
{
    for (struct strmap_entry *e = NULL; (e = strmap_next(&index->places, e));)
        free((char *)(uintptr_t)e->key);
    strmap_done(&index->places);
}

/* Its position; SIZE_MAX: it is not there. */
static size_t index_find(const struct index *index, const char *text)
{
    return (size_t)(uintptr_t)strmap_get(&index->places, text) - 1;
}

/* One of our items. */
struct item {
    const struct value *keys; /* its key fields; a reference; or the item itself */
    struct projection shown;
    size_t before_at, after_at; /* SIZE_MAX: it is not there */
};

struct items {
    struct index before, after, sent;
    const struct value *keys; /* of one item, for their names; borrowed; NULL: told by value */
    struct item *all;
    size_t count;
};

static void items_done(struct items *items)
{
    for (size_t i = 0; i < items->count; i++) {
        projection_done(&items->all[i].shown);
        value_unref(items->all[i].keys);
    }
    free(items->all);
    index_done(&items->before);
    index_done(&items->after);
    index_done(&items->sent);
}

/* How many of its key fields the item has; -1: it has others. */
static int count_keys(const struct value *item, const struct value *keys)
{
    int n = 0;

    for (size_t i = 0; i < value_count(keys); i++) {
        size_t length;
        const char *name = value_member_key(keys, i, &length);
        const struct value *value = value_get_n(item, name, length);

        if (value && !value_equal(value, value_member(keys, i)))
            return -1;
        n += value != NULL;
    }
    return n;
}

/* The item that was sent: key fields that have a default may be missing in it. */
static const struct value *find_sent(const struct value *list, const struct index *index,
                                     const struct value *keys, const char *text)
{
    size_t at = index_find(index, text);
    const struct value *found = NULL;
    int most = 0;

    if (at != SIZE_MAX || value_count(list) > MAX_GUESSED)
        return at == SIZE_MAX ? NULL : value_at(list, at);
    for (size_t i = 0; i < value_count(list) && value_is(list, VALUE_ARRAY); i++) {
        int n = count_keys(value_at(list, i), keys);

        if (n > most) {
            most = n;
            found = value_at(list, i);
        }
    }
    return found;
}

/* The item with its key fields first. */
static const struct value *with_keys(const struct value *item, const struct value *keys,
                                     const struct value *shown)
{
    struct side side = side_begin(item, VALUE_OBJECT);

    for (size_t i = 0; i < value_count(keys); i++) {
        size_t length;
        const char *name = value_member_key(keys, i, &length);

        side_add(&side, name, length, value_get_n(item, name, length));
    }
    for (size_t i = 0; i < value_count(shown); i++) {
        size_t length;
        const char *name = value_member_key(shown, i, &length);

        if (!value_get_n(keys, name, length))
            side_add(&side, name, length, value_member(shown, i));
    }
    return side_end(&side);
}

/* An item of which we have nothing but the item itself has its key fields alone. */
static void project_item(const struct place *place, const struct value *keys,
                         struct projection *ret)
{
    struct projection shown = {NULL, NULL};

    if (!value_count(place->all) || (!place->own && !place->after)) {
        project(place, ret);
        return;
    }
    if (kind_of(place->all))
        project(place, &shown);
    ret->before = place->before ? with_keys(place->before, keys, shown.before) : NULL;
    ret->after = place->after ? with_keys(place->after, keys, shown.after) : NULL;
    projection_done(&shown);
    if (!place->own && are_equal(ret->before, ret->after))
        projection_done(ret);
}

static void add_item(struct items *items, const struct place *list, size_t index, char type,
                     const struct value *keys)
{
    struct item *item = &items->all[items->count++];
    size_t length;
    const char *key = value_member_key(list->all, index, &length);
    _cleanup_free_ char *text = text_of(keys, type == 'k' ? items->keys : NULL);
    struct place place = {.all = value_member(list->all, index),
                          .own = value_get_n(list->own, key, length)};

    *item = (struct item){.keys = value_ref(keys),
                          .before_at = index_find(&items->before, text),
                          .after_at = index_find(&items->after, text)};
    place.before = item->before_at == SIZE_MAX ? NULL : value_at(list->before, item->before_at);
    place.after = item->after_at == SIZE_MAX ? NULL : value_at(list->after, item->after_at);
    if (type == 'k') {
        place.sent = find_sent(list->sent, &items->sent, keys, text);
        project_item(&place, keys, &item->shown);
    } else {
        project_leaf(&place, &item->shown);
    }
}

/* The key fields, or the value, that a step leads to. A reference; NULL: it is no such step. */
static const struct value *read_step(const struct value *fields, size_t index, char type)
{
    const struct value *keys = NULL;
    size_t length, rest;
    const char *key = value_member_key(fields, index, &length);
    const char *text = fields_step(key, length, type, &rest);

    if (text)
        json_read(text, rest, &keys, NULL);
    return keys;
}

static void read_items(const struct place *list, char type, struct items *ret)
{
    const struct value *first = NULL;

    for (size_t i = 0; i < value_count(list->all) && !first && type == 'k'; i++)
        first = read_step(list->all, i, type);
    *ret = (struct items){.keys = first, .all = NEW_ARRAY(struct item, value_count(list->all) + 1)};
    index_init(&ret->before, list->before, first);
    index_init(&ret->after, list->after, first);
    index_init(&ret->sent, list->sent, first);
    for (size_t i = 0; i < value_count(list->all); i++) {
        _cleanup_value_ const struct value *keys = read_step(list->all, i, type);

        if (keys)
            add_item(ret, list, i, type, keys);
    }
    ret->keys = NULL;
    value_unref(first);
}

/* Our items of one side, in their order there. */
static const struct value *list_items(const struct value *list, const struct items *items,
                                      bool is_after)
{
    struct side side = side_begin(list, VALUE_ARRAY);
    size_t n = value_is(list, VALUE_ARRAY) ? value_count(list) : 0;
    _cleanup_free_ const struct value **shown = NEW_ARRAY(const struct value *, n + 1);

    for (size_t i = 0; i < items->count && n; i++) {
        const struct item *item = &items->all[i];
        size_t at = is_after ? item->after_at : item->before_at;

        if (at != SIZE_MAX)
            shown[at] = is_after ? item->shown.after : item->shown.before;
    }
    for (size_t i = 0; i < n; i++)
        side_add(&side, NULL, 0, shown[i]);
    return side_end(&side);
}

static void project_list(const struct place *place, char type, struct projection *ret)
{
    struct items items;

    read_items(place, type, &items);
    ret->before = list_items(place->before, &items, false);
    ret->after = list_items(place->after, &items, true);
    items_done(&items);
}

/* ---- All of it ---- */

static void project(const struct place *place, struct projection *ret)
{
    char kind = kind_of(place->all);

    if (!place->own && !place->after)
        show_whole(place, ret); /* it is gone, with all that others have in it */
    else if (!kind)
        project_leaf(place, ret);
    else if (kind == 'f')
        project_object(place, ret);
    else
        project_list(place, kind, ret);
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
    if (kind_of(all))
        project(&root, ret);
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

/* ---- Without a dry-run ---- */

/* All that is sent is there; there may be more, such as defaults. */
static bool covers(const struct value *live, const struct value *sent)
{
    if (!live || value_type(live) != value_type(sent))
        return false;
    if (value_is(sent, VALUE_ARRAY) && value_count(live) != value_count(sent))
        return false;
    if (!value_is(sent, VALUE_ARRAY) && !value_is(sent, VALUE_OBJECT))
        return value_equal(live, sent);
    for (size_t i = 0; i < value_count(sent); i++) {
        size_t length = 0;
        const char *key = value_is(sent, VALUE_OBJECT) ? value_member_key(sent, i, &length) : NULL;

        if (!covers(key ? value_get_n(live, key, length) : value_at(live, i), value_child(sent, i)))
            return false;
    }
    return true;
}

/* A reference. fields: what we have of it; NULL: nothing. */
static const struct value *expect(const struct value *live, const struct value *fields,
                                  const struct value *sent);

static const struct value *expect_object(const struct value *live, const struct value *fields,
                                         const struct value *sent)
{
    struct side side = side_begin(sent, VALUE_OBJECT);

    for (size_t i = 0; i < value_count(sent); i++) {
        size_t length;
        const char *name = value_member_key(sent, i, &length);
        _cleanup_value_ const struct value *member =
            expect(value_get_n(live, name, length), fields_member(fields, name, length),
                   value_member(sent, i));

        side_add(&side, name, length, member);
    }
    side.has_any = true;
    return side_end(&side);
}

/* An item that is sent, with the key fields that it leaves out. */
static const struct value *expect_item(const struct value *list, const struct value *fields,
                                       const struct value *sent)
{
    for (size_t i = 0; i < value_count(fields); i++) {
        _cleanup_value_ const struct value *keys = read_step(fields, i, 'k'), *made = NULL;
        const struct value *found = NULL;

        if (count_keys(sent, keys) <= 0)
            continue;
        for (size_t k = 0; k < value_count(list) && !found; k++)
            if (count_keys(value_at(list, k), keys) == (int)value_count(keys))
                found = value_at(list, k);
        made = expect(found, value_member(fields, i), sent);
        return found ? with_keys(found, keys, made) : TAKE(made);
    }
    return value_ref(sent);
}

static const struct value *expect_list(const struct value *live, const struct value *fields,
                                       const struct value *sent)
{
    struct side side = side_begin(sent, VALUE_ARRAY);

    for (size_t i = 0; i < value_count(sent); i++) {
        _cleanup_value_ const struct value *item = expect_item(live, fields, value_at(sent, i));

        side_add(&side, NULL, 0, item);
    }
    side.has_any = true;
    return side_end(&side);
}

static const struct value *expect(const struct value *live, const struct value *fields,
                                  const struct value *sent)
{
    char kind = kind_of(fields);
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
