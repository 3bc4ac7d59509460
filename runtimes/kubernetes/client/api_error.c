#include "runtimes/kubernetes/client/api_error.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "runtimes/io/http.h"
#include "runtimes/kubernetes/client/redact.h"
#include "runtimes/kubernetes/client/ref.h"

#define MAX_CAUSES 8

/* What a Status says, and what is known about the request that it answers. */
struct answer {
    int status;                 /* of HTTP, or the Status's own code */
    const struct value *object; /* the Status; NULL: it was none */
    const char *reason;         /* the Status's; "": none */
    const char *message;
    const struct kube_kind *kind; /* of the object asked for, or NULL */
    const char *name;             /* its own, or NULL */
    bool is_apply;
};

struct meaning {
    int code;
    const char *reason; /* NULL: the Status's own */
};

/* ---- Reasons and status codes ---- */

/* An admission webhook may write any words there; a condition takes CamelCase alone. */
static bool is_reason(const char *text)
{
    size_t length = strlen(text);

    return *text >= 'A' && *text <= 'Z' && length < ERROR_REASON_SIZE &&
           strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789") == length;
}

static const struct {
    const char *reason;
    int code;
} by_reason[] = {
    {"AlreadyExists", ERR_EXISTS},
    {"BadRequest", ERR_INVALID},
    {"Conflict", ERR_CONFLICT},
    {"Expired", ERR_GONE},
    {"Forbidden", ERR_FORBIDDEN},
    {"Gone", ERR_GONE},
    {"InternalError", ERR_UNAVAILABLE},
    {"Invalid", ERR_INVALID},
    {"MethodNotAllowed", ERR_INVALID},
    {"NotAcceptable", ERR_INVALID},
    {"RequestEntityTooLarge", ERR_TOO_LARGE},
    {"ServerTimeout", ERR_UNAVAILABLE},
    {"ServiceUnavailable", ERR_UNAVAILABLE},
    {"StorageReadError", ERR_UNAVAILABLE},
    {"Timeout", ERR_UNAVAILABLE},
    {"TooManyRequests", ERR_UNAVAILABLE},
    {"Unauthorized", ERR_UNAUTHENTICATED},
    {"UnsupportedMediaType", ERR_INVALID},
};

static const struct {
    int status;
    int code;
    const char *reason;
} by_status[] = {
    {400, ERR_INVALID, "BadRequest"},
    {401, ERR_UNAUTHENTICATED, "Unauthorized"},
    {403, ERR_FORBIDDEN, "Forbidden"},
    {404, ERR_UNAVAILABLE, "NotServed"},
    {405, ERR_INVALID, "MethodNotAllowed"},
    {406, ERR_INVALID, "NotAcceptable"},
    {408, ERR_UNAVAILABLE, "Timeout"},
    {409, ERR_CONFLICT, "Conflict"},
    {410, ERR_GONE, "Gone"},
    {413, ERR_TOO_LARGE, "RequestEntityTooLarge"},
    {415, ERR_INVALID, "UnsupportedMediaType"},
    {422, ERR_INVALID, "Invalid"},
    {429, ERR_UNAVAILABLE, "TooManyRequests"},
    {500, ERR_UNAVAILABLE, "InternalError"},
    {502, ERR_UNAVAILABLE, "BadGateway"},
    {503, ERR_UNAVAILABLE, "ServiceUnavailable"},
    {504, ERR_UNAVAILABLE, "Timeout"},
};

static struct meaning meaning_of_status(int status)
{
    for (size_t i = 0; i < ARRAY_SIZE(by_status); i++)
        if (by_status[i].status == status)
            return (struct meaning){by_status[i].code, by_status[i].reason};
    if (status >= 500)
        return (struct meaning){ERR_UNAVAILABLE, "InternalError"};
    if (status >= 400)
        return (struct meaning){ERR_INVALID, "BadRequest"};
    return (struct meaning){ERR_INTERNAL, "UnexpectedAnswer"};
}

/* ---- Answers that need a second look ---- */

/* Status.details has the plural. The server of an aggregated API may have the kind there, or
 * nothing. */
static bool is_of_kind(const struct value *details, const struct kube_kind *kind)
{
    const char *named = value_get_string(details, "kind");

    return !named || !*named || !kind || !kind->plural || str_equal(named, kind->plural) ||
           strcasecmp(named, kind->kind) == 0;
}

static struct meaning meaning_of_not_found(const struct answer *answer)
{
    const struct value *details = value_get(answer->object, "details");
    const char *name = value_get_string(details, "name");
    bool is_namespace = str_equal(value_get_string(details, "kind"), "namespaces");

    /* An apply creates what is absent: it misses no Namespace but the one to create in. */
    if (is_namespace && (answer->is_apply || !str_equal(name, answer->name)))
        return (struct meaning){ERR_INVALID, "NamespaceNotFound"};
    if (name && str_equal(name, answer->name) && is_of_kind(details, answer->kind))
        return (struct meaning){ERR_NOT_FOUND, "NotFound"};
    return (struct meaning){ERR_UNAVAILABLE, "NotServed"};
}

