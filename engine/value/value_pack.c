#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/value/value.h"

/* The format that is being read, and its arguments. */
struct packer {
    const char *format; /* all of it, for messages */
    const char *at;
    struct value_builder *builder;
    va_list args;
};

static _Noreturn void wrong(const struct packer *p, const char *how)
{
    fprintf(stderr, "value_pack(\"%s\"), byte %td: %s\n", p->format, p->at - p->format, how);
    abort();
}

static char next(struct packer *p)
{
    while (*p->at && strchr(" \t\n:,", *p->at))
        p->at++;
    return *p->at ? *p->at++ : '\0';
}

static bool take_optional(struct packer *p)
{
    if (*p->at != '?')
        return false;
    p->at++;
    return true;
}

static void pack(struct packer *p, const char *key, char what);

static void pack_members(struct packer *p)
{
    char what;

    value_begin_object(p->builder);
    while ((what = next(p)) != '}') {
        const char *key;

        if (what != 's')
            wrong(p, "a key is to be s");
        key = va_arg(p->args, const char *);
        if (!key)
            wrong(p, "a key that is NULL");
        pack(p, key, next(p));
    }
    value_end_object(p->builder);
}

static void pack_items(struct packer *p)
{
    char what;

    value_begin_array(p->builder);
    while ((what = next(p)) != ']')
        pack(p, NULL, what);
    value_end_array(p->builder);
}

static void add_key(struct packer *p, const char *key)
{
    if (key)
        value_key(p->builder, key);
}

static void pack_string(struct packer *p, const char *key)
{
    const char *text = va_arg(p->args, const char *);

    if (take_optional(p) && !text)
        return;
    add_key(p, key);
    value_add_string(p->builder, text);
}

static void pack_value(struct packer *p, const char *key, bool take)
{
    const struct value *value = va_arg(p->args, const struct value *);

    if (take_optional(p) && !value)
        return;
    add_key(p, key);
    value_add(p->builder, value);
    if (take)
        value_unref(value);
}

/* One value, with its key if it is a member. */
static void pack(struct packer *p, const char *key, char what)
{
    if (what == 's') {
        pack_string(p, key);
        return;
    }
    if (what == 'v' || what == 'V') {
        pack_value(p, key, what == 'V');
        return;
    }
    add_key(p, key);
    switch (what) {
    case 'n':
        value_add_null(p->builder);
        break;
    case 'u':
        value_add_unknown(p->builder);
        break;
    case 'b':
        value_add_bool(p->builder, va_arg(p->args, int) != 0);
        break;
    case 'i':
        value_add_int(p->builder, va_arg(p->args, int));
        break;
    case 'I':
        value_add_int(p->builder, va_arg(p->args, int64_t));
        break;
    case '{':
        pack_members(p);
        break;
    case '[':
        pack_items(p);
        break;
    default:
        wrong(p, "not understood");
    }
}

const struct value *value_pack(const char *format, ...)
{
    _cleanup_(value_builder_free_p) struct value_builder *builder = value_builder_new();
    struct packer packer = {.format = format, .at = format, .builder = builder};
    char what;

    va_start(packer.args, format);
    what = next(&packer);
    if (strchr("svV", what) && what && *packer.at == '?')
        wrong(&packer, "the root cannot be left out");
    pack(&packer, NULL, what);
    va_end(packer.args);
    if (next(&packer))
        wrong(&packer, "more than one value");
    if (value_builder_error(builder) == ERR_INVALID)
        wrong(&packer, "a key twice");
    return value_finish(builder);
}
