#include "engine/plan/diff.h"

#include <string.h>

#include "engine/base/limits.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/value/children.h"
#include "engine/value/json.h"
#include "engine/value/path.h"

/* Of what two values have in common, bytes that are shown before and after what differs: back to
 * the beginning of the line, where that is so near that what differs is not cut off. */
#define CONTEXT_BYTES 64
#define LINE_BYTES    (LIMIT_DIFF_VALUE - CONTEXT_BYTES)

const struct diff_bounds diff_brief = {LIMIT_DIFF_FIELDS, LIMIT_DIFF_BYTES, LIMIT_DIFF_VALUE};

struct comparison {
    struct diff *diff;
    const struct diff_bounds *bounds;
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
    if (value_is_sensitive(value)) {
        value_add_string(b, DIFF_SENSITIVE);
        return;
    }
    if (!value_has_sensitive(value)) {
        value_add(b, value);
        return;
    }
    value_begin_like(b, value);
    for (size_t i = 0; i < value_count(value); i++) {
        value_key_like(b, value, i);
        add_visible(b, value_child(value, i));
    }
    value_end(b);
}

/* The value with what is sensitive in it hidden. A reference. */
static const struct value *visible(const struct value *value)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    add_visible(b, value);
    return value_finish(b);
}

/* Text of the value; NULL: there is none. Free it. */
static char *text_of(const struct value *value, bool hide)
{
    _cleanup_value_ const struct value *seen = NULL;
    struct buf text = BUF_INIT;

    if (!value)
        return NULL;
    if (hide)
        return str_new(DIFF_SENSITIVE);
    if (value_is(value, VALUE_UNKNOWN))
        return str_new(VALUE_UNKNOWN_TEXT); /* a string of that text has quotes */
    seen = visible(value);
    json_write(&text, seen, JSON_VISIBLE);
    return buf_take(&text);
}

/* ---- What is left out of long values ---- */

/* The place at or before `at` that is inside of no UTF-8 character and no escape (\n, \u202e). */
static size_t boundary(const char *text, size_t at)
{
    while (at && ((unsigned char)text[at] & 0xc0) == 0x80)
        at--;
    for (size_t back = 1; back <= 5 && back <= at; back++) {
        size_t slashes = 0;

        while (slashes < at - back + 1 && text[at - back - slashes] == '\\')
            slashes++;
        if (slashes % 2 && (back == 1 || text[at - back + 1] == 'u'))
            return at - back;
    }
    return at;
}

static size_t common_start(const char *from, const char *to)
{
    size_t n = 0;

    while (from[n] && from[n] == to[n])
        n++;
    return n;
}

/* Not counting `start` bytes, which they have in common at the beginning. */
static size_t common_end(const char *from, const char *to, size_t start)
{
    size_t length_from = strlen(from), length_to = strlen(to), n = 0;

    while (n < length_from - start && n < length_to - start &&
           from[length_from - 1 - n] == to[length_to - 1 - n])
        n++;
    return n;
}

/* Where the text begins that is shown of values that differ at `at`. */
static size_t begin_of_shown(const char *text, size_t at)
{
    for (size_t back = 2; back <= at && back <= LINE_BYTES; back++)
        if (text[at - back] == '\\' && text[at - back + 1] == 'n' &&
            boundary(text, at - back) == at - back)
            return at - back + 2;
    return at > CONTEXT_BYTES ? boundary(text, at - CONTEXT_BYTES) : 0;
}

/* Bytes at the beginning and at the end of both that are not repeated. */
struct common {
    size_t start, end;
};

static struct common find_common(const char *from, const char *to)
{
    struct common common = {0};
    size_t start;

    if (!from || !to || (strlen(from) <= LIMIT_DIFF_VALUE && strlen(to) <= LIMIT_DIFF_VALUE))
        return common;
    start = common_start(from, to);
    common.end = common_end(from, to, start);
    common.start = begin_of_shown(from, start);
    if (common.end <= CONTEXT_BYTES)
        common.end = 0;
    else
        common.end = strlen(from) - boundary(from, strlen(from) - common.end + CONTEXT_BYTES);
    return common;
}

