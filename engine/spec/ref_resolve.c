#include "engine/base/limits.h"
#include "engine/spec/place.h"
#include "engine/spec/ref_text.h"

/* ---- Looking at references ---- */

struct visit {
    ref_visit *fn;
    void *arg;
};

static int visit_string(void *arg, const struct value *string, const struct place *place,
                        struct error *error)
{
    const struct visit *visit = arg;
    const char *text;

    (void)place;
    return ref_is(string) && ref_text(string, &text, NULL) == 0 ? visit->fn(visit->arg, text, error)
                                                                : 0;
}

int ref_each(const struct value *value, ref_visit *fn, void *arg, struct error *error)
{
    struct visit visit = {fn, arg};

    return place_each_string(value, NULL, visit_string, &visit, error);
}

/* ---- Replacing them ---- */

struct resolve {
    ref_lookup *lookup;
    void *arg;
    struct value_builder *made;
    size_t bytes; /* of what was found: LIMIT_REFERRED_BYTES */
};

/* Ends as soon as it is too much: what is found may be large each time. */
static bool count_bytes(struct resolve *resolve, const struct value *found)
{
    size_t length = 0;
    bool has_room;

    value_string_n(found, &length);
    resolve->bytes += length + 1;
    has_room = resolve->bytes <= LIMIT_REFERRED_BYTES;
    for (size_t i = 0; has_room && i < value_count(found); i++) {
        length = 0;
        value_member_key(found, i, &length);
        resolve->bytes += length;
        has_room = count_bytes(resolve, value_child(found, i));
    }
    return has_room;
}

static int add_reference(struct resolve *resolve, const struct value *value, struct error *error)
{
    _cleanup_value_ const struct value *found = NULL;
    const char *text = "";
    int r = ref_text(value, &text, error);

    if (r == 0)
        r = resolve->lookup(resolve->arg, text, &found, error);
    if (r != 0)
        return r;
    if (!found)
        found = value_pack("u");
    if (!count_bytes(resolve, found))
        return err_set(error, ERR_TOO_LARGE, "TooLarge",
                       "what its references name is more than %u MiB", LIMIT_REFERRED_BYTES >> 20);
    if (value_is_sensitive(value))
        value_add_sensitive(resolve->made, found);
    else
        value_add(resolve->made, found);
    return 0;
}

static int add_resolved(struct resolve *resolve, const struct value *value, struct error *error);

static int add_below(struct resolve *resolve, const struct value *container, size_t index,
                     struct error *error)
{
    size_t length = 0;
    const char *key = value_member_key(container, index, &length);

    if (!key)
        return add_resolved(resolve, value_at(container, index), error);
    value_key_n(resolve->made, key, length);
    return add_resolved(resolve, value_member(container, index), error);
}

static int add_resolved(struct resolve *resolve, const struct value *value, struct error *error)
{
    size_t count = value_count(value);
    int r = 0;

    if (ref_is(value))
        return add_reference(resolve, value, error);
    if (!count) {
        value_add(resolve->made, value);
        return 0;
    }
    value_begin_like(resolve->made, value);
    for (size_t i = 0; r == 0 && i < count; i++)
        r = add_below(resolve, value, i, error);
    if (r == 0)
        value_end(resolve->made);
    return r;
}

static int is_reference(void *arg, const struct value *string, const struct place *place,
                        struct error *error)
{
    (void)arg, (void)place, (void)error;
    return ref_is(string);
}

int ref_resolve(const struct value *value, ref_lookup *lookup, void *arg, const struct value **ret,
                struct error *error)
{
    _cleanup_(value_builder_free_p) struct value_builder *made = NULL;
    struct resolve resolve = {.lookup = lookup, .arg = arg};
    int r;

    if (!place_each_string(value, NULL, is_reference, NULL, NULL)) {
        *ret = value_ref(value);
        return 0;
    }
    made = resolve.made = value_builder_new();
    r = add_resolved(&resolve, value, error);
    return r == 0 ? value_builder_finish(made, ret, error) : r;
}
