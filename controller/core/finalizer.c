#include "controller/core/finalizer.h"

#include "engine/base/str.h"
#include "runtimes/kubernetes/client/group.h"

#define FIELD_MANAGER "kusion-operator"

bool finalizer_is_set(const struct value *metadata)
{
    const struct value *all = value_get(metadata, "finalizers");

    for (size_t i = 0; i < value_count(all); i++)
        if (str_equal(value_string(value_at(all, i)), KUSION_FINALIZER))
            return true;
    return false;
}

/* The list of those that others put there. */
static const struct value *without_ours(const struct value *metadata)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    const struct value *all = value_get(metadata, "finalizers");

    value_begin_array(b);
    for (size_t i = 0; i < value_count(all); i++)
        if (!str_equal(value_string(value_at(all, i)), KUSION_FINALIZER))
            value_add(b, value_at(all, i));
    value_end_array(b);
    return value_finish(b);
}

static int patch(struct kube_client *client, const struct kube_ref *ref, const char *content_type,
                 const struct value *body, struct cancel *cancel, const struct value **ret,
                 struct error *error)
{
    bool is_apply = str_equal(content_type, KUBE_APPLY_PATCH);
    struct kube_request request = {
        .method = "PATCH",
        .ref = *ref,
        .content_type = content_type,
        .field_manager = is_apply ? FIELD_MANAGER : NULL,
        .accept = KUBE_METADATA,
        .body = body,
        .idempotent = true, /* sent twice, it is a conflict */
        .cancel = cancel,
    };

    return kube_do(client, &request, ret, error);
}

static int version_missing(const struct kube_ref *ref, struct error *error)
{
    return err_set(error, ERR_INTERNAL, "NoResourceVersion", "%s %s was read without its version",
                   ref->kind->kind, ref->name);
}

int finalizer_add(struct kube_client *client, const struct kube_ref *ref,
                  const struct value **metadata, struct cancel *cancel, struct error *error)
{
    _cleanup_value_ const struct value *body = NULL, *answer = NULL;
    const char *version = value_get_string(*metadata, "resourceVersion");
    const char *uid = value_get_string(*metadata, "uid");
    int r;

    if (finalizer_is_set(*metadata))
        return 0;
    if (!version || !uid)
        return version_missing(ref, error);
    /* Without the uid, what is not there any more would be made anew. */
    body = value_pack("{s:s, s:s, s:{s:s, s:s, s:[s]}}", "apiVersion", API_GROUP_VERSION, "kind",
                      ref->kind->kind, "metadata", "uid", uid, "resourceVersion", version,
                      "finalizers", KUSION_FINALIZER);
    r = patch(client, ref, KUBE_APPLY_PATCH, body, cancel, &answer, error);
    if (r < 0) {
        err_wrap(error, "adding the finalizer");
        return r;
    }
    value_assign(metadata, value_get(answer, "metadata"));
    return 0;
}

int finalizer_remove(struct kube_client *client, const struct kube_ref *ref,
                     const struct value *metadata, struct cancel *cancel, struct error *error)
{
    _cleanup_value_ const struct value *body = NULL;
    const char *version = value_get_string(metadata, "resourceVersion");
    struct error why = {0};
    int r;

    if (!finalizer_is_set(metadata))
        return 0;
    if (!version)
        return version_missing(ref, error);
    body = value_pack("{s:{s:s, s:V}}", "metadata", "resourceVersion", version, "finalizers",
                      without_ours(metadata));
    r = patch(client, ref, KUBE_MERGE_PATCH, body, cancel, NULL, &why);
    if (r == 0 || r == ERR_NOT_FOUND)
        return 0;
    err_wrap(&why, "removing the finalizer");
    return err_copy(error, &why);
}