static bool has_cause(const struct answer *answer, const char *reason)
{
    const struct value *causes = value_path(answer->object, "details", "causes", NULL);

    for (size_t i = 0; i < value_count(causes); i++)
        if (str_equal(value_get_string(value_at(causes, i), "reason"), reason))
            return true;
    return false;
}

/*
 * Errors inside the server that it has no reason for come as 500 without
 * one: the schema check of an apply, and what its storage says, which is
 * told apart by the texts that gRPC and etcd begin with.
 */
static struct meaning meaning_of_no_reason(const struct answer *answer)
{
    static const char *const passing[] = {"etcdserver: ",     "rpc error: ", "context deadline",
                                          "context canceled", "http2: ",     "unexpected EOF",
                                          "dial tcp",         "stream error"};

    if (answer->status != 500)
        return meaning_of_status(answer->status);
    if (strstr(answer->message, "request is too large") ||
        strstr(answer->message, "trying to send message larger than max"))
        return (struct meaning){ERR_TOO_LARGE, "RequestEntityTooLarge"};
    if (!answer->is_apply)
        return meaning_of_status(answer->status);
    for (size_t i = 0; i < ARRAY_SIZE(passing); i++)
        if (str_has_prefix(answer->message, passing[i]))
            return meaning_of_status(answer->status);
    return (struct meaning){ERR_INVALID, "InvalidSchema"};
}

/* An admission webhook is down, or hangs: the API server carried nothing out. */
static bool is_of_webhook(const struct answer *answer)
{
    return answer->status == 500 && str_equal(answer->reason, "InternalError") &&
           strstr(answer->message, "failed calling webhook ");
}

/* The API server puts its own words before those of an admission webhook. */
static bool is_denied_by_webhook(const struct answer *answer)
{
    static const char by[] = "admission webhook \"", denied[] = "\" denied the request";
    const char *name = answer->message + strlen(by);

    return str_has_prefix(answer->message, by) &&
           str_has_prefix(name + strcspn(name, "\""), denied);
}

/* A webhook denies with any code and reason. None of them says that the object is absent, or that
 * somebody else changed it. */
static struct meaning meaning_of_denial(struct meaning meaning)
{
    static const int own[] = {ERR_INVALID, ERR_FORBIDDEN, ERR_TOO_LARGE};

    for (size_t i = 0; i < ARRAY_SIZE(own); i++)
        if (meaning.code == own[i] && !str_equal(meaning.reason, "NamespaceNotFound"))
            return meaning;
    if (meaning.code == ERR_UNAVAILABLE && !str_equal(meaning.reason, "NotServed"))
        return meaning;
    return (struct meaning){ERR_FORBIDDEN, "Forbidden"};
}

static struct meaning meaning_of_words(const struct answer *answer)
{
    struct meaning meaning;

    if (!answer->object)
        return meaning_of_status(answer->status);
    if (!*answer->reason)
        return meaning_of_no_reason(answer);
    if (strcmp(answer->reason, "NotFound") == 0)
        return meaning_of_not_found(answer);
    if (strcmp(answer->reason, "Forbidden") == 0 && has_cause(answer, "NamespaceTerminating"))
        return (struct meaning){ERR_FORBIDDEN, "NamespaceTerminating"};
    if (is_of_webhook(answer))
        return (struct meaning){ERR_UNAVAILABLE, KUBE_WEBHOOK_FAILED};
    for (size_t i = 0; i < ARRAY_SIZE(by_reason); i++)
        if (strcmp(by_reason[i].reason, answer->reason) == 0)
            return (struct meaning){by_reason[i].code, answer->reason};
    meaning = meaning_of_status(answer->status);
    if (is_reason(answer->reason))
        meaning.reason = answer->reason;
    return meaning;
}

static struct meaning meaning_of(const struct answer *answer)
{
    struct meaning meaning = meaning_of_words(answer);

    return is_denied_by_webhook(answer) ? meaning_of_denial(meaning) : meaning;
}

/* ---- Messages ---- */

/* "spec.selector: Invalid value: (redacted): field is immutable; spec.x: Required value" */
static bool add_causes(struct buf *to, const struct value *causes)
{
    size_t shown = 0, more = 0;

    for (size_t i = 0; i < value_count(causes); i++) {
        const char *field = value_get_string(value_at(causes, i), "field");
        const char *message = value_get_string(value_at(causes, i), "message");

        if (!message || !*message)
            continue;
        if (shown == MAX_CAUSES) {
            more++;
            continue;
        }
        if (shown++)
            buf_add_str(to, "; ");
        if (field && *field)
            buf_printf(to, "%s: ", field);
        redact_message(to, message);
    }
    if (more)
        buf_printf(to, "; and %zu more", more);
    return shown > 0;
}

