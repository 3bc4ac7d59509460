/* What is stored, and what goes: what the server sets by itself, finalizers, Namespaces that end.
 */
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/timestamp.h"
#include "test/unit/api_server/private.h"

#include <sys/time.h>

int64_t api_next_uid(struct api_server *server)
{
    return ++server->uids;
}

/* ---- Objects in the making ---- */

static void set(const struct value **object, const char *a, const char *b,
                const struct value *taken)
{
    const char *path[] = {a, b};
    const struct value *next = taken ? value_with_path(*object, path, b ? 2 : 1, taken)
                                     : value_without_path(*object, path, b ? 2 : 1);

    value_unref(taken);
    value_unref(*object);
    *object = next;
}

static const struct value *metadata_of(const struct value *object, const char *field)
{
    return value_path(object, "metadata", field, NULL);
}

static const struct value *now(void)
{
    struct timeval time;
    char text[TIMESTAMP_SIZE];

    gettimeofday(&time, NULL);
    timestamp_format((int64_t)time.tv_sec * 1000, text);
    return value_pack("s", text);
}

static bool is_empty(const struct value *value)
{
    return value_count(value) == 0;
}

/* Everything but metadata and, where it is apart, status: what a generation counts. */
static const struct value *desired(const struct value *object, bool has_status)
{
    _cleanup_value_ const struct value *bare = value_without(object, "metadata");

    return has_status ? value_without(bare, "status") : value_ref(bare);
}

static void set_generation(const struct call *call, const struct value *before,
                           const struct value **object)
{
    bool has_status = call->route.kind->has_status;
    _cleanup_value_ const struct value *old = desired(before, has_status);
    _cleanup_value_ const struct value *wanted = desired(*object, has_status);
    int64_t generation = value_int(metadata_of(before, "generation"), 0);

    if (!call->route.kind->has_generation)
        return;
    if (!before || !value_equal(old, wanted))
        generation++;
    set(object, "metadata", "generation", value_pack("I", generation));
}

/* Such as stay whatever is sent. */
static void keep_from_before(const struct value *before, const struct value **object)
{
    static const char *const kept[] = {
        "uid",        "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
        "generation", "resourceVersion"};

    for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
        const struct value *old = metadata_of(before, kept[i]);

        if (old || metadata_of(*object, kept[i]))
            set(object, "metadata", kept[i], value_ref(old));
    }
}

/* ---- What is new ---- */

static void set_defaults(struct call *call, const struct value **object)
{
    const char *kind = call->route.kind->kind;
    const char *name = value_string(metadata_of(*object, "name"));

    if (str_equal(kind, "Namespace")) {
        const char *label[] = {"metadata", "labels", "kubernetes.io/metadata.name"};
        _cleanup_value_ const struct value *text = value_pack("s", name);
        const struct value *labelled = value_with_path(*object, label, ARRAY_SIZE(label), text);

        value_unref(*object);
        *object = labelled;
        set(object, "status", "phase", value_pack("s", "Active"));
    } else if (str_equal(kind, "Secret") && !value_get(*object, "type")) {
        set(object, "type", NULL, value_pack("s", "Opaque"));
    } else if (str_equal(kind, "Service") && !value_path(*object, "spec", "clusterIP", NULL)) {
        _cleanup_free_ char *address =
            str_printf("10.0.%lld.%lld", (long long)call->server->uids / 250,
                       (long long)call->server->uids % 250 + 1);

        set(object, "spec", "clusterIP", value_pack("s", address));
        if (!value_path(*object, "spec", "type", NULL))
            set(object, "spec", "type", value_pack("s", "ClusterIP"));
    } else if (str_equal(kind, "CustomResourceDefinition")) {
        set(object, "status", "conditions",
            value_pack("[{s:s, s:s}, {s:s, s:s}]", "type", "Established", "status", "True", "type",
                       "NamesAccepted", "status", "True"));
    }
}

static void set_up(struct call *call, const struct value **object)
{
    _cleanup_free_ char *uid =
        str_printf("00000000-0000-4000-8000-%012lld", (long long)api_next_uid(call->server));

    keep_from_before(NULL, object);
    set(object, "metadata", "uid", value_pack("s", uid));
    set(object, "metadata", "creationTimestamp", now());
    if (call->route.kind->has_status)
        set(object, "status", NULL, NULL);
    set_defaults(call, object);
}

/* ---- Storing ---- */

static void answer_object(struct call *call, int status, const struct value *object)
{
    api_call_answer(call, status,
                    api_call_wants_metadata(call) ? api_as_metadata(object) : value_ref(object));
}

