#include "cli/check/schema.h"

#include <regex.h>
#include <stdint.h>

#include "engine/base/similar.h"
#include "engine/base/str.h"
#include "engine/value/decimal.h"

struct checker {
    struct path *path;
    schema_problem *fn;
    void *arg;
};

static void PRINTF_LIKE(2, 3) report(struct checker *c, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    _cleanup_free_ char *message = str_vprintf(format, args);
    va_end(args);
    c->fn(c->arg, path_text(c->path), message);
}

static void check(struct checker *c, const struct value *value, const struct value *schema);

/* ---- Types ---- */

static bool is_of_type(const struct value *value, const char *type)
{
    switch (value_type(value)) {
    case VALUE_BOOL:
        return str_equal(type, "boolean");
    case VALUE_NUMBER:
        return str_equal(type, "number") ||
               (str_equal(type, "integer") && value_int(value, INT64_MIN) != INT64_MIN);
    case VALUE_STRING:
        return str_equal(type, "string");
    case VALUE_ARRAY:
        return str_equal(type, "array");
    case VALUE_OBJECT:
        return str_equal(type, "object");
    default:
        return false;
    }
}

/* ---- Scalars ---- */

static bool matches(const char *text, const char *pattern)
{
    regex_t regex;
    bool does;

    if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return true; /* the API server says */
    does = regexec(&regex, text, 0, NULL, 0) == 0;
    regfree(&regex);
    return does;
}

static void check_string(struct checker *c, const struct value *value, const struct value *schema)
{
    size_t length = 0, characters = 0;
    const char *text = value_string_n(value, &length);
    const char *pattern = value_get_string(schema, "pattern");
    int64_t least = value_int(value_get(schema, "minLength"), 0);
    int64_t most = value_int(value_get(schema, "maxLength"), INT64_MAX);

    for (size_t i = 0; i < length; i++) /* as the API server counts */
        characters += ((unsigned char)text[i] & 0xc0) != 0x80;
    if ((int64_t)characters < least && characters == 0)
        report(c, "must not be empty");
    else if ((int64_t)characters < least)
        report(c, "must have at least %lld characters", (long long)least);
    else if ((int64_t)characters > most)
        report(c, "has %zu characters, of at most %lld", characters, (long long)most);
    else if (pattern && !matches(text, pattern))
        report(c, "\"%s\" must match %s", text, pattern);
}

static void check_number(struct checker *c, const struct value *value, const struct value *schema)
{
    bool is_int32 = str_equal(value_get_string(schema, "format"), "int32");
    int64_t least = value_int(value_get(schema, "minimum"), is_int32 ? INT32_MIN : INT64_MIN);
    int64_t most = value_int(value_get(schema, "maximum"), is_int32 ? INT32_MAX : INT64_MAX);
    int64_t number = value_int(value, 0);

    if (number < least)
        report(c, "must be at least %lld", (long long)least);
    else if (number > most)
        report(c, "must be at most %lld", (long long)most);
}

static void check_enum(struct checker *c, const struct value *value, const struct value *list)
{
    _cleanup_buf_ struct buf names = BUF_INIT;
    struct similar similar;

    for (size_t i = 0; i < value_count(list); i++) {
        if (value_equal(value, value_at(list, i)))
            return;
        buf_printf(&names, "%s%s", i ? ", " : "", value_string(value_at(list, i)));
    }
    if (!value_is(value, VALUE_STRING))
        return;
    similar_begin(&similar, value_string(value));
    for (size_t i = 0; i < value_count(list); i++)
        similar_offer(&similar, value_string(value_at(list, i)));
    if (similar.found)
        report(c, "\"%s\" is none of %s: did you mean \"%s\"?", value_string(value), names.data,
               similar.found);
    else
        report(c, "\"%s\" is none of %s", value_string(value), names.data);
}

/* ---- Objects and lists ---- */

