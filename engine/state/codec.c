#include "engine/state/codec.h"

#include "engine/base/limits.h"
#include "engine/base/str.h"
#include "engine/state/state_value.h"
#include "engine/value/value_mark.h"

#define SENSITIVE "sensitive" /* the pointers to what is */

/* NULL and values with VALUE_UNKNOWN inside cannot be stored. */
static int storable_check(const struct value *value, struct error *error)
{
    if (!value)
        return err_set(error, ERR_TOO_LARGE, "StateTooLarge", "State has more than %u values",
                       LIMIT_DOCUMENT_VALUES);
    if (value_has_unknown(value))
        return err_set(error, ERR_INTERNAL, "StateUnknown",
                       "a record has a value that is not known");
    return 0;
}

/* ---- A State, in two parts ---- */

static const struct value *keys_of(const struct value *object)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    value_begin_array(b);
    for (size_t i = 0; i < value_count(object); i++) {
        size_t length = 0;
        const char *key = value_member_key(object, i, &length);

        value_add_string_n(b, key, length);
    }
    value_end_array(b);
    return value_finish(b);
}

static int encode_parts(const struct value *whole, uint64_t serial, struct document *ret,
                        struct error *error)
{
    _cleanup_value_ const struct value *taken = NULL, *pointers = NULL, *open = NULL,
                                       *secret = NULL;
    _cleanup_value_ const struct value *left = value_take_sensitive(whole, &taken);
    int r = storable_check(left, error);

    if (r < 0)
        return r;
    pointers = keys_of(taken);
    open = pointers ? value_with(left, SENSITIVE, pointers) : NULL;
    secret = value_pack("{s:I, s:v}", "serial", (int64_t)serial, "values", taken);
    r = storable_check(open, error);
    if (r >= 0)
        r = storable_check(secret, error);
    if (r >= 0)
        r = value_compress(open, &ret->open, error);
    return r < 0 ? r : value_compress(secret, &ret->secret, error);
}

int state_encode(const struct state *state, struct document *ret, struct error *error)
{
    _cleanup_value_ const struct value *whole = state_to_value(state);
    int r = storable_check(whole, error);

    if (r < 0)
        return r;
    if (value_has_sensitive(whole))
        return encode_parts(whole, state_head(state)->serial, ret, error);
    return value_compress(whole, &ret->open, error);
}

/* Checks that the secret part belongs to the open part. *ret, borrowed from it, are its values by
 * pointer. */
static int secret_check(const struct value *open, const struct value *secret,
                        const struct value **ret, struct error *error)
{
    static const char *const known[] = {"serial", "values", NULL};
    const struct value *values = value_get(secret, "values");
    _cleanup_value_ const struct value *pointers = NULL;
    int r = members_check(secret, known, error);

    if (r < 0)
        return r;
    if (!value_equal(value_get(open, "serial"), value_get(secret, "serial")))
        return state_corrupt(error, "the open part and the secret part come from different writes");
    pointers = keys_of(values);
    if (!value_is(values, VALUE_OBJECT) || !value_equal(pointers, value_get(open, SENSITIVE)))
        return state_corrupt(
            error, "the values of the secret part are not those that the open part lacks");
    *ret = values;
    return 0;
}

static int join_parts(const struct value *open, const struct value *secret,
                      const struct value **ret, struct error *error)
{
    _cleanup_value_ const struct value *rest = value_without(open, SENSITIVE);
    const struct value *values = NULL;
    int r = secret_check(open, secret, &values, error);

    if (r < 0)
        return r;
    *ret = value_put_sensitive(rest, values);
    if (!*ret)
        return state_corrupt(error, "the secret part has values that have no place in State");
    return 0;
}

static int decode_snapshot(const struct document *document, struct state **ret, struct error *error)
{
    _cleanup_value_ const struct value *open = NULL, *secret = NULL, *whole = NULL;
    int r = value_expand(document->open.data, document->open.length, &open, error);

    if (r >= 0)
        r = format_check(open, error);
    if (r < 0)
        return r;
    if (!document->secret.length && !value_get(open, SENSITIVE))
        return state_from_value(open, ret, error);
    r = value_expand(document->secret.data, document->secret.length, &secret, error);
    if (r < 0) {
        err_wrap(error, "the secret part");
        return r;
    }
    r = join_parts(open, secret, &whole, error);
    return r < 0 ? r : state_from_value(whole, ret, error);
}

/* ---- With the bits beside it: what is secret as a whole ---- */

static int encode_marked(const struct value *value, struct buf *ret, struct error *error)
{
    _cleanup_value_ const struct value *pointers = NULL, *marked = NULL;
    int r = storable_check(value, error);

    if (r < 0)
        return r;
    pointers = value_sensitive_paths(value);
    if (pointers || value_has_sensitive(value))
        marked = pointers ? value_with(value, SENSITIVE, pointers) : NULL;
    else
        marked = value_ref(value);
    r = storable_check(marked, error);
    return r < 0 ? r : value_compress(marked, ret, error);
}

