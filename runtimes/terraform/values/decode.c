#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "engine/base/limits.h"
#include "engine/base/utf8.h"
#include "engine/value/decimal.h"
#include "engine/value/json.h"
#include "runtimes/terraform/values/msgpack.h"
#include "runtimes/terraform/values/set.h"
#include "runtimes/terraform/values/values.h"

struct decoding {
    struct msgpack_reader reader;
    struct arena *arena; /* of types that dynamic values bring along */
    enum tf_form form;
    size_t depth;
    struct error *error;
};

static int decode(struct decoding *decoding, const struct tf_type *type, struct value_builder *b);

static int bad(const struct decoding *decoding, const char *what)
{
    return err_set(decoding->error, ERR_INVALID, "ProviderFailed",
                   "a value of the provider cannot be read: %s", what);
}

/* ---- Scalars ---- */

static int decode_string(const struct decoding *decoding, const struct msgpack_item *item,
                         struct value_builder *b)
{
    if (item->type != MSGPACK_STRING)
        return bad(decoding, "it is not a string");
    if (utf8_valid(item->data, item->length) != item->length)
        return bad(decoding, "a string is not UTF-8");
    value_add_string_n(b, item->data, item->length);
    return 0;
}

/* A whole number exactly; another one as the shortest text that is the same double, because people
 * read it. */
static int decode_double(const struct decoding *decoding, double number, struct value_builder *b)
{
    char text[LIMIT_NUMBER_BYTES];
    int length;

    if (!isfinite(number))
        return bad(decoding, "a number is not finite");
    length = snprintf(text, sizeof(text), "%.0f", number); /* 310 bytes at most */
    for (int digits = 15; strtod(text, NULL) != number; digits++)
        length = snprintf(text, sizeof(text), "%.*g", digits, number);
    value_add_number(b, text, (size_t)length);
    return 0;
}

static int decode_number(const struct decoding *decoding, const struct msgpack_item *item,
                         struct value_builder *b)
{
    struct decimal decimal;
    char text[24];

    switch (item->type) {
    case MSGPACK_INT:
        value_add_int(b, item->integer);
        return 0;
    case MSGPACK_UNSIGNED:
        value_add_number(b, text,
                         (size_t)snprintf(text, sizeof(text), "%" PRIu64, item->unsigned_integer));
        return 0;
    case MSGPACK_DOUBLE:
        return decode_double(decoding, item->number, b);
    case MSGPACK_STRING:
        if (!decimal_read(&decimal, item->data, item->length))
            break;
        value_add_number(b, item->data, item->length);
        return 0;
    default:
        break;
    }
    return bad(decoding, "it is not a number");
}

static int decode_bool(const struct decoding *decoding, const struct msgpack_item *item,
                       struct value_builder *b)
{
    if (item->type != MSGPACK_BOOL)
        return bad(decoding, "it is not a boolean");
    value_add_bool(b, item->boolean);
    return 0;
}

/* ---- Collections ---- */

static int decode_items(struct decoding *decoding, const struct tf_type *type, size_t count,
                        struct value_builder *b)
{
    int r = 0;

    if (type->kind == TF_TUPLE && count != type->n_members)
        return bad(decoding, "a tuple has another length than its type");
    value_begin_array(b);
    for (size_t i = 0; i < count && r >= 0; i++)
        r = decode(decoding, type->element ? type->element : type->members[i].type, b);
    if (r >= 0)
        value_end_array(b);
    return r;
}

static int decode_element(struct decoding *decoding, struct tf_set *set)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    const struct value *element = NULL;
    int r = decode(decoding, set->type, b);

    if (r >= 0 || value_builder_error(b))
        r = value_builder_finish(b, &element, decoding->error);
    if (r >= 0)
        tf_set_add(set, element);
    return r;
}

static int decode_set(struct decoding *decoding, const struct tf_type *type, size_t count,
                      struct value_builder *b)
{
    _cleanup_(tf_set_done) struct tf_set set;
    int r = 0;

    tf_set_init(&set, type->element);
    for (size_t i = 0; i < count && r >= 0; i++)
        r = decode_element(decoding, &set);
    if (r < 0)
        return r;
    value_begin_array(b);
    tf_set_put(&set, b);
    value_end_array(b);
    return 0;
}

/* The members of an object, or the entries of a map. */
static int decode_members(struct decoding *decoding, const struct tf_type *type, size_t count,
                          struct value_builder *b)
{
    int r = 0;

