#include "controller/reconcile/tell.h"

#include "controller/reconcile/run/request.h"
#include "engine/log/log.h"

static void tell_request(const struct attempt *attempt, const struct outcome *outcome)
{
    const struct run *run = &attempt->run;
    _cleanup_(request_done) struct request request = {0};
    int64_t revision = outcome->applied ? outcome->applied : attempt->revision;
    struct error problem = {0};

    if (!run->hold.request ||
        !desk_find_request(run->context->desk, &run->subject.key, run->hold.request, &request))
        return;
    if (request_write(run, &request, revision, outcome, &problem) < 0)
        log_warn("a Release cannot be ended yet", "namespace", run->subject.key.namespace_name,
                 "release", request.release, "reason", problem.reason, "error", problem.message,
                 NULL);
}

int tell_outcome(struct attempt *attempt, struct outcome *outcome, unsigned to, struct error *error)
{
    struct run *run = &attempt->run;
    int r = 0, written = 0;

    outcome->digest = attempt->digest;
    outcome->approval = attempt_approval(attempt);
    if (to & TELL_RELEASE)
        r = release_write(run->context, &run->subject, attempt->release, outcome, error);
    if (to & TELL_SPEC)
        written = run_write_status(run, outcome, r < 0 ? NULL : error);
    if (r >= 0 && written >= 0 && (to & TELL_REQUEST))
        tell_request(attempt, outcome);
    return r < 0 ? r : written;
}