static char *shorten(const char *text, const struct common *common, size_t most)
{
    struct buf shown = BUF_INIT;
    size_t length;

    if (!text)
        return NULL;
    length = strlen(text) - common->start - common->end;
    if (common->start)
        buf_printf(&shown, "…%zu bytes…", common->start);
    if (length <= most) {
        buf_add(&shown, text + common->start, length);
        if (common->end)
            buf_printf(&shown, "…%zu bytes…", common->end);
    } else {
        size_t cut = boundary(text, common->start + most);

        buf_add(&shown, text + common->start, cut - common->start);
        buf_printf(&shown, "…and %zu bytes", strlen(text) - cut);
    }
    return buf_take(&shown);
}

/* ---- Comparing ---- */

static void add(struct comparison *comparison, const struct value *from, const struct value *to,
                bool hide)
{
    struct diff *diff = comparison->diff;
    const struct diff_bounds *bounds = comparison->bounds;
    const char *path = path_text(&comparison->path);
    _cleanup_free_ char *before = NULL, *after = NULL, *shown_before = NULL, *shown_after = NULL;
    struct common common;
    size_t bytes;

    diff->total++;
    if (diff->n_fields == bounds->fields || diff->arena.used > bounds->bytes)
        return;
    before = text_of(from, hide);
    after = text_of(to, hide);
    common = find_common(before, after);
    shown_before = shorten(before, &common, bounds->value);
    shown_after = shorten(after, &common, bounds->value);
    bytes = strlen(path) + (before ? strlen(shown_before) : 0) + (after ? strlen(shown_after) : 0);
    if (bytes > bounds->bytes - diff->arena.used)
        return;
    diff->fields = mem_grow(diff->fields, diff->n_fields, &diff->capacity, sizeof(*diff->fields));
    diff->fields[diff->n_fields++] =
        (struct diff_field){arena_str(&diff->arena, path), arena_str(&diff->arena, shown_before),
                            arena_str(&diff->arena, shown_after), false};
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

static bool is_metadata(const struct path *path)
{
    return path->depth == 1 && str_equal(path_text(path), "metadata");
}

static bool comes_last(const struct path *path, const char *key)
{
    if (path->depth == 0)
        return str_equal(key, "metadata");
    return is_metadata(path) && (str_equal(key, "labels") || str_equal(key, "annotations"));
}

/* Those that come last, or those that do not. */
static void compare_members(struct comparison *comparison, const struct value *from,
                            const struct value *to, bool last)
{
    size_t length;

    for (size_t i = 0; i < value_count(to); i++) {
        const char *key = value_member_key(to, i, &length);

        if (comes_last(&comparison->path, key) == last)
            compare_member(comparison, key, value_get_n(from, key, length), value_member(to, i));
    }
    for (size_t i = 0; i < value_count(from); i++) {
        const char *key = value_member_key(from, i, &length);

        if (!value_get_n(to, key, length) && comes_last(&comparison->path, key) == last)
            compare_member(comparison, key, value_member(from, i), NULL);
    }
}

static void compare_objects(struct comparison *comparison, const struct value *from,
                            const struct value *to)
{
    compare_members(comparison, from, to, false);
    if (comparison->path.depth == 0 || is_metadata(&comparison->path))
        compare_members(comparison, from, to, true);
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

static void compare(struct comparison *comparison, const struct value *from, const struct value *to)
{
    const struct value *either = to ? to : from;
    bool descends = (value_count(from) || value_count(to)) &&
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

void diff_values(const struct value *from, const struct value *to, const struct diff_bounds *bounds,
                 struct diff *ret)
{
    struct comparison comparison = {.diff = ret, .bounds = bounds, .is_whole = !from || !to};

    *ret = (struct diff)DIFF_INIT;
    arena_init(&ret->arena);
    path_init(&comparison.path);
    if (from || to)
        compare(&comparison, from, to);
    path_done(&comparison.path);
}
