#include "engine/base/str.h"
#include "runtimes/kubernetes/client/path.h"
#include "runtimes/kubernetes/store_private.h"

char *store_path(const struct kube_store *store, const char *plural, const char *name)
{
    return kube_path("v1", store->namespace_name, plural, name, NULL);
}

int store_do(struct kube_store *store, const char *method, const char *path,
             const struct value *body, bool idempotent, struct cancel *cancel,
             const struct value **ret, struct error *error)
{
    struct kube_request request = {
        .method = method, .path = path, .body = body, .cancel = cancel, .idempotent = idempotent};

    return kube_do(store->client, &request, ret, error);
}

const struct value *store_metadata(const struct kube_store *store, const char *name,
                                   const char *head, const struct state_key *key,
                                   const char *annotation[2], const char *version)
{
    return value_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:s, s:s, s:s}, s:s?}", "name", name,
                      "namespace", store->namespace_name, "labels", "app.kubernetes.io/managed-by",
                      "kusion-operator", KUBE_STATE_LABEL, head, "annotations",
                      "api.kusion.io/spec-namespace", key->spec_namespace,
                      "api.kusion.io/spec-name", key->spec_name, annotation[0], annotation[1],
                      "resourceVersion", version);
}

int store_bytes(const struct kube_store *store, const struct value *object, const char *kind,
                const char *field, const char *name, struct buf *to, struct error *error)
{
    size_t length = 0;
    const char *text = value_string_n(value_path(object, field, KEY_DATA, NULL), &length);

    if (!text || !base64_decode(to, text, length))
        return err_set(error, ERR_CORRUPT, STATE_CORRUPT,
                       "%s %s/%s holds no State that can be read", kind, store->namespace_name,
                       name);
    return 0;
}
