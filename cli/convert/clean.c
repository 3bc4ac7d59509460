#include "cli/convert/clean.h"

#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/str.h"
#include "runtimes/kubernetes/objects/object_ref.h"

#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"
#define STAMP        "creationTimestamp"

/* Of metadata. */
static const char *const of_servers[] = {
    STAMP, "deletionTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid",
};

/* ---- creationTimestamp: null ---- */

static bool needs_tidying(const struct value *value)
{
    const struct value *stamp;

    for (size_t i = 0; i < value_count(value); i++)
        if (needs_tidying(value_child(value, i)))
            return true;
    stamp = value_get(value_get(value, "metadata"), STAMP);
    return value_is(value, VALUE_OBJECT) && stamp && value_is(stamp, VALUE_NULL);
}

static void add_tidy(struct value_builder *b, const struct value *value, bool is_metadata)
{
    bool is_object = value_is(value, VALUE_OBJECT);

    if (!value_is(value, VALUE_ARRAY) && !is_object) {
        value_add(b, value);
        return;
    }
    value_begin_like(b, value);
    for (size_t i = 0; i < value_count(value); i++) {
        size_t length = 0;
        const char *key = is_object ? value_member_key(value, i, &length) : "";

        if (is_metadata && str_equal(key, STAMP) && value_is(value_child(value, i), VALUE_NULL))
            continue;
        if (is_object)
            value_key_n(b, key, length);
        add_tidy(b, value_child(value, i), is_object && str_equal(key, "metadata"));
    }
    value_end(b);
}

/* A reference. */
static const struct value *tidy(const struct value *value)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = NULL;
    const struct value *made = NULL;

    if (!needs_tidying(value))
        return value_ref(value);
    b = value_builder_new();
    add_tidy(b, value, false);
    return value_builder_finish(b, &made, NULL) < 0 ? value_ref(value) : made;
}

/* ---- Objects ---- */

static void drop(const struct value **object, const char *const *keys, size_t n)
{
    const struct value *before = *object;

    *object = value_without_path(before, keys, n);
    value_unref(before);
}

static void drop_annotation(const struct value **object, const char *key)
{
    const char *const path[] = {"metadata", "annotations", key};
    const struct value *annotations = value_path(*object, "metadata", "annotations", NULL);

    if (!value_get(annotations, key))
        return;
    drop(object, path, value_count(annotations) > 1 ? 3 : 2);
}

const struct value *clean_object(const struct value *object)
{
    const struct value *made = tidy(object);

    if (value_get(made, "status"))
        drop(&made, (const char *const[]){"status"}, 1);
    for (size_t i = 0; i < ARRAY_SIZE(of_servers); i++)
        if (value_get(value_get(made, "metadata"), of_servers[i]))
            drop(&made, (const char *const[]){"metadata", of_servers[i]}, 2);
    drop_annotation(&made, LAST_APPLIED);
    return made;
}

/* ---- Scopes ---- */

/* Kubernetes' own groups, and their kinds that have no namespace. */
static const struct {
    const char *group, *kinds;
} groups[] = {
    {"", " ComponentStatus Namespace Node PersistentVolume "},
    {"admissionregistration.k8s.io",
     " MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration "
     "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration "},
    {"apiextensions.k8s.io", " CustomResourceDefinition "},
    {"apiregistration.k8s.io", " APIService "},
    {"apps", ""},
    {"authentication.k8s.io", " SelfSubjectReview TokenReview "},
    {"authorization.k8s.io",
     " SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview "},
    {"autoscaling", ""},
    {"batch", ""},
    {"certificates.k8s.io", " CertificateSigningRequest ClusterTrustBundle "},
    {"coordination.k8s.io", ""},
    {"discovery.k8s.io", ""},
    {"events.k8s.io", ""},
    {"flowcontrol.apiserver.k8s.io", " FlowSchema PriorityLevelConfiguration "},
    {"networking.k8s.io", " IPAddress IngressClass ServiceCIDR "},
    {"node.k8s.io", " RuntimeClass "},
    {"policy", ""},
    {"rbac.authorization.k8s.io", " ClusterRole ClusterRoleBinding "},
    {"resource.k8s.io", " DeviceClass DeviceTaintRule ResourceSlice "},
    {"scheduling.k8s.io", " PriorityClass "},
    {"storage.k8s.io", " CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass "},
    {"api.kusion.io", ""},
};

enum scope clean_scope(const char *api_version, const char *kind, const struct strmap *known)
{
    _cleanup_buf_ struct buf key = BUF_INIT;
    const struct value *definition;
    size_t length;
    const char *group = api_group(api_version, &length);

    for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
        if (api_group_is(api_version, groups[i].group)) {
            buf_printf(&key, " %s ", kind);
            return strstr(groups[i].kinds, key.data) ? SCOPE_CLUSTER : SCOPE_NAMESPACED;
        }
    buf_printf(&key, "%.*s\x1f%s", (int)length, group, kind);
    definition = strmap_get(known, key.data);
    if (!definition)
        return SCOPE_UNKNOWN;
    return str_equal(value_get_string(value_get(definition, "spec"), "scope"), "Namespaced")
               ? SCOPE_NAMESPACED
               : SCOPE_CLUSTER;
}
