/* How the server says which kinds it serves. */
#include "engine/base/str.h"
#include "test/unit/api_server/private.h"

static bool is_first_of_group(const struct api_server *server, const struct api_kind *kind)
{
    for (const struct api_kind *other = server->kinds; other != kind; other = other->next)
        if (other->is_served && str_equal(other->group, kind->group))
            return false;
    return true;
}

static bool is_first_of_version(const struct api_server *server, const struct api_kind *kind)
{
    for (const struct api_kind *other = server->kinds; other != kind; other = other->next)
        if (other->is_served && str_equal(other->group, kind->group) &&
            str_equal(other->version, kind->version))
            return false;
    return true;
}

static const struct value *finish(struct value_builder *b)
{
    const struct value *value = NULL;

    value_builder_finish(b, &value, NULL);
    return value;
}

static void add_group(struct value_builder *b, const struct api_server *server, const char *group)
{
    value_key(b, "name");
    value_add_string(b, group);
    value_key(b, "versions");
    value_begin_array(b);
    for (const struct api_kind *kind = server->kinds; kind; kind = kind->next) {
        if (!kind->is_served || !str_equal(kind->group, group) ||
            !is_first_of_version(server, kind))
            continue;
        value_begin_object(b);
        value_key(b, "groupVersion");
        value_add_printf(b, "%s/%s", group, kind->version);
        value_key(b, "version");
        value_add_string(b, kind->version);
        value_end_object(b);
    }
    value_end_array(b);
}

static const struct value *groups(const struct api_server *server)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    value_begin_object(b);
    value_key(b, "kind");
    value_add_string(b, "APIGroupList");
    value_key(b, "apiVersion");
    value_add_string(b, "v1");
    value_key(b, "groups");
    value_begin_array(b);
    for (const struct api_kind *kind = server->kinds; kind; kind = kind->next) {
        if (!kind->is_served || !*kind->group || !is_first_of_group(server, kind))
            continue;
        value_begin_object(b);
        add_group(b, server, kind->group);
        value_end_object(b);
    }
    value_end_array(b);
    value_end_object(b);
    return finish(b);
}

static void add_resource(struct value_builder *b, const struct api_kind *kind, bool is_status)
{
    static const char *const verbs[] = {"create", "delete", "deletecollection", "get",
                                        "list",   "patch",  "update",           "watch"};

    value_begin_object(b);
    value_key(b, "name");
    value_add_printf(b, "%s%s", kind->plural, is_status ? "/status" : "");
    value_key(b, "singularName");
    value_add_string(b, "");
    value_key(b, "namespaced");
    value_add_bool(b, kind->is_namespaced);
    value_key(b, "kind");
    value_add_string(b, kind->kind);
    value_key(b, "verbs");
    value_begin_array(b);
    for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
        if (!is_status || str_equal(verbs[i], "get") || str_equal(verbs[i], "patch") ||
            str_equal(verbs[i], "update"))
            value_add_string(b, verbs[i]);
    value_end_array(b);
    value_end_object(b);
}

/* NULL: there is no such group and version. */
static const struct value *resources(const struct api_server *server, const char *group_version)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    bool is_any = false;

    value_begin_object(b);
    value_key(b, "kind");
    value_add_string(b, "APIResourceList");
    value_key(b, "groupVersion");
    value_add_string(b, group_version);
    value_key(b, "resources");
    value_begin_array(b);
    for (const struct api_kind *kind = server->kinds; kind; kind = kind->next) {
        _cleanup_free_ char *its = api_kind_api_version(kind);

        if (!kind->is_served || !str_equal(its, group_version))
            continue;
        is_any = true;
        add_resource(b, kind, false);
        if (kind->has_status)
            add_resource(b, kind, true);
    }
    value_end_array(b);
    value_end_object(b);
    return is_any ? finish(b) : NULL;
}

/* ---- All at once ---- */

static void add_aggregated_resource(struct value_builder *b, const struct api_kind *kind)
{
    _cleanup_value_ const struct value *resource = value_pack(
        "{s:s, s:{s:s, s:s, s:s}, s:s, s:[s,s,s,s,s,s,s,s]}", "resource", kind->plural,
        "responseKind", "group", kind->group, "version", kind->version, "kind", kind->kind, "scope",
        kind->is_namespaced ? "Namespaced" : "Cluster", "verbs", "create", "delete",
        "deletecollection", "get", "list", "patch", "update", "watch");

    value_add(b, resource);
}

static void add_aggregated_version(struct value_builder *b, const struct api_server *server,
                                   const struct api_kind *of)
{
    value_begin_object(b);
    value_key(b, "version");
    value_add_string(b, of->version);
    value_key(b, "freshness");
    value_add_string(b, "Current");
    value_key(b, "resources");
    value_begin_array(b);
    for (const struct api_kind *kind = server->kinds; kind; kind = kind->next)
        if (kind->is_served && str_equal(kind->group, of->group) &&
            str_equal(kind->version, of->version))
            add_aggregated_resource(b, kind);
    value_end_array(b);
    value_end_object(b);
}

static void add_aggregated_group(struct value_builder *b, const struct api_server *server,
                                 const char *group)
{
    _cleanup_value_ const struct value *metadata =
        *group ? value_pack("{s:s}", "name", group) : value_pack("{}");

    value_begin_object(b);
    value_key(b, "metadata");
    value_add(b, metadata);
    value_key(b, "versions");
    value_begin_array(b);
    for (const struct api_kind *kind = server->kinds; kind; kind = kind->next)
        if (kind->is_served && str_equal(kind->group, group) && is_first_of_version(server, kind))
            add_aggregated_version(b, server, kind);
    value_end_array(b);
    value_end_object(b);
}

/* Of v1, or of all other groups. */
static const struct value *aggregated(const struct api_server *server, bool is_of_core)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    value_begin_object(b);
    value_key(b, "kind");
    value_add_string(b, "APIGroupDiscoveryList");
    value_key(b, "apiVersion");
    value_add_string(b, "apidiscovery.k8s.io/v2");
    value_key(b, "items");
    value_begin_array(b);
    for (const struct api_kind *kind = server->kinds; kind; kind = kind->next)
        if (kind->is_served && !*kind->group == is_of_core && is_first_of_group(server, kind))
            add_aggregated_group(b, server, kind->group);
    value_end_array(b);
    value_end_object(b);
    return finish(b);
}

const struct value *api_kinds_discovery(const struct api_server *server, const char *path,
                                        const char *accept)
{
    if (str_equal(path, "/version"))
        return value_pack("{s:s, s:s, s:s}", "major", "1", "minor", "36", "gitVersion", "v1.36.0");
    if (accept && strstr(accept, "as=APIGroupDiscoveryList") &&
        (str_equal(path, "/api") || str_equal(path, "/apis")))
        return aggregated(server, str_equal(path, "/api"));
    if (str_equal(path, "/api"))
        return value_pack("{s:s, s:[s]}", "kind", "APIVersions", "versions", "v1");
    if (str_equal(path, "/apis"))
        return groups(server);
    if (str_has_prefix(path, "/api/"))
        return resources(server, path + strlen("/api/"));
    if (str_has_prefix(path, "/apis/"))
        return resources(server, path + strlen("/apis/"));
    return NULL;
}
