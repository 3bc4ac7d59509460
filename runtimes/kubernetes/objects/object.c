#include "runtimes/kubernetes/objects/object.h"

#include "engine/base/cleanup.h"
#include "engine/base/str.h"
#include "engine/value/value_mark.h"

const struct value *target_identity(const struct runtime_target *target)
{
    if (target->attributes)
        return target->attributes;
    return target->prior ? target->prior->attributes : NULL;
}

static const struct value *without(const struct value *taken, const char *a, const char *b,
                                   const char *c)
{
    const char *keys[] = {a, b, c};
    const struct value *next = value_without_path(taken, keys, c ? 3 : b ? 2 : 1);

    value_unref(taken);
    return next;
}

const struct value *kube_object_project(const struct value *object)
{
    static const char *const server_filled[] = {
        "resourceVersion", "creationTimestamp", "selfLink", "uid", "generation", "managedFields"};
    const struct value *result = value_without(object, "status");

    for (size_t i = 0; i < ARRAY_SIZE(server_filled); i++)
        if (value_path(result, "metadata", server_filled[i], NULL))
            result = without(result, "metadata", server_filled[i], NULL);
    if (value_path(result, "metadata", "annotations",
                   "kubectl.kubernetes.io/last-applied-configuration", NULL))
        result = without(result, "metadata", "annotations",
                         "kubectl.kubernetes.io/last-applied-configuration");
    return result;
}

bool kube_object_is_secret(const struct value *object)
{
    return str_equal(value_get_string(object, "kind"), "Secret") &&
           str_equal(value_get_string(object, "apiVersion"), "v1");
}

const struct value *kube_object_mark(const struct value *object)
{
    _cleanup_value_ const struct value *pointers = NULL;

    if (!kube_object_is_secret(object))
        return value_ref(object);
    pointers =
        value_pack("[s, s, s]", "/data", "/stringData",
                   "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration");
    return value_mark_paths(object, pointers);
}

/* The role `view` reads such objects: more people can read Releases than Specs. */
static bool can_be_viewed(const struct value *written)
{
    static const char *const groups[] = {"apps/", "autoscaling/", "batch/", "policy/",
                                         "networking.k8s.io/"};
    const char *version = value_get_string(written, "apiVersion");
    bool is_known = str_equal(version, "v1");

    for (size_t i = 0; i < ARRAY_SIZE(groups) && version; i++)
        is_known = is_known || str_has_prefix(version, groups[i]);
    return is_known;
}

enum runtime_exposure kube_object_exposure(const struct value *written, const char *namespace_name)
{
    const char *in = value_string(value_path(written, "metadata", "namespace", NULL));

    if (str_equal(value_get_string(written, "kind"), "Secret"))
        return EXPOSURE_SECRET;
    return can_be_viewed(written) && str_equal(in, namespace_name) ? EXPOSURE_VIEWED
                                                                   : EXPOSURE_SPEC;
}
