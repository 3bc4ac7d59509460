/* What each verb checks before anything is written. */
#include "engine/base/str.h"
#include "test/unit/api_server/private.h"

static const struct value *metadata_of(const struct value *object, const char *field)
{
    return value_path(object, "metadata", field, NULL);
}

static const struct value *with_name(const struct value *body, const char *field, const char *name)
{
    const char *path[] = {"metadata", field};
    _cleanup_value_ const struct value *text = value_pack("s", name);

    return value_with_path(body, path, ARRAY_SIZE(path), text);
}

/* ---- Checks ---- */

/* In a Namespace that is not there, or ends, nothing is made. */
static bool may_be_made(struct call *call)
{
    static const char *const path[] = {"details", "causes"};
    const struct api_kind *namespaces = api_kinds_find(call->server, "", "v1", "namespaces");
    const char *name = call->route.namespace_name;
    _cleanup_value_ const struct value *causes = NULL;
    const struct value *object;

    if (!name)
        return true;
    object = api_storage_find(call->server, namespaces, NULL, name);
    if (!object) {
        api_call_answer(call, 404,
                        value_pack("{s:s, s:s, s:s, s:s, s:s, s:{s:s, s:s}, s:i}", "kind", "Status",
                                   "apiVersion", "v1", "status", "Failure", "message",
                                   "namespaces not found", "reason", "NotFound", "details", "name",
                                   name, "kind", "namespaces", "code", 404));
        return false;
    }
    if (!metadata_of(object, "deletionTimestamp"))
        return true;
    causes = value_pack("[{s:s, s:s, s:s}]", "reason", "NamespaceTerminating", "message",
                        "namespace is being terminated", "field", "metadata.namespace");
    api_call_refuse(
        call, 403, "Forbidden",
        "%s is forbidden: unable to create new content in namespace %s because it is being "
        "terminated",
        call->route.kind->plural, name);
    api_call_answer(call, 403, value_with_path(call->answer, path, ARRAY_SIZE(path), causes));
    return false;
}

static bool is_as_addressed(struct call *call, const struct value *body)
{
    const struct route *route = &call->route;
    _cleanup_free_ char *api_version = api_kind_api_version(route->kind);
    const char *namespace_name = value_string(metadata_of(body, "namespace"));
    const char *name = value_string(metadata_of(body, "name"));

    if (!value_is(body, VALUE_OBJECT))
        return api_call_refuse(call, 400, "BadRequest", "a body is needed");
    if (!str_equal(value_get_string(body, "apiVersion"), api_version) ||
        !str_equal(value_get_string(body, "kind"), route->kind->kind))
        return api_call_refuse(call, 400, "BadRequest",
                               "the object provided is unrecognized, or of another kind than %s %s",
                               api_version, route->kind->kind);
    if (namespace_name && !str_equal(namespace_name, route->namespace_name))
        return api_call_refuse(
            call, 400, "BadRequest",
            "the namespace of the provided object does not match the namespace sent "
            "on the request");
    if (name && route->name && !str_equal(name, route->name))
        return api_call_refuse(
            call, 400, "BadRequest",
            "the name of the object (%s) does not match the name on the URL (%s)", name,
            route->name);
    return true;
}

static bool is_current(struct call *call, const struct value *live, const struct value *body)
{
    const char *version = value_string(metadata_of(body, "resourceVersion"));
    const char *uid = value_string(metadata_of(body, "uid"));

    if (uid && !str_equal(uid, value_string(metadata_of(live, "uid"))))
        return api_call_refuse(
            call, 409, "Conflict",
            "Operation cannot be fulfilled on %s \"%s\": Precondition failed: UID in "
            "precondition: %s",
            call->route.kind->plural, call->route.name, uid);
    if (!live || !version || !*version ||
        str_equal(version, value_string(metadata_of(live, "resourceVersion"))))
        return true;
    return api_call_refuse(
        call, 409, "Conflict",
        "Operation cannot be fulfilled on %s \"%s\": the object has been modified; "
        "please apply your changes to the latest version and try again",
        call->route.kind->plural, call->route.name);
}

static const struct value *live_of(const struct call *call)
{
    const struct route *route = &call->route;

    return api_storage_find(call->server, route->kind, route->namespace_name, route->name);
}

static bool not_found(struct call *call)
{
    return api_call_refuse(call, 404, "NotFound", "%s \"%s\" not found", call->route.kind->plural,
                           call->route.name);
}

/* As the path has it, named and in its Namespace. */
static const struct value *addressed(const struct call *call, const struct value *body)
{
    _cleanup_value_ const struct value *named = with_name(body, "name", call->route.name);

    return call->route.namespace_name ? with_name(named, "namespace", call->route.namespace_name)
                                      : value_ref(named);
}

/* ---- Verbs ---- */

