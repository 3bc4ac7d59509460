#include "runtimes/http/resource/fill.h"

#include <ctype.h>
#include <string.h>

#include "engine/base/escape.h"
#include "engine/base/str.h"
#include "engine/spec/secret_ref.h"
#include "engine/value/children.h"
#include "engine/value/path.h"

#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
#define UNRESERVED      NAME_CHARACTERS ".~"
/* What else stands in a path and a query as it is. */
#define RESERVED "/?:@!$&'()*+,;=%"

bool fill_is_name(const char *name)
{
    return *name && !name[strspn(name, NAME_CHARACTERS)] && !str_equal(name, "id");
}

/* ---- Paths ---- */

/* One byte of a path, decoded if it is escaped; *at moves behind it. */
static int next_byte(const char **at)
{
    const char *c = *at;
    char digits[3] = {0};

    if (*c != '%' || !isxdigit((unsigned char)c[1]) || !isxdigit((unsigned char)c[2])) {
        *at = c + 1;
        return (unsigned char)*c;
    }
    memcpy(digits, c + 1, 2);
    *at = c + 3;
    return (int)strtol(digits, NULL, 16);
}

/* A segment of dots alone, one or two. Servers decode before they look, some more than once. */
static bool is_dots(const char *segment, const char *end)
{
    size_t dots = 0;

    while (segment < end) {
        const char *before = segment;
        int byte = next_byte(&segment);

        if (byte == '%' && segment == before + 3)
            return true; /* escaped twice: nobody needs that in a path that is written out */
        if (byte != '.')
            return false;
        dots++;
    }
    return dots == 1 || dots == 2;
}

/* The part before the query. */
static int check_segments(const char *path, struct error *error)
{
    const char *stop = path + strcspn(path, "?");

    while (path < stop) {
        const char *segment = path + 1, *end = segment + strcspn(segment, "/?");

        if (is_dots(segment, end))
            return err_set(error, ERR_INVALID, "InvalidAttribute",
                           "has a segment \".\" or \"..\", or one that is escaped twice");
        path = end;
    }
    return 0;
}

/* Splits off what stands before the next brace, and the text in it. False: there is none, or it is
 * not closed. */
static bool next_brace(const char **at, const char **ret_name, size_t *ret_length)
{
    const char *open = strchr(*at, '{'), *close = open ? strchr(open, '}') : NULL;

    if (!close)
        return false;
    *ret_name = open + 1;
    *ret_length = (size_t)(close - open - 1);
    *at = close + 1;
    return true;
}

static bool is_place(const char *name)
{
    return *name == '/' || str_equal(name, "id") || fill_is_name(name);
}

int fill_check_path(const char *path, struct error *error)
{
    _cleanup_buf_ struct buf plain = BUF_INIT;
    const char *at = path, *before = path, *name;
    size_t length;

    if (*path != '/')
        return err_set(error, ERR_INVALID, "InvalidAttribute", "must begin with \"/\"");
    while (next_brace(&at, &name, &length)) {
        _cleanup_free_ char *text = str_new_n(name, length);

        if (!is_place(text))
            return err_set(error, ERR_INVALID, "InvalidAttribute",
                           "{%s} is none of {id}, {/pointer/into/attributes} and {parameter}",
                           text);
        buf_add(&plain, before, (size_t)(name - 1 - before));
        buf_add_str(&plain, "x");
        before = at;
    }
    buf_add_str(&plain, before);
    if (plain.data[strspn(plain.data, UNRESERVED RESERVED)])
        return err_set(error, ERR_INVALID, "InvalidAttribute",
                       "has bytes that must be escaped: letters, digits and -._~/?:@!$&'()*+,;=%% "
                       "can stand in it, and values in braces");
    return check_segments(plain.data, error);
}

int fill_check_names(const char *path, const struct value *parameters, bool has_id,
                     struct error *error)
{
    const char *name;
    size_t length;

