/* Sets of fields, as managedFields has them. A path is its steps with 0x1f between them, so that
 * what is below a field sorts right after it. */
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "test/unit/api_server/private.h"

#define STEP '\x1f'

/* ---- Sets ---- */

/* Where it is, or would be. */
static size_t find(const struct fields *fields, const char *path, bool *ret_is_there)
{
    size_t low = 0, high = fields->count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(fields->paths[middle], path);

        if (order == 0) {
            *ret_is_there = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *ret_is_there = false;
    return low;
}

bool api_fields_have(const struct fields *fields, const char *path)
{
    bool is_there;

    find(fields, path, &is_there);
    return is_there;
}

void api_fields_add(struct fields *to, const char *path)
{
    bool is_there;
    size_t at = find(to, path, &is_there);

    if (is_there)
        return;
    to->paths = mem_grow(to->paths, to->count, &to->capacity, sizeof(*to->paths));
    memmove(to->paths + at + 1, to->paths + at, (to->count - at) * sizeof(*to->paths));
    to->paths[at] = str_new(path);
    to->count++;
}

void api_fields_remove(struct fields *from, const char *path)
{
    bool is_there;
    size_t at = find(from, path, &is_there);

    if (!is_there)
        return;
    free(from->paths[at]);
    from->count--;
    memmove(from->paths + at, from->paths + at + 1, (from->count - at) * sizeof(*from->paths));
}

void api_fields_done(struct fields *fields)
{
    for (size_t i = 0; i < fields->count; i++)
        free(fields->paths[i]);
    free(fields->paths);
    *fields = (struct fields){0};
}

/* ---- Of objects ---- */

/* What nobody owns. */
static bool is_nobodys(const char *path)
{
    static const char *const all[] = {"f:apiVersion",
                                      "f:kind",
                                      "f:metadata",
                                      "f:metadata\x1f"
                                      "f:name",
                                      "f:metadata\x1f"
                                      "f:namespace",
                                      "f:metadata\x1f"
                                      "f:uid",
                                      "f:metadata\x1f"
                                      "f:resourceVersion",
                                      "f:metadata\x1f"
                                      "f:generation",
                                      "f:metadata\x1f"
                                      "f:creationTimestamp",
                                      "f:metadata\x1f"
                                      "f:deletionTimestamp",
                                      "f:metadata\x1f"
                                      "f:deletionGracePeriodSeconds",
                                      "f:metadata\x1f"
                                      "f:managedFields",
                                      "f:metadata\x1f"
                                      "f:selfLink"};

    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        if (str_equal(path, all[i]))
            return true;
    return false;
}

static bool is_set(const char *path)
{
    return str_equal(path, "f:metadata\x1f"
                           "f:finalizers");
}

static char *below(const char *path, const char *prefix, const char *key)
{
    return *path ? str_printf("%s%c%s%s", path, STEP, prefix, key)
                 : str_printf("%s%s", prefix, key);
}

static void collect(struct fields *to, const char *path, const struct value *value)
{
    if (is_set(path) && value_is(value, VALUE_ARRAY)) {
        for (size_t i = 0; i < value_count(value); i++) {
            _cleanup_free_ char *text = json_to_str(value_at(value, i)),
                                *item = below(path, "v:", text);

            api_fields_add(to, item);
        }
        return;
    }
    if (!value_is(value, VALUE_OBJECT) || value_count(value) == 0) {
        if (*path && !is_nobodys(path))
            api_fields_add(to, path);
        return;
    }
    for (size_t i = 0; i < value_count(value); i++) {
        _cleanup_free_ char *member = below(path, "f:", value_member_key(value, i, NULL));

        collect(to, member, value_member(value, i));
    }
}

void api_fields_of_object(struct fields *to, const struct value *object)
{
    collect(to, "", object);
}

/* ---- As managedFields has them ---- */

static void collect_v1(struct fields *to, const char *path, const struct value *value)
{
    if (*path && value_count(value) == 0)
        api_fields_add(to, path);
    for (size_t i = 0; i < value_count(value); i++) {
        _cleanup_free_ char *member = below(path, "", value_member_key(value, i, NULL));

        collect_v1(to, member, value_member(value, i));
    }
}

void api_fields_of_v1(struct fields *to, const struct value *fields_v1)
{
    collect_v1(to, "", fields_v1);
}

/* Those of paths[from…to) whose steps begin at depth; all share what is before it. */
static void add_steps(struct value_builder *b, char *const *paths, size_t from, size_t to,
                      size_t depth)
{
    value_begin_object(b);
    for (size_t end; from < to; from = end) {
        const char *step = paths[from] + depth;
        size_t length = strcspn(step, "\x1f"), first = from;

        for (end = from + 1; end < to && strncmp(paths[end] + depth, step, length) == 0 &&
                             (paths[end][depth + length] == STEP || !paths[end][depth + length]);)
            end++;
        value_key_n(b, step, length);
        if (!step[length])
            first++; /* the field itself: a leaf, or what is below it tells as well */
        add_steps(b, paths, first, end, depth + length + 1);
    }
    value_end_object(b);
}

const struct value *api_fields_to_v1(const struct fields *fields)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    const struct value *value = NULL;

    add_steps(b, fields->paths, 0, fields->count, 0);
    value_builder_finish(b, &value, NULL);
    return value;
}

/* ---- What is there ---- */

const struct value *api_fields_value(const struct value *object, const char *path)
{
    while (object && *path) {
        size_t length = strcspn(path, "\x1f");
        const struct value *item = NULL;

        if (path[0] == 'v') {
            for (size_t i = 0; i < value_count(object) && !item; i++) {
                _cleanup_free_ char *text = json_to_str(value_at(object, i));

                if (strlen(text) == length - 2 && strncmp(text, path + 2, length - 2) == 0)
                    item = value_at(object, i);
            }
            object = item;
        } else {
            object = value_get_n(object, path + 2, length - 2);
        }
        path += length + (path[length] == STEP);
    }
    return object;
}

static const struct value *without_item(const struct value *list, const char *text)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    const struct value *left = NULL;
    size_t count = 0;

    value_begin_array(b);
    for (size_t i = 0; i < value_count(list); i++) {
        _cleanup_free_ char *item = json_to_str(value_at(list, i));

        if (str_equal(item, text))
            continue;
        value_add(b, value_at(list, i));
        count++;
    }
    value_end_array(b);
    if (count)
        value_builder_finish(b, &left, NULL);
    return left;
}

/* NULL: nothing is left of it. */
static const struct value *without(const struct value *value, const char *path)
{
    size_t length = strcspn(path, "\x1f");
    _cleanup_free_ char *key = str_new_n(path + 2, length - 2);
    const struct value *member = value_get(value, key), *changed;
    _cleanup_value_ const struct value *left = NULL;

    if (path[0] == 'v')
        return without_item(value, key);
    if (!member)
        return value_ref(value);
    if (path[length])
        left = without(member, path + length + 1);
    changed = left ? value_with(value, key, left) : value_without(value, key);
    if (value_count(changed) > 0)
        return changed;
    value_unref(changed);
    return NULL;
}

const struct value *api_fields_without(const struct value *object, const char *path)
{
    return without(object, path);
}

char *api_fields_text(const char *path)
{
    struct buf text = BUF_INIT;

    while (*path) {
        size_t length = strcspn(path, "\x1f");

        buf_printf(&text, ".%.*s", (int)length - 2, path + 2);
        path += length + (path[length] == STEP);
    }
    return buf_take(&text);
}
