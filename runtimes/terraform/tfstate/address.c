#include "runtimes/terraform/tfstate/address.h"

#include <string.h>

#include "engine/base/str.h"
#include "engine/value/json.h"
#include "runtimes/terraform/session.h"

static int not_an_address(struct error *error, const char *text)
{
    return err_set(error, ERR_INVALID, "InvalidAddress",
                   "\"%s\" is not the address of a resource in Terraform's state, as "
                   "\"random_password.db\" and \"module.a.random_password.db[0]\" are",
                   text);
}

/* ---- Words and keys ---- */

static bool begins_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 128;
}

/* Bytes of the identifier there; 0: there is none. */
static size_t word_length(const char *at)
{
    size_t n = 0;

    while (begins_word(at[n]) || (n && (at[n] == '-' || (at[n] >= '0' && at[n] <= '9'))))
        n++;
    return n;
}

/* free(); NULL: there is none. */
static char *take_word(const char **at)
{
    size_t length = word_length(*at);
    char *word = length ? str_new_n(*at, length) : NULL;

    *at += length;
    return word;
}

static bool take_dot(const char **at)
{
    return **at == '.' && (*at)++;
}

/* "$${" and "%%{" stand for "${" and "%{". */
static const struct value *unescaped(const struct value *string)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    size_t length;
    const char *s = value_string_n(string, &length);
    const struct value *made;

    for (size_t i = 0; i < length; i++) {
        buf_add_char(&text, s[i]);
        if ((s[i] == '$' || s[i] == '%') && i + 2 < length && s[i + 1] == s[i] && s[i + 2] == '{')
            i++;
    }
    made = value_pack("s", text.data);
    return made;
}

/* The byte after the closing quote; NULL: there is none. */
static const char *end_of_string(const char *quote)
{
    for (const char *at = quote + 1; *at; at++) {
        if (*at == '\\' && at[1])
            at++;
        else if (*at == '"')
            return at + 1;
    }
    return NULL;
}

static bool take_string(const char **at, const struct value **ret)
{
    _cleanup_value_ const struct value *string = NULL;
    const char *end = end_of_string(*at);
    size_t length;

    if (!end || json_read(*at, (size_t)(end - *at), &string, NULL) < 0 ||
        strlen(value_string_n(string, &length)) != length)
        return false;
    *at = end;
    *ret = unescaped(string);
    return true;
}

static bool take_number(const char **at, const struct value **ret)
{
    size_t length = strspn(*at, "0123456789");

    if (!length || length > 15 || (**at == '0' && length > 1))
        return false;
    *ret = value_pack("I", (int64_t)strtoll(*at, NULL, 10));
    *at += length;
    return true;
}

/* [0], ["a"], or nothing. *ret: a reference, or NULL. */
static bool take_key(const char **at, const struct value **ret)
{
    *ret = NULL;
    if (**at != '[')
        return true;
    (*at)++;
    return (**at == '"' ? take_string(at, ret) : take_number(at, ret)) && *(*at)++ == ']';
}

/* ---- Addresses ---- */

static bool take_module(const char **at)
{
    _cleanup_value_ const struct value *key = NULL;
    size_t length;

    if (strncmp(*at, "module.", strlen("module.")) != 0)
        return false;
    *at += strlen("module.");
    length = word_length(*at);
    *at += length;
    return length && take_key(at, &key);
}

static bool take_all(const char *text, struct tf_address *ret)
{
    const char *at = text;

    while (str_has_prefix(at, "module.")) {
        if (!take_module(&at) || *at != '.')
            return false;
        free(ret->module);
        ret->module = str_new_n(text, (size_t)(at - text));
        at++;
    }
    ret->type = take_word(&at);
    if (!ret->type || str_equal(ret->type, "data") || !take_dot(&at))
        return false;
    ret->name = take_word(&at);
    return ret->name && take_key(&at, &ret->key) && !*at;
}

int tf_address_read(const char *text, struct tf_address *ret, struct error *error)
{
    *ret = (struct tf_address){0};
    if (take_all(text, ret))
        return 0;
    tf_address_done(ret);
    return not_an_address(error, text);
}

/* What is after the third colon. */
static const char *name_of_id(const char *id)
{
    for (int i = 0; i < 3 && id; i++)
        id = (id = strchr(id, ':')) ? id + 1 : NULL;
    return id;
}

int tf_address_of(const char *id, const struct value *extensions, struct tf_address *ret,
                  struct error *error)
{
    const char *written = value_get_string(extensions, STATE_ADDRESS);
    const char *name = name_of_id(id);
    _cleanup_free_ char *type = NULL;
    int r;

    if (written)
        return tf_address_read(written, ret, error);
    r = target_type(id, extensions, &type, error);
    if (r < 0)
        return r;
    if (!name || !*name || name[word_length(name)])
        return err_set(error, ERR_INVALID, "InvalidAddress",
                       "its id ends in no name that Terraform allows (letters, digits, _ and -): "
                       "say its address by extensions[" STATE_ADDRESS "]");
    *ret = (struct tf_address){.type = TAKE(type), .name = str_new(name)};
    return 0;
}

void tf_address_done(struct tf_address *address)
{
    free(address->module);
    free(address->type);
    free(address->name);
    value_unref(address->key);
    *address = (struct tf_address){0};
}

bool tf_address_equal(const struct tf_address *a, const struct tf_address *b)
{
    bool same_key = a->key && b->key ? value_equal(a->key, b->key) : a->key == b->key;

    return str_equal(a->module, b->module) && str_equal(a->type, b->type) &&
           str_equal(a->name, b->name) && same_key;
}

/* ---- As text ---- */

static void add_key(struct buf *to, const struct value *key)
{
    if (!key)
        return;
    buf_add_char(to, '[');
    json_write(to, key, JSON_COMPACT);
    buf_add_char(to, ']');
}

char *tf_address_text(const struct tf_address *address)
{
    struct buf text = BUF_INIT;

    if (address->module)
        buf_printf(&text, "%s.", address->module);
    buf_printf(&text, "%s.%s", address->type, address->name);
    add_key(&text, address->key);
    return buf_take(&text);
}

/* The module's path without its keys. */
static void add_module(struct buf *to, const char *module)
{
    while (*module) {
        _cleanup_value_ const struct value *key = NULL;

        if (!take_key(&module, &key) || !*module)
            return;
        buf_add_char(to, *module++);
    }
}

char *tf_address_config(const struct tf_address *address)
{
    struct buf text = BUF_INIT;

    if (address->module) {
        add_module(&text, address->module);
        buf_add_char(&text, '.');
    }
    buf_printf(&text, "%s.%s", address->type, address->name);
    return buf_take(&text);
}
