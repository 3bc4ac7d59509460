/* What the test itself asks and changes, past rules and counts. */
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "test/unit/api_server/private.h"

static const char *content_type_of(const char *method)
{
    if (str_equal(method, "MERGE"))
        return "application/merge-patch+json";
    return str_equal(method, "APPLY") ? "application/apply-patch+yaml" : "application/json";
}

int api_server_do(struct api_server *server, const char *method, const char *path, const char *body,
                  const struct value **ret)
{
    bool is_patch = str_equal(method, "MERGE") || str_equal(method, "APPLY");
    struct call call = {.server = server,
                        .method = str_new(is_patch ? "PATCH" : method),
                        .agent = str_new("test"),
                        .content_type = str_new(content_type_of(method))};
    struct error error = {0};
    int status;

    if (body && json_read_str(body, &call.body, &error) < 0) {
        fprintf(stderr, "%s: %s\n", body, error.message);
        abort();
    }
    api_call_set_target(&call, path);
    pthread_mutex_lock(&server->lock);
    api_call_route(&call);
    api_verbs_do(&call);
    pthread_mutex_unlock(&server->lock);
    status = call.status;
    if (ret)
        *ret = TAKE(call.answer);
    api_call_done(&call);
    return status;
}

static void must(struct api_server *server, const char *method, const char *path, const char *body)
{
    _cleanup_value_ const struct value *answer = NULL;
    int status = api_server_do(server, method, path, body, &answer);

    if (status >= 200 && status < 300)
        return;
    fprintf(stderr, "%s %s: %d %s\n", method, path, status,
            answer ? value_get_string(answer, "message") : "");
    abort();
}

const struct value *api_server_get(struct api_server *server, const char *path)
{
    _cleanup_value_ const struct value *answer = NULL;

    return api_server_do(server, "GET", path, NULL, &answer) == 200 ? TAKE(answer) : NULL;
}

size_t api_server_size(struct api_server *server, const char *path)
{
    _cleanup_value_ const struct value *answer = NULL;

    if (api_server_do(server, "GET", path, NULL, &answer) != 200)
        return 0;
    return value_count(value_get(answer, "items"));
}

/* Where an object belongs; free(). */
static char *collection_of(struct api_server *server, const struct value *object)
{
    const char *api_version = value_get_string(object, "apiVersion");
    const char *namespace_name = value_string(value_path(object, "metadata", "namespace", NULL));
    const struct api_kind *kind;
    char *path = NULL;

    pthread_mutex_lock(&server->lock);
    kind = api_kinds_find_by_name(server, api_version, value_get_string(object, "kind"));
    if (kind)
        path = str_printf("/api%s/%s%s%s/%s", *kind->group ? "s" : "", api_version,
                          namespace_name ? "/namespaces/" : "",
                          namespace_name ? namespace_name : "", kind->plural);
    pthread_mutex_unlock(&server->lock);
    return path;
}

void api_server_create(struct api_server *server, const char *json)
{
    _cleanup_value_ const struct value *object = NULL;
    _cleanup_free_ char *path = NULL;
    struct error error = {0};

    if (json_read_str(json, &object, &error) < 0 || !(path = collection_of(server, object))) {
        fprintf(stderr, "%s: %s\n", json, error.code ? error.message : "no such kind");
        abort();
    }
    must(server, "POST", path, json);
}

void api_server_put(struct api_server *server, const char *json)
{
    _cleanup_value_ const struct value *object = NULL;
    const struct value *metadata;
    const struct api_kind *kind;
    struct error error = {0};

    if (json_read_str(json, &object, &error) < 0) {
        fprintf(stderr, "%s: %s\n", json, error.message);
        abort();
    }
    metadata = value_get(object, "metadata");
    pthread_mutex_lock(&server->lock);
    kind = api_kinds_find_by_name(server, value_get_string(object, "apiVersion"),
                                  value_get_string(object, "kind"));
    if (!kind)
        abort();
    api_storage_commit(server, kind, value_get_string(metadata, "namespace"),
                       value_get_string(metadata, "name"), object);
    pthread_mutex_unlock(&server->lock);
}

void api_server_edit(struct api_server *server, const char *path, const char *merge_patch)
{
    must(server, "MERGE", path, merge_patch);
}

void api_server_delete(struct api_server *server, const char *path)
{
    must(server, "DELETE", path, NULL);
}

void api_server_remove(struct api_server *server, const char *path)
{
    struct call call = {.server = server, .method = str_new("GET"), .agent = str_new("test")};
    const struct route *route = &call.route;

    api_call_set_target(&call, path);
    pthread_mutex_lock(&server->lock);
    api_call_route(&call);
    if (!route->kind ||
        !api_storage_commit(server, route->kind, route->namespace_name, route->name, NULL))
        abort();
    pthread_mutex_unlock(&server->lock);
    api_call_done(&call);
}

void api_server_compact(struct api_server *server)
{
    pthread_mutex_lock(&server->lock);
    server->compacted = ++server->version;
    server->watch_epoch++;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

void api_server_save(struct api_server *server)
{
    pthread_mutex_lock(&server->lock);
    api_storage_save(server);
    pthread_mutex_unlock(&server->lock);
}

void api_server_set_back(struct api_server *server)
{
    pthread_mutex_lock(&server->lock);
    api_storage_set_back(server);
    server->watch_epoch++;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

void api_server_end_watches(struct api_server *server)
{
    pthread_mutex_lock(&server->lock);
    server->watch_epoch++;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}
