#include "engine/base/value_mark.h"

#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/path.h"

/* ---- The current path ---- */

/* Goes down to a child. Returns what to give to leave(). */
static size_t enter(struct buf *pointer, const struct value *above, size_t index)
{
    size_t before = pointer->length, length = 0;
    const char *key = value_member_key(above, index, &length);

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

/* A path may exceed a document's bound if its keys are that long and escaped. */
static void path_buf_init(struct buf *pointer)
{
    buf_init(pointer, SIZE_MAX / 4);
}

static const struct value *child_at(const struct value *value, size_t index)
{
    return value_is(value, VALUE_OBJECT) ? value_member(value, index) : value_at(value, index);
}

static void add_key(struct value_builder *b, const struct value *above, size_t index)
{
    size_t length = 0;
    const char *key = value_member_key(above, index, &length);

    if (key)
        value_key_n(b, key, length);
}

/* ---- From bits to pointers ---- */

static void add_paths(struct value_builder *b, const struct value *value, struct buf *pointer)
{
    if (value_is_sensitive(value)) {
        value_add_string_n(b, pointer->data, pointer->length);
        return;
    }
    for (size_t i = 0; value_has_sensitive(value) && i < value_count(value); i++) {
        size_t before = enter(pointer, value, i);

        add_paths(b, child_at(value, i), pointer);
        leave(pointer, before);
    }
}

const struct value *value_sensitive_paths(const struct value *value)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = NULL;
    _cleanup_buf_ struct buf pointer = BUF_INIT;
    const struct value *paths = NULL;

    if (!value_has_sensitive(value))
        return NULL;
    path_buf_init(&pointer);
    b = value_builder_new();
    value_begin_array(b);
    add_paths(b, value, &pointer);
    value_end_array(b);
    value_builder_finish(b, &paths, NULL);
    return paths;
}

struct taking {
    struct value_builder *left, *taken;
    struct buf pointer;
};

static void take(struct taking *taking, const struct value *value)
{
    if (value_is_sensitive(value)) {
        value_key_n(taking->taken, taking->pointer.data, taking->pointer.length);
        value_add(taking->taken, value);
        value_add_null(taking->left);
        return;
    }
    if (!value_has_sensitive(value)) {
        value_add(taking->left, value);
        return;
    }
    value_begin_like(taking->left, value);
    for (size_t i = 0; i < value_count(value); i++) {
        size_t before = enter(&taking->pointer, value, i);

        add_key(taking->left, value, i);
        take(taking, child_at(value, i));
        leave(&taking->pointer, before);
    }
    value_end(taking->left);
}

const struct value *value_take_sensitive(const struct value *value, const struct value **ret_taken)
{
    struct taking taking = {.left = value_builder_new(), .taken = value_builder_new()};
    _cleanup_value_ const struct value *left = NULL, *taken = NULL;

    path_buf_init(&taking.pointer);
    value_begin_object(taking.taken);
    take(&taking, value);
    value_end_object(taking.taken);
    value_builder_finish(taking.left, &left, NULL);
    value_builder_finish(taking.taken, &taken, NULL);
    value_builder_free(taking.left);
    value_builder_free(taking.taken);
    buf_done(&taking.pointer);
    if (!left || !taken)
        return NULL;
    *ret_taken = TAKE(taken);
    return TAKE(left);
}

/* ---- From pointers to bits ---- */

/* A value that becomes sensitive. */
struct target {
    const char *pointer;
    size_t length;
    const struct value *value; /* the value to put there; NULL: keeps the existing one */
};

struct marking {
    struct value_builder *b;
    struct target *targets; /* sorted by the bytes of their pointers */
    size_t n_targets;
    size_t n_found;
    struct buf pointer;
};

static int compare_bytes(const char *a, size_t a_length, const char *b, size_t b_length)
{
    int order = memcmp(a, b, a_length < b_length ? a_length : b_length);

    return order ? order : (a_length > b_length) - (a_length < b_length);
}

static int compare_targets(const void *a, const void *b)
{
    const struct target *x = a, *y = b;

    return compare_bytes(x->pointer, x->length, y->pointer, y->length);
}