    while (next_brace(&path, &name, &length)) {
        _cleanup_free_ char *text = str_new_n(name, length);

        if (str_equal(text, "id") && !has_id)
            return err_set(error, ERR_INVALID, "InvalidAttribute",
                           "{id} is not known here: extensions.id says where the answer of "
                           "`create` has it");
        if (fill_is_name(text) && !value_get(parameters, text))
            return err_set(error, ERR_INVALID, "InvalidAttribute",
                           "there is no parameter \"%s\" (an attribute is written {/%s})", text,
                           text);
    }
    return 0;
}

char *fill_find_secret(const char *path, const struct value *attributes)
{
    const char *name;
    size_t length;

    while (path && next_brace(&path, &name, &length)) {
        _cleanup_free_ char *text = str_new_n(name, length);

        if (*text == '/' && secret_ref_is_within(pointer_find(attributes, text)))
            return TAKE(text);
    }
    return NULL;
}

bool fill_has_id(const char *path)
{
    return path && strstr(path, "{id}");
}

/* What stands in braces. NULL: it is not there. The id is a string of its own. */
static const struct value *find_place(const char *name, const struct fill *from)
{
    return *name == '/' ? pointer_find(from->attributes, name) : value_get(from->parameters, name);
}

static const char *text_of(const struct value *value)
{
    size_t length;
    const char *text = value_string_n(value, &length);

    if (text)
        return strlen(text) == length ? text : NULL;
    if (value_is(value, VALUE_BOOL))
        return value_bool(value, false) ? "true" : "false";
    return value_number(value);
}

static int add_place(struct buf *to, const char *name, const struct fill *from, bool *is_known,
                     struct error *error)
{
    const struct value *value = str_equal(name, "id") ? NULL : find_place(name, from);
    const char *text = str_equal(name, "id") ? from->id : text_of(value);

    if (value_is(value, VALUE_UNKNOWN) || secret_ref_has_mark(value)) {
        *is_known = false;
        return 0;
    }
    if (!text || !*text || str_equal(text, ".") || str_equal(text, ".."))
        return err_set(error, ERR_INVALID, "InvalidAttribute", "the value of {%s} in a path %s",
                       name,
                       !text ? "is missing, or is no string, number or boolean"
                             : "must not be empty, \".\" or \"..\"");
    escape_url(to, text, false);
    return 0;
}

int fill_path(const char *path, const struct fill *from, char **ret, struct error *error)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    const char *before = path, *name;
    bool is_known = true;
    size_t length;
    int r = 0;

    while (r >= 0 && next_brace(&path, &name, &length)) {
        _cleanup_free_ char *place = str_new_n(name, length);

        buf_add(&text, before, (size_t)(name - 1 - before));
        r = add_place(&text, place, from, &is_known, error);
        before = path;
    }
    buf_add_str(&text, before);
    if (r < 0)
        return r;
    *ret = is_known ? buf_take(&text) : NULL;
    return 0;
}

/* ---- Bodies ---- */

enum place_kind { PLACE_NONE, PLACE_ATTRIBUTES, PLACE_OBJECT, PLACE_PARAMETER, PLACE_ID };

static const struct {
    const char *key;
    enum place_kind kind;
} places[] = {{"$attributes", PLACE_ATTRIBUTES},
              {"$object", PLACE_OBJECT},
              {"$parameter", PLACE_PARAMETER},
              {"$id", PLACE_ID}};

static enum place_kind kind_of(const struct value *object, const struct value **ret_argument)
{
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        *ret_argument = value_get(object, places[i].key);
        if (*ret_argument)
            return places[i].kind;
    }
    return PLACE_NONE;
}

static int check_place(enum place_kind kind, const struct value *argument, struct error *error)
{
    const char *text = value_string(argument);
    bool is_right = kind == PLACE_ID          ? value_is(argument, VALUE_BOOL)
                    : kind == PLACE_PARAMETER ? text && *text
                                              : text && (!*text || *text == '/');

    return is_right ? 0
                    : err_set(error, ERR_INVALID, "InvalidAttribute",
                              "$attributes and $object take a JSON pointer, $parameter a name, and "
                              "$id the value true");
}

