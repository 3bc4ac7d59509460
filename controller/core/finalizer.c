#include "controller/core/finalizer.h"

#include "engine/base/str.h"

bool finalizer_is_set(const struct value *metadata)
{
    const struct value *all = value_get(metadata, "finalizers");

    for (size_t i = 0; i < value_count(all); i++)
        if (str_equal(value_string(value_at(all, i)), KUSION_FINALIZER))
            return true;
    return false;
}

/* The list without ours, or with it at its end. */
static const struct value *finalizers(const struct value *metadata, bool with_ours)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    const struct value *all = value_get(metadata, "finalizers"), *list = NULL;

    value_begin_array(b);
    for (size_t i = 0; i < value_count(all); i++)
        if (!str_equal(value_string(value_at(all, i)), KUSION_FINALIZER))
            value_add(b, value_at(all, i));
    if (with_ours)
        value_add_string(b, KUSION_FINALIZER);
    value_end_array(b);
    value_builder_finish(b, &list, NULL);
    return list;
}

static int patch(struct kube_client *client, const char *path, const struct value *metadata,
                 bool with_ours, struct cancel *cancel, const struct value **ret,
                 struct error *error)
{
    const char *version = value_get_string(metadata, "resourceVersion");
    _cleanup_value_ const struct value *body = NULL;
    struct kube_request request = {
        .method = "PATCH",
        .path = path,
        .content_type = KUBE_MERGE_PATCH,
        .accept = KUBE_METADATA,
        .idempotent = true, /* sent twice, it is a conflict */
        .cancel = cancel,
    };

    if (!version)
        return err_set(error, ERR_INTERNAL, "NoResourceVersion", "%s was read without its version",
                       path);
    request.body = body = value_pack("{s:{s:s, s:V}}", "metadata", "resourceVersion", version,
                                     "finalizers", finalizers(metadata, with_ours));
    return kube_do(client, &request, ret, error);
}

int finalizer_add(struct kube_client *client, const char *path, const struct value **metadata,
                  struct cancel *cancel, struct error *error)
{
    _cleanup_value_ const struct value *answer = NULL;
    int rc;

    if (finalizer_is_set(*metadata))
        return 0;
    rc = patch(client, path, *metadata, true, cancel, &answer, error);
    if (rc < 0)
        return err_wrap(error, "adding the finalizer");
    value_assign(metadata, value_get(answer, "metadata"));
    return 0;
}

int finalizer_remove(struct kube_client *client, const char *path, const struct value *metadata,
                     struct cancel *cancel, struct error *error)
{
    struct error why = {0};
    int rc;

    if (!finalizer_is_set(metadata))
        return 0;
    rc = patch(client, path, metadata, false, cancel, NULL, &why);
    if (rc == 0 || rc == ERR_NOT_FOUND)
        return 0;
    err_wrap(&why, "removing the finalizer");
    return err_copy(error, &why);
}