/* A path, and what is wrong there: no value goes on in the next line, which redaction would not
 * recognise in another place. */
static bool is_whole_line(const char *line)
{
    bool in_string = false;
    int depth = 0;

    if (!str_has_prefix(line, "  ."))
        return false;
    for (; *line; line++) {
        if (*line == '"')
            in_string = !in_string;
        else if (in_string)
            line += *line == '\\' && line[1];
        else if (strchr("({[", *line))
            depth++;
        else if (strchr(")}]", *line))
            depth--;
    }
    return !in_string && !depth;
}

/* The lines of a schema check are those of Go's maps: in another order each time. An answer to the
 * same request has to be the same text, or each retry would be news. */
static char *sort_paths(const char *message)
{
    const char *list = strstr(message, "\n  .");
    _cleanup_free_ char *lines = str_new(list ? list + 1 : "");
    _cleanup_free_ const char **paths = NEW_ARRAY(const char *, strlen(lines) / 3 + 1);
    struct buf text = BUF_INIT;
    size_t n = 0;
    char *rest = lines;

    for (char *line; list && (line = strsep(&rest, "\n"));) {
        if (!is_whole_line(line)) {
            buf_done(&text);
            return str_new(message);
        }
        paths[n++] = line;
    }
    qsort(paths, n, sizeof(*paths), str_compare);
    buf_add(&text, message, list ? (size_t)(list - message) : strlen(message));
    for (size_t i = 0; i < n; i++)
        buf_printf(&text, "\n%s", paths[i]);
    return buf_take(&text);
}

/* The causes are all that matters of an object that is invalid or contested; elsewhere the
 * message says more than they do. */
static void describe(const struct answer *answer, struct buf *to)
{
    const struct value *causes = value_path(answer->object, "details", "causes", NULL);
    _cleanup_free_ char *message = sort_paths(answer->message);

    if ((answer->status == 422 || answer->status == 409) && add_causes(to, causes))
        return;
    if (*answer->reason && !is_reason(answer->reason)) {
        redact_message(to, answer->reason);
        if (*answer->message)
            buf_add_str(to, ": ");
        redact_message(to, message);
    } else if (*answer->message)
        redact_message(to, message);
    else if (answer->object)
        buf_printf(to, "the API server answered %d without a message", answer->status);
    else
        buf_printf(to, "the answer was %d, and not of the API server's form", answer->status);
}

static int set_from_answer(const struct answer *answer, const char *method, struct error *error)
{
    struct meaning meaning = meaning_of(answer);
    _cleanup_buf_ struct buf message = BUF_INIT;

    describe(answer, &message);
    if (!answer->object && method)
        return err_set(error, meaning.code, meaning.reason, "%s: %s", method, message.data);
    return err_set(error, meaning.code, meaning.reason, "%s", message.data);
}

static void read_status(const struct value *status, struct answer *answer)
{
    const char *reason = value_get_string(status, "reason");
    const char *message = value_get_string(status, "message");

    answer->object = status;
    answer->reason = reason ? reason : "";
    answer->message = message ? message : "";
}

static bool is_status(const struct value *value)
{
    return str_equal(value_get_string(value, "kind"), "Status") &&
           str_equal(value_get_string(value, "apiVersion"), "v1");
}

int api_error_from_response(const char *method, const struct kube_ref *ref, bool is_apply,
                            const struct http_response *response, struct error *error)
{
    struct answer answer = {.status = response->status,
                            .reason = "",
                            .message = "",
                            .kind = ref ? ref->kind : NULL,
                            .name = ref ? ref->name : NULL,
                            .is_apply = is_apply};
    _cleanup_value_ const struct value *body = NULL;

    if (json_read(response->body.data, response->body.length, &body, NULL) == 0 && is_status(body))
        read_status(body, &answer);
    return set_from_answer(&answer, method, error);
}

const struct value *api_error_causes(const struct http_response *response)
{
    struct answer answer = {.status = response->status, .reason = "", .message = ""};
    _cleanup_value_ const struct value *body = NULL;

    if ((response->status != 422 && response->status != 409) ||
        json_read(response->body.data, response->body.length, &body, NULL) < 0 || !is_status(body))
        return NULL;
    read_status(body, &answer);
    if (is_denied_by_webhook(&answer) ||
        !(str_equal(answer.reason, "Invalid") ||
          (str_equal(answer.reason, "Conflict") && has_cause(&answer, "FieldManagerConflict"))))
        return NULL;
    return value_ref(value_path(body, "details", "causes", NULL));
}

int api_error_from_status(const struct value *status, struct error *error)
{
    struct answer answer = {.reason = "", .message = ""};

    if (!is_status(status))
        return err_set(error, ERR_INTERNAL, "UnexpectedAnswer",
                       "the API server reported an error that is not a Status");
    answer.status = (int)value_int(value_get(status, "code"), 500);
    read_status(status, &answer);
    return set_from_answer(&answer, NULL, error);
}
