#include "runtimes/http/resource/description.h"

#include <string.h>
#include <strings.h>

#include "engine/base/duration.h"
#include "engine/base/similar.h"
#include "engine/base/str.h"
#include "engine/spec/ref.h"
#include "engine/spec/secret_ref.h"
#include "engine/value/path.h"
#include "runtimes/http/resource/fill.h"

#define LONGEST_TIMEOUT (INT64_C(10) * 60 * 1000)
#define FIELD_BYTES     256

struct checking {
    description_on_problem *on_problem;
    void *arg;
};

static void PRINTF_LIKE(3, 4)
    report(const struct checking *checking, const char *field, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    _cleanup_free_ char *text = str_vprintf(format, args);
    va_end(args);
    checking->on_problem(checking->arg, field, text);
}

/* ---- Members ---- */

/* A check of one member. NULL is never given. */
typedef void check_member(const struct checking *checking, const char *field,
                          const struct value *value);

struct member {
    const char *name;
    check_member *check;
    bool is_required;
    const struct member *members; /* it is an object of these, which is checked first; or NULL */
};

#define MUST(name, check)       \
    {                           \
        name, check, true, NULL \
    }
#define MAY(name, check)         \
    {                            \
        name, check, false, NULL \
    }

static bool is_absent(const struct value *value)
{
    return !value || value_is(value, VALUE_NULL);
}

static const struct member *find_member(const struct member *members, const char *name)
{
    for (; members->name; members++)
        if (str_equal(members->name, name))
            return members;
    return NULL;
}

static void report_unknown(const struct checking *checking, const char *field, const char *name,
                           const struct member *members)
{
    struct similar similar;

    similar_begin(&similar, name);
    for (; members->name; members++)
        similar_offer(&similar, members->name);
    if (similar.found)
        report(checking, field, "there is no such field; is %s meant?", similar.found);
    else
        report(checking, field, "there is no such field");
}

static void join(char ret[FIELD_BYTES], const char *field, const char *name)
{
    _cleanup_free_ char *both = *field ? str_printf("%s.%s", field, name) : str_new(name);

    str_copy(ret, FIELD_BYTES, both);
}

static void check_object(const struct checking *checking, const char *field,
                         const struct value *value, const struct member *members);

static void check_one(const struct checking *checking, const char *field, const struct value *value,
                      const struct member *member)
{
    if (member->members)
        check_object(checking, field, value, member->members);
    if (member->check && (!member->members || value_is(value, VALUE_OBJECT)))
        member->check(checking, field, value);
}

/* Other tools may have members whose name has a slash. */
static void check_object(const struct checking *checking, const char *field,
                         const struct value *value, const struct member *members)
{
    char inner[FIELD_BYTES];
    size_t length;

    if (!value_is(value, VALUE_OBJECT)) {
        report(checking, field, "must be an object");
        return;
    }
    for (size_t i = 0; i < value_count(value); i++) {
        const char *name = value_member_key(value, i, &length);
        const struct member *member = find_member(members, name);

        join(inner, field, name);
        if (member && !is_absent(value_member(value, i)))
            check_one(checking, inner, value_member(value, i), member);
        else if (!member && !strchr(name, '/'))
            report_unknown(checking, inner, name, members);
    }
    for (; members->name; members++) {
        join(inner, field, members->name);
        if (members->is_required && is_absent(value_get(value, members->name)))
            report(checking, inner, "is required");
    }
}

/* ---- Kinds of values ---- */

/* NULL: it is no text, which was reported. */
static const char *read_text(const struct checking *checking, const char *field,
                             const struct value *value)
{
    size_t length;
    const char *text = value_string_n(value, &length);

    if (!text || !*text || strlen(text) != length) {
        report(checking, field, "must be a string that is not empty");
        return NULL;
    }
    if (ref_is(value)) {
        report(checking, field,
               "must be written out, and cannot be a reference: put that into `parameters`, and "
               "its name in braces");
        return NULL;
    }
    return text;
}

static void check_text(const struct checking *checking, const char *field,
                       const struct value *value)
{
    read_text(checking, field, value);
}