static int decode_marked(const struct buf *bytes, const struct value **ret, struct error *error)
{
    _cleanup_value_ const struct value *marked = NULL;
    int r = value_expand(bytes->data, bytes->length, &marked, error);

    if (r >= 0)
        r = format_check(marked, error);
    if (r < 0)
        return r;
    *ret = value_mark_paths(marked, value_get(marked, SENSITIVE));
    return *ret ? 0 : state_corrupt(error, "its fields are too many");
}

/* ---- A journal's entry ---- */

static const struct value *head_changes(const struct state_head *before,
                                        const struct state_head *head)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    value_begin_object(b);
    for (size_t i = 0; i < N_HEAD_FIELDS; i++) {
        _cleanup_value_ const struct value *was = head_field_value(&head_fields[i], before);
        _cleanup_value_ const struct value *now = head_field_value(&head_fields[i], head);

        if (value_equal(was, now))
            continue;
        value_key(b, head_fields[i].name);
        value_add(b, now);
    }
    value_end_object(b);
    return value_finish(b);
}

int entry_encode(const struct state_head *before, const struct state_head *head,
                 const struct changes *changes, struct buf *ret, struct error *error)
{
    _cleanup_value_ const struct value *list = changes_to_value(changes), *entry = NULL;
    int r = storable_check(list, error);

    if (r < 0)
        return r;
    entry = value_pack("{s:i, s:I, s:V, s:v}", "format", STATE_FORMAT, "serial",
                       (int64_t)head->serial, "head", head_changes(before, head), "changes", list);
    return encode_marked(entry, ret, error);
}

static int apply_head(struct state *state, const struct value *fields, int64_t serial,
                      struct error *error)
{
    static const char *const others[] = {"specUid", NULL};
    struct state_head head = *state_head(state);
    int r = head_members_check(fields, others, error);

    for (size_t i = 0; r >= 0 && i < N_HEAD_FIELDS; i++)
        r = head_field_read(&head_fields[i], fields, &head, error);
    if (r < 0)
        return r;
    head.serial = (uint64_t)serial;
    state_set_head(state, &head);
    return 0;
}

static int apply_fields(struct state *state, const struct value *entry, int64_t serial,
                        struct error *error)
{
    _cleanup_(changes_done) struct changes changes = CHANGES_INIT;
    int r = changes_from_value(value_get(entry, "changes"), &changes, error);

    if (r >= 0)
        r = apply_head(state, value_get(entry, "head"), serial, error);
    for (size_t i = 0; r >= 0 && i < changes.count; i++)
        change_apply(&changes.items[i], state);
    return r;
}

static int apply_entry(struct state *state, const struct buf *bytes, struct error *error)
{
    static const char *const known[] = {"format", "serial", "head", "changes", SENSITIVE, NULL};
    int64_t now = (int64_t)state_head(state)->serial, serial = 0;
    _cleanup_value_ const struct value *entry = NULL;
    int r = decode_marked(bytes, &entry, error);

    if (r >= 0)
        r = members_check(entry, known, error);
    if (r >= 0)
        r = member_int(entry, "serial", &serial, error);
    if (r < 0 || serial <= now)
        return r;
    if (serial - now != 1)
        return state_corrupt(error, "it has the serial %lld, after %lld: entries are missing",
                             (long long)serial, (long long)now);
    return apply_fields(state, entry, serial, error);
}

int state_decode(const struct document *document, struct state **ret, struct error *error)
{
    _cleanup_(state_free_p) struct state *state = NULL;
    int r = decode_snapshot(document, &state, error);

    if (r < 0)
        return r;
    for (size_t i = 0; i < document->n_entries; i++) {
        r = apply_entry(state, &document->entries[i], error);
        if (r < 0) {
            err_wrap(error, "entry %zu of State's journal", i);
            return r;
        }
    }
    *ret = TAKE(state);
    return 0;
}

/* ---- What a call came to ---- */

int outcome_encode(const char *call, const struct changes *changes, struct document *ret,
                   struct error *error)
{
    _cleanup_value_ const struct value *list = changes_to_value(changes), *secret = NULL;
    _cleanup_value_ const struct value *open =
        value_pack("{s:i, s:s}", "format", STATE_FORMAT, "call", call);
    int r = storable_check(list, error);

    if (r < 0)
        return r;
    secret = value_pack("{s:i, s:v}", "format", STATE_FORMAT, "changes", list);
    r = encode_marked(secret, &ret->secret, error);
    return r < 0 ? r : value_compress(open, &ret->open, error);
}

int outcome_decode(const struct document *document, const char *call, struct changes *ret,
                   struct error *error)
{
    static const char *const known[] = {"format", "call", NULL};
    static const char *const known_secret[] = {"format", "changes", SENSITIVE, NULL};
    _cleanup_value_ const struct value *open = NULL, *secret = NULL;
    int r = value_expand(document->open.data, document->open.length, &open, error);

    if (r >= 0)
        r = format_check(open, error);
    if (r >= 0)
        r = members_check(open, known, error);
    if (r >= 0 && !str_equal(value_get_string(open, "call"), call))
        r = state_corrupt(error, "it is of another call");
    if (r >= 0)
        r = decode_marked(&document->secret, &secret, error);
    if (r >= 0)
        r = members_check(secret, known_secret, error);
    return r < 0 ? r : changes_from_value(value_get(secret, "changes"), ret, error);
}
