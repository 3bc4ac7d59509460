#include "runtimes/http/resource/compare.h"

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/spec/check.h"
#include "engine/value/path.h"

/* Items of longer lists are compared in order, because each would be compared with each. */
#define UNORDERED_ITEMS 1000

static bool has_pointer(const struct value *pointers, const char *pointer)
{
    for (size_t i = 0; i < value_count(pointers); i++)
        if (str_equal(value_string(value_at(pointers, i)), pointer))
            return true;
    return false;
}

static void add_projected(struct value_builder *b, const struct comparison *comparison,
                          struct buf *pointer, const struct value *wanted,
                          const struct value *recorded, const struct value *thing);

/* What was wanted before, is not wanted any more, and is still there. */
static void add_leaving(struct value_builder *b, const struct value *wanted,
                        const struct value *recorded, const struct value *thing)
{
    size_t length;

    for (size_t i = 0; i < value_count(recorded); i++) {
        const char *key = value_member_key(recorded, i, &length);
        const struct value *in_thing = value_get_n(thing, key, length);

        if (value_get_n(wanted, key, length) || check_is_absent(in_thing))
            continue;
        value_key_n(b, key, length);
        value_add(b, in_thing);
    }
}

/* Members that are wanted. One that is null, and not there, is as it is wanted. */
static void add_object(struct value_builder *b, const struct comparison *comparison,
                       struct buf *pointer, const struct value *wanted,
                       const struct value *recorded, const struct value *thing)
{
    size_t length;

    value_begin_object(b);
    for (size_t i = 0; i < value_count(wanted); i++) {
        const char *key = value_member_key(wanted, i, &length);
        const struct value *before = value_get_n(recorded, key, length);
        const struct value *in_thing = value_get_n(thing, key, length);
        size_t end = pointer->length;

        pointer_add(pointer, key, length);
        if (has_pointer(comparison->write_only, pointer->data))
            in_thing = before;
        if (in_thing || check_is_absent(value_member(wanted, i))) {
            value_key_n(b, key, length);
            add_projected(b, comparison, pointer, value_member(wanted, i), before, in_thing);
        }
        pointer->length = end;
        pointer->data[end] = '\0';
    }
    if (value_is(recorded, VALUE_OBJECT))
        add_leaving(b, wanted, recorded, thing);
    value_end_object(b);
}

/* A reference. */
static const struct value *project(const struct comparison *comparison, struct buf *pointer,
                                   const struct value *wanted, const struct value *recorded,
                                   const struct value *thing)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    add_projected(b, comparison, pointer, wanted, recorded, thing);
    return value_finish(b);
}

/* The items of the thing, each beside the wanted one that it equals; the others follow in their
 * order. */
static void add_unordered(struct value_builder *b, const struct comparison *comparison,
                          struct buf *pointer, const struct value *wanted,
                          const struct value *thing)
{
    size_t n = value_count(thing);
    _cleanup_free_ bool *is_used = NEW_ARRAY(bool, n + 1);

    value_begin_array(b);
    for (size_t i = 0; i < value_count(wanted); i++)
        for (size_t j = 0; j < n; j++) {
            const struct value *item =
                is_used[j]
                    ? NULL
                    : project(comparison, pointer, value_at(wanted, i), NULL, value_at(thing, j));

            is_used[j] = is_used[j] || value_equal(item, value_at(wanted, i));
            if (item && is_used[j]) {
                value_add_copy(b, item);
                value_unref(item);
                break;
            }
            value_unref(item);
        }
    for (size_t j = 0; j < n; j++)
        if (!is_used[j])
            value_add(b, value_at(thing, j));
    value_end_array(b);
}

static void add_array(struct value_builder *b, const struct comparison *comparison,
                      struct buf *pointer, const struct value *wanted, const struct value *thing)
{
    value_begin_array(b);
    for (size_t i = 0; i < value_count(thing); i++)
        if (i < value_count(wanted))
            add_projected(b, comparison, pointer, value_at(wanted, i), NULL, value_at(thing, i));
        else
            value_add(b, value_at(thing, i));
    value_end_array(b);
}

static void add_projected(struct value_builder *b, const struct comparison *comparison,
                          struct buf *pointer, const struct value *wanted,
                          const struct value *recorded, const struct value *thing)
{
    if (value_is(wanted, VALUE_OBJECT) && value_is(thing, VALUE_OBJECT))
        add_object(b, comparison, pointer, wanted, recorded, thing);
    else if (!value_is(wanted, VALUE_ARRAY) || !value_is(thing, VALUE_ARRAY))
        value_add(b, thing);
    else if (has_pointer(comparison->unordered, pointer->data) &&
             value_count(wanted) <= UNORDERED_ITEMS && value_count(thing) <= UNORDERED_ITEMS)
        add_unordered(b, comparison, pointer, wanted, thing);
    else
        add_array(b, comparison, pointer, wanted, thing);
}

const struct value *compare_project(const struct comparison *comparison, const struct value *thing)
{
    _cleanup_buf_ struct buf pointer = BUF_INIT;

    return project(comparison, &pointer, comparison->wanted, comparison->recorded, thing);
}

const char *compare_first(const struct value *pointers, const struct value *a,
                          const struct value *b)
{
    for (size_t i = 0; i < value_count(pointers); i++) {
        const char *pointer = value_string(value_at(pointers, i));
        const struct value *in_a = pointer_find(a, pointer), *in_b = pointer_find(b, pointer);

        if (check_is_absent(in_a) != check_is_absent(in_b) || (in_a && !value_equal(in_a, in_b)))
            return pointer;
    }
    return NULL;
}