/* Not parsed before it is known. A reference to a secret would be shown in messages. */
static void check_url(const struct checking *checking, const char *field, const struct value *value)
{
    const char *text =
        ref_is(value) || value_is(value, VALUE_UNKNOWN) ? NULL : read_text(checking, field, value);

    if (text && str_has_prefix(text, SECRET_REF_PREFIX))
        report(checking, field, "an address is no secret: write it out");
}

static void check_pointer(const struct checking *checking, const char *field,
                          const struct value *value)
{
    const char *text = value_string(value);

    if (!text || (*text && *text != '/'))
        report(checking, field, "must be a JSON pointer, as /a/b is, or \"\" for all");
}

static void check_pointers(const struct checking *checking, const char *field,
                           const struct value *value)
{
    if (!value_is(value, VALUE_ARRAY))
        report(checking, field, "must be a list of JSON pointers");
    for (size_t i = 0; value_is(value, VALUE_ARRAY) && i < value_count(value); i++) {
        _cleanup_free_ char *inner = str_printf("%s[%zu]", field, i);
        const char *text = value_string(value_at(value, i));

        if (!text || *text != '/')
            report(checking, inner, "must be a JSON pointer, as /a/b is");
    }
}

static void check_path(const struct checking *checking, const char *field,
                       const struct value *value)
{
    const char *text = read_text(checking, field, value);
    struct error error = {0};

    if (text && fill_check_path(text, &error) < 0)
        report(checking, field, "%s", error.message);
}

static void check_timeout(const struct checking *checking, const char *field,
                          const struct value *value)
{
    const char *text = value_string(value);
    int64_t timeout = text ? duration_parse(text) : -1;

    if (timeout <= 0 || timeout > LONGEST_TIMEOUT)
        report(checking, field, "must be a duration as 30s is, and at most 10m");
}

static void check_statuses(const struct checking *checking, const char *field,
                           const struct value *value)
{
    bool is_list = value_is(value, VALUE_ARRAY);

    for (size_t i = 0; is_list && i < value_count(value); i++) {
        int64_t status = value_int(value_at(value, i), 0);

        is_list = status >= 200 && status <= 599;
    }
    if (!is_list)
        report(checking, field, "must be a list of statuses of HTTP, as [404, 410] is");
}

static void check_scalars(const struct checking *checking, const char *field,
                          const struct value *value)
{
    bool is_list = value_is(value, VALUE_ARRAY) && value_count(value);

    for (size_t i = 0; is_list && i < value_count(value); i++)
        is_list = !value_is(value_at(value, i), VALUE_ARRAY) &&
                  !value_is(value_at(value, i), VALUE_OBJECT);
    if (!is_list)
        report(checking, field, "must be a list of values, as [active, running] is");
}

static void check_bool(const struct checking *checking, const char *field,
                       const struct value *value)
{
    if (!value_is(value, VALUE_BOOL))
        report(checking, field, "must be true or false");
}

static void check_parameters(const struct checking *checking, const char *field,
                             const struct value *value)
{
    char inner[FIELD_BYTES];
    size_t length;

    if (!value_is(value, VALUE_OBJECT))
        report(checking, field, "must be an object");
    for (size_t i = 0; value_is(value, VALUE_OBJECT) && i < value_count(value); i++) {
        const char *name = value_member_key(value, i, &length);

        join(inner, field, name);
        if (!fill_is_name(name))
            report(checking, inner, "a parameter's name has letters, digits, \"-\" and \"_\"");
    }
}

/* ---- Headers ---- */

/* Whom a request is from, and where it ends, is not said by a request's own headers. */
static const char *const others_headers[] = {
    "Host",
    "Authorization",
    "Cookie",
    "Content-Length",
    "Transfer-Encoding",
    "Connection",
    "Expect",
    "Upgrade",
    "TE",
    "Trailer",
    "Keep-Alive",
    "If-Match",
    "User-Agent",
    "Proxy-Authorization",
    "Proxy-Connection",
    "Forwarded",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Real-IP",
    "Via",
};

static bool is_header_name(const char *name)
{
    return *name && strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-"
                                 "_") == strlen(name);
}