static void create(struct call *call)
{
    const char *name = value_string(metadata_of(call->body, "name"));
    const char *stem = value_string(metadata_of(call->body, "generateName"));

    if (!is_as_addressed(call, call->body))
        return;
    if (!name && !stem) {
        api_call_refuse(call, 422, "Invalid", "name or generateName is required");
        return;
    }
    call->route.name =
        name ? str_new(name) : str_printf("%s%05lld", stem, (long long)api_next_uid(call->server));
    if (!may_be_made(call))
        return;
    if (metadata_of(call->body, "resourceVersion"))
        api_call_refuse(call, 400, "BadRequest",
                        "resourceVersion should not be set on objects to be created");
    else if (live_of(call))
        api_call_refuse(call, 409, "AlreadyExists", "%s \"%s\" already exists",
                        call->route.kind->plural, call->route.name);
    else
        api_write_object(call, NULL, addressed(call, call->body), false);
}

static void update(struct call *call)
{
    _cleanup_value_ const struct value *live = value_ref(live_of(call));

    if (!is_as_addressed(call, call->body))
        return;
    if (!live)
        not_found(call);
    else if (is_current(call, live, call->body))
        api_write_object(call, live, addressed(call, call->body), false);
}

/* RFC 7396 */
static const struct value *merged(const struct value *target, const struct value *patch)
{
    const struct value *result;

    if (!value_is(patch, VALUE_OBJECT))
        return value_ref(patch);
    result = value_is(target, VALUE_OBJECT) ? value_ref(target) : value_pack("{}");
    for (size_t i = 0; i < value_count(patch); i++) {
        const char *key = value_member_key(patch, i, NULL);
        const struct value *member = value_member(patch, i), *next;
        _cleanup_value_ const struct value *inner = NULL;

        if (!value_is(member, VALUE_NULL))
            inner = merged(value_get(result, key), member);
        next = inner ? value_with(result, key, inner) : value_without(result, key);
        value_unref(result);
        result = next;
    }
    return result;
}

static void patch(struct call *call)
{
    _cleanup_value_ const struct value *live = value_ref(live_of(call));

    if (!call->content_type || !str_has_prefix(call->content_type, "application/merge-patch"))
        api_call_refuse(call, 415, "UnsupportedMediaType", "the fixture knows merge patches alone");
    else if (!live)
        not_found(call);
    else if (is_current(call, live, call->body))
        api_write_object(call, live, merged(live, call->body), false);
}

/* What is applied says nothing of versions, once they were compared. */
static const struct value *config_of(const struct call *call)
{
    static const char *const version[] = {"metadata", "resourceVersion"}, *const uid[] = {
                                                                              "metadata", "uid"};
    _cleanup_value_ const struct value *whole = addressed(call, call->body),
                                       *bare = value_without_path(whole, version, 2);

    return value_without_path(bare, uid, 2);
}

static void apply(struct call *call)
{
    _cleanup_value_ const struct value *live = value_ref(live_of(call)), *config = NULL;
    const struct value *wanted;

    if (!is_as_addressed(call, call->body))
        return;
    if (!api_call_param(call, "fieldManager")) {
        api_call_refuse(call, 422, "Invalid", "fieldManager: Required value");
        return;
    }
    if (!live && str_equal(call->route.subresource, "status")) {
        not_found(call);
        return;
    }
    if (!live && (!is_current(call, NULL, call->body) || !may_be_made(call)))
        return;
    config = config_of(call);
    wanted =
        api_apply_merge(call, live, config); /* conflicts of fields come before those of versions */
    if (wanted && is_current(call, live, call->body))
        api_write_object(call, live, TAKE(wanted), true);
    value_unref(wanted);
}

static void not_served(struct call *call)
{
    api_call_answer(call, 404,
                    value_pack("{s:s, s:s, s:s, s:s, s:s, s:{}, s:i}", "kind", "Status",
                               "apiVersion", "v1", "status", "Failure", "message",
                               "the server could not find the requested resource", "reason",
                               "NotFound", "details", "code", 404));
}

static bool discover(struct call *call)
{
    const struct value *found;

    if (!str_equal(call->method, "GET") || call->route.kind)
        return false;
    found = api_kinds_discovery(call->server, call->path, call->accept);
    if (found)
        api_call_answer(call, 200, found);
    return found != NULL;
}

void api_verbs_do(struct call *call)
{
    static const struct {
        const char *verb;
        bool needs_name;
        void (*run)(struct call *call);
    } verbs[] = {
        {"get", true, api_read_object},
        {"list", false, api_read_list},
        {"create", false, create},
        {"update", true, update},
        {"patch", true, patch},
        {"apply", true, apply},
        {"delete", true, api_write_delete},
        {"delete", false, api_write_delete_all},
    };
    const struct route *route = &call->route;

    if (discover(call))
        return;
    if (!route->kind || (call->is_write && route->kind->is_namespaced && !route->namespace_name)) {
        not_served(call);
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
        if (str_equal(call->verb, verbs[i].verb) && verbs[i].needs_name == (route->name != NULL)) {
            verbs[i].run(call);
            return;
        }
    api_call_refuse(call, 405, "MethodNotAllowed", "%s is not supported here", call->method);
}