static const char *name_of(const struct value *object)
{
    return value_string(metadata_of(object, "name"));
}

static const char *namespace_of(const struct value *object)
{
    return value_string(metadata_of(object, "namespace"));
}

static void note_definition(struct api_server *server, const struct api_kind *kind,
                            const char *name, const struct value *object)
{
    if (str_equal(kind->kind, "CustomResourceDefinition"))
        api_kinds_define(server, name, object);
}

/* Answers with the object as it was last. */
static void remove_object(struct call *call, const struct value *object)
{
    struct api_server *server = call->server;
    _cleanup_free_ char *namespace_name = str_new(namespace_of(object)),
                        *name = str_new(name_of(object));
    const struct value *last =
        api_storage_commit(server, call->route.kind, namespace_name, name, NULL);

    answer_object(call, 200, last ? last : object);
    note_definition(server, call->route.kind, name, NULL);
    if (namespace_name)
        api_write_end_namespace(server, namespace_name);
}

static void store(struct call *call, const struct value *before, const struct value *object)
{
    const struct value *stored;

    if (call->is_dry_run || (before && value_equal(before, object))) {
        answer_object(call, before ? 200 : 201, object);
        return;
    }
    stored = api_storage_commit(call->server, call->route.kind, namespace_of(object),
                                name_of(object), object);
    answer_object(call, before ? 200 : 201, stored);
    if (metadata_of(stored, "deletionTimestamp") && is_empty(metadata_of(stored, "finalizers")))
        remove_object(call, stored);
    else
        note_definition(call->server, call->route.kind, name_of(stored), stored);
}

/* Only that of the object which a request to it may change. */
static void take_part(const struct call *call, const struct value *before,
                      const struct value **object)
{
    bool is_status = str_equal(call->route.subresource, "status");

    if (!before || !call->route.kind->has_status)
        return;
    if (is_status) {
        const struct value *changed = value_with(before, "status", value_get(*object, "status"));

        if (!value_get(*object, "status"))
            set(&changed, "status", NULL, NULL);
        value_unref(*object);
        *object = changed;
    } else if (value_get(before, "status") || value_get(*object, "status")) {
        set(object, "status", NULL, value_ref(value_get(before, "status")));
    }
}

/* Of ConfigMaps and Secrets. */
static bool may_change(struct call *call, const struct value *before, const struct value *object)
{
    static const char *const fields[] = {"immutable", "data", "binaryData"};

    if (!value_bool(value_get(before, "immutable"), false))
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        if (!value_equal(value_get(before, fields[i]), value_get(object, fields[i])))
            return api_call_refuse(call, 422, "Invalid",
                                   "%s: Forbidden: field is immutable when `immutable` is set",
                                   fields[i]);
    return true;
}

void api_write_object(struct call *call, const struct value *before, const struct value *wanted,
                      bool is_apply)
{
    const struct value *object = wanted;

    if (!may_change(call, before, object)) {
        value_unref(object);
        return;
    }
    take_part(call, before, &object);
    if (before)
        keep_from_before(before, &object);
    else
        set_up(call, &object);
    if (!is_apply) {
        const struct value *tracked = api_apply_track(call, before, object);

        value_unref(object);
        object = tracked;
    }
    set_generation(call, before, &object);
    store(call, before, object);
    value_unref(object);
}

/* ---- Deletion ---- */

static bool preconditions_hold(struct call *call, const struct value *object)
{
    const struct value *conditions = value_get(call->body, "preconditions");
    static const char *const fields[][2] = {{"uid", "UID"}, {"resourceVersion", "ResourceVersion"}};

    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        const char *asked = value_get_string(conditions, fields[i][0]);
        const char *has = value_string(metadata_of(object, fields[i][0]));

        if (asked && !str_equal(asked, has))
            return api_call_refuse(
                call, 409, "Conflict",
                "Operation cannot be fulfilled on %s \"%s\": Precondition failed: "
                "%s in precondition: %s, %s in object meta: %s",
                call->route.kind->plural, call->route.name, fields[i][1], asked, fields[i][1], has);
    }
    return true;
}

/* It stays until its finalizers go. */
static const struct value *marked(const struct call *call, const struct value *object)
{
    const struct value *with = value_ref(object);
    const struct value *generation = metadata_of(object, "generation");

    set(&with, "metadata", "deletionTimestamp", now());
    set(&with, "metadata", "deletionGracePeriodSeconds", value_pack("i", 0));
    if (generation)
        set(&with, "metadata", "generation", value_pack("I", value_int(generation, 0) + 1));
    if (str_equal(call->route.kind->kind, "Namespace"))
        set(&with, "status", "phase", value_pack("s", "Terminating"));
    return with;
}