static bool is_of_others(const char *name, bool is_secret)
{
    for (size_t i = 0; i < ARRAY_SIZE(others_headers); i++)
        if (strcasecmp(name, others_headers[i]) == 0)
            return !is_secret ||
                   (strcasecmp(name, "Authorization") != 0 && strcasecmp(name, "Cookie") != 0);
    return false;
}

static void check_header_name(const struct checking *checking, const char *field, const char *name,
                              bool is_secret)
{
    if (!is_header_name(name))
        report(checking, field, "is not the name of a header");
    else if (is_of_others(name, is_secret))
        report(checking, field, "this header cannot be set here%s",
               strcasecmp(name, "Authorization") == 0
                   ? ": connection.bearerFrom, basicFrom and headersFrom take it from a Secret"
                   : "");
}

static void check_headers(const struct checking *checking, const char *field,
                          const struct value *value)
{
    char inner[FIELD_BYTES];
    size_t length;

    if (!value_is(value, VALUE_OBJECT))
        report(checking, field, "must be an object of strings");
    for (size_t i = 0; value_is(value, VALUE_OBJECT) && i < value_count(value); i++) {
        const char *name = value_member_key(value, i, &length);
        const char *text = value_string_n(value_member(value, i), &length);

        join(inner, field, name);
        check_header_name(checking, inner, name, false);
        if (value_is(value_member(value, i), VALUE_UNKNOWN))
            continue;
        if (!text || strcspn(text, "\r\n") != length)
            report(checking, inner, "must be a string of one line");
    }
}

/* ---- The connection ---- */

static void check_secret_header(const struct checking *checking, const char *field,
                                const struct value *value)
{
    const char *name = read_text(checking, field, value);

    if (name)
        check_header_name(checking, field, name, true);
}

/* It stands before a secret in a header, and ends it nowhere. */
static void check_prefix(const struct checking *checking, const char *field,
                         const struct value *value)
{
    const char *text = read_text(checking, field, value);

    if (text && text[strcspn(text, "\r\n")])
        report(checking, field, "must be a string of one line");
}

/* What a secret store has: its syntax is checked with all others. */
static void check_secret_ref(const struct checking *checking, const char *field,
                             const struct value *value)
{
    const char *text = value_string(value);

    if (!text || !str_has_prefix(text, SECRET_REF_PREFIX))
        report(checking, field, "must be a reference to a secret store: %sNAME/PROPERTY",
               SECRET_REF_PREFIX);
}

static const struct member header_from_members[] = {
    MUST("name", check_secret_header), MAY("secret", check_text),   MAY("key", check_text),
    MAY("ref", check_secret_ref),      MAY("prefix", check_prefix), {0}};
static const struct member bearer_members[] = {
    MAY("secret", check_text), MAY("key", check_text), MAY("ref", check_secret_ref), {0}};
static const struct member basic_members[] = {MAY("secret", check_text),
                                              MAY("usernameKey", check_text),
                                              MAY("passwordKey", check_text),
                                              MAY("usernameRef", check_secret_ref),
                                              MAY("passwordRef", check_secret_ref),
                                              {0}};
static const struct member ca_members[] = {
    MAY("configMap", check_text), MAY("secret", check_text), MAY("key", check_text), {0}};

static bool has_any(const struct value *value, const char *const *names)
{
    for (; *names; names++)
        if (!is_absent(value_get(value, *names)))
            return true;
    return false;
}

/* A credential is of a Secret, or of a secret store. */
static void check_credential(const struct checking *checking, const char *field,
                             const struct value *value)
{
    static const char *const keys[] = {"key", "usernameKey", "passwordKey", NULL};
    static const char *const refs[] = {"ref", "usernameRef", "passwordRef", NULL};
    bool has_secret = !is_absent(value_get(value, "secret")), has_ref = has_any(value, refs);

    if (has_secret == has_ref)
        report(checking, field, "must name a Secret, or refer to a secret store");
    else if (has_ref && has_any(value, keys))
        report(checking, field, "a key is of a Secret, and a reference has a property");
    if (is_absent(value_get(value, "usernameRef")) != is_absent(value_get(value, "passwordRef")))
        report(checking, field, "usernameRef and passwordRef go together");
}