int fill_check_body(const struct value *body, struct error *error)
{
    const struct value *argument;
    enum place_kind kind = kind_of(body, &argument);
    size_t length;
    int r = kind ? check_place(kind, argument, error) : 0;

    for (size_t i = 0; i < value_count(body) && r >= 0; i++) {
        if (value_is(body, VALUE_OBJECT) && !kind && *value_member_key(body, i, &length) == '$')
            return err_set(error, ERR_INVALID, "InvalidAttribute",
                           "\"%s\" is none of $attributes, $object, $parameter and $id",
                           value_member_key(body, i, &length));
        r = fill_check_body(value_child(body, i), error);
    }
    return r;
}

static int add_filled(struct value_builder *b, const struct value *body, const struct fill *from,
                      struct error *error);

/* What is around it in the builder is ended all the same, and a key wants its value. */
static int refuse(struct value_builder *b, int code, const char *reason, const char *why,
                  struct error *error)
{
    value_add_null(b);
    return err_set(error, code, reason, "%s", why);
}

static const struct value *find_argument(enum place_kind kind, const struct value *argument,
                                         const struct fill *from)
{
    const char *text = value_string(argument);

    return kind == PLACE_ATTRIBUTES  ? pointer_find(from->attributes, text)
           : kind == PLACE_OBJECT    ? pointer_find(from->object, text)
           : kind == PLACE_PARAMETER ? value_get(from->parameters, text)
                                     : NULL;
}

/* The object at the place, and the other members beside it. */
static int add_merged(struct value_builder *b, const struct value *body, const struct value *found,
                      const struct fill *from, struct error *error)
{
    const struct value *argument;
    size_t length;
    int r = 0;

    value_begin_object(b);
    for (size_t i = 0; i < value_count(found); i++) {
        const char *key = value_member_key(found, i, &length);

        if (value_get_n(body, key, length))
            continue;
        value_key_n(b, key, length);
        value_add(b, value_member(found, i));
    }
    kind_of(body, &argument);
    for (size_t i = 0; i < value_count(body) && r >= 0; i++) {
        if (value_member(body, i) == argument)
            continue;
        value_key_like(b, body, i);
        r = add_filled(b, value_member(body, i), from, error);
    }
    value_end_object(b);
    return r;
}

static int add_filled(struct value_builder *b, const struct value *body, const struct fill *from,
                      struct error *error)
{
    const struct value *argument, *found;
    enum place_kind kind = kind_of(body, &argument);
    int r = 0;

    found = find_argument(kind, argument, from);
    if (secret_ref_has_mark(found))
        return refuse(b, ERR_UNSUPPORTED, "Unsupported",
                      "a body has a value of a secret store, which State does not keep, and a "
                      "deletion does not ask for",
                      error);
    if (kind == PLACE_ID) {
        value_add_string(b, from->id);
    } else if (kind && value_count(body) > 1 && (value_is(found, VALUE_OBJECT) || !found)) {
        return add_merged(b, body, found, from, error);
    } else if (kind && value_count(body) > 1 && !value_is(found, VALUE_UNKNOWN)) {
        return refuse(b, ERR_INVALID, "InvalidAttribute",
                      "a body adds members to a value that is no object", error);
    } else if (kind == PLACE_ATTRIBUTES && !found) {
        value_add_null(b);
    } else if (kind) {
        value_add(b, found);
    } else if (value_is(body, VALUE_OBJECT)) {
        value_begin_object(b);
        for (size_t i = 0; i < value_count(body) && r >= 0; i++) {
            value_key_like(b, body, i);
            r = add_filled(b, value_member(body, i), from, error);
        }
        value_end_object(b);
    } else if (value_is(body, VALUE_ARRAY)) {
        value_begin_array(b);
        for (size_t i = 0; i < value_count(body) && r >= 0; i++)
            r = add_filled(b, value_at(body, i), from, error);
        value_end_array(b);
    } else {
        value_add(b, body);
    }
    return r;
}

int fill_body(const struct value *body, const struct fill *from, const struct value **ret,
              struct error *error)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    int r = add_filled(b, body, from, error);

    return r < 0 ? r : value_builder_finish(b, ret, error);
}
