#include "runtimes/kubernetes/runtime.h"

#include "engine/base/mem.h"
#include "runtimes/kubernetes/check.h"
#include "runtimes/kubernetes/health.h"
#include "runtimes/kubernetes/relate.h"
#include "runtimes/kubernetes/session.h"
#include "runtimes/kubernetes/step.h"
#include "runtimes/kubernetes/watches.h"

int kube_plan(struct runtime_session *session, const struct runtime_target *target,
              const struct observation *hint, const struct runtime_call *call,
              struct runtime_step **ret, struct error *error)
{
    int r = session_check_account(session, call, error);

    if (r < 0)
        return r;
    if (!target->attributes)
        return kube_plan_removal(session, target, hint, call, ret, error);
    r = kube_plan_object(session, target, hint, call, ret, error);
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

static int health(struct runtime_session *session, const struct runtime_target *target,
                  const struct observation *seen, const struct runtime_call *call,
                  struct health *ret, struct error *error)
{
    (void)target, (void)error;
    kube_health(seen->result, ret);
    if (ret->status == HEALTH_PROGRESSING || ret->status == HEALTH_FAILED)
        kube_add_cause(session, seen->result, call, ret);
    return 0;
}

const struct runtime_ops kube_runtime_ops = {
    .type = KUBE_RUNTIME_TYPE,
    .free = kube_runtime_free,
    .check = &kube_checks,
    .relate = kube_relate,
    .open = kube_session_open,
    .close = session_unref,
    .prefetch = kube_prefetch,
    .list_own = kube_list_own,
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
    if (!config->effect_time)
        runtime->config.effect_time = EFFECT_TIME;
    runtime->watches = watches_new();
    pthread_mutex_init(&runtime->lock, NULL);
    LIST_INIT(&runtime->caches);
    runtime->own = cluster_cache_get(runtime, &config->cluster);
    return &runtime->base;
}

void kube_runtime_free(struct runtime *base)
{
    struct kube_runtime *runtime = (struct kube_runtime *)base;

    if (!runtime)
        return;
    watches_free(runtime->watches);
    cluster_cache_unref(runtime->own);
    pthread_mutex_destroy(&runtime->lock);
    free(runtime);
}