    if (type->kind == TF_OBJECT && count != type->n_members)
        return bad(decoding, "an object has not the members of its type");
    value_begin_object(b);
    for (size_t i = 0; i < count && r >= 0; i++) {
        const struct tf_type *of = type->element;
        struct msgpack_item key;

        if (!msgpack_read(&decoding->reader, &key) || key.type != MSGPACK_STRING ||
            utf8_valid(key.data, key.length) != key.length)
            return bad(decoding, "a key is not a string");
        if (type->kind == TF_OBJECT)
            of = tf_type_member(type, key.data, key.length);
        if (!of)
            return bad(decoding, "an object has a member that its type has not");
        value_key_n(b, key.data, key.length);
        r = decode(decoding, of, b);
    }
    if (r >= 0)
        value_end_object(b);
    return r;
}

/* ---- The type of a value whose type has dynamic ones inside, with theirs instead ---- */

static const struct tf_type *read_own_type(struct decoding *decoding,
                                           const struct msgpack_item *item);
/* Reads the value, and gives its type. NULL: there is no such type, because elements of a list
 * differ; or the value is none. */
static const struct tf_type *read_whole(struct decoding *decoding, const struct tf_type *type);

static bool is_same(const struct tf_type *a, const struct tf_type *b)
{
    _cleanup_buf_ struct buf one = BUF_INIT, other = BUF_INIT;

    if (a == b)
        return true;
    tf_type_write(&one, a);
    tf_type_write(&other, b);
    return strcmp(one.data, other.data) == 0;
}

static const struct tf_type *read_elements(struct decoding *decoding, const struct tf_type *type,
                                           size_t count)
{
    const struct tf_type *found = NULL;
    struct msgpack_item key;

    for (size_t i = 0; i < count; i++) {
        const struct tf_type *one = type->kind == TF_MAP && !msgpack_read(&decoding->reader, &key)
                                        ? NULL
                                        : read_whole(decoding, type->element);

        if (!one || (found && !is_same(one, found)))
            return NULL;
        found = one;
    }
    return found ? tf_type_of(decoding->arena, type->kind, found) : type;
}

static size_t find_member(const struct tf_type *type, const struct msgpack_item *key)
{
    for (size_t i = 0; i < type->n_members; i++)
        if (strlen(type->members[i].name) == key->length &&
            memcmp(type->members[i].name, key->data, key->length) == 0)
            return i;
    return type->n_members;
}

static const struct tf_type *read_members(struct decoding *decoding, const struct tf_type *type)
{
    struct tf_type *whole = ARENA_NEW(decoding->arena, struct tf_type);

    *whole = *type;
    whole->members = ARENA_ARRAY(decoding->arena, struct tf_member, type->n_members);
    for (size_t i = 0; i < type->n_members; i++)
        whole->members[i] = type->members[i];
    for (size_t i = 0; i < type->n_members; i++) {
        struct msgpack_item key = {0};
        bool is_object = type->kind == TF_OBJECT;
        size_t at = i;

        if (is_object && (!msgpack_read(&decoding->reader, &key) || key.type != MSGPACK_STRING))
            return NULL;
        if (is_object)
            at = find_member(type, &key);
        if (at == type->n_members ||
            !(whole->members[at].type = read_whole(decoding, type->members[at].type)))
            return NULL;
    }
    return whole;
}

static const struct tf_type *read_contents(struct decoding *decoding, const struct tf_type *type,
                                           const struct msgpack_item *item)
{
    const struct tf_type *own;

    if (item->type == MSGPACK_NIL || item->type == MSGPACK_EXTENSION)
        return type;
    if (type->kind == TF_DYNAMIC) {
        own = read_own_type(decoding, item);
        return own ? read_whole(decoding, own) : NULL;
    }
    if (!type->element && !type->members)
        return type;
    if (item->type != MSGPACK_ARRAY && item->type != MSGPACK_MAP)
        return NULL;
    if (type->element)
        return read_elements(decoding, type, item->length);
    return item->length == type->n_members ? read_members(decoding, type) : NULL;
}

static const struct tf_type *read_whole(struct decoding *decoding, const struct tf_type *type)
{
    const struct tf_type *found;
    struct msgpack_item item;

    if (decoding->depth >= LIMIT_DEPTH || !msgpack_read(&decoding->reader, &item))
        return NULL;
    decoding->depth++;
    found = read_contents(decoding, type, &item);
    decoding->depth--;
    return found && !tf_type_has_dynamic(type) ? type : found;
}

/* ---- Dynamic values: their type as JSON, then the value ---- */

