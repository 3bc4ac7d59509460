#include "runtimes/kubernetes/runtime.h"

#include "engine/base/mem.h"
#include "runtimes/kubernetes/change/step.h"
#include "runtimes/kubernetes/objects/check.h"
#include "runtimes/kubernetes/objects/object.h"
#include "runtimes/kubernetes/objects/relate.h"
#include "runtimes/kubernetes/session/following.h"
#include "runtimes/kubernetes/session/setup.h"
#include "runtimes/kubernetes/session/watches.h"

static const struct runtime_ops kube_runtime_ops = {
    .type = KUBE_RUNTIME_TYPE,
    .free = kube_runtime_free,
    .check = &kube_checks,
    .follow = &kube_follow_ops,
    .exposure = kube_object_exposure,
    .relate = kube_relate,
    .open = kube_session_open,
    .place = kube_session_place,
    .close = session_unref,
    .prefetch = kube_prefetch,
    .list_own = kube_list_own,
    .read = kube_read,
    .plan = kube_plan,
    .step_free = kube_step_free,
    .apply = kube_apply,
    .health = kube_judge_health,
    .subscribe = kube_subscribe,
    .unsubscribe = kube_unsubscribe,
};

struct runtime *kube_runtime_new(const struct kube_runtime_config *config)
{
    struct kube_runtime *runtime = NEW(struct kube_runtime);

    kube_runtime_init(runtime, config);
    runtime->base.ops = &kube_runtime_ops;
    return &runtime->base;
}

void kube_runtime_free(struct runtime *base)
{
    struct kube_runtime *runtime = (struct kube_runtime *)base;

    if (!runtime)
        return;
    kube_runtime_done(runtime);
    free(runtime);
}