static void mark(struct call *call, const struct value *object)
{
    _cleanup_value_ const struct value *with = NULL;

    if (metadata_of(object, "deletionTimestamp")) {
        answer_object(call, 200, object);
        return;
    }
    with = marked(call, object);
    answer_object(call, 200,
                  api_storage_commit(call->server, call->route.kind, namespace_of(object),
                                     name_of(object), with));
}

static void answer_gone(struct call *call, const struct value *object)
{
    const struct api_kind *kind = call->route.kind;

    api_call_answer(call, 200,
                    value_pack("{s:s, s:s, s:{}, s:s, s:{s:s, s:s?, s:s, s:s}}", "kind", "Status",
                               "apiVersion", "v1", "metadata", "status", "Success", "details",
                               "name", name_of(object), "group", *kind->group ? kind->group : NULL,
                               "kind", kind->plural, "uid",
                               value_string(metadata_of(object, "uid"))));
}

static void delete_one(struct call *call, const struct value *object)
{
    if (!is_empty(metadata_of(object, "finalizers"))) {
        mark(call, object);
        return;
    }
    remove_object(call, object);
    answer_gone(call, object);
}

/* All of a kind (and Namespace, unless NULL) that the request's selectors, if any, let through. */
static void delete_all(const struct call *asked, const struct api_kind *kind,
                       const char *namespace_name)
{
    size_t count;
    const struct stored **all = api_storage_all(asked->server, kind, namespace_name, &count);
    const struct value **objects = NEW_ARRAY(const struct value *, count + 1);

    for (size_t i = 0; i < count; i++)
        objects[i] = value_ref(all[i]->object);
    free(all);
    for (size_t i = 0; i < count; i++) {
        struct call call = {.server = asked->server, .route.kind = kind};

        if (api_selectors_match(asked, objects[i]))
            delete_one(&call, objects[i]);
        value_unref(call.answer);
        value_unref(objects[i]);
    }
    free(objects);
}

static size_t count_in(const struct api_server *server, const char *namespace_name)
{
    size_t total = 0;

    for (const struct api_kind *kind = server->kinds; kind; kind = kind->next) {
        size_t count;

        if (!kind->is_namespaced)
            continue;
        free(api_storage_all(server, kind, namespace_name, &count));
        total += count;
    }
    return total;
}

void api_write_end_namespace(struct api_server *server, const char *name)
{
    const struct api_kind *kind = api_kinds_find(server, "", "v1", "namespaces");
    const struct value *object = api_storage_find(server, kind, NULL, name);

    if (object && metadata_of(object, "deletionTimestamp") && count_in(server, name) == 0)
        api_storage_commit(server, kind, NULL, name, NULL);
}

static void delete_namespace(struct call *call, const struct value *object)
{
    mark(call, object);
    for (const struct api_kind *kind = call->server->kinds; kind; kind = kind->next)
        if (kind->is_namespaced)
            delete_all(call, kind, call->route.name);
    api_write_end_namespace(call->server, call->route.name);
}

static void delete_definition(struct call *call, const struct value *object)
{
    const struct value *spec = value_get(object, "spec"), *versions = value_get(spec, "versions");

    for (size_t i = 0; i < value_count(versions); i++) {
        const struct api_kind *kind =
            api_kinds_find(call->server, value_get_string(spec, "group"),
                           value_get_string(value_at(versions, i), "name"),
                           value_string(value_path(spec, "names", "plural", NULL)));

        if (kind)
            delete_all(call, kind, NULL);
    }
    delete_one(call, object);
}

void api_write_delete_all(struct call *call)
{
    if (!api_selectors_check(call))
        return;
    if (!call->is_dry_run)
        delete_all(call, call->route.kind, call->route.namespace_name);
    api_read_list(
        call); /* what is left: a real one answers with what was there, and nobody reads it */
}

void api_write_delete(struct call *call)
{
    const struct route *route = &call->route;
    _cleanup_value_ const struct value *object =
        value_ref(api_storage_find(call->server, route->kind, route->namespace_name, route->name));

    if (!object) {
        api_call_refuse(call, 404, "NotFound", "%s \"%s\" not found", route->kind->plural,
                        route->name);
        return;
    }
    if (!preconditions_hold(call, object))
        return;
    if (call->is_dry_run)
        answer_object(call, 200, object);
    else if (str_equal(route->kind->kind, "Namespace"))
        delete_namespace(call, object);
    else if (str_equal(route->kind->kind, "CustomResourceDefinition"))
        delete_definition(call, object);
    else
        delete_one(call, object);
}
