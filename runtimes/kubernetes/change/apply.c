/* Server-side apply, for real and dry. */
#include "engine/base/str.h"
#include "runtimes/kubernetes/change/prepare.h"
#include "runtimes/kubernetes/change/step.h"
#include "runtimes/kubernetes/client/pause.h"
#include "runtimes/kubernetes/objects/object.h"
#include "runtimes/kubernetes/objects/object_ref.h"

/* The resourceVersion of a create. No object has this version, and the API server ignores it if
 * there is no object. So a create fails if the object exists; without it, server-side apply would
 * merge. (Tried on 1.36.) */
#define NO_VERSION "1"

#define SERVED_LOOK 200 /* ms between two attempts while a new kind is not served yet */

/* ---- One request ---- */

struct patch {
    struct runtime_session *session;
    const struct runtime_call *call;
    const struct value *attributes;
    enum kube_apply_mode mode;
    struct kube_expected expected; /* of an object that exists */
    bool dry_run;
    const struct value **ret_causes; /* as of kube_dry_run(); or NULL */
};

static int place_for_writing(const struct patch *patch, struct kube_ref *ret, struct error *error)
{
    struct object_ref ref = object_ref_of(patch->attributes);
    struct error problem = {0};
    int r = kube_ref_of(patch->session, patch->attributes, patch->call, ret, &problem);

    if (r == ERR_NOT_FOUND)
        return err_set(error, ERR_INVALID, "KindNotFound",
                       "the cluster has no kind \"%s\" in \"%s\"", ref.kind, ref.api_version);
    return r < 0 ? err_copy(error, &problem) : 0;
}

static int send(const struct patch *patch, const struct value **ret,
                struct runtime_outcome *ret_outcome, struct error *error)
{
    static const struct kube_expected none = {NULL, NO_VERSION};
    _cleanup_value_ const struct value *body = NULL;
    struct kube_ref ref;
    struct kube_request request = {.method = "PATCH",
                                   .content_type = KUBE_APPLY_PATCH,
                                   .field_manager = patch->session->field_manager,
                                   .strict = true,
                                   .force = patch->mode == KUBE_APPLY_TAKE,
                                   .dry_run = patch->dry_run,
                                   .ret_causes = patch->ret_causes};
    int r = place_for_writing(patch, &ref, error);

    if (r < 0)
        return r;
    body = kube_object_prepare(patch->session, &ref, patch->attributes,
                               patch->mode == KUBE_APPLY_CREATE ? &none : &patch->expected);
    request.body = body;
    if (patch->dry_run)
        return session_read(patch->session, &ref, patch->call, &request, ret, error);
    return session_change(patch->session, &ref, patch->call, &request, ret, ret_outcome, error);
}

int kube_dry_run(struct runtime_session *session, const struct value *attributes,
                 enum kube_apply_mode mode, const struct runtime_call *call,
                 const struct value **ret, const struct value **ret_causes, struct error *error)
{
    struct patch patch = {.session = session,
                          .call = call,
                          .attributes = attributes,
                          .mode = mode,
                          .dry_run = true,
                          .ret_causes = ret_causes};
    _cleanup_value_ const struct value *object = NULL;
    int r = send(&patch, &object, NULL, error);

    if (r >= 0)
        *ret = kube_object_mark(object);
    return r;
}

/* ---- A kind that is served soon ---- */

static bool is_not_served(const struct error *error)
{
    return str_equal(error->reason, "KindNotFound") || str_equal(error->reason, "NotServed");
}

/* Waits before the next attempt. False: another attempt is useless, or there is no time. */
static bool wait_until_served(const struct patch *patch, const struct error *problem)
{
    int64_t left;

    if (!is_not_served(problem) || !session_expects_kind(patch->session, patch->attributes) ||
        session_time_left(patch->session, patch->call, &left, NULL) < 0 ||
        !pause_for(SERVED_LOOK, patch->call->cancel))
        return false;
    kube_discovery_forget(patch->session->cluster.discovery,
                          object_ref_of(patch->attributes).api_version);
    return true;
}

/* Sends the patch. If its kind is not served yet but this session applied its CRD, tries again
 * until it is. */
static int send_when_served(const struct patch *patch, const struct value **ret,
                            struct runtime_outcome *ret_outcome, struct error *error)
{
    struct error problem = {0};
    int r;

    while ((r = send(patch, ret, ret_outcome, &problem)) < 0 && wait_until_served(patch, &problem))
        err_clear(&problem);
    if (r < 0 && str_equal(problem.reason, "KindNotFound"))
        kube_explain_unserved(patch->session, patch->attributes, patch->call, &problem);
    return r < 0 ? err_copy(error, &problem) : 0;
}

/* ---- An object that changed since it was seen ---- */

/* After a conflict of resourceVersions. 1: the object is as planned for but for its status, and
 * *ret_version is the new version; 0: it is not. */
