/* The projection of lists whose items are told by key fields, or by their value. */
#include <stdint.h>
#include <stdlib.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/strmap.h"
#include "engine/value/json.h"
#include "runtimes/kubernetes/objects/fields.h"
#include "runtimes/kubernetes/objects/projection_private.h"

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

int projection_count_keys(const struct value *item, const struct value *keys)
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
        int n = projection_count_keys(value_at(list, i), keys);

        if (n > most) {
            most = n;
            found = value_at(list, i);
        }
    }
    return found;
}

const struct value *projection_with_keys(const struct value *item, const struct value *keys,
                                         const struct value *shown)
{
    struct side side = projection_side_begin(item, VALUE_OBJECT);

    for (size_t i = 0; i < value_count(keys); i++) {
        size_t length;
        const char *name = value_member_key(keys, i, &length);

        projection_side_add(&side, name, length, value_get_n(item, name, length));
    }
    for (size_t i = 0; i < value_count(shown); i++) {
        size_t length;
        const char *name = value_member_key(shown, i, &length);

        if (!value_get_n(keys, name, length))
            projection_side_add(&side, name, length, value_member(shown, i));
    }
    return projection_side_end(&side);
}

/* An item of which we have nothing but the item itself has its key fields alone. */
static void project_item(const struct place *place, const struct value *keys,
                         struct projection *ret)
{
    struct projection shown = {NULL, NULL};

    if (!value_count(place->all) || (!place->own && !place->after)) {
        projection_of_place(place, ret);
        return;
    }
    if (projection_step_kind(place->all))
        projection_of_place(place, &shown);
    ret->before = place->before ? projection_with_keys(place->before, keys, shown.before) : NULL;
    ret->after = place->after ? projection_with_keys(place->after, keys, shown.after) : NULL;
    projection_done(&shown);
    if (!place->own && projection_place_equal(ret->before, ret->after))
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
        projection_of_leaf(&place, &item->shown);
    }
}

const struct value *projection_step_target(const struct value *fields, size_t index, char type)
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
    _cleanup_value_ const struct value *first = NULL;

    for (size_t i = 0; i < value_count(list->all) && !first && type == 'k'; i++)
        first = projection_step_target(list->all, i, type);
    *ret = (struct items){.keys = first, .all = NEW_ARRAY(struct item, value_count(list->all) + 1)};
    index_init(&ret->before, list->before, first);
    index_init(&ret->after, list->after, first);
    index_init(&ret->sent, list->sent, first);
    for (size_t i = 0; i < value_count(list->all); i++) {
        _cleanup_value_ const struct value *keys = projection_step_target(list->all, i, type);

        if (keys)
            add_item(ret, list, i, type, keys);
    }
    ret->keys = NULL;
}

/* Our items of one side, in their order there. */
static const struct value *list_items(const struct value *list, const struct items *items,
                                      bool is_after)
{
    struct side side = projection_side_begin(list, VALUE_ARRAY);
    size_t n = value_is(list, VALUE_ARRAY) ? value_count(list) : 0;
    _cleanup_free_ const struct value **shown = NEW_ARRAY(const struct value *, n + 1);

    for (size_t i = 0; i < items->count && n; i++) {
        const struct item *item = &items->all[i];
        size_t at = is_after ? item->after_at : item->before_at;

        if (at != SIZE_MAX)
            shown[at] = is_after ? item->shown.after : item->shown.before;
    }
    for (size_t i = 0; i < n; i++)
        projection_side_add(&side, NULL, 0, shown[i]);
    return projection_side_end(&side);
}

void projection_of_list(const struct place *place, char type, struct projection *ret)
{
    struct items items;

    read_items(place, type, &items);
    ret->before = list_items(place->before, &items, false);
    ret->after = list_items(place->after, &items, true);
    items_done(&items);
}
