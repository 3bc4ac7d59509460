#include "controller/reconcile/records/api.h"

#include <string.h>
#include <sys/random.h>

#include "engine/base/base64.h"
#include "engine/base/limits.h"
#include "engine/base/str.h"
#include "engine/value/json.h"

#define PLAN_KEY_SECRET "kusion-operator-plan-key"
/* The API server accepts no larger request. */
#define REQUEST_BYTES (3u << 20)
/* Conflicts of one status write: users and GitOps tools write the spec meanwhile. */
#define PUT_ATTEMPTS 8

struct kube_ref api_spec_ref(const struct spec_key *key, const char *subresource)
{
    return (struct kube_ref){&kube_specs, key->namespace_name, key->name, subresource};
}

struct kube_ref api_release_ref(const struct spec_key *key, const char *subresource)
{
    return (struct kube_ref){&kube_releases, key->namespace_name, key->name, subresource};
}

int api_get_metadata(const struct reconcile_context *context, struct kube_ref ref,
                     struct cancel *cancel, const struct value **ret, struct error *error)
{
    struct kube_request request = {
        .method = "GET", .ref = ref, .accept = KUBE_METADATA, .cancel = cancel};

    return kube_do(context->client, &request, ret, error);
}

static int put_status(const struct reconcile_context *context, const struct api_status *write,
                      const struct value *metadata, const struct value **ret, struct error *error)
{
    _cleanup_value_ const struct value *body = value_pack(
        "{s:s, s:s, s:{s:s, s:s, s:s, s:s}, s:v}", "apiVersion", API_GROUP_VERSION, "kind",
        write->ref.kind->kind, "metadata", "namespace", value_get_string(metadata, "namespace"),
        "name", value_get_string(metadata, "name"), "uid", value_get_string(metadata, "uid"),
        "resourceVersion", value_get_string(metadata, "resourceVersion"), "status", write->status);
    struct kube_request request = {
        .method = "PUT",
        .ref = write->ref,
        .body = body,
        .accept = KUBE_METADATA,
        .idempotent = true, /* sent twice, it is a conflict */
    };

    return kube_do(context->client, &request, ret, error);
}

/* ERR_NOT_FOUND: another object has its name now. */
static int read_again(const struct reconcile_context *context, const struct api_status *write,
                      const struct value **metadata, struct error *error)
{
    _cleanup_value_ const struct value *object = NULL;
    const struct value *now;
    int r = write->is_final ? kube_get(context->client, write->ref, NULL, &object, error)
                            : api_get_metadata(context, write->ref, NULL, &object, error);

    if (r < 0)
        return r;
    now = value_get(object, "metadata");
    if (!str_equal(value_get_string(now, "uid"), value_get_string(*metadata, "uid")))
        return err_set(error, ERR_NOT_FOUND, "NotFound", "it was deleted, and made anew");
    value_assign(metadata, now);
    return write->is_final && write->is_final(write->arg, object) ? API_IS_FINAL : 0;
}

int api_put_status(const struct reconcile_context *context, const struct api_status *write,
                   const struct value **metadata, struct error *error)
{
    for (unsigned attempt = 0;; attempt++) {
        _cleanup_value_ const struct value *answer = NULL;
        struct error problem = {0};
        int r = put_status(context, write, *metadata, &answer, &problem);

        if (r >= 0) {
            value_assign(metadata, value_get(answer, "metadata"));
            return 0;
        }
        if (r != ERR_CONFLICT || attempt == PUT_ATTEMPTS)
            return err_copy(error, &problem);
        r = read_again(context, write, metadata, error);
        if (r)
            return r;
    }
}

bool api_is_deleting(const struct value *object)
{
    return value_path(object, "metadata", "deletionTimestamp", NULL) != NULL;
}

bool api_is_unreadable(const struct error *why)
{
    return why->code == ERR_TOO_LARGE && !str_equal(why->reason, "RequestEntityTooLarge");
}