/* NULL: it has none. */
static const struct tf_type *read_own_type(struct decoding *decoding,
                                           const struct msgpack_item *item)
{
    _cleanup_value_ const struct value *json = NULL;
    const struct tf_type *type = NULL;
    struct msgpack_item text;

    if (item->type != MSGPACK_ARRAY || item->length != 2 ||
        !msgpack_read(&decoding->reader, &text) ||
        (text.type != MSGPACK_BYTES && text.type != MSGPACK_STRING) ||
        json_read(text.data, text.length, &json, NULL) < 0 ||
        tf_type_read(decoding->arena, json, &type, NULL) < 0)
        return NULL;
    return type;
}

/* A reference; NULL: it is deeper than a document may be. */
static const struct value *type_json(const struct tf_type *type)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    const struct value *json = NULL;

    tf_type_write(&text, type);
    json_read(text.data, text.length, &json, NULL);
    return json;
}

/* whole: the type without dynamic ones inside; NULL: there is none, and these have types of their
 * own. */
static int decode_typed(struct decoding *decoding, const struct tf_type *type,
                        const struct tf_type *whole, struct value_builder *b)
{
    _cleanup_value_ const struct value *of_all = whole ? type_json(whole) : NULL;
    _cleanup_value_ const struct value *json = of_all ? value_ref(of_all) : type_json(type);
    enum tf_form form = decoding->form;
    int r;

    value_begin_object(b);
    value_key(b, "value");
    decoding->form = of_all ? TF_PLAIN : form;
    r = decode(decoding, type, b);
    decoding->form = form;
    if (r < 0)
        return r;
    value_key(b, "type");
    value_add(b, json);
    value_end_object(b);
    return 0;
}

static int decode_dynamic(struct decoding *decoding, const struct msgpack_item *item,
                          struct value_builder *b)
{
    const struct tf_type *type = read_own_type(decoding, item);
    struct decoding ahead = *decoding;

    if (!type)
        return bad(decoding, "a dynamic value has no type");
    return decoding->form == TF_PLAIN ? decode(decoding, type, b)
                                      : decode_typed(decoding, type, read_whole(&ahead, type), b);
}

/* ---- Any. After a failure containers stay open: the builder is only freed. ---- */

static int decode_item(struct decoding *decoding, const struct tf_type *type,
                       const struct msgpack_item *item, struct value_builder *b)
{
    bool is_array = item->type == MSGPACK_ARRAY, is_map = item->type == MSGPACK_MAP;

    switch (type->kind) {
    case TF_STRING:
        return decode_string(decoding, item, b);
    case TF_NUMBER:
        return decode_number(decoding, item, b);
    case TF_BOOL:
        return decode_bool(decoding, item, b);
    case TF_DYNAMIC:
        return decode_dynamic(decoding, item, b);
    case TF_LIST:
    case TF_TUPLE:
        return is_array ? decode_items(decoding, type, item->length, b)
                        : bad(decoding, "it is not a list");
    case TF_SET:
        return is_array ? decode_set(decoding, type, item->length, b)
                        : bad(decoding, "it is not a set");
    case TF_MAP:
    case TF_OBJECT:
        return is_map ? decode_members(decoding, type, item->length, b)
                      : bad(decoding, "it is not an object");
    }
    return bad(decoding, "its type is not known");
}

static int decode(struct decoding *decoding, const struct tf_type *type, struct value_builder *b)
{
    struct msgpack_item item;
    int r = 0;

    if (!msgpack_read(&decoding->reader, &item))
        return bad(decoding, "it is cut off, or no msgpack");
    if (++decoding->depth > LIMIT_DEPTH)
        return err_set(decoding->error, ERR_TOO_LARGE, NULL,
                       "a value of the provider is deeper than %d", LIMIT_DEPTH);
    if (item.type == MSGPACK_NIL)
        value_add_null(b);
    else if (item.type == MSGPACK_EXTENSION) /* a refined one is unknown, too */
        value_add_unknown(b);
    else
        r = decode_item(decoding, type, &item, b);
    decoding->depth--;
    return r < 0 ? r : value_builder_error(b);
}

int tf_decode(const void *data, size_t length, const struct tf_type *type, enum tf_form form,
              const struct value **ret, struct error *error)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_(arena_done) struct arena arena = ARENA_INIT;
    struct decoding decoding = {
        .reader = {.at = data, .end = (const unsigned char *)data + length},
        .arena = &arena,
        .form = form,
        .error = error,
    };
    int r = decode(&decoding, type, b);

    if (r < 0 && !value_builder_error(b))
        return r;
    if (r >= 0 && decoding.reader.at != decoding.reader.end)
        return bad(&decoding, "more bytes follow it");
    return value_builder_finish(b, ret, error);
}
