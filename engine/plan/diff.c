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
    const struct value *sensitive;
    struct path path;   /* for people */
    struct buf pointer; /* for comparing with what is sensitive */
};

void diff_done(struct diff *diff)
{
    free(diff->fields);
    arena_done(&diff->arena);
    *diff = (struct diff)DIFF_INIT;
}

const struct value *diff_redact(const struct value *value, const struct value *sensitive)
{
    _cleanup_value_ const struct value *hidden = value_pack("s", DIFF_SENSITIVE);
    const struct value *result = value_ref(value);

    for (size_t i = 0; i < value_count(sensitive); i++) {
        const char *pointer = value_string(value_at(sensitive, i));
        const struct value *next;

        if (!pointer || !pointer_find(result, pointer))
            continue;
        next = pointer_replace(result, pointer, hidden);
        value_unref(result);
        result = next;
    }
    return result;
}

/* ---- Comparing ---- */

static bool is_sensitive(const struct comparison *comparison)
{
    for (size_t i = 0; i < value_count(comparison->sensitive); i++)
        if (str_equal(value_string(value_at(comparison->sensitive, i)), comparison->pointer.data))
            return true;
    return false;
}

/* The value at comparison->pointer, with what is sensitive below it hidden: where one side lacks
 * a parent, the other's is shown whole. */
static const struct value *hide_below(const struct comparison *comparison,
                                      const struct value *value)
{
    _cleanup_value_ const struct value *hidden = value_pack("s", DIFF_SENSITIVE);
    size_t length = comparison->pointer.length;
    const struct value *result = value_ref(value);

    for (size_t i = 0; i < value_count(comparison->sensitive); i++) {
        const char *pointer = value_string(value_at(comparison->sensitive, i));
        const struct value *next;

        if (!pointer || !str_has_prefix(pointer, comparison->pointer.data) ||
            pointer[length] != '/')
            continue;
        next = pointer_replace(result, pointer + length, hidden);
        value_unref(result);
        result = next;
    }
    return result;
}

static const char *shown(const struct comparison *comparison, const struct value *value,
                         bool sensitive)
{
    struct diff *diff = comparison->diff;
    _cleanup_value_ const struct value *visible = NULL;
    _cleanup_free_ char *text = NULL;
    char cut[SHOWN_BYTES];

    if (!value)
        return NULL;
    if (sensitive)
        return arena_str(&diff->arena, DIFF_SENSITIVE);
    visible = hide_below(comparison, value);
    text = json_to_str(visible);
    str_copy(cut, sizeof(cut), text);
    return arena_str(&diff->arena, cut);
}

static void add(struct comparison *comparison, const struct value *from, const struct value *to,
                bool sensitive)
{
    struct diff *diff = comparison->diff;

    diff->total++;
    if (diff->n_fields == LIMIT_DIFF_FIELDS)
        return;
    diff->fields = mem_grow(diff->fields, diff->n_fields, &diff->capacity, sizeof(*diff->fields));
    diff->fields[diff->n_fields++] =
        (struct diff_field){arena_str(&diff->arena, path_text(&comparison->path)),
                            shown(comparison, from, sensitive), shown(comparison, to, sensitive)};
}

static void compare(struct comparison *comparison, const struct value *from,
                    const struct value *to);

static void compare_member(struct comparison *comparison, const char *key, size_t length,
                           const struct value *from, const struct value *to)
{
    size_t mark = comparison->pointer.length;

    path_push_key(&comparison->path, key);
    pointer_add(&comparison->pointer, key, length);
    compare(comparison, from, to);
    comparison->pointer.length = mark;
    comparison->pointer.data[mark] = '\0';
    path_pop(&comparison->path);
}

static void compare_objects(struct comparison *comparison, const struct value *from,
                            const struct value *to)
{
    size_t length;

    for (size_t i = 0; i < value_count(to); i++) {
        const char *key = value_member_key(to, i, &length);

        compare_member(comparison, key, length, value_get_n(from, key, length),
                       value_member(to, i));
    }
    for (size_t i = 0; i < value_count(from); i++) {
        const char *key = value_member_key(from, i, &length);

        if (!value_get_n(to, key, length))
            compare_member(comparison, key, length, value_member(from, i), NULL);
    }
}

static void compare_arrays(struct comparison *comparison, const struct value *from,
                           const struct value *to)
{
    size_t n_from = value_count(from), n_to = value_count(to);
    size_t mark = comparison->pointer.length;

    for (size_t i = 0; i < n_from || i < n_to; i++) {
        path_push_index(&comparison->path, i);
        buf_printf(&comparison->pointer, "/%zu", i);
        compare(comparison, i < n_from ? value_at(from, i) : NULL,
                i < n_to ? value_at(to, i) : NULL);
        comparison->pointer.length = mark;
        comparison->pointer.data[mark] = '\0';
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

    if (from && to && value_equal(from, to))
        return;
    if (is_sensitive(comparison))
        add(comparison, from, to, true);
    else if (descends && value_is(either, VALUE_OBJECT))
        compare_objects(comparison, from, to);
    else if (descends)
        compare_arrays(comparison, from, to);
    else
        add(comparison, from, to, false);
}

void diff_values(const struct value *from, const struct value *to, const struct value *sensitive,
                 struct diff *ret)
{
    struct comparison comparison = {.diff = ret, .sensitive = sensitive};

    *ret = (struct diff)DIFF_INIT;
    arena_init(&ret->arena);
    path_init(&comparison.path);
    buf_init(&comparison.pointer, 0);
    if (from || to)
        compare(&comparison, from, to);
    buf_done(&comparison.pointer);
    path_done(&comparison.path);
}
