/* plan() and apply(): by what is wanted of the object, and by the step's action. */
#include "runtimes/kubernetes/change/step.h"

int kube_plan(struct runtime_session *session, const struct runtime_target *target,
              const struct observation *hint, const struct runtime_call *call,
              struct runtime_step **ret, struct error *error)
{
    int r = session_check_account(session, call, error);
    struct desired desired;

    if (r < 0)
        return r;
    if (!target->attributes)
        return kube_plan_removal(session, target, hint, call, ret, error);
    desired_init(session, target, &desired);
    r = kube_plan_object(session, &desired, hint, call, ret, error);
    desired_done(&desired);
    if (r >= 0)
        kube_step_weigh(*ret, call);
    return r;
}

int kube_apply(struct runtime_step *base, const struct runtime_call *call,
               struct runtime_outcome *ret, struct error *error)
{
    const struct kube_step *step = (const struct kube_step *)base;
    int r = step->is_large && call->large
                ? slot_take(call->large, call->deadline, call->cancel, error)
                : 0;

    if (r < 0) {
        ret->certainty = OUTCOME_NOT_SENT;
        return r;
    }
    switch (base->action) {
    case PLAN_CREATE:
    case PLAN_ADOPT:
    case PLAN_UPDATE:
        return kube_apply_object(step, call, ret, error);
    case PLAN_DELETE:
        return kube_apply_removal(step, call, ret, error);
    default:
        ret->certainty = OUTCOME_NOT_SENT;
        return err_set(error, ERR_INTERNAL, "UnexpectedAction", "\"%s\" cannot be carried out",
                       plan_action_name(base->action));
    }
}