/* The first target at or after the current pointer; NULL: none. */
static const struct target *first_from_here(const struct marking *marking)
{
    size_t low = 0, high = marking->n_targets;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct target *target = &marking->targets[middle];

        if (compare_bytes(target->pointer, target->length, marking->pointer.data,
                          marking->pointer.length) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < marking->n_targets ? &marking->targets[low] : NULL;
}

static const struct target *target_here(const struct marking *marking)
{
    const struct target *target = first_from_here(marking);

    return target && target->length == marking->pointer.length &&
                   memcmp(target->pointer, marking->pointer.data, target->length) == 0
               ? target
               : NULL;
}

static bool has_targets_below(struct marking *marking)
{
    const struct target *target;
    size_t length = marking->pointer.length + 1;
    bool found;

    buf_add_char(&marking->pointer, '/');
    target = first_from_here(marking);
    found = target && target->length >= length &&
            memcmp(target->pointer, marking->pointer.data, length) == 0;
    leave(&marking->pointer, length - 1);
    return found;
}

static void add_marked(struct marking *marking, const struct value *value)
{
    const struct target *target = target_here(marking);

    if (target) {
        value_add_sensitive(marking->b, target->value ? target->value : value);
        marking->n_found++;
        return;
    }
    if (!value_count(value) || !has_targets_below(marking)) {
        value_add(marking->b, value);
        return;
    }
    value_begin_like(marking->b, value);
    for (size_t i = 0; i < value_count(value); i++) {
        size_t before = enter(&marking->pointer, value, i);

        add_key(marking->b, value, i);
        add_marked(marking, child_at(value, i));
        leave(&marking->pointer, before);
    }
    value_end(marking->b);
}

/* n targets: room for them. */
static void marking_init(struct marking *marking, size_t n)
{
    *marking =
        (struct marking){.b = value_builder_new(), .targets = NEW_ARRAY(struct target, n + 1)};
    path_buf_init(&marking->pointer);
}

static const struct value *mark(struct marking *marking, const struct value *value)
{
    const struct value *marked = NULL;

    qsort(marking->targets, marking->n_targets, sizeof(*marking->targets), compare_targets);
    add_marked(marking, value);
    value_builder_finish(marking->b, &marked, NULL);
    value_builder_free(marking->b);
    free(marking->targets);
    buf_done(&marking->pointer);
    return marked;
}

const struct value *value_mark_paths(const struct value *value, const struct value *pointers)
{
    struct marking marking;

    if (!value || !value_count(pointers))
        return value_ref(value);
    marking_init(&marking, value_count(pointers));
    for (size_t i = 0; i < value_count(pointers); i++) {
        struct target target = {0};

        target.pointer = value_string_n(value_at(pointers, i), &target.length);
        if (target.pointer)
            marking.targets[marking.n_targets++] = target;
    }
    return mark(&marking, value);
}

const struct value *value_put_sensitive(const struct value *value, const struct value *taken)
{
    _cleanup_value_ const struct value *put = NULL;
    struct marking marking;

    marking_init(&marking, value_count(taken));
    for (size_t i = 0; i < value_count(taken); i++) {
        struct target target = {.value = value_member(taken, i)};

        target.pointer = value_member_key(taken, i, &target.length);
        if (target.pointer)
            marking.targets[marking.n_targets++] = target;
    }
    put = mark(&marking, value);
    return marking.n_found == value_count(taken) ? TAKE(put) : NULL;
}

/* ---- From another value's bits ---- */

static void add_like(struct value_builder *b, const struct value *value, const struct value *like)
{
    if (!value_has_sensitive(like)) {
        value_add(b, value);
        return;
    }
    if (value_is_sensitive(like) || !value_is(like, VALUE_OBJECT) ||
        !value_is(value, VALUE_OBJECT)) {
        value_add_sensitive(b, value);
        return;
    }
    value_begin_like(b, value);
    for (size_t i = 0; i < value_count(value); i++) {
        size_t length = 0;
        const char *key = value_member_key(value, i, &length);

        value_key_n(b, key, length);
        add_like(b, value_member(value, i), value_get_n(like, key, length));
    }
    value_end(b);
}

const struct value *value_mark_like(const struct value *value, const struct value *like)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = NULL;
    const struct value *marked = NULL;

    if (!value || !value_has_sensitive(like) || value_is_sensitive(value))
        return value_ref(value);
    b = value_builder_new();
    add_like(b, value, like);
    value_builder_finish(b, &marked, NULL);
    return marked;
}
