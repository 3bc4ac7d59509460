#include "controller/reconcile/records/finished.h"

#include "controller/desk/desk.h"
#include "controller/reconcile/records/api.h"
#include "controller/reconcile/status/conditions.h"
#include "engine/base/str.h"
#include "engine/base/timestamp.h"

static const char *metadata_of(const struct value *object, const char *field)
{
    return value_string(value_path(object, "metadata", field, NULL));
}

static const char *spec_of(const struct value *object)
{
    return value_string(value_path(object, "spec", "specRef", "name", NULL));
}

/* ms since 1970. It is not written after its end. */
static int64_t ended_at(const struct value *object)
{
    const char *time = value_string(value_path(object, "status", "modifiedTime", NULL));

    return timestamp_parse(time ? time : metadata_of(object, "creationTimestamp"));
}

/* It names a Spec that did not exist. One that carries its own resources is planned all the same,
 * and has no generation of a Spec then. */
static bool has_no_spec(const struct value *object)
{
    const struct value *status = value_get(object, "status");
    const struct value *ready = conditions_ready(status);
    bool is_of_none = value_path(object, "spec", "resources", NULL) &&
                      !value_int(value_get(status, "specGeneration"), 0);

    return is_of_none || str_equal(value_get_string(ready, "reason"), "SpecNotFound");
}

/* As it was read: a person may just have made it stay longer. */
static int delete_release(const struct reconcile_context *context, const struct value *object,
                          struct cancel *cancel, struct error *error)
{
    const struct spec_key key = {metadata_of(object, "namespace"), metadata_of(object, "name")};
    _cleanup_value_ const struct value *options =
        value_pack("{s:s, s:s, s:{s:s, s:s}}", "apiVersion", "v1", "kind", "DeleteOptions",
                   "preconditions", "uid", metadata_of(object, "uid"), "resourceVersion",
                   metadata_of(object, "resourceVersion"));
    struct kube_request request = {.method = "DELETE",
                                   .ref = api_release_ref(&key, NULL),
                                   .body = options,
                                   .idempotent = true,
                                   .cancel = cancel,
                                   .permit = context->permit};
    struct error problem = {0};
    int r = kube_do(context->client, &request, NULL, &problem);

    if (r >= 0 || r == ERR_NOT_FOUND)
        return 0;
    err_wrap(&problem, "deleting a Release that has ended");
    return err_copy(error, &problem);
}

static int delete_when_due(const struct reconcile_context *context, const struct value *object,
                           bool stays, struct cancel *cancel, struct reconcile_result *result,
                           struct error *error)
{
    int64_t seconds = value_int(value_path(object, "spec", "ttlSecondsAfterFinished", NULL), -1);
    int64_t lives = seconds < 0 || seconds > INT32_MAX ? context->preview_ttl : seconds * 1000;
    int64_t left = ended_at(object) + lives - context_now(context);

    if (!stays || left <= 0)
        return delete_release(context, object, cancel, error);
    *result = (struct reconcile_result){
        .kind = RECONCILE_AFTER, .after = left, .priority = WORKQUEUE_RESYNC};
    return 0;
}

int finished_keep(const struct reconcile_context *context, const struct value *object,
                  struct cancel *cancel, struct reconcile_result *result, struct error *error)
{
    const struct spec_key key = {metadata_of(object, "namespace"), metadata_of(object, "name")};
    const char *spec = has_no_spec(object) ? NULL : spec_of(object);
    bool stays = desk_note_finished(context->desk, &key, spec ? spec : "", ended_at(object),
                                    context->preview_limit);

    return delete_when_due(context, object, stays, cancel, result, error);
}

int finished_keep_orphan(const struct reconcile_context *context, const struct value *object,
                         struct cancel *cancel, struct reconcile_result *result,
                         struct error *error)
{
    const struct spec_key spec = {metadata_of(object, "namespace"), spec_of(object)};
    _cleanup_value_ const struct value *metadata = NULL;
    struct error problem = {0};
    int r = api_get_metadata(context, api_spec_ref(&spec, NULL), cancel, &metadata, &problem);

    if (r == ERR_NOT_FOUND)
        return delete_when_due(context, object, true, cancel, result, error);
    if (r < 0)
        return err_copy(error, &problem);
    *result = (struct reconcile_result){
        .kind = RECONCILE_AFTER, .after = context->preview_ttl, .priority = WORKQUEUE_RESYNC};
    return 0;
}
