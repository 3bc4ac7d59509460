/* Which kinds are served. */
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "test/unit/api_server/private.h"

static const struct {
    const char *group_version, *kind, *plural;
    bool is_namespaced, has_status, has_generation;
} builtin[] = {
    {"v1", "ConfigMap", "configmaps", true, false, false},
    {"v1", "Secret", "secrets", true, false, false},
    {"v1", "ServiceAccount", "serviceaccounts", true, false, false},
    {"v1", "Service", "services", true, true, false},
    {"v1", "Endpoints", "endpoints", true, false, false},
    {"v1", "Event", "events", true, false, false},
    {"v1", "Pod", "pods", true, true, true},
    {"v1", "PersistentVolumeClaim", "persistentvolumeclaims", true, true, false},
    {"v1", "Namespace", "namespaces", false, true, false},
    {"v1", "Node", "nodes", false, true, false},
    {"apps/v1", "Deployment", "deployments", true, true, true},
    {"apps/v1", "StatefulSet", "statefulsets", true, true, true},
    {"apps/v1", "ReplicaSet", "replicasets", true, true, true},
    {"batch/v1", "Job", "jobs", true, true, true},
    {"coordination.k8s.io/v1", "Lease", "leases", true, false, false},
    {"rbac.authorization.k8s.io/v1", "Role", "roles", true, false, false},
    {"rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings", true, false, false},
    {"rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", false, false, false},
    {"rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings", false, false,
     false},
    {"apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", false,
     true, true},
    {"apiregistration.k8s.io/v1", "APIService", "apiservices", false, true, false},
    {"api.kusion.io/v1", "Spec", "specs", true, true, true},
    {"api.kusion.io/v1", "Release", "releases", true, true, true},
};

static struct api_kind *add(struct api_server *server, const char *group, const char *version,
                            const char *name, const char *plural)
{
    struct api_kind *kind = NEW(struct api_kind), **end = &server->kinds;

    kind->group = str_new(group);
    kind->version = str_new(version);
    kind->kind = str_new(name);
    kind->plural = str_new(plural);
    kind->is_served = true;
    while (*end)
        end = &(*end)->next;
    *end = kind;
    return kind;
}

void api_kinds_init(struct api_server *server)
{
    for (size_t i = 0; i < ARRAY_SIZE(builtin); i++) {
        const char *slash = strchr(builtin[i].group_version, '/');
        _cleanup_free_ char *group = str_new_n(
            builtin[i].group_version, slash ? (size_t)(slash - builtin[i].group_version) : 0);
        struct api_kind *kind = add(server, group, slash ? slash + 1 : builtin[i].group_version,
                                    builtin[i].kind, builtin[i].plural);

        kind->is_namespaced = builtin[i].is_namespaced;
        kind->has_status = builtin[i].has_status;
        kind->has_generation = builtin[i].has_generation;
        kind->is_custom = str_equal(group, "api.kusion.io");
    }
}

void api_kinds_done(struct api_server *server)
{
    for (struct api_kind *kind = server->kinds, *next; kind; kind = next) {
        next = kind->next;
        free(kind->group);
        free(kind->version);
        free(kind->kind);
        free(kind->plural);
        free(kind);
    }
}

const struct api_kind *api_kinds_find(const struct api_server *server, const char *group,
                                      const char *version, const char *plural)
{
    for (const struct api_kind *kind = server->kinds; kind; kind = kind->next)
        if (kind->is_served && str_equal(kind->group, group) && str_equal(kind->version, version) &&
            str_equal(kind->plural, plural))
            return kind;
    return NULL;
}

char *api_kind_api_version(const struct api_kind *kind)
{
    return str_printf("%s%s%s", kind->group, *kind->group ? "/" : "", kind->version);
}

const struct api_kind *api_kinds_find_by_name(const struct api_server *server,
                                              const char *api_version, const char *name)
{
    for (const struct api_kind *kind = server->kinds; kind; kind = kind->next) {
        _cleanup_free_ char *its = api_kind_api_version(kind);

        if (kind->is_served && str_equal(its, api_version) && str_equal(kind->kind, name))
            return kind;
    }
    return NULL;
}

/* ---- Definitions ---- */

static void withdraw(struct api_server *server, const char *group, const char *plural)
{
    for (struct api_kind *kind = server->kinds; kind; kind = kind->next)
        if (kind->is_custom && str_equal(kind->group, group) && str_equal(kind->plural, plural))
            kind->is_served = false;
}

static void serve_version(struct api_server *server, const struct value *spec,
                          const struct value *version)
{
    const struct value *names = value_get(spec, "names");
    struct api_kind *kind;

    if (!value_bool(value_get(version, "served"), false))
        return;
    kind = add(server, value_get_string(spec, "group"), value_get_string(version, "name"),
               value_get_string(names, "kind"), value_get_string(names, "plural"));
    kind->is_custom = true;
    kind->has_generation = true;
    kind->is_namespaced = str_equal(value_get_string(spec, "scope"), "Namespaced");
    kind->has_status = value_path(version, "subresources", "status", NULL) != NULL;
}

void api_kinds_define(struct api_server *server, const char *name, const struct value *definition)
{
    const struct value *spec = value_get(definition, "spec"), *versions;
    const char *dot = strchr(name, '.');
    _cleanup_free_ char *plural = dot ? str_new_n(name, (size_t)(dot - name)) : NULL;

    /* Ours are served from the start: their definitions are there for those who ask. */
    if (!dot || str_equal(dot + 1, "api.kusion.io"))
        return;
    withdraw(server, dot + 1, plural);
    versions = value_get(spec, "versions");
    for (size_t i = 0; i < value_count(versions); i++)
        serve_version(server, spec, value_at(versions, i));
}
