#include "engine/value/value.h"

#include <stdarg.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/value/decimal.h"
#include "engine/value/value_private.h"

/* ---- Lifetime ---- */

struct document *document_new(void)
{
    struct document *document = NEW(struct document);

    atomic_init(&document->references, 1);
    return document;
}

void document_ref(struct document *document)
{
    atomic_fetch_add_explicit(&document->references, 1, memory_order_relaxed);
}

static bool is_last_reference(struct document *document)
{
    return atomic_fetch_sub_explicit(&document->references, 1, memory_order_acq_rel) == 1;
}

/* Documents reference others in chains of any length, so this does not recurse. */
void document_unref(struct document *document)
{
    struct document *dead;

    if (!is_last_reference(document))
        return;
    document->next_dead = NULL;
    dead = document;
    while (dead) {
        struct document *gone = dead;

        dead = gone->next_dead;
        for (size_t i = 0; i < gone->n_held; i++) {
            struct document *held = gone->held[i];

            if (is_last_reference(held)) {
                held->next_dead = dead;
                dead = held;
            }
        }
        arena_done(&gone->arena);
        free(gone);
    }
}

const struct value *value_ref(const struct value *value)
{
    if (value)
        document_ref(value->document);
    return value;
}

void value_unref(const struct value *value)
{
    if (value)
        document_unref(value->document);
}

void value_assign(const struct value **field, const struct value *value)
{
    const struct value *before = *field;

    *field = value_ref(value);
    value_unref(before);
}

struct document *value_owner(const struct value *value)
{
    if (value->type == VALUE_ARRAY && value->array)
        return value->array->owner;
    if (value->type == VALUE_OBJECT && value->object)
        return value->object->owner;
    if (value->type == VALUE_STRING && value->count >= VALUE_LONG_TEXT)
        return ((const struct text_block *)(const void *)(value->text -
                                                          offsetof(struct text_block, text)))
            ->owner;
    return NULL;
}

/* ---- Reading ---- */

enum value_type value_type(const struct value *value)
{
    return value ? (enum value_type)value->type : VALUE_NULL;
}

const char *value_type_name(const struct value *value)
{
    static const char *const names[] = {
        [VALUE_NULL] = "null",       [VALUE_BOOL] = "boolean", [VALUE_NUMBER] = "number",
        [VALUE_STRING] = "string",   [VALUE_ARRAY] = "array",  [VALUE_OBJECT] = "object",
        [VALUE_UNKNOWN] = "unknown",
    };

    return names[value_type(value)];
}

bool value_bool(const struct value *value, bool fallback)
{
    return value_is(value, VALUE_BOOL) ? value->boolean : fallback;
}

int64_t value_int(const struct value *value, int64_t fallback)
{
    struct decimal decimal;
    int64_t number;

    if (!value_is(value, VALUE_NUMBER) || !decimal_read(&decimal, value->text, value->count))
        return fallback;
    return decimal_to_int64(&decimal, &number) ? number : fallback;
}

const char *value_number(const struct value *value)
{
    return value_is(value, VALUE_NUMBER) ? value->text : NULL;
}

const char *value_string(const struct value *value)
{
    return value_is(value, VALUE_STRING) ? value->text : NULL;
}

const char *value_string_n(const struct value *value, size_t *ret_length)
{
    if (!value_is(value, VALUE_STRING))
        return NULL;
    *ret_length = value->count;
    return value->text;
}

size_t value_count(const struct value *value)
{
    if (value_is(value, VALUE_ARRAY) || value_is(value, VALUE_OBJECT))
        return value->count;
    return 0;
}

const struct value *value_at(const struct value *array, size_t index)
{
    if (!value_is(array, VALUE_ARRAY) || index >= array->count)
        return NULL;
    return &array->array->items[index];
}

int value_key_compare(const struct member *a, const struct member *b)
{
    size_t shorter = a->key_length < b->key_length ? a->key_length : b->key_length;
    int order = memcmp(a->key, b->key, shorter);

    if (order)
        return order;
    return (a->key_length > b->key_length) - (a->key_length < b->key_length);
}

static const struct member *find_sorted(const struct object_block *block, size_t count,
                                        const struct member *wanted)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct member *member = &block->members[block->sorted[middle]];
        int order = value_key_compare(wanted, member);

        if (order == 0)
            return member;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