static void check_headers_from(const struct checking *checking, const char *field,
                               const struct value *value)
{
    if (!value_is(value, VALUE_ARRAY))
        report(checking, field, "must be a list");
    for (size_t i = 0; value_is(value, VALUE_ARRAY) && i < value_count(value); i++) {
        _cleanup_free_ char *inner = str_printf("%s[%zu]", field, i);
        const struct value *one = value_at(value, i);

        check_object(checking, inner, one, header_from_members);
        check_credential(checking, inner, one);
        if (!is_absent(value_get(one, "secret")) && is_absent(value_get(one, "key")))
            report(checking, inner, "must have `key`, too: that of the Secret's data");
    }
}

static void check_ca(const struct checking *checking, const char *field, const struct value *value)
{
    if (is_absent(value_get(value, "secret")) == is_absent(value_get(value, "configMap")))
        report(checking, field, "must name one of configMap and secret");
}

static const struct member connection_members[] = {
    MUST("url", check_url),
    {"caFrom", check_ca, false, ca_members},
    {"bearerFrom", check_credential, false, bearer_members},
    {"basicFrom", check_credential, false, basic_members},
    MAY("headersFrom", check_headers_from),
    {0}};

static void check_connection(const struct checking *checking, const char *field,
                             const struct value *value)
{
    if (!is_absent(value_get(value, "bearerFrom")) && !is_absent(value_get(value, "basicFrom")))
        report(checking, field, "bearerFrom and basicFrom cannot be there at once");
}

/* ---- Requests ---- */

static void check_method(const struct checking *checking, const char *field,
                         const struct value *value)
{
    static const char *const methods[] = {"POST", "PUT", "PATCH", "DELETE"};
    const char *text = value_string(value);

    for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
        if (str_equal(text, methods[i]))
            return;
    report(checking, field, "must be one of POST, PUT, PATCH and DELETE");
}

static void check_body(const struct checking *checking, const char *field,
                       const struct value *value)
{
    struct error error = {0};

    if (fill_check_body(value, &error) < 0)
        report(checking, field, "%s", error.message);
}

static void check_where(const struct checking *checking, const char *field,
                        const struct value *value)
{
    char inner[FIELD_BYTES];
    size_t length;

    if (!value_is(value, VALUE_OBJECT) || !value_count(value))
        report(checking, field,
               "must be an object of JSON pointers: in an item -> in the "
               "attributes");
    for (size_t i = 0; value_is(value, VALUE_OBJECT) && i < value_count(value); i++) {
        const char *name = value_member_key(value, i, &length);
        const char *text = value_string(value_member(value, i));

        join(inner, field, name);
        if (*name != '/' || !text || *text != '/')
            report(checking, inner, "must be JSON pointers: in an item -> in the attributes");
    }
}

static const struct member read_members[] = {MUST("path", check_path),
                                             MAY("headers", check_headers),
                                             MAY("select", check_pointer),
                                             MAY("where", check_where),
                                             MAY("absent", check_statuses),
                                             MAY("timeout", check_timeout),
                                             {0}};
static const struct member create_members[] = {MUST("method", check_method),
                                               MUST("path", check_path),
                                               MAY("headers", check_headers),
                                               MAY("body", check_body),
                                               MAY("exists", check_statuses),
                                               MAY("timeout", check_timeout),
                                               {0}};
static const struct member update_members[] = {
    MUST("method", check_method), MUST("path", check_path),      MAY("headers", check_headers),
    MAY("body", check_body),      MAY("timeout", check_timeout), {0}};
static const struct member delete_members[] = {MUST("method", check_method),
                                               MUST("path", check_path),
                                               MAY("headers", check_headers),
                                               MAY("body", check_body),
                                               MAY("absent", check_statuses),
                                               MAY("timeout", check_timeout),
                                               {0}};
static const struct member wait_members[] = {MAY("path", check_path),
                                             MUST("pointer", check_pointer),
                                             MUST("ready", check_scalars),
                                             MAY("failed", check_scalars),
                                             {0}};
static const struct member lifecycle_members[] = {
    MAY("createBeforeDestroy", check_bool), MAY("preventDestroy", check_bool), {0}};