static int refresh_version(const struct kube_step *step, const struct runtime_call *call,
                           char **ret_version, struct error *error)
{
    _cleanup_(observation_done) struct observation now = {0};
    int r = kube_look(step->session, step->identity, true, call, &now, error);

    if (r >= 0 && kube_step_is_current(step, &now)) {
        free(*ret_version);
        *ret_version = str_new(kube_detail_of(&now)->version);
        r = 1;
    }
    return r;
}

/* Updates the object at the version that was planned for. If only its status changed since, tries
 * again with the new version. */
static int take(struct patch *patch, const struct kube_step *step, const struct value **ret,
                struct runtime_outcome *ret_outcome, struct error *error)
{
    _cleanup_free_ char *version = str_new(step->version);

    for (unsigned takes = 1;; takes++) {
        struct error problem = {0};
        int r;

        patch->expected = (struct kube_expected){step->uid, version};
        r = send_when_served(patch, ret, ret_outcome, &problem);
        if (r != ERR_CONFLICT || ret_outcome->certainty != OUTCOME_NOT_SENT ||
            takes == KUBE_MAX_TAKES)
            return r < 0 ? err_copy(error, &problem) : 0;
        r = refresh_version(step, patch->call, &version, error);
        if (r <= 0)
            return r < 0 ? r : err_copy(error, &problem);
    }
}

/* ---- Field managers that are taken over ---- */

/* What is applied must be what was planned, and now the API server can tell. */
static int check_foreseen(const struct patch *patch, const struct kube_step *step,
                          struct error *error)
{
    struct patch dry = *patch;
    _cleanup_value_ const struct value *object = NULL, *own = NULL;
    _cleanup_free_ char *digest = NULL;
    int r;

    dry.dry_run = true;
    r = send(&dry, &object, NULL, error);
    if (r < 0)
        return r;
    own = kube_own_fields(step->session, object);
    digest = kube_foreseen_digest(object, own, step->fields);
    if (str_equal(digest, step->after_digest))
        return 0;
    return err_set(error, ERR_CONFLICT, "Conflict",
                   "its fields are managed by this Spec now, and the change is another one than "
                   "was planned");
}

/* A crash in between loses nothing: the next plan sees what the apply would remove, because its
 * fields are ours by then. */
static int take_with_managers(struct patch *patch, const struct kube_step *step,
                              const struct value **ret, struct runtime_outcome *ret_outcome,
                              struct error *error)
{
    _cleanup_free_ char *version = NULL;
    int r = kube_take_over(step, patch->call, &version, ret_outcome, error);

    patch->expected = (struct kube_expected){step->uid, version};
    if (r >= 0)
        r = check_foreseen(patch, step, error);
    return r < 0 ? r : send(patch, ret, ret_outcome, error);
}

/* ---- What was let through ---- */

/* The API server refused what it let through when it was planned. If it would not do so any more
 * (the scope of a CRD can be changed until the CRD is established), the object is planned again.
 * Else a dry-run does not tell what is wrong, and the refusal stands. */
static int recheck(const struct patch *patch, struct error *error)
{
    _cleanup_value_ const struct value *object = NULL, *causes = NULL;
    struct error problem = {0};

    if (kube_dry_run(patch->session, patch->attributes, patch->mode, patch->call, &object, &causes,
                     &problem) >= 0 ||
        !causes)
        return error->code;
    return err_set(error, ERR_CONFLICT, "Conflict",
                   "it is refused now, and was not when it was planned: %s", problem.message);
}

/* ---- One object ---- */

int kube_apply_object(const struct kube_step *step, const struct runtime_call *call,
                      struct runtime_outcome *ret, struct error *error)
{
    bool is_create = step->base.action == PLAN_CREATE;
    _cleanup_value_ const struct value *object = NULL, *causes = NULL;
    struct patch patch = {.session = step->session,
                          .call = call,
                          .attributes = step->initial ? step->initial : step->base.attributes,
                          .mode = is_create ? KUBE_APPLY_CREATE : kube_apply_mode(step->session),
                          .ret_causes = &causes};
    struct error problem = {0};
    int r;

    ret->certainty = OUTCOME_NOT_SENT;
    r = is_create            ? send_when_served(&patch, &object, ret, &problem)
        : step->after_digest ? take_with_managers(&patch, step, &object, ret, &problem)
                             : take(&patch, step, &object, ret, &problem);
    if (ret->certainty != OUTCOME_NOT_SENT)
        kube_note_applied(step->session, step->base.attributes);
    if (r == ERR_INVALID && causes && !is_create)
        r = recheck(&patch, &problem);
    if (r < 0)
        return err_copy(error, &problem);
    session_note_definition(step->session, step->base.attributes);
    kube_observe_object(step->session, object, true, &ret->now);
    if (step->initial)
        kube_hand_back(step, call, &ret->now);
    return 0;
}
