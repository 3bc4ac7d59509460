#include "test/unit/runtimes/kubernetes/change/steps.h"

#include "engine/base/str.h"

struct runtime_step *call_step(struct call *call, enum plan_action action)
{
    struct kube_step *step = kube_step_new(call->session, action, &call->target);

    if (action != PLAN_CREATE) {
        step->uid = str_new("u-a");
        step->version = str_new("5");
        step->base.uid = step->uid;
    }
    return &step->base;
}
