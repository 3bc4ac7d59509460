#include "runtimes/kubernetes/runtime.h"

#include "engine/base/mem.h"
#include "runtimes/kubernetes/check.h"
#include "runtimes/kubernetes/health.h"
#include "runtimes/kubernetes/relate.h"
#include "runtimes/kubernetes/session.h"
#include "runtimes/kubernetes/step.h"
#include "runtimes/kubernetes/watches.h"

static int health(struct runtime_session *session, const struct runtime_target *target,
                  const struct observation *seen, const struct runtime_call *call,
                  struct health *ret, struct error *error)
{
    (void)session, (void)target, (void)call, (void)error;
    kube_health(seen->result, ret);
    return 0;
}

const struct runtime_ops kube_runtime_ops = {
    .type = KUBE_RUNTIME_TYPE,
    .free = kube_runtime_free,
    .check = &kube_checks,
    .relate = kube_relate,
    .open = session_open,
    .close = session_unref,
    .prefetch = kube_prefetch,
    .read = kube_read,
    .plan = kube_plan,
    .step_free = kube_step_free,
    .apply = kube_apply,
    .health = health,
    .subscribe = kube_subscribe,
    .unsubscribe = kube_unsubscribe,
};

struct runtime *kube_runtime_new(const struct kube_runtime_config *config)
{
    struct kube_runtime *runtime = NEW(struct kube_runtime);

    runtime->base.ops = &kube_runtime_ops;
    runtime->config = *config;
    runtime->applied_at = INT64_MIN;
    runtime->watches = watches_new();
    pthread_mutex_init(&runtime->lock, NULL);
    strmap_init(&runtime->undefined);
    strmap_init(&runtime->searches);
    return &runtime->base;
}

void kube_runtime_free(struct runtime *base)
{
    struct kube_runtime *runtime = (struct kube_runtime *)base;

    if (!runtime)
        return;
    watches_free(runtime->watches);
    kube_free_definitions(runtime);
    pthread_mutex_destroy(&runtime->lock);
    free(runtime);
}
