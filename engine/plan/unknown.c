#include "engine/plan/unknown.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/path.h"

/* ---- The pointer to where we are ---- */

/* Pointers get longer than a document's bound where keys are nearly that long, and escaped. */
static void pointer_init(struct buf *pointer)
{
    buf_init(pointer, SIZE_MAX / 4);
}

/* Goes down to a child. Returns what to give to leave(). */
static size_t enter(struct buf *pointer, const struct value *container, size_t index)
{
    size_t before = pointer->length, length = 0;
    const char *key = value_member_key(container, index, &length);

    if (key)
        pointer_add(pointer, key, length);
    else
        buf_printf(pointer, "/%zu", index);
    return before;
}

static void leave(struct buf *pointer, size_t before)
{
    pointer->length = before;
}

static const struct value *child_at(const struct value *container, size_t index)
{
    return value_is(container, VALUE_OBJECT) ? value_member(container, index)
                                             : value_at(container, index);
}

/* ---- Finding ---- */

static void add_paths(struct value_builder *b, const struct value *value, struct buf *pointer)
{
    if (value_is(value, VALUE_UNKNOWN)) {
        value_add_string_n(b, pointer->data, pointer->length);
        return;
    }
    for (size_t i = 0; value_has_unknown(value) && i < value_count(value); i++) {
        size_t before = enter(pointer, value, i);

        add_paths(b, child_at(value, i), pointer);
        leave(pointer, before);
    }
}

const struct value *unknown_paths(const struct value *value)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = NULL;
    _cleanup_buf_ struct buf pointer = BUF_INIT;
    const struct value *paths = NULL;

    if (!value_has_unknown(value))
        return NULL;
    pointer_init(&pointer);
    b = value_builder_new();
    value_begin_array(b);
    add_paths(b, value, &pointer);
    value_end_array(b);
    value_builder_finish(b, &paths, NULL);
    return paths;
}

/* ---- Masking ---- */

struct text {
    const char *data;
    size_t length;
};

struct masking {
    struct value_builder *b;
    struct text *paths; /* sorted by their bytes: those below one pointer follow each other */
    struct buf pointer;
};

/* Of the masking's paths: from first on, before end. */
struct range {
    size_t first, end;
};

static int compare(const void *a, const void *b)
{
    const struct text *x = a, *y = b;
    int order = memcmp(x->data, y->data, x->length < y->length ? x->length : y->length);

    return order ? order : (x->length > y->length) - (x->length < y->length);
}

/* The first path in the range that does not sort before the text; the range's end: all do. */
static size_t find_first(const struct masking *masking, struct range range, struct text text)
{
    while (range.first < range.end) {
        size_t middle = range.first + (range.end - range.first) / 2;

        if (compare(&masking->paths[middle], &text) < 0)
            range.first = middle + 1;
        else
            range.end = middle;
    }
    return range.first;
}

static bool is_here(const struct masking *masking, size_t path)
{
    const struct text here = {masking->pointer.data, masking->pointer.length};

    return compare(&masking->paths[path], &here) == 0;
}

/* The paths that lead below where we are. */
static struct range range_below(struct masking *masking, struct range range)
{
    size_t before = masking->pointer.length;
    struct text prefix;

    buf_add_char(&masking->pointer, '/');
    prefix = (struct text){masking->pointer.data, masking->pointer.length};
    range.first = find_first(masking, range, prefix);
    prefix.data = masking->pointer.data;
    masking->pointer.data[before] = '0'; /* the character after '/': the first text beyond */
    range.end = find_first(masking, range, prefix);
    masking->pointer.data[before] = '\0';
    leave(&masking->pointer, before);
    return range;
}

static void add_masked(struct masking *masking, const struct value *value, struct range range);

static void add_child(struct masking *masking, const struct value *container, size_t index,
                      struct range below)
{
    size_t before = enter(&masking->pointer, container, index), length = 0;
    const char *key = value_member_key(container, index, &length);

    if (key)
        value_key_n(masking->b, key, length);
    add_masked(masking, child_at(container, index), below);
    leave(&masking->pointer, before);
}

/* The last key of a path, if it names a member of where we are, and not something below one. */
static char *member_of(const struct masking *masking, struct text path, size_t *ret_length)
{
    const char *token = path.data + masking->pointer.length + 1;
    size_t length = path.length - masking->pointer.length - 1, n = 0;
    char *key;

    if (memchr(token, '/', length))
        return NULL;
    key = mem_new_array(length + 1, 1);
    for (size_t i = 0; i < length; i++) {
        bool is_escaped = token[i] == '~' && i + 1 < length;

        key[n++] = !is_escaped ? token[i] : token[++i] == '1' ? '/' : '~';
    }
    *ret_length = n;
    return key;
}

static void add_missing(struct masking *masking, const struct value *object, struct range below)
{
    for (size_t i = below.first; i < below.end; i++) {
        size_t length = 0;
        _cleanup_free_ char *key = member_of(masking, masking->paths[i], &length);

        if (!key || value_get_n(object, key, length) ||
            (i > below.first && compare(&masking->paths[i], &masking->paths[i - 1]) == 0))
            continue;
        value_key_n(masking->b, key, length);
        value_add_unknown(masking->b);
    }
}

/* range: paths among which are all that lead here or below. */
static void add_masked(struct masking *masking, const struct value *value, struct range range)
{
    const struct text here = {masking->pointer.data, masking->pointer.length};
    size_t first = find_first(masking, range, here);
    struct range below;

    if (first < range.end && is_here(masking, first)) {
        value_add_unknown(masking->b);
        return;
    }
    below = range_below(masking, range);
    if (below.first == below.end ||
        (!value_is(value, VALUE_OBJECT) && !value_is(value, VALUE_ARRAY))) {
        value_add(masking->b, value);
        return;
    }
    value_begin_like(masking->b, value);
    for (size_t i = 0; i < value_count(value); i++)
        add_child(masking, value, i, below);
    if (value_is(value, VALUE_OBJECT))
        add_missing(masking, value, below);
    value_end(masking->b);
}

static size_t list_paths(const struct value *pointers, struct text *ret)
{
    size_t n = 0;

    for (size_t i = 0; i < value_count(pointers); i++) {
        size_t length = 0;
        const char *path = value_string_n(value_at(pointers, i), &length);

        if (path)
            ret[n++] = (struct text){path, length};
    }
    qsort(ret, n, sizeof(*ret), compare);
    return n;
}

const struct value *unknown_mask(const struct value *value, const struct value *pointers)
{
    struct masking masking = {.paths = NEW_ARRAY(struct text, value_count(pointers) + 1)};
    struct range all = {0, list_paths(pointers, masking.paths)};
    const struct value *masked = NULL;

    if (!value || all.end == 0) {
        free(masking.paths);
        return value_ref(value);
    }
    masking.b = value_builder_new();
    pointer_init(&masking.pointer);
    add_masked(&masking, value, all);
    value_builder_finish(masking.b, &masked, NULL);
    value_builder_free(masking.b);
    buf_done(&masking.pointer);
    free(masking.paths);
    return masked;
}
