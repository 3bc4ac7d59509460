#include "test/fuzz/answers/answers.h"

#include "engine/base/str.h"
#include "engine/value/json.h"
#include "runtimes/kubernetes/client/list.h"
#include "runtimes/kubernetes/client/path.h"
#include "runtimes/kubernetes/client/pause.h"
#include "test/fuzz/fuzz.h"

static struct {
    const uint8_t *data;
    size_t size, given;
    answers_see *see;
} server;

void answers_begin(const uint8_t *data, size_t size, answers_see *see)
{
    server.data = data;
    server.size = size;
    server.given = 0;
    server.see = see;
}

size_t answers_given(void)
{
    return server.given;
}

/* A path stays one: whatever a name is, the server reads it as one segment. */
static void check_path(const struct kube_request *request)
{
    _cleanup_free_ char *path = kube_path(request);

    must(str_has_prefix(path, "/api") && !strpbrk(path, " \r\n#\"<>\\"));
    must(!strstr(path, "//") && !strstr(path, "/./") && !strstr(path, "/../"));
    must(!str_has_suffix(path, "/..") && !str_has_suffix(path, "/."));
}

/* As of api_error.h: of objects alone it is said that they are not there. */
static int failure(const struct kube_request *request, const char *head, const char *text,
                   struct error *error)
{
    int code = 0;
    char reason[ERROR_REASON_SIZE] = "";

    if (sscanf(head, "%5d %63s", &code, reason) < 1 || code < ERR_INTERNAL || code > 0)
        code = ERR_INTERNAL;
    if ((code == ERR_NOT_FOUND && !request->ref.name) || str_equal(reason, "NotServed"))
        return err_set(error, ERR_UNAVAILABLE, "NotServed", "%s", text);
    return code < 0 ? err_set(error, code, reason, "%s", text) : 0;
}

/* The input's next answer. */
static int take_answer(const struct kube_request *request, const struct value **ret,
                       struct error *error)
{
    static const char between[] = "\n---\n";
    const uint8_t *end = NULL, *part = server.data;
    size_t length = server.size;
    _cleanup_free_ char *head = NULL, *text = NULL;
    int r;

    if (!server.size)
        return err_set(error, ERR_UNAVAILABLE, NULL, "no answer");
    end = memmem(server.data, server.size, between, strlen(between));
    if (end)
        length = (size_t)(end - server.data);
    server.size -= end ? length + strlen(between) : length;
    server.data += end ? length + strlen(between) : length;
    head = take_line(&part, &length);
    text = str_new_n((const char *)part, length);
    r = failure(request, head, text, error);
    if (r == 0 && json_read((const char *)part, length, ret, NULL) < 0)
        return err_set(error, ERR_INTERNAL, "UnexpectedAnswer", "it is not JSON");
    return r;
}

static bool is_asked_for(const struct kube_request *request, const struct value *object)
{
    const struct value *metadata = value_get(object, "metadata");
    const char *name = request->ref.name;

    if (!name)
        name = value_string(value_path(request->body, "metadata", "name", NULL));
    return !name || str_equal(request->method, "DELETE") ||
           (str_equal(value_get_string(metadata, "name"), name) &&
            value_get_string(metadata, "uid") && value_get_string(metadata, "resourceVersion"));
}

static int answer(const struct kube_request *request, const struct value **ret, struct error *error)
{
    _cleanup_value_ const struct value *body = NULL;
    int r;

    check_path(request);
    server.given++;
    r = take_answer(request, &body, error);
    if (r == 0 && !is_asked_for(request, body))
        r = err_set(error, ERR_UNAVAILABLE, "UnexpectedAnswer", "it is another object");
    if (server.see)
        server.see(request, r, r == 0 ? body : NULL);
    if (r == 0)
        *ret = TAKE(body);
    return r;
}

int __wrap_kube_do(struct kube_client *client, const struct kube_request *request,
                   const struct value **ret, struct error *error);
int __wrap_kube_list(struct kube_client *client, const struct kube_list *list,
                     char **ret_resource_version, struct error *error);
bool __wrap_pause_for(int64_t delay, struct cancel *cancel);
size_t __wrap_kube_client_kinds_limit(const struct kube_client *client);

int __wrap_kube_do(struct kube_client *client, const struct kube_request *request,
                   const struct value **ret, struct error *error)
{
    _cleanup_value_ const struct value *body = NULL;
    int r = answer(request, &body, error);

    (void)client;
    if (r == 0 && ret)
        *ret = TAKE(body);
    return r;
}

int __wrap_kube_list(struct kube_client *client, const struct kube_list *list,
                     char **ret_resource_version, struct error *error)
{
    const struct kube_request request = {
        .method = "GET", .ref = list->ref, .selector = list->selector};
    _cleanup_value_ const struct value *body = NULL;
    const struct value *items;
    int r = answer(&request, &body, error);

    (void)client;
    items = value_get(body, "items");
    for (size_t i = 0; r == 0 && i < value_count(items); i++)
        if (value_at(items, i))
            r = list->on_item(list->arg, value_at(items, i), error);
    if (r == 0 && ret_resource_version)
        *ret_resource_version = str_new("1");
    return r;
}

bool __wrap_pause_for(int64_t delay, struct cancel *cancel)
{
    (void)delay;
    (void)cancel;
    return true;
}

size_t __wrap_kube_client_kinds_limit(const struct kube_client *client)
{
    (void)client;
    return 0; /* as of the operator's own cluster */
}
