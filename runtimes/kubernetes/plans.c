#include "runtimes/kubernetes/plans.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/hash.h"
#include "engine/base/limits.h"
#include "engine/base/str.h"
#include "engine/spec/name.h"
#include "engine/state/compress.h"
#include "runtimes/kubernetes/client/path.h"

#define RELEASE_ANNOTATION "api.kusion.io/release"

void plan_name(const char *release_namespace, const char *release, char ret[PLAN_NAME_SIZE])
{
    char name[SPEC_HASH_NAME_SIZE];

    spec_hash_name(release_namespace, release, name);
    snprintf(ret, PLAN_NAME_SIZE, "kusion-plan-%s", name + strlen(SPEC_HASH_NAME_PREFIX));
}

static char *chunk_name(const char *name, size_t index)
{
    return index ? str_printf("%s-%zu", name, index) : str_new(name);
}

static size_t chunk_count(const struct buf *plan)
{
    return (plan->length + LIMIT_CHUNK_BYTES - 1) / LIMIT_CHUNK_BYTES;
}

static const struct value *chunk_object(const struct buf *plan, size_t index,
                                        const char *namespace_name, const char *name,
                                        const char *release)
{
    _cleanup_free_ char *own_name = chunk_name(name, index);
    _cleanup_free_ char *count = str_printf("%zu", chunk_count(plan));
    size_t offset = index * LIMIT_CHUNK_BYTES, left = plan->length - offset;
    _cleanup_buf_ struct buf text = BUF_INIT;
    char checksum[HASH_HEX_SIZE];

    hash_hex(plan->data, plan->length, checksum);
    base64_encode(&text, plan->data + offset, left < LIMIT_CHUNK_BYTES ? left : LIMIT_CHUNK_BYTES);
    return value_pack("{s:s, s:s, s:{s:s, s:s, s:{s:s}, s:{s:s}}, s:{s:s, s:s}, s:{s:s}}",
                      "apiVersion", "v1", "kind", "ConfigMap", "metadata", "name", own_name,
                      "namespace", namespace_name, "labels", "app.kubernetes.io/managed-by",
                      "kusion-operator", "annotations", RELEASE_ANNOTATION, release, "data",
                      "chunks", count, "checksum", checksum, "binaryData", "plan", text.data);
}

static int save_chunk(struct kube_client *client, const struct value *object, struct error *error)
{
    const struct value *metadata = value_get(object, "metadata");
    _cleanup_free_ char *path = kube_path("v1", value_get_string(metadata, "namespace"),
                                          "configmaps", value_get_string(metadata, "name"), NULL);
    _cleanup_buf_ struct buf query = BUF_INIT;
    struct kube_request request = {.method = "PATCH",
                                   .body = object,
                                   .content_type = KUBE_APPLY_PATCH,
                                   .accept = KUBE_METADATA,
                                   .idempotent = true};

    buf_add_str(&query, path);
    kube_path_query(&query, "fieldManager", "kusion-operator");
    kube_path_query(&query, "force", "true");
    request.path = query.data;
    return kube_do(client, &request, NULL, error);
}

/* Chunks from an index on, which an earlier and longer plan may have left. */
static int remove_from(struct kube_client *client, const char *namespace_name, const char *name,
                       size_t first, struct error *error)
{
    for (size_t i = first;; i++) {
        _cleanup_free_ char *chunk = chunk_name(name, i);
        _cleanup_free_ char *path = kube_path("v1", namespace_name, "configmaps", chunk, NULL);
        struct kube_request request = {.method = "DELETE", .path = path, .idempotent = true};
        struct error problem = {0};
        int r = kube_do(client, &request, NULL, &problem);

        if (r == ERR_NOT_FOUND)
            return 0;
        if (r < 0)
            return err_copy(error, &problem);
    }
}

int plan_save(struct kube_client *client, const char *namespace_name, const char *release_namespace,
              const char *release, const struct value *list, struct error *error)
{
    _cleanup_free_ char *of = str_printf("%s/%s", release_namespace, release);
    _cleanup_buf_ struct buf plan = BUF_INIT;
    char name[PLAN_NAME_SIZE];
    int r = value_compress(list, &plan, error);

    plan_name(release_namespace, release, name);
    if (r >= 0 && chunk_count(&plan) > LIMIT_CHUNKS)
        r = err_set(error, ERR_TOO_LARGE, "PlanTooLarge", "the plan needs more than %d chunks",
                    LIMIT_CHUNKS);
    for (size_t i = 0; r >= 0 && i < chunk_count(&plan); i++) {
        _cleanup_value_ const struct value *object =
            chunk_object(&plan, i, namespace_name, name, of);

        r = save_chunk(client, object, error);
    }
    if (r >= 0)
        r = remove_from(client, namespace_name, name, chunk_count(&plan), error);
    return r < 0 ? err_wrap(error, "keeping the plan of Release %s", of) : 0;
}

int plan_remove(struct kube_client *client, const char *namespace_name,
                const char *release_namespace, const char *release, struct error *error)
{
    char name[PLAN_NAME_SIZE];

    plan_name(release_namespace, release, name);
    return remove_from(client, namespace_name, name, 0, error);
}
