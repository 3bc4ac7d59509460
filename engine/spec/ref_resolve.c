#include <string.h>

#include "engine/base/base64.h"
#include "engine/base/limits.h"
#include "engine/base/str.h"
#include "engine/spec/place.h"
#include "engine/spec/private.h"
#include "engine/spec/ref.h"
#include "engine/spec/secret_ref.h"

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
    const struct ref_lookups *lookups;
    struct value_builder *made;
    bool is_data; /* at work in `data`, which holds Base64 */
    bool is_kept; /* at work where references to secrets stay */
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
        r = resolve->lookups->reference(resolve->lookups->arg, text, &found, error);
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

/* A reference. */
static const struct value *in_base64(const struct value *value)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    _cleanup_value_ const struct value *made = NULL;
    size_t length = 0;
    const char *bytes = value_string_n(value, &length);

    if (!bytes)
        return value_ref(value);
    base64_encode(&text, bytes, length);
    made = value_pack("s", text.data);
    explicit_bzero(text.data, text.length);
    return value_sensitive(made);
}

/* 1: it is none. */
static int add_secret(struct resolve *resolve, const struct value *value, struct error *error)
{
    _cleanup_free_ char *text = resolve->lookups->secret && !resolve->is_kept
                                    ? secret_ref_text(value, resolve->is_data)
                                    : NULL;
    _cleanup_value_ const struct value *found = NULL, *sent = NULL;
    int r;

    if (!text)
        return 1;
    r = resolve->lookups->secret(resolve->lookups->arg, text, &found, error);
    if (r != 0)
        return r;
    sent = resolve->is_data ? in_base64(found) : value_ref(found);
    if (!count_bytes(resolve, sent))
        return err_set(error, ERR_TOO_LARGE, "TooLarge",
                       "what its references name is more than %u MiB", LIMIT_REFERRED_BYTES >> 20);
    value_add_sensitive(resolve->made, sent);
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

static int add_top_member(struct resolve *resolve, const struct value *object, size_t index,
                          struct error *error)
{
    size_t length = 0;
    const char *key = value_member_key(object, index, &length);
    int r;

    resolve->is_data = resolve->lookups->has_data && str_equal(key, "data");
    resolve->is_kept = str_equal(key, resolve->lookups->kept);
    r = add_below(resolve, object, index, error);
    resolve->is_data = resolve->is_kept = false;
    return r;
}

static int add_top(struct resolve *resolve, const struct value *value, struct error *error)
{
    int r = 0;

    if (!value_is(value, VALUE_OBJECT))
        return add_resolved(resolve, value, error);
    value_begin_like(resolve->made, value);
    for (size_t i = 0; r == 0 && i < value_count(value); i++)
        r = add_top_member(resolve, value, i, error);
    if (r == 0)
        value_end(resolve->made);
    return r;
}

static int add_resolved(struct resolve *resolve, const struct value *value, struct error *error)
{
    size_t count = value_count(value);
    int r = 0;

    if (ref_is(value))
        return add_reference(resolve, value, error);
    if (!count && (r = add_secret(resolve, value, error)) <= 0)
        return r;
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

int ref_resolve_all(const struct value *value, const struct ref_lookups *lookups,
                    const struct value **ret, struct error *error)
{
    _cleanup_(value_builder_free_p) struct value_builder *made = NULL;
    struct resolve resolve = {.lookups = lookups};
    int r;

    if (!place_each_string(value, NULL, is_reference, NULL, NULL) &&
        !(lookups->secret && secret_ref_is_within(value))) {
        *ret = value_ref(value);
        return 0;
    }
    made = resolve.made = value_builder_new();
    r = add_top(&resolve, value, error);
    return r == 0 ? value_builder_finish(made, ret, error) : r;
}

int ref_resolve(const struct value *value, ref_lookup *lookup, void *arg, const struct value **ret,
                struct error *error)
{
    return ref_resolve_all(value, &(struct ref_lookups){.reference = lookup, .arg = arg}, ret,
                           error);
}
