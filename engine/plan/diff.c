#include "engine/plan/diff.h"

#include <string.h>

#include "engine/base/json.h"
#include "engine/base/limits.h"
#include "engine/base/mem.h"
#include "engine/base/path.h"
#include "engine/base/str.h"

#define SHOWN_BYTES 256

struct comparison {
    struct diff *diff;
    struct path path;
    bool is_whole; /* all of one that is created or deleted: there, null is the same as absent */
};

void diff_done(struct diff *diff)
{
    free(diff->fields);
    arena_done(&diff->arena);
    *diff = (struct diff)DIFF_INIT;
}

/* ---- What is hidden ---- */

static void add_visible(struct value_builder *b, const struct value *value)
{
    size_t length;

    if (value_is_sensitive(value)) {
        value_add_string(b, DIFF_SENSITIVE);
        return;
    }
    if (!value_has_sensitive(value)) {
        value_add(b, value);
        return;
    }
    value_begin_like(b, value);
    for (size_t i = 0; i < value_count(value); i++)
        if (value_is(value, VALUE_OBJECT)) {
            const char *key = value_member_key(value, i, &length);

            value_key_n(b, key, length);
            add_visible(b, value_member(value, i));
        } else {
            add_visible(b, value_at(value, i));
        }
    value_end(b);
}

/* The value with what is sensitive in it hidden. A reference. */
static const struct value *visible(const struct value *value)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    const struct value *made = NULL;

    add_visible(b, value);
    value_builder_finish(b, &made, NULL);
    return made;
}

static const char *shown(struct diff *diff, const struct value *value, bool hide)
{
    _cleanup_value_ const struct value *seen = NULL;
    _cleanup_buf_ struct buf text = BUF_INIT;
    char cut[SHOWN_BYTES];

    if (!value)
        return NULL;
    if (hide)
        return arena_str(&diff->arena, DIFF_SENSITIVE);
    if (value_is(value, VALUE_UNKNOWN))
        return arena_str(&diff->arena, VALUE_UNKNOWN_TEXT); /* a string of that text has quotes */
    seen = visible(value);
    json_write(&text, seen, JSON_VISIBLE);
    str_copy(cut, sizeof(cut), text.data);
    return arena_str(&diff->arena, cut);
}

/* ---- Comparing ---- */

static void add(struct comparison *comparison, const struct value *from, const struct value *to,
                bool hide)
{
    struct diff *diff = comparison->diff;

    diff->total++;
    if (diff->n_fields == LIMIT_DIFF_FIELDS || diff->arena.used > LIMIT_DIFF_BYTES)
        return;
    diff->fields = mem_grow(diff->fields, diff->n_fields, &diff->capacity, sizeof(*diff->fields));
    diff->fields[diff->n_fields++] =
        (struct diff_field){arena_str(&diff->arena, path_text(&comparison->path)),
                            shown(diff, from, hide), shown(diff, to, hide)};
}

static void compare(struct comparison *comparison, const struct value *from,
                    const struct value *to);

static void compare_member(struct comparison *comparison, const char *key, const struct value *from,
                           const struct value *to)
{
    path_push_key(&comparison->path, key);
    compare(comparison, from, to);
    path_pop(&comparison->path);
}

static void compare_objects(struct comparison *comparison, const struct value *from,
                            const struct value *to)
{
    size_t length;

    for (size_t i = 0; i < value_count(to); i++) {
        const char *key = value_member_key(to, i, &length);

        compare_member(comparison, key, value_get_n(from, key, length), value_member(to, i));
    }
    for (size_t i = 0; i < value_count(from); i++) {
        const char *key = value_member_key(from, i, &length);

        if (!value_get_n(to, key, length))
            compare_member(comparison, key, value_member(from, i), NULL);
    }
}

static bool are_equal(const struct value *from, const struct value *to)
{
    return from && to && value_equal(from, to);
}

/* Items may have moved: if one item of either list is sensitive, any item of the other list may be
 * the same secret. */
static void compare_arrays(struct comparison *comparison, const struct value *from,
                           const struct value *to)
{
    size_t n_from = value_count(from), n_to = value_count(to);
    bool hide = value_has_sensitive(from) || value_has_sensitive(to);

    for (size_t i = 0; i < n_from || i < n_to; i++) {
        const struct value *before = value_at(from, i), *after = value_at(to, i);

        if (are_equal(before, after))
            continue;
        path_push_index(&comparison->path, i);
        if (hide)
            add(comparison, before, after, true);
        else
            compare(comparison, before, after);
        path_pop(&comparison->path);
    }
}

static bool is_container(const struct value *value)
{
    return value_is(value, VALUE_OBJECT) || value_is(value, VALUE_ARRAY);
}

static void compare(struct comparison *comparison, const struct value *from, const struct value *to)
{
    const struct value *either = to ? to : from;
    bool descends = is_container(either) && (value_count(from) || value_count(to)) &&
                    (!from || !to || value_type(from) == value_type(to));

    if (are_equal(from, to) || (comparison->is_whole && value_is(either, VALUE_NULL)))
        return;
    if (value_is_sensitive(from) || value_is_sensitive(to))
        add(comparison, from, to, true);
    else if (descends && value_is(either, VALUE_OBJECT))
        compare_objects(comparison, from, to);
    else if (descends)
        compare_arrays(comparison, from, to);
    else
        add(comparison, from, to, false);
}

void diff_values(const struct value *from, const struct value *to, struct diff *ret)
{
    struct comparison comparison = {.diff = ret, .is_whole = !from || !to};

    *ret = (struct diff)DIFF_INIT;
    arena_init(&ret->arena);
    path_init(&comparison.path);
    if (from || to)
        compare(&comparison, from, to);
    path_done(&comparison.path);
}
