/* What an object mounts or names, by its kind: what has to be there before it. */

#include "cli/convert/candidate.h"
#include "engine/base/str.h"

#define RBAC "rbac.authorization.k8s.io"

struct visit {
    mounts_visit *fn;
    void *arg;
};

static void name_core(const struct visit *visit, const char *kind, const struct value *name)
{
    if (value_string(name))
        visit->fn(visit->arg, "", kind, true, value_string(name));
}

/* Members of `value` that name an object: {"configMap", "name", "ConfigMap"}. */
struct naming {
    const char *member, *key, *kind;
};

static void name_members(const struct visit *visit, const struct value *value,
                         const struct naming *namings, size_t n)
{
    for (size_t i = 0; i < n; i++)
        name_core(visit, namings[i].kind,
                  value_get(value_get(value, namings[i].member), namings[i].key));
}

static void visit_volumes(const struct visit *visit, const struct value *volumes)
{
    static const struct naming of_volume[] = {
        {"configMap", "name", "ConfigMap"},
        {"secret", "secretName", "Secret"},
        {"persistentVolumeClaim", "claimName", "PersistentVolumeClaim"},
    };
    static const struct naming of_source[] = {
        {"configMap", "name", "ConfigMap"},
        {"secret", "name", "Secret"},
    };

    for (size_t i = 0; i < value_count(volumes); i++) {
        const struct value *volume = value_at(volumes, i);
        const struct value *sources = value_path(volume, "projected", "sources", NULL);

        name_members(visit, volume, of_volume, ARRAY_SIZE(of_volume));
        for (size_t k = 0; k < value_count(sources); k++)
            name_members(visit, value_at(sources, k), of_source, ARRAY_SIZE(of_source));
    }
}

static void visit_containers(const struct visit *visit, const struct value *containers)
{
    static const struct naming of_env[] = {
        {"configMapKeyRef", "name", "ConfigMap"},
        {"secretKeyRef", "name", "Secret"},
    };
    static const struct naming of_env_from[] = {
        {"configMapRef", "name", "ConfigMap"},
        {"secretRef", "name", "Secret"},
    };

    for (size_t i = 0; i < value_count(containers); i++) {
        const struct value *env = value_get(value_at(containers, i), "env");
        const struct value *env_from = value_get(value_at(containers, i), "envFrom");

        for (size_t k = 0; k < value_count(env); k++)
            name_members(visit, value_get(value_at(env, k), "valueFrom"), of_env,
                         ARRAY_SIZE(of_env));
        for (size_t k = 0; k < value_count(env_from); k++)
            name_members(visit, value_at(env_from, k), of_env_from, ARRAY_SIZE(of_env_from));
    }
}

static void visit_pod(const struct visit *visit, const struct value *pod)
{
    const struct value *pulls = value_get(pod, "imagePullSecrets");
    const char *priority = value_get_string(pod, "priorityClassName");

    name_core(visit, "ServiceAccount", value_get(pod, "serviceAccountName"));
    for (size_t i = 0; i < value_count(pulls); i++)
        name_core(visit, "Secret", value_get(value_at(pulls, i), "name"));
    if (priority)
        visit->fn(visit->arg, "scheduling.k8s.io", "PriorityClass", false, priority);
    visit_volumes(visit, value_get(pod, "volumes"));
    visit_containers(visit, value_get(pod, "initContainers"));
    visit_containers(visit, value_get(pod, "containers"));
}

/* The spec of an object's Pods; NULL: it has none. */
static const struct value *pod_of(const struct value *attributes, const struct object_ref *ref)
{
    const struct value *spec = value_get(attributes, "spec");

    if (object_ref_is(ref, "", "Pod"))
        return spec;
    if (object_ref_is(ref, "batch", "CronJob"))
        return value_path(spec, "jobTemplate", "spec", "template", "spec", NULL);
    return value_path(spec, "template", "spec", NULL);
}

void mounts_each(const struct value *attributes, mounts_visit *fn, void *arg)
{
    const struct object_ref ref = object_ref_of(attributes);
    const struct visit visit = {fn, arg};
    const struct value *role = value_get(attributes, "roleRef");

    if (!ref.kind || !ref.api_version)
        return;
    visit_pod(&visit, pod_of(attributes, &ref));
    if (!api_group_is(ref.api_version, RBAC) || !value_get_string(role, "name"))
        return;
    if (str_equal(value_get_string(role, "kind"), "ClusterRole"))
        fn(arg, RBAC, "ClusterRole", false, value_get_string(role, "name"));
    else
        fn(arg, RBAC, "Role", true, value_get_string(role, "name"));
}
