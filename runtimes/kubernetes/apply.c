/* Server-side apply, for real and dry, and deletion. */
#include <stdio.h>

#include "engine/base/str.h"
#include "engine/spec/resource.h"
#include "runtimes/kubernetes/client/path.h"
#include "runtimes/kubernetes/client/pause.h"
#include "runtimes/kubernetes/session.h"

/* No object has it, and for one that is to be made it is not looked at: so a create is refused
 * where there is one, which server-side apply would merge with otherwise. (Tried on 1.36.) */
#define NO_VERSION "1"

#define SERVED_LOOK 200 /* ms between two tries of what is served soon */

static int place_for_writing(struct runtime_session *session, const struct runtime_target *target,
                             struct kube_place *ret, struct error *error)
{
    struct object_ref ref = object_ref_of(target->attributes);
    struct error problem = {0};
    int r = kube_place_of(session, target->attributes, ret, &problem);

    if (r == ERR_NOT_FOUND)
        return err_set(error, ERR_INVALID, "KindNotFound",
                       "the cluster has no kind \"%s\" in \"%s\": is its CRD installed, or missing "
                       "in this Spec?",
                       ref.kind, ref.api_version);
    return r < 0 ? err_copy(error, &problem) : 0;
}

static int patch(struct runtime_session *session, const struct runtime_target *target,
                 enum apply_mode mode, bool dry_run, const struct value **ret, struct error *error)
{
    _cleanup_value_ const struct value *body = NULL;
    _cleanup_free_ char *path = NULL;
    _cleanup_buf_ struct buf query = BUF_INIT;
    struct kube_place place;
    struct kube_request request = {
        .method = "PATCH", .content_type = KUBE_APPLY_PATCH, .idempotent = true};
    int r = place_for_writing(session, target, &place, error);

    if (r < 0)
        return r;
    body = kube_object_prepare(session, &place, target->attributes,
                               mode == APPLY_CREATE ? NO_VERSION : target->version);
    path = kube_place_path(&place);
    buf_add_str(&query, path);
    kube_path_query(&query, "fieldManager", session->field_manager);
    kube_path_query(&query, "fieldValidation", "Strict");
    if (mode == APPLY_TAKE)
        kube_path_query(&query, "force", "true");
    if (dry_run)
        kube_path_query(&query, "dryRun", "All");
    request.path = query.data;
    request.body = body;
    return session_do(session, &place, &request, ret, error);
}

static const struct value *replace(const struct value *taken, const char *const *keys, size_t n)
{
    _cleanup_value_ const struct value *unknown = value_pack("u");
    const struct value *next = value_with_path(taken, keys, n, unknown);

    value_unref(taken);
    return next;
}

/* What a dry-run makes up, and a real create would choose otherwise. */
static const struct value *mark_unknown(const struct value *taken, const struct value *attributes)
{
    static const char *const allocated[][2] = {
        {"metadata", "uid"}, {"spec", "clusterIP"}, {"spec", "clusterIPs"}};

    for (size_t i = 0; i < ARRAY_SIZE(allocated); i++)
        if (value_path(taken, allocated[i][0], allocated[i][1], NULL) &&
            !value_path(attributes, allocated[i][0], allocated[i][1], NULL))
            taken = replace(taken, allocated[i], 2);
    return taken;
}

int kube_preview(struct runtime_session *session, const struct runtime_target *target,
                 enum apply_mode mode, const struct value **ret, struct error *error)
{
    const struct value *object = NULL;
    int r = patch(session, target, mode, true, &object, error);

    if (r < 0)
        return r;
    *ret = mode == APPLY_CREATE ? mark_unknown(object, target->attributes) : object;
    return 0;
}

static bool is_not_served(const struct error *error)
{
    return str_equal(error->reason, "KindNotFound") || str_equal(error->reason, "NotServed");
}

/* Where it is not served, and a definition that was just made says that it will be: once more,
 * after a while. */
static int patch_when_served(struct runtime_session *session, const struct runtime_target *target,
                             enum apply_mode mode, const struct value **ret, struct error *error)
{
    struct error problem = {0};
    int r;

    while ((r = patch(session, target, mode, false, ret, &problem)) < 0 &&
           is_not_served(&problem) && session_expects_kind(session, target->attributes)) {
        if (!pause_for(SERVED_LOOK, session->cancel))
            return err_set(error, ERR_CANCELLED, "Cancelled", "%s", cancel_reason(session->cancel));
        kube_discovery_forget(session->runtime->config.discovery,
                              object_ref_of(target->attributes).api_version);
        err_clear(&problem);
    }
    return r < 0 ? err_copy(error, &problem) : 0;
}

int kube_apply(struct runtime_session *session, const struct runtime_target *target,
               enum apply_mode mode, struct observation *ret, struct error *error)
{
    _cleanup_value_ const struct value *object = NULL;
    int r = patch_when_served(session, target, mode, &object, error);

    if (r < 0)
        return r;
    session_note_definition(session, target->attributes);
    kube_observe_object(session, object, true, ret);
    return 0;
}

/* What carries rights has nothing that depends on it, and who deletes it may be unable to look at
 * it afterwards: the answer has to say that it is gone. */
static bool carries_rights(const struct kube_kind *kind)
{
    return api_group_is(kind->group_version, "rbac.authorization.k8s.io") ||
           (api_group_is(kind->group_version, "") && str_equal(kind->kind, "ServiceAccount"));
}

static int send_delete(struct runtime_session *session, const struct kube_place *place,
                       const char *uid, const struct value **ret, struct error *error)
{
    _cleanup_value_ const struct value *body = value_pack(
        "{s:s, s:s, s:{s:s}, s:s}", "apiVersion", "v1", "kind", "DeleteOptions", "preconditions",
        "uid", uid, "propagationPolicy", carries_rights(place->kind) ? "Background" : "Foreground");
    _cleanup_free_ char *path = kube_place_path(place);
    struct kube_request request = {
        .method = "DELETE", .path = path, .body = body, .idempotent = true};

    return session_do(session, place, &request, ret, error);
}

/* Of what has no finalizers the answer is a Status, else the object as it waits for them. */
static bool is_gone(const struct kube_place *place, const struct value *answer)
{
    return carries_rights(place->kind) && str_equal(value_get_string(answer, "kind"), "Status") &&
           str_equal(value_get_string(answer, "status"), "Success");
}

int kube_remove(struct runtime_session *session, const struct runtime_target *target,
                struct error *error)
{
    _cleanup_value_ const struct value *answer = NULL;
    struct kube_place place;
    struct error problem = {0};
    int r = kube_place_at_any_version(session, target->attributes, &place, &problem);

    if (!target->uid)
        return err_set(error, ERR_INTERNAL, "UnknownIdentity", "%s has no uid to delete by",
                       target->id);
    if (r >= 0)
        r = send_delete(session, &place, target->uid, &answer, &problem);
    if (r == ERR_NOT_FOUND)
        return 0;
    return r < 0 ? err_copy(error, &problem) : is_gone(&place, answer);
}