static const struct member members[] = {{"connection", check_connection, true, connection_members},
                                        MAY("id", check_pointer),
                                        {"read", NULL, true, read_members},
                                        {"create", NULL, true, create_members},
                                        {"update", NULL, false, update_members},
                                        {"delete", NULL, true, delete_members},
                                        {"wait", NULL, false, wait_members},
                                        MAY("parameters", check_parameters),
                                        MAY("computed", check_pointers),
                                        MAY("immutable", check_pointers),
                                        MAY("unordered", check_pointers),
                                        MAY("writeOnly", check_pointers),
                                        MAY("sensitive", check_pointers),
                                        {"lifecycle", NULL, false, lifecycle_members},
                                        {0}};

/* Names in braces are those of parameters. */
static void check_names(const struct checking *checking, const struct value *extensions)
{
    static const char *const requests[] = {"read", "create", "update", "delete", "wait"};

    for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
        const char *path = value_get_string(value_get(extensions, requests[i]), "path");
        bool is_create = str_equal(requests[i], "create");
        struct error error = {0};
        char field[FIELD_BYTES];

        join(field, requests[i], "path");
        if (path && fill_check_path(path, NULL) >= 0 &&
            fill_check_names(path, value_get(extensions, "parameters"),
                             !is_create && value_get(extensions, "id"), &error) < 0)
            report(checking, field, "%s", error.message);
    }
}

void description_check(const struct value *extensions, description_on_problem *on_problem,
                       void *arg)
{
    const struct checking checking = {on_problem, arg};

    if (!extensions) {
        report(&checking, "connection", "is required");
        return;
    }
    check_object(&checking, "", extensions, members);
    check_names(&checking, extensions);
}

/* ---- Reading ---- */

struct first_problem {
    struct error *error;
    bool any;
};

static void keep_first(void *arg, const char *field, const char *problem)
{
    struct first_problem *first = arg;

    if (!first->any)
        err_set(first->error, ERR_INVALID, "InvalidAttribute", "extensions.%s: %s", field, problem);
    first->any = true;
}

int description_read(const struct value *extensions, struct http_description *ret,
                     struct error *error)
{
    struct first_problem first = {error, false};

    description_check(extensions, keep_first, &first);
    if (first.any)
        return ERR_INVALID;
    *ret = (struct http_description){
        .extensions = extensions,
        .connection = value_get(extensions, "connection"),
        .url = value_get_string(value_get(extensions, "connection"), "url"),
        .id = value_get_string(extensions, "id"),
        .read = value_get(extensions, "read"),
        .create = value_get(extensions, "create"),
        .update = value_get(extensions, "update"),
        .delete = value_get(extensions, "delete"),
        .wait = value_get(extensions, "wait"),
        .parameters = value_get(extensions, "parameters"),
    };
    if (is_absent(ret->update))
        ret->update = NULL;
    if (is_absent(ret->wait))
        ret->wait = NULL;
    return 0;
}

bool description_has_status(const struct value *request, const char *list, int status)
{
    const struct value *statuses = value_get(request, list);

    if (is_absent(statuses))
        return str_equal(list, "absent") ? status == 404 || status == 410 : status == 409;
    for (size_t i = 0; i < value_count(statuses); i++)
        if (value_int(value_at(statuses, i), 0) == status)
            return true;
    return false;
}

int64_t description_timeout(const struct value *request)
{
    const char *text = value_get_string(request, "timeout");
    int64_t timeout = text ? duration_parse(text) : DESCRIPTION_TIMEOUT;

    return timeout > 0 ? timeout : DESCRIPTION_TIMEOUT;
}

const char *description_method(const struct value *request)
{
    const char *method = value_get_string(request, "method");

    return method ? method : "GET";
}

bool description_needs_id(const struct http_description *description)
{
    return fill_has_id(value_get_string(description->read, "path"));
}

bool description_creates_first(const struct http_description *description)
{
    return value_bool(value_path(description->extensions, "lifecycle", "createBeforeDestroy", NULL),
                      false);
}

bool description_prevents_destroy(const struct value *extensions)
{
    return value_bool(value_path(extensions, "lifecycle", "preventDestroy", NULL), false);
}
