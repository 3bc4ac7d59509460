#include "engine/spec/secret_ref.h"

#include <string.h>

#include "engine/base/base64.h"
#include "engine/base/escape.h"
#include "engine/base/str.h"
#include "engine/base/utf8.h"
#include "engine/spec/ref.h"

#define PREFIX_LENGTH (sizeof(SECRET_REF_PREFIX) - 1)
#define IN_BASE64     "cmVmOi8v" /* of SECRET_REF_PREFIX, whatever follows */
#define VERSION_QUERY "version="

/* ---- Finding them ---- */

bool secret_ref_has_data(const struct value *attributes)
{
    return str_equal(value_get_string(attributes, "kind"), "Secret") &&
           str_equal(value_get_string(attributes, "apiVersion"), "v1");
}

char *secret_ref_text(const struct value *value, bool is_data)
{
    _cleanup_buf_ struct buf decoded = BUF_INIT;
    size_t length = 0;
    const char *text = value_string_n(value, &length);

    if (!text)
        return NULL;
    if (str_has_prefix(text, SECRET_REF_PREFIX))
        return str_new_n(text, length);
    if (is_data && str_has_prefix(text, IN_BASE64) && base64_decode(&decoded, text, length))
        return buf_take(&decoded);
    return NULL;
}

static bool is_reference(const struct value *value, bool is_data)
{
    _cleanup_free_ char *text = secret_ref_text(value, is_data);

    return text != NULL;
}

static bool is_within(const struct value *value, bool is_data, bool is_secret)
{
    if (is_reference(value, is_data))
        return true;
    for (size_t i = 0; i < value_count(value); i++) {
        size_t length = 0;
        const char *key = value_member_key(value, i, &length);

        if (is_within(value_child(value, i), is_data || (is_secret && str_equal(key, "data")),
                      false))
            return true;
    }
    return false;
}

bool secret_ref_is_within(const struct value *value)
{
    return is_within(value, false, secret_ref_has_data(value));
}

const char *secret_ref_find_extension(const struct value *extensions, const char *kept)
{
    for (size_t i = 0; i < value_count(extensions); i++) {
        const char *key = value_member_key(extensions, i, NULL);

        if (!str_equal(key, kept) && is_within(value_child(extensions, i), false, false))
            return key;
    }
    return NULL;
}

/* ---- Marks ---- */

bool secret_ref_is_mark(const char *text)
{
    const char *digest;

    if (!str_has_prefix(text, SECRET_MARK) && !str_has_prefix(text, SECRET_MARK_BASE64))
        return false;
    digest = strchr(text, ':') + 1;
    return strspn(digest, "0123456789abcdef") == 2 * SECRET_MARK_DIGEST_BYTES &&
           digest[2 * SECRET_MARK_DIGEST_BYTES] == ' ' && strstr(digest, " " SECRET_REF_PREFIX);
}

bool secret_ref_has_mark(const struct value *value)
{
    const char *text = value_string(value);
    bool has_mark = text && secret_ref_is_mark(text);

    for (size_t i = 0; !has_mark && i < value_count(value); i++)
        has_mark = secret_ref_has_mark(value_child(value, i));
    return has_mark;
}

/* ---- Values in clear ---- */

static bool is_clear(const struct value *value, bool is_data)
{
    const char *text = value_string(value);

    return text && *text && !value_is_sensitive(value) && !is_reference(value, is_data) &&
           !str_has_prefix(text, REF_PREFIX);
}

bool secret_ref_is_clear(const struct value *attributes, const char *member)
{
    const struct value *values = value_get(attributes, member);

    if (!secret_ref_has_data(attributes) || !value_is(values, VALUE_OBJECT))
        return false;
    for (size_t i = 0; i < value_count(values); i++)
        if (is_clear(value_member(values, i), str_equal(member, "data")))
            return true;
    return false;
}

/* ---- Reading one ---- */

static int refuse(const char *text, const char *why, struct error *error)
{
    _cleanup_free_ char *shown = utf8_show(text);

    return err_set(error, ERR_INVALID, "InvalidReference", "\"%s\" %s", shown, why);
}

/* Free it. NULL: a % without two digits, or what is no text. */
static char *decode(const char *text, size_t length)
{
    _cleanup_free_ char *decoded = escape_url_read(text, length);

    for (const char *at = decoded; at && *at; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            return NULL;
    if (!decoded || utf8_valid(decoded, strlen(decoded)) != strlen(decoded))
        return NULL;
    return TAKE(decoded);
}

/* One segment of a path: a provider's address is made of it. */
static bool is_segment(const char *text, size_t length)
{
    _cleanup_free_ char *segment = decode(text, length);

    return segment && *segment && !strchr(segment, '/') && !str_equal(segment, ".") &&
           !str_equal(segment, "..");
}

static bool are_segments(const char *path)
{
    for (const char *at = path;; at++) {
        size_t length = strcspn(at, "/");

        if (!is_segment(at, length))
            return false;
        at += length;
        if (!*at)
            return true;
    }
}

/* "version=V"; NULL: it is none. */
static char *version_of(const char *query)
{
    _cleanup_free_ char *version = NULL;

    if (!str_has_prefix(query, VERSION_QUERY))
        return NULL;
    query += strlen(VERSION_QUERY);
    version = decode(query, strlen(query));
    if (!version || !*version || strpbrk(query, "&=#") || strchr(version, ' '))
        return NULL;
    return TAKE(version);
}

int secret_ref_parse(const char *text, struct secret_ref *ret, struct error *error)
{
    _cleanup_free_ char *path = NULL;
    const char *start = text + PREFIX_LENGTH, *query;
    char *slash;

    *ret = (struct secret_ref){0};
    if (!str_has_prefix(text, SECRET_REF_PREFIX))
        return refuse(text, "does not begin with " SECRET_REF_PREFIX, error);
    if (strlen(text) > SECRET_REF_BYTES)
        return err_set(error, ERR_INVALID, "InvalidReference",
                       "a reference has %zu bytes, %d at most", strlen(text), SECRET_REF_BYTES);
    query = strchrnul(start, '?');
    path = str_new_n(start, (size_t)(query - start));
    if (!are_segments(path) || strchr(path, '#'))
        return refuse(text,
                      "is no reference to a secret: " SECRET_REF_PREFIX
                      "NAME/PROPERTY, or " SECRET_REF_PREFIX "NAME/PROPERTY?version=V",
                      error);
    if (*query && !(ret->version = version_of(query + 1)))
        return refuse(text, "may have ?version=V after the property, and nothing else", error);
    slash = strrchr(path, '/');
    if (slash) {
        ret->property = decode(slash + 1, strlen(slash + 1));
        *slash = '\0';
    }
    ret->name = decode(path, strlen(path));
    return 0;
}

void secret_ref_done(struct secret_ref *ref)
{
    free(ref->name);
    free(ref->property);
    free(ref->version);
    *ref = (struct secret_ref){0};
}
