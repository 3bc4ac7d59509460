#include "engine/value/pointer_walk.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/value/children.h"
#include "engine/value/path.h"

/* ---- The current pointer ---- */

/* A pointer may exceed a document's bound if its keys are that long and escaped. */
static void init_pointer(struct buf *pointer)
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

/* ---- Listing ---- */

struct listing {
    struct value_builder *b;
    pointer_test *is, *has;
    struct buf pointer;
};

static void list(struct listing *listing, const struct value *value)
{
    if (listing->is(value)) {
        value_add_string_n(listing->b, listing->pointer.data, listing->pointer.length);
        return;
    }
    for (size_t i = 0; listing->has(value) && i < value_count(value); i++) {
        size_t before = enter(&listing->pointer, value, i);

        list(listing, value_child(value, i));
        leave(&listing->pointer, before);
    }
}

const struct value *pointer_list(const struct value *value, pointer_test *is, pointer_test *has)
{
    struct listing listing = {.is = is, .has = has};
    const struct value *pointers = NULL;

    if (!has(value))
        return NULL;
    init_pointer(&listing.pointer);
    listing.b = value_builder_new();
    value_begin_array(listing.b);
    list(&listing, value);
    value_end_array(listing.b);
    value_builder_finish(listing.b, &pointers, NULL);
    value_builder_free(listing.b);
    buf_done(&listing.pointer);
    return pointers;
}

/* ---- Editing ---- */

struct editing {
    struct pointer_edit *edit;
    struct value_builder *b;
    struct buf pointer;
};

/* Of the sorted targets: from first on, before end. */
struct range {
    size_t first, end;
};

static int compare_bytes(const char *a, size_t a_length, const char *b, size_t b_length)
{
    int order = memcmp(a, b, a_length < b_length ? a_length : b_length);

    return order ? order : (a_length > b_length) - (a_length < b_length);
}

static int compare_targets(const void *a, const void *b)
{
    const struct pointer_target *x = a, *y = b;

    return compare_bytes(x->pointer, x->length, y->pointer, y->length);
}

static int compare_here(const struct editing *editing, size_t target)
{
    const struct pointer_target *it = &editing->edit->targets[target];

    return compare_bytes(it->pointer, it->length, editing->pointer.data, editing->pointer.length);
}

/* The first target in the range that does not sort before the current pointer; the range's end: all
 * do. */
static size_t find_first(const struct editing *editing, struct range range)
{
    while (range.first < range.end) {
        size_t middle = range.first + (range.end - range.first) / 2;

        if (compare_here(editing, middle) < 0)
            range.first = middle + 1;
        else
            range.end = middle;
    }
    return range.first;
}

/* The targets below the current pointer. */
static struct range find_below(struct editing *editing, struct range range)
{
    size_t before = editing->pointer.length;

    buf_add_char(&editing->pointer, '/');
    range.first = find_first(editing, range);
    editing->pointer.data[before] = '/' + 1; /* sorts right behind all of them */
    range.end = find_first(editing, range);
    leave(&editing->pointer, before);
    return range;
}

/* The key of a target, if it is a member of the current object, and not something below a member.
 * free() it. */
static char *take_key(const struct editing *editing, const struct pointer_target *target,
                      size_t *ret_length)
{
    const char *token = target->pointer + editing->pointer.length + 1;
    size_t length = target->length - editing->pointer.length - 1, n = 0;
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

static void add_missing(struct editing *editing, const struct value *object, struct range below)
{
    const struct pointer_target *targets = editing->edit->targets;

    for (size_t i = below.first; i < below.end; i++) {
        size_t length = 0;
        _cleanup_free_ char *key = take_key(editing, &targets[i], &length);

        if (!key || value_get_n(object, key, length) ||
            (i > below.first && compare_targets(&targets[i], &targets[i - 1]) == 0))
            continue;
        value_key_n(editing->b, key, length);
        editing->edit->put(editing->edit->arg, editing->b, &targets[i], NULL);
    }
}

static void add(struct editing *editing, const struct value *value, struct range range);

static void add_child(struct editing *editing, const struct value *container, size_t index,
                      struct range below)
{
    size_t before = enter(&editing->pointer, container, index);

    value_key_like(editing->b, container, index);
    add(editing, value_child(container, index), below);
    leave(&editing->pointer, before);
}

/* range: targets among which are all that lead here or below. */
static void add(struct editing *editing, const struct value *value, struct range range)
{
    struct pointer_edit *edit = editing->edit;
    size_t here = find_first(editing, range);
    struct range below;

    if (here < range.end && compare_here(editing, here) == 0) {
        edit->put(edit->arg, editing->b, &edit->targets[here], value);
        edit->n_found++;
        return;
    }
    below = find_below(editing, range);
    if (below.first == below.end ||
        (!value_is(value, VALUE_OBJECT) && !value_is(value, VALUE_ARRAY))) {
        value_add(editing->b, value);
        return;
    }
    value_begin_like(editing->b, value);
    for (size_t i = 0; i < value_count(value); i++)
        add_child(editing, value, i, below);
    if (edit->adds_members && value_is(value, VALUE_OBJECT))
        add_missing(editing, value, below);
    value_end(editing->b);
}

struct pointer_target *pointer_targets(const struct value *list, size_t *ret_count)
{
    struct pointer_target *targets = NEW_ARRAY(struct pointer_target, value_count(list) + 1);
    size_t n = 0;

    for (size_t i = 0; i < value_count(list); i++) {
        targets[n].pointer = value_string_n(value_at(list, i), &targets[n].length);
        n += targets[n].pointer != NULL;
    }
    *ret_count = n;
    return targets;
}

const struct value *pointer_edit(struct pointer_edit *edit, const struct value *value)
{
    struct editing editing = {.edit = edit, .b = value_builder_new()};
    const struct value *edited = NULL;

    edit->n_found = 0;
    qsort(edit->targets, edit->n_targets, sizeof(*edit->targets), compare_targets);
    init_pointer(&editing.pointer);
    add(&editing, value, (struct range){0, edit->n_targets});
    value_builder_finish(editing.b, &edited, NULL);
    value_builder_free(editing.b);
    buf_done(&editing.pointer);
    return edited;
}
