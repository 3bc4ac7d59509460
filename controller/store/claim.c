#include "controller/store/claim.h"

#include <stdlib.h>

#include "engine/base/str.h"

#define REQUEST_TIMEOUT 10000 /* ms */

void claim_object_done(struct claim_object *object)
{
    free(object->version);
    *object = (struct claim_object){0};
}

static struct kube_ref ref_of(const char *namespace_name, bool is_there)
{
    return (struct kube_ref){&kube_config_maps, namespace_name, is_there ? CLAIM_NAME : NULL, NULL};
}

static void note_version(struct claim_object *object, const struct value *config_map)
{
    free(object->version);
    object->version =
        str_new(value_string(value_path(config_map, "metadata", "resourceVersion", NULL)));
}

int claim_read(struct kube_client *client, const char *namespace_name, struct claim_object *ret,
               struct error *error)
{
    _cleanup_value_ const struct value *object = NULL;
    const struct kube_request request = {
        .method = "GET", .ref = ref_of(namespace_name, true), .timeout = REQUEST_TIMEOUT};
    struct error problem = {0};
    int r = kube_do(client, &request, &object, &problem);

    claim_object_done(ret);
    if (r == ERR_NOT_FOUND)
        return 0;
    if (r < 0)
        return err_copy(error, &problem);
    note_version(ret, object);
    store_claim_from_value(value_get(object, "data"), &ret->claim);
    return 0;
}

int claim_write(struct kube_client *client, const char *namespace_name, const char *store,
                struct claim_object *object, struct error *error)
{
    _cleanup_value_ const struct value *claim = store_claim_to_value(&object->claim);
    _cleanup_value_ const struct value *place = value_pack("s", store);
    _cleanup_value_ const struct value *data = value_with(claim, "store", place);
    _cleanup_value_ const struct value *answer = NULL;
    _cleanup_value_ const struct value *body = value_pack(
        "{s:s, s:s, s:{s:s, s:s, s:s?, s:{s:s}}, s:v}", "apiVersion", "v1", "kind", "ConfigMap",
        "metadata", "namespace", namespace_name, "name", CLAIM_NAME, "resourceVersion",
        object->version, "labels", "app.kubernetes.io/managed-by", "kusion-operator", "data", data);
    bool is_there = object->version;
    const struct kube_request request = {.method = is_there ? "PUT" : "POST",
                                         .ref = ref_of(namespace_name, is_there),
                                         .body = body,
                                         .timeout = REQUEST_TIMEOUT};
    struct error problem = {0};
    int r = kube_do(client, &request, &answer, &problem);

    if (r == ERR_EXISTS || r == ERR_NOT_FOUND)
        return err_set(error, ERR_CONFLICT, "Conflict", "%s", problem.message);
    if (r < 0)
        return err_copy(error, &problem);
    note_version(object, answer);
    return 0;
}