const struct value *value_get_n(const struct value *object, const char *key, size_t length)
{
    const struct object_block *block;

    if (!key || value_count(object) == 0 || object->type != VALUE_OBJECT)
        return NULL;
    block = object->object;
    if (block->sorted) {
        const struct member wanted = {.key = key, .key_length = length};
        const struct member *found = find_sorted(block, object->count, &wanted);

        return found ? &found->value : NULL;
    }
    for (size_t i = 0; i < object->count; i++) {
        const struct member *member = &block->members[i];

        if (member->key_length == length && memcmp(member->key, key, length) == 0)
            return &member->value;
    }
    return NULL;
}

const struct value *value_get(const struct value *object, const char *key)
{
    return value_get_n(object, key, key ? strlen(key) : 0);
}

const char *value_get_string(const struct value *object, const char *key)
{
    return value_string(value_get(object, key));
}

const char *value_member_key(const struct value *object, size_t index, size_t *ret_length)
{
    const struct member *member;

    if (!value_is(object, VALUE_OBJECT) || index >= object->count)
        return NULL;
    member = &object->object->members[index];
    if (ret_length)
        *ret_length = member->key_length;
    return member->key;
}

const struct value *value_member(const struct value *object, size_t index)
{
    if (!value_is(object, VALUE_OBJECT) || index >= object->count)
        return NULL;
    return &object->object->members[index].value;
}

const struct value *value_child(const struct value *container, size_t index)
{
    return value_is(container, VALUE_OBJECT) ? value_member(container, index)
                                             : value_at(container, index);
}

const struct value *value_path(const struct value *value, ...)
{
    const char *key;
    va_list keys;

    va_start(keys, value);
    while (value && (key = va_arg(keys, const char *)))
        value = value_get(value, key);
    va_end(keys);
    return value;
}

bool value_has_unknown(const struct value *value)
{
    return value && value->marks & MARK_HAS_UNKNOWN;
}

bool value_is_sensitive(const struct value *value)
{
    return value && value->marks & MARK_SENSITIVE;
}

bool value_has_sensitive(const struct value *value)
{
    return value && value->marks & MARK_HAS_SENSITIVE;
}

size_t value_size(const struct value *value)
{
    if (value_count(value) == 0)
        return value ? 1 : 0;
    return value->type == VALUE_ARRAY ? value->array->size : value->object->size;
}

size_t value_memory(const struct value *value)
{
    return value && value == &value->document->root
               ? sizeof(struct document) + value->document->arena.used
               : 0;
}

/* ---- Comparing ---- */

static bool same_text(const struct value *a, const struct value *b)
{
    return a->count == b->count && memcmp(a->text, b->text, a->count) == 0;
}

static bool equal_numbers(const struct value *a, const struct value *b)
{
    struct decimal x, y;

    if (same_text(a, b))
        return true;
    return decimal_read(&x, a->text, a->count) && decimal_read(&y, b->text, b->count) &&
           decimal_equal(&x, &y);
}

static bool equal_arrays(const struct value *a, const struct value *b)
{
    if (a->count != b->count)
        return false;
    if (a->array == b->array)
        return true;
    for (size_t i = 0; i < a->count; i++)
        if (!value_equal(&a->array->items[i], &b->array->items[i]))
            return false;
    return true;
}

static bool equal_objects(const struct value *a, const struct value *b)
{
    if (a->count != b->count)
        return false;
    if (a->object == b->object)
        return true;
    for (size_t i = 0; i < a->count; i++) {
        const struct member *member = &a->object->members[i], *other = &b->object->members[i];
        const struct value *value = &other->value;

        /* Fast path: both objects usually have the same order of keys. */
        if (value_key_compare(member, other) != 0)
            value = value_get_n(b, member->key, member->key_length);
        if (!value || !value_equal(&member->value, value))
            return false;
    }
    return true;
}

bool value_equal(const struct value *a, const struct value *b)
{
    if (a == b)
        return true;
    if (!a || !b || a->type != b->type)
        return false;
    switch ((enum value_type)a->type) {
    case VALUE_NULL:
    case VALUE_UNKNOWN:
        return true;
    case VALUE_BOOL:
        return a->boolean == b->boolean;
    case VALUE_NUMBER:
        return equal_numbers(a, b);
    case VALUE_STRING:
        return same_text(a, b);
    case VALUE_ARRAY:
        return equal_arrays(a, b);
    case VALUE_OBJECT:
        return equal_objects(a, b);
    }
    return false;
}
