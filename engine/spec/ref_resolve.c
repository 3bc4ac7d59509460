#include <string.h>

#include "engine/base/path.h"
#include "engine/spec/place.h"
#include "engine/spec/ref_text.h"

struct resolve {
    ref_lookup *lookup;
    void *arg;
    struct value_builder *made;
    struct value_builder *sensitive; /* an array of pointers, begun with the first */
    struct buf pointer;              /* to where we are */
    bool unknown;
};

static void resolve_done(struct resolve *resolve)
{
    value_builder_free(resolve->made);
    value_builder_free(resolve->sensitive);
    buf_done(&resolve->pointer);
}

static void note_sensitive(struct resolve *resolve)
{
    if (!resolve->sensitive) {
        resolve->sensitive = value_builder_new();
        value_begin_array(resolve->sensitive);
    }
    value_add_string_n(resolve->sensitive, resolve->pointer.data, resolve->pointer.length);
}

static int add_reference(struct resolve *resolve, const struct value *value, struct error *error)
{
    struct ref_value found = {0};
    const char *text = "";
    int r = ref_text(value, &text, error);

    /* A pointer is a string: what is sensitive would not be found by one that is cut off. */
    if (r == 0 && memchr(resolve->pointer.data, '\0', resolve->pointer.length))
        return err_set(error, ERR_INVALID, "InvalidReference",
                       "the reference \"%s\" stands below a key that holds a NUL", text);
    if (r == 0)
        r = resolve->lookup(resolve->arg, text, &found, error);
    if (r != 0)
        return r;
    if (found.value) {
        value_add(resolve->made, found.value);
        value_unref(found.value);
    } else {
        value_add_string(resolve->made, REF_UNKNOWN);
        resolve->unknown = true;
    }
    if (found.sensitive)
        note_sensitive(resolve);
    return 0;
}

static int add_resolved(struct resolve *resolve, const struct value *value, struct error *error);

static int add_member(struct resolve *resolve, const struct value *object, size_t index,
                      struct error *error)
{
    size_t length = 0, before = resolve->pointer.length;
    const char *key = value_member_key(object, index, &length);
    int r;

    value_key_n(resolve->made, key, length);
    pointer_add(&resolve->pointer, key, length);
    r = add_resolved(resolve, value_member(object, index), error);
    resolve->pointer.length = before;
    return r;
}

static int add_item(struct resolve *resolve, const struct value *array, size_t index,
                    struct error *error)
{
    size_t before = resolve->pointer.length;
    int r;

    buf_printf(&resolve->pointer, "/%zu", index);
    r = add_resolved(resolve, value_at(array, index), error);
    resolve->pointer.length = before;
    return r;
}

static int add_resolved(struct resolve *resolve, const struct value *value, struct error *error)
{
    size_t count = value_count(value);
    int r = 0;

    if (ref_is(value))
        return add_reference(resolve, value, error);
    if (value_is(value, VALUE_OBJECT)) {
        value_begin_object(resolve->made);
        for (size_t i = 0; r == 0 && i < count; i++)
            r = add_member(resolve, value, i, error);
        if (r == 0)
            value_end_object(resolve->made);
    } else if (value_is(value, VALUE_ARRAY)) {
        value_begin_array(resolve->made);
        for (size_t i = 0; r == 0 && i < count; i++)
            r = add_item(resolve, value, i, error);
        if (r == 0)
            value_end_array(resolve->made);
    } else {
        value_add(resolve->made, value);
    }
    return r;
}

static int is_reference(void *arg, const struct value *string, const struct place *place,
                        struct error *error)
{
    (void)arg, (void)place, (void)error;
    return ref_is(string);
}

static int finish(struct resolve *resolve, const struct value **ret,
                  const struct value **ret_sensitive, struct error *error)
{
    _cleanup_value_ const struct value *made = NULL, *sensitive = NULL;
    int r = value_builder_finish(resolve->made, &made, error);

    if (r == 0 && resolve->sensitive) {
        value_end_array(resolve->sensitive);
        r = value_builder_finish(resolve->sensitive, &sensitive, error);
    }
    if (r != 0)
        return r;
    *ret = TAKE(made);
    if (ret_sensitive)
        *ret_sensitive = TAKE(sensitive);
    return 0;
}

int ref_resolve(const struct value *value, ref_lookup *lookup, void *arg, const struct value **ret,
                bool *ret_unknown, const struct value **ret_sensitive, struct error *error)
{
    _cleanup_(resolve_done) struct resolve resolve = {
        .lookup = lookup, .arg = arg, .pointer = BUF_INIT};
    int r;

    if (!place_each_string(value, NULL, is_reference, NULL, NULL)) {
        *ret = value_ref(value);
        *ret_unknown = false;
        if (ret_sensitive)
            *ret_sensitive = NULL;
        return 0;
    }
    resolve.made = value_builder_new();
    r = add_resolved(&resolve, value, error);
    if (r == 0)
        r = finish(&resolve, ret, ret_sensitive, error);
    if (r == 0)
        *ret_unknown = resolve.unknown;
    return r;
}
