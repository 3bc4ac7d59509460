#include "test/unit/runtimes/kubernetes/session/script.h"

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
    session_unref(call->session);
    value_unref(call->attributes);
    stage_stop(&call->stage);
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
