#include "runtimes/terraform/values/set.h"

#include "engine/base/mem.h"
#include "engine/value/json.h"

static void add_text(struct buf *to, const struct value *value, const struct tf_type *type);

void tf_set_init(struct tf_set *set, const struct tf_type *type)
{
    *set = (struct tf_set){.type = type};
}

static void element_done(struct tf_element *element)
{
    value_unref(element->value);
    buf_done(&element->text);
    buf_done(&element->bytes);
}

void tf_set_done(struct tf_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        element_done(&set->elements[i]);
    free(set->elements);
}

/* ---- A text of an element. It need not tell different values apart. ---- */

static void add_items(struct buf *to, const struct value *value, const struct tf_type *type)
{
    buf_add_char(to, type->kind == TF_TUPLE ? '<' : '[');
    for (size_t i = 0; i < value_count(value); i++) {
        add_text(to, value_at(value, i), type->element ? type->element : type->members[i].type);
        buf_add_char(to, ';');
    }
    buf_add_char(to, type->kind == TF_TUPLE ? '>' : ']');
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The keys, sorted. free() the array; the keys are the value's. */
static const char **sorted_keys(const struct value *value)
{
    const char **keys = NEW_ARRAY(const char *, value_count(value) + 1);

    for (size_t i = 0; i < value_count(value); i++)
        keys[i] = value_member_key(value, i, NULL);
    qsort(keys, value_count(value), sizeof(*keys), compare_names);
    return keys;
}

static void add_members(struct buf *to, const struct value *value, const struct tf_type *type)
{
    _cleanup_free_ const char **keys = sorted_keys(value);
    bool is_map = type->kind == TF_MAP;

    buf_add_char(to, is_map ? '{' : '<');
    for (size_t i = 0; i < value_count(value); i++) {
        const struct tf_type *of =
            is_map ? type->element : tf_type_member(type, keys[i], strlen(keys[i]));

        if (is_map)
            buf_printf(to, "\"%s\":", keys[i]);
        add_text(to, value_get(value, keys[i]), of ? of : &tf_dynamic);
        buf_add_char(to, ';');
    }
    buf_add_char(to, is_map ? '}' : '>');
}

static void add_string(struct buf *to, const struct value *value)
{
    size_t length;
    const char *text = value_string_n(value, &length);

    json_write_string(to, text, length);
}

static void add_text(struct buf *to, const struct value *value, const struct tf_type *type)
{
    if (value_is(value, VALUE_UNKNOWN))
        buf_add_char(to, '?');
    else if (!value || value_is(value, VALUE_NULL))
        buf_add_char(to, '~');
    else if (value_is(value, VALUE_BOOL))
        buf_add_char(to, value_bool(value, false) ? 'T' : 'F');
    else if (value_is(value, VALUE_NUMBER))
        buf_printf(to, "%.10g", strtod(value_number(value), NULL));
    else if (value_is(value, VALUE_STRING))
        add_string(to, value);
    else if (type->kind == TF_DYNAMIC)
        json_write(to, value, JSON_CANONICAL);
    else if (value_is(value, VALUE_ARRAY))
        add_items(to, value, type);
    else
        add_members(to, value, type);
}

/* ---- The order ---- */

/* What is known comes first, and null last. */
static int rank(const struct value *value)
{
    return !value || value_is(value, VALUE_NULL) ? 2 : value_is(value, VALUE_UNKNOWN);
}

static int compare_strings(const struct value *a, const struct value *b)
{
    size_t a_length, b_length;
    const char *one = value_string_n(a, &a_length), *other = value_string_n(b, &b_length);
    int order = memcmp(one, other, a_length < b_length ? a_length : b_length);

    return order ? order : (a_length > b_length) - (a_length < b_length);
}

static int compare_numbers(const struct value *a, const struct value *b)
{
    double one = strtod(value_number(a), NULL), other = strtod(value_number(b), NULL);

    return (one > other) - (one < other);
}

static int compare(const void *a, const void *b)
{
    const struct tf_element *one = a, *other = b;
    int order = rank(one->value) - rank(other->value);

    if (order || rank(one->value))
        return order;
    if (value_is(one->value, VALUE_STRING) && value_is(other->value, VALUE_STRING))
        return compare_strings(one->value, other->value);
    if (value_is(one->value, VALUE_NUMBER) && value_is(other->value, VALUE_NUMBER))
        order = compare_numbers(one->value, other->value);
    return order ? order : strcmp(one->text.data, other->text.data);
}

/* True if one of the first n is equal, and known. Equal ones have the same place. */
static bool is_there(const struct tf_set *set, size_t n, const struct tf_element *element)
{
    if (value_has_unknown(element->value))
        return false;
    while (n-- > 0 && compare(&set->elements[n], element) == 0)
        if (value_equal(set->elements[n].value, element->value))
            return true;
    return false;
}

/* ---- The set ---- */

struct tf_element *tf_set_add(struct tf_set *set, const struct value *element)
{
    struct tf_element *added;

    set->elements = mem_grow(set->elements, set->count, &set->capacity, sizeof(*set->elements));
    added = &set->elements[set->count++];
    *added = (struct tf_element){.value = element, .text = BUF_INIT, .bytes = BUF_INIT};
    add_text(&added->text, element, set->type);
    return added;
}

void tf_set_sort(struct tf_set *set)
{
    size_t n = 0;

    if (set->count)
        qsort(set->elements, set->count, sizeof(*set->elements), compare);
    for (size_t i = 0; i < set->count; i++) {
        if (is_there(set, n, &set->elements[i]))
            element_done(&set->elements[i]);
        else
            set->elements[n++] = set->elements[i];
    }
    set->count = n;
}

void tf_set_put(struct tf_set *set, struct value_builder *b)
{
    tf_set_sort(set);
    for (size_t i = 0; i < set->count; i++)
        value_add(b, set->elements[i].value);
}
