/* Requests as they come, where they lead, and answers as they go. */
#include <ctype.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "test/unit/api_server/private.h"

/* ---- Texts ---- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)tolower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static char *decode(const char *text, size_t length)
{
    struct buf decoded = BUF_INIT;

    for (size_t i = 0; i < length; i++) {
        int high = text[i] == '%' && i + 2 < length ? hex_digit(text[i + 1]) : -1;
        int low = high >= 0 ? hex_digit(text[i + 2]) : -1;

        buf_add_char(&decoded, low >= 0 ? (char)(high * 16 + low) : text[i]);
        i += low >= 0 ? 2 : 0;
    }
    return buf_take(&decoded);
}

static char *header(const char *head, size_t length, const char *name)
{
    _cleanup_free_ char *line = str_printf("\r\n%s:", name);
    const char *found = strcasestr(head, line), *value;

    if (!found || (size_t)(found - head) >= length)
        return NULL;
    value = found + strlen(line);
    value += strspn(value, " ");
    return str_new_n(value, strcspn(value, "\r\n"));
}

/* ---- Requests ---- */

static void read_params(struct call *call, const char *query)
{
    while (*query) {
        size_t length = strcspn(query, "&"), key = strcspn(query, "=&");
        struct param *param;

        call->params = mem_resize(call->params, call->n_params + 1, sizeof(*call->params));
        param = &call->params[call->n_params++];
        param->key = decode(query, key);
        param->value = key < length ? decode(query + key + 1, length - key - 1) : str_new("");
        query += length + (query[length] == '&');
    }
}

void api_call_set_target(struct call *call, const char *target)
{
    size_t length = strcspn(target, "?");

    call->target = str_new(target);
    call->path = str_new_n(target, length);
    read_params(call, target[length] ? target + length + 1 : "");
}

bool api_call_parse(struct call *call, const char *text, size_t length)
{
    const char *end = strstr(text, "\r\n\r\n"), *space = strchr(text, ' ');
    const char *second = space ? strchr(space + 1, ' ') : NULL;
    _cleanup_free_ char *target = NULL;
    size_t head;

    if (!end || !second)
        return false;
    head = (size_t)(end - text) + 4;
    call->method = str_new_n(text, (size_t)(space - text));
    target = str_new_n(space + 1, (size_t)(second - space - 1));
    api_call_set_target(call, target);
    call->user = header(text, head, "Impersonate-User");
    call->agent = header(text, head, "User-Agent");
    call->accept = header(text, head, "Accept");
    call->content_type = header(text, head, "Content-Type");
    if (length > head && json_read(text + head, length - head, &call->body, NULL) < 0)
        api_call_refuse(call, 400, "BadRequest", "the body is not JSON");
    return true;
}

const char *api_call_param(const struct call *call, const char *key)
{
    for (size_t i = 0; i < call->n_params; i++)
        if (str_equal(call->params[i].key, key))
            return call->params[i].value;
    return NULL;
}

void api_call_done(struct call *call)
{
    for (size_t i = 0; i < call->n_params; i++) {
        free(call->params[i].key);
        free(call->params[i].value);
    }
    free(call->params);
    free(call->method);
    free(call->target);
    free(call->path);
    free(call->user);
    free(call->agent);
    free(call->accept);
    free(call->content_type);
    free(call->route.namespace_name);
    free(call->route.name);
    free(call->route.subresource);
    value_unref(call->body);
    value_unref(call->answer);
}

/* ---- Where it leads ---- */

static size_t split(const char *path, char **segments, size_t most)
{
    size_t count = 0;

    while (*path == '/' && count < most) {
        size_t length = strcspn(++path, "/");

        segments[count++] = decode(path, length);
        path += length;
    }
    return count;
}

