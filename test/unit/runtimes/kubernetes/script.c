#include "test/unit/runtimes/kubernetes/script.h"

#include <string.h>

#include "engine/base/cleanup.h"
#include "engine/base/str.h"

void call_begin(struct call *call, const struct fake_step *steps, size_t n_steps,
                const char *attributes)
{
    stage_start(&call->stage, NULL, steps, n_steps);
    call->session = stage_open(&call->stage, "team", "web", "deployer");
    call->attributes = stage_value(attributes);
    call->target = (struct runtime_target){.id = "id", .attributes = call->attributes};
}

void call_end(struct call *call)
{
    call->stage.runtime->ops->close(call->session);
    value_unref(call->attributes);
    stage_stop(&call->stage);
}

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

size_t count_steps(const struct fake_step *steps)
{
    size_t n = 0;

    while (steps[n].status)
        n++;
    return n;
}

bool call_impersonates(struct call *call, size_t n)
{
    _cleanup_free_ char *request = fake_server_request(call->stage.harness.server, n);

    return request &&
           strstr(request, "Impersonate-User: system:serviceaccount:team:deployer\r\n") != NULL;
}