static void report_unknown(struct checker *c, const char *key, const struct value *properties)
{
    struct similar similar;

    similar_begin(&similar, key);
    for (size_t i = 0; i < value_count(properties); i++)
        similar_offer(&similar, value_member_key(properties, i, NULL));
    if (similar.found)
        report(c, "there is no such field: did you mean %s?", similar.found);
    else
        report(c, "there is no such field");
}

static void check_required(struct checker *c, const struct value *value, const struct value *list)
{
    for (size_t i = 0; i < value_count(list); i++) {
        const char *key = value_string(value_at(list, i));

        if (value_type(value_get(value, key)) == VALUE_NULL)
            report(c, "%s is required", key);
    }
}

static void check_object(struct checker *c, const struct value *value, const struct value *schema)
{
    const struct value *properties = value_get(schema, "properties");
    const struct value *others = value_get(schema, "additionalProperties");
    bool is_open = value_bool(value_get(schema, "x-kubernetes-preserve-unknown-fields"), false);
    int64_t least = value_int(value_get(schema, "minProperties"), 0);
    int64_t most = value_int(value_get(schema, "maxProperties"), INT64_MAX);

    check_required(c, value, value_get(schema, "required"));
    if ((int64_t)value_count(value) > most)
        report(c, "has %zu members, of at most %lld", value_count(value), (long long)most);
    if ((int64_t)value_count(value) < least)
        report(c, "has %zu members, at least %lld are needed", value_count(value),
               (long long)least);
    for (size_t i = 0; i < value_count(value); i++) {
        const char *key = value_member_key(value, i, NULL);
        const struct value *member = value_get(properties, key);

        path_push_key(c->path, key);
        if (member)
            check(c, value_member(value, i), member);
        else if (value_is(others, VALUE_OBJECT))
            check(c, value_member(value, i), others);
        else if (!is_open && !value_bool(others, false))
            report_unknown(c, key, properties);
        path_pop(c->path);
    }
}

static void check_array(struct checker *c, const struct value *value, const struct value *schema)
{
    const struct value *items = value_get(schema, "items");
    int64_t least = value_int(value_get(schema, "minItems"), 0);
    int64_t most = value_int(value_get(schema, "maxItems"), INT64_MAX);

    if ((int64_t)value_count(value) < least)
        report(c, "has %zu items, at least %lld are needed", value_count(value), (long long)least);
    if ((int64_t)value_count(value) > most)
        report(c, "has %zu items, of at most %lld", value_count(value), (long long)most);
    for (size_t i = 0; i < value_count(value); i++) {
        path_push_index(c->path, i);
        check(c, value_at(value, i), items);
        path_pop(c->path);
    }
}

static void check(struct checker *c, const struct value *value, const struct value *schema)
{
    const char *type = value_get_string(schema, "type");
    const struct value *list = value_get(schema, "enum");

    if (value_is(value, VALUE_NULL))
        return; /* the API server takes it for absent */
    if (type && !is_of_type(value, type)) {
        report(c, "must be of type %s, and is of type %s", type, value_type_name(value));
        return;
    }
    if (list)
        check_enum(c, value, list);
    if (value_is(value, VALUE_STRING))
        check_string(c, value, schema);
    else if (value_is(value, VALUE_NUMBER))
        check_number(c, value, schema);
    else if (value_is(value, VALUE_OBJECT))
        check_object(c, value, schema);
    else if (value_is(value, VALUE_ARRAY))
        check_array(c, value, schema);
}

void schema_check(const struct value *value, const struct value *schema, struct path *path,
                  schema_problem *fn, void *arg)
{
    struct checker c = {path, fn, arg};

    check(&c, value, schema);
}

const struct value *schema_of_definition(const struct value *definition, const char *field)
{
    const struct value *version = value_at(value_path(definition, "spec", "versions", NULL), 0);

    return value_path(version, "schema", "openAPIV3Schema", "properties", field, NULL);
}