/* segments: from the plural, or from "namespaces". */
static void read_route(struct call *call, const char *group, const char *version, char **segments,
                       size_t count)
{
    struct route *route = &call->route;
    bool is_inside = count >= 3 && str_equal(segments[0], "namespaces") &&
                     !(count == 3 && !*group &&
                       (str_equal(segments[2], "status") || str_equal(segments[2], "finalize")));

    if (is_inside) {
        route->namespace_name = str_new(segments[1]);
        segments += 2;
        count -= 2;
    }
    if (count == 0 || count > 3)
        return;
    route->kind = api_kinds_find(call->server, group, version, segments[0]);
    route->name = count > 1 ? str_new(segments[1]) : NULL;
    route->subresource = count > 2 ? str_new(segments[2]) : NULL;
    if (route->kind && route->kind->is_namespaced != is_inside && route->name)
        route->kind = NULL;
    if (route->subresource &&
        !(str_equal(route->subresource, "status") && route->kind && route->kind->has_status))
        route->kind = NULL;
}

static const char *verb_of(const struct call *call)
{
    if (str_equal(call->method, "GET")) {
        if (call->route.name)
            return "get";
        return api_call_param(call, "watch") ? "watch" : call->route.kind ? "list" : "get";
    }
    if (str_equal(call->method, "POST"))
        return "create";
    if (str_equal(call->method, "PUT"))
        return "update";
    if (str_equal(call->method, "PATCH"))
        return call->content_type && str_has_prefix(call->content_type, "application/apply-patch")
                   ? "apply"
                   : "patch";
    return str_equal(call->method, "DELETE") ? "delete" : "other";
}

void api_call_route(struct call *call)
{
    char *segments[8] = {NULL};
    size_t count = split(call->path, segments, ARRAY_SIZE(segments));

    if (count >= 3 && str_equal(segments[0], "api"))
        read_route(call, "", segments[1], segments + 2, count - 2);
    else if (count >= 4 && str_equal(segments[0], "apis"))
        read_route(call, segments[1], segments[2], segments + 3, count - 3);
    for (size_t i = 0; i < count; i++)
        free(segments[i]);
    call->verb = verb_of(call);
    call->is_write = !str_equal(call->method, "GET");
    call->is_dry_run = call->is_write && str_equal(api_call_param(call, "dryRun"), "All");
}

/* ---- Answers ---- */

void api_call_answer(struct call *call, int status, const struct value *body)
{
    value_unref(call->answer);
    call->status = status;
    call->answer = body;
}

const char *api_reason_of_status(int status)
{
    static const struct {
        int status;
        const char *reason;
    } rows[] = {
        {400, "BadRequest"},      {401, "Unauthorized"},          {403, "Forbidden"},
        {404, "NotFound"},        {405, "MethodNotAllowed"},      {409, "Conflict"},
        {410, "Expired"},         {413, "RequestEntityTooLarge"}, {422, "Invalid"},
        {429, "TooManyRequests"}, {500, "InternalError"},         {503, "ServiceUnavailable"},
        {504, "Timeout"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (rows[i].status == status)
            return rows[i].reason;
    return "Unknown";
}

bool api_call_refuse(struct call *call, int status, const char *reason, const char *format, ...)
{
    const struct route *route = &call->route;
    const struct api_kind *kind = route->kind;
    const char *name = route->name;
    _cleanup_free_ char *message = NULL;
    va_list args;

    if (!name && kind)
        name = value_string(value_path(call->body, "metadata", "name", NULL));
    va_start(args, format);
    message = str_vprintf(format, args);
    va_end(args);
    api_call_answer(call, status,
                    value_pack("{s:s, s:s, s:{}, s:s, s:s, s:s, s:{s:s?, s:s?, s:s?}, s:i}", "kind",
                               "Status", "apiVersion", "v1", "metadata", "status", "Failure",
                               "message", message, "reason", reason, "details", "name",
                               kind ? name : NULL, "group",
                               kind && *kind->group ? kind->group : NULL, "kind",
                               kind ? kind->plural : NULL, "code", status));
    return false;
}

bool api_call_wants_metadata(const struct call *call)
{
    return call->accept && strstr(call->accept, "as=PartialObjectMetadata");
}

const struct value *api_as_metadata(const struct value *object)
{
    return value_pack("{s:s, s:s, s:v}", "kind", "PartialObjectMetadata", "apiVersion",
                      "meta.k8s.io/v1", "metadata", value_get(object, "metadata"));
}