int api_refuse_unreadable(const char *kind, const struct error *why, struct error *error)
{
    return err_set(error, ERR_INVALID, "InvalidSpec", "the %s cannot be read: %s", kind,
                   why->message);
}

int api_check_size(const char *kind, const struct value *object, struct error *error)
{
    _cleanup_buf_ struct buf text;

    buf_init(&text, REQUEST_BYTES);
    json_write(&text, value_get(object, "spec"), JSON_COMPACT);
    if (text.length <= LIMIT_SPEC_BYTES)
        return 0;
    return err_set(
        error, ERR_INVALID, "InvalidSpec",
        "the %s is too large: spec is %.2f MiB as JSON, and the limit is %u MiB; split it "
        "into several Specs",
        kind, (double)text.length / (1u << 20), LIMIT_SPEC_BYTES >> 20);
}

int api_namespace_terminating(const struct reconcile_context *context, const char *namespace_name,
                              struct cancel *cancel, bool *ret, struct error *error)
{
    const struct kube_ref ref = {.kind = &kube_namespaces, .name = namespace_name};
    _cleanup_value_ const struct value *metadata = NULL;
    struct error problem = {0};
    int r = api_get_metadata(context, ref, cancel, &metadata, &problem);

    if (r < 0 && r != ERR_NOT_FOUND)
        return err_copy(error, &problem);
    *ret = api_is_deleting(metadata);
    return 0;
}

static int plan_key_read(struct kube_client *client, const char *namespace_name,
                         unsigned char ret_key[HASH_SIZE], struct error *error)
{
    _cleanup_value_ const struct value *secret = NULL;
    _cleanup_buf_ struct buf key = BUF_INIT;
    const char *text;
    const struct kube_ref ref = {&kube_secrets, namespace_name, PLAN_KEY_SECRET, NULL};
    int r = kube_get(client, ref, NULL, &secret, error);

    if (r < 0)
        return r;
    text = value_string(value_path(secret, "data", "key", NULL));
    if (!text || !base64_decode(&key, text, strlen(text)) || key.length != HASH_SIZE)
        return err_set(
            error, ERR_CORRUPT, "PlanKeyCorrupt",
            "Secret %s does not hold a key of %d bytes: delete it, and a new one is made",
            PLAN_KEY_SECRET, HASH_SIZE);
    memcpy(ret_key, key.data, HASH_SIZE);
    return 0;
}

static int plan_key_make(struct kube_client *client, const char *namespace_name,
                         struct error *error)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    _cleanup_value_ const struct value *secret = NULL;
    unsigned char key[HASH_SIZE];
    struct kube_request request = {.method = "POST",
                                   .ref = {&kube_secrets, namespace_name, NULL, NULL}};

    if (getrandom(key, sizeof(key), 0) != sizeof(key))
        return err_set(error, ERR_INTERNAL, "NoEntropy", "no random bytes for the plan key");
    base64_encode(&text, key, sizeof(key));
    secret =
        value_pack("{s:s, s:s, s:{s:s, s:{s:s}}, s:{s:s}}", "apiVersion", "v1", "kind", "Secret",
                   "metadata", "name", PLAN_KEY_SECRET, "labels", "app.kubernetes.io/managed-by",
                   "kusion-operator", "data", "key", text.data);
    request.body = secret;
    return kube_do(client, &request, NULL, error);
}

int api_plan_key(struct kube_client *client, const char *namespace_name,
                 unsigned char ret_key[HASH_SIZE], struct error *error)
{
    struct error absent = {0}, problem = {0};
    int r = plan_key_read(client, namespace_name, ret_key, &absent);

    if (r != ERR_NOT_FOUND)
        return r < 0 ? err_copy(error, &absent) : 0;
    r = plan_key_make(client, namespace_name, &problem);
    if (r < 0 && r != ERR_EXISTS && r != ERR_UNAVAILABLE) {
        err_wrap(&problem, "making the plan key");
        return err_copy(error, &problem);
    }
    return plan_key_read(client, namespace_name, ret_key, error);
}
