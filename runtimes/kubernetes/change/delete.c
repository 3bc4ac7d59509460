/* Deletes one object, by its uid. The guard refuses if objects of others would be deleted with it.
 * */
#include "engine/base/str.h"
#include "runtimes/kubernetes/change/guard.h"
#include "runtimes/kubernetes/change/step.h"
#include "runtimes/kubernetes/objects/object_ref.h"

/* RBAC objects and ServiceAccounts, which have no dependents. After their deletion the Spec's
 * account may lack the right to read them, so the DELETE's answer must say whether the object is
 * gone. */
static bool carries_rights(const struct kube_kind *kind)
{
    return api_group_is(kind->group_version, "rbac.authorization.k8s.io") ||
           (api_group_is(kind->group_version, "") && str_equal(kind->kind, "ServiceAccount"));
}

static int send(const struct kube_step *step, const struct kube_ref *ref,
                const struct runtime_call *call, const struct value **ret,
                struct runtime_outcome *ret_outcome, struct error *error)
{
    _cleanup_value_ const struct value *body =
        value_pack("{s:s, s:s, s:{s:s}, s:s}", "apiVersion", "v1", "kind", "DeleteOptions",
                   "preconditions", "uid", step->uid, "propagationPolicy",
                   carries_rights(ref->kind) ? "Background" : "Foreground");
    struct kube_request request = {.method = "DELETE", .body = body, .accept = KUBE_METADATA};

    return session_change(step->session, ref, call, &request, ret, ret_outcome, error);
}

static bool is_status(const struct value *answer)
{
    return str_equal(value_get_string(answer, "kind"), "Status");
}

/* The answer to the DELETE of an object without finalizers is a Status, or (for a ServiceAccount)
 * the object without deletionTimestamp. Otherwise the answer is the object, which waits for its
 * finalizers. */
static bool is_gone(const struct kube_ref *ref, const struct value *answer)
{
    return carries_rights(ref->kind) &&
           (is_status(answer) || !value_path(answer, "metadata", "deletionTimestamp", NULL));
}

static void observe(const struct kube_step *step, const struct kube_ref *ref,
                    const struct value *answer, struct observation *ret)
{
    if (is_gone(ref, answer)) {
        *ret = (struct observation){.presence = PRESENCE_ABSENT};
        return;
    }
    if (is_status(answer))
        *ret = (struct observation){.presence = PRESENCE_PRESENT, .uid = str_new(step->uid)};
    else
        kube_observe_object(step->session, answer, false, ret);
    ret->terminating = true; /* it may be gone already; read() tells */
}

/* Reads the object; it is absent if its kind is no longer defined. */
static int look(const struct kube_step *step, const struct runtime_call *call,
                struct runtime_outcome *ret, struct error *error)
{
    int r = kube_look(step->session, step->identity, true, call, &ret->now, error);

    ret->certainty = r < 0 ? OUTCOME_NOT_SENT : OUTCOME_KNOWN;
    return r;
}

static int delete (const struct kube_step *step, const struct kube_ref *ref,
                   const struct runtime_call *call, struct runtime_outcome *ret,
                   struct error *error)
{
    _cleanup_value_ const struct value *answer = NULL;
    struct error problem = {0};
    int r = kube_may_delete(step->session, step->identity, call, &problem);

    if (r >= 0)
        r = send(step, ref, call, &answer, ret, &problem);
    if (r == ERR_NOT_FOUND && (r = session_confirm_absence(step->session, call, &problem)) >= 0) {
        ret->certainty = OUTCOME_KNOWN;
        ret->now.presence = PRESENCE_ABSENT;
        return 0;
    }
    if (r < 0)
        return err_copy(error, &problem);
    observe(step, ref, answer, &ret->now);
    return 0;
}

int kube_apply_removal(const struct kube_step *step, const struct runtime_call *call,
                       struct runtime_outcome *ret, struct error *error)
{
    struct kube_ref ref;
    struct error problem = {0};
    int r;

    ret->certainty = OUTCOME_NOT_SENT;
    if (!step->uid)
        return err_set(error, ERR_INTERNAL, "UnknownIdentity", "it has no uid to delete it by");
    if (step->terminating)
        return look(step, call, ret, error); /* its deletion was sent before */
    r = kube_ref_at_any_version(step->session, step->identity, call, &ref, &problem);
    if (r == ERR_NOT_FOUND)
        return look(step, call, ret, error);
    return r < 0 ? err_copy(error, &problem) : delete (step, &ref, call, ret, error);
}
