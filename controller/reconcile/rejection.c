#include "controller/reconcile/rejection.h"

#include "controller/reconcile/approval.h"
#include "controller/reconcile/records/api.h"
#include "controller/reconcile/run/request.h"
#include "controller/reconcile/status/report.h"
#include "controller/reconcile/tell.h"
#include "engine/base/str.h"
#include "engine/log/log.h"

#define WITHDRAWN "Withdrawn" /* a reason */

/* ---- The Release that waits ---- */

static int end_rejected(struct attempt *attempt, struct error *error)
{
    struct release *release = attempt->release;
    const struct release_rejection *rejection;
    _cleanup_free_ char *why = NULL; /* "rejected by alice: too risky" */
    int r;

    if (!release || release->phase != PHASE_AWAITING_APPROVAL || !release->rejection.is_rejected)
        return 0;
    rejection = &release->rejection;
    why = str_printf("rejected%s%s%s%s", rejection->approver ? " by " : "",
                     rejection->approver ? rejection->approver : "", rejection->reason ? ": " : "",
                     rejection->reason ? rejection->reason : "");
    r = run_cancel_release_as(&attempt->run, release, RELEASE_REJECTED, why, error);
    if (r < 0)
        return r;
    log_info("plan rejected", "namespace", attempt->object.namespace_name, "spec",
             attempt->object.name, "release", release->name, "plan", release_plan(release),
             "summary", why, NULL);
    approval_tell(attempt, release, EVENT_WARNING, "PlanRejected", why);
    attempt->apply.rejected = TAKE(attempt->release);
    return 0;
}

/* ---- The request ---- */

/* Errors are those of the API server. */
static int is_request_gone(const struct attempt *attempt, bool *ret, struct error *error)
{
    const struct run *run = &attempt->run;
    const struct spec_key key = {run->subject.key.namespace_name, run->hold.request_name};
    _cleanup_value_ const struct value *object = NULL;
    struct error problem = {0};
    int r =
        api_get_metadata(run->context, api_release_ref(&key, NULL), run->cancel, &object, &problem);

    if (r < 0 && r != ERR_NOT_FOUND)
        return err_copy(error, &problem);
    *ret = r == ERR_NOT_FOUND || api_is_deleting(object) ||
           !str_equal(value_string(value_path(object, "metadata", "uid", NULL)), run->hold.request);
    return 0;
}

static bool has_begun(const struct attempt *attempt, int64_t revision)
{
    return run_state_numbers(attempt->ledger).revision >= revision;
}

/* Its first operation has ended, if only in vain. So has the request, and its TTL removes it. One
 * that was cancelled gave way to another plan, and the request goes on. */
static int has_request_ended(const struct attempt *attempt, bool *ret, struct error *error)
{
    const struct run *run = &attempt->run;
    _cleanup_(release_free_p) struct release *first = NULL;
    int r =
        releases_load(run->context, &run->subject, run->hold.revision, run->cancel, &first, error);

    *ret = r >= 0 && first && release_phase_is_terminal(first->phase) &&
           first->phase != PHASE_CANCELLED;
    return r;
}

static int is_request_withdrawn(const struct attempt *attempt, bool *ret, struct error *error)
{
    bool has_ended = false;
    int r = 0;

    *ret = false;
    if (has_begun(attempt, attempt->run.hold.revision))
        return 0;
    r = is_request_gone(attempt, ret, error);
    if (r >= 0 && *ret)
        r = has_request_ended(attempt, &has_ended, error);
    *ret = *ret && !has_ended;
    return r;
}

/* *ret: why it is to end, to free(); NULL: it is not. */
static int find_withdrawal(struct attempt *attempt, char **ret, struct error *error)
{
    const struct run *run = &attempt->run;
    _cleanup_(release_free_p) struct release *shown = NULL;
    bool is_withdrawn = false;
    int r = is_request_withdrawn(attempt, &is_withdrawn, error);

    if (r >= 0 && is_withdrawn)
        *ret =
            str_printf("withdrawn: its request, Release %s, was deleted", run->hold.request_name);
    if (r < 0 || is_withdrawn || attempt->release || !run->hold.shown ||
        has_begun(attempt, run->hold.shown))
        return r;
    r = releases_load(run->context, &run->subject, run->hold.shown, run->cancel, &shown, error);
    if (r >= 0 && !shown)
        *ret = str_printf("withdrawn: the Release of revision %lld, which showed its plan, was "
                          "deleted",
                          (long long)run->hold.shown);
    return r;
}

/* The hold goes last: if the process is killed before, all of this is found again. */
static int end_hold(struct attempt *attempt, const char *reason, const char *why,
                    struct error *error)
{
    struct run *run = &attempt->run;
    const struct outcome outcome = {.phase = PHASE_CANCELLED,
                                    .verdict = verdict_of_end(reason, why)};
    const struct request request = {.release = run->hold.request_name, .uid = run->hold.request};
    int r = attempt->release ? run_cancel_release_as(run, attempt->release, reason, why, error) : 0;

    if (r >= 0)
        r = request_write(run, &request, 0, &outcome, error);
    if (r >= 0)
        r = hold_withdraw(attempt->ledger, &run->hold, error);
    if (r < 0)
        return r;
    if (!attempt->apply.rejected)
        run_event(run, EVENT_NORMAL, "RequestWithdrawn", why);
    return 1;
}

int rejection_look(struct attempt *attempt, struct error *error)
{
    const struct run *run = &attempt->run;
    const struct hold *hold = &run->hold;
    _cleanup_free_ char *why = NULL;
    int r =
        run->policy.needs_approval && !attempt->apply.approved ? end_rejected(attempt, error) : 0;

    if (r < 0 || !run->policy.needs_approval || attempt->apply.approved)
        return r;
    if (!hold->request_name || run_last_applied(run) >= hold->revision)
        return 0; /* by no request; or it was carried out, and this is a correction */
    if (attempt->apply.rejected) {
        const char *said = release_message(attempt->apply.rejected);

        return end_hold(attempt, RELEASE_REJECTED, said ? said : "rejected", error);
    }
    r = find_withdrawal(attempt, &why, error);
    return r < 0 || !why ? r : end_hold(attempt, WITHDRAWN, why, error);
}

/* ---- A plan that was rejected ---- */

bool rejection_is_of_plan(const struct attempt *attempt)
{
    return attempt->apply.rejected &&
           str_equal(release_plan(attempt->apply.rejected), attempt->digest);
}

int rejection_say(struct attempt *attempt, struct reconcile_result *result, struct error *error)
{
    const struct release *rejected = attempt->apply.rejected;
    const char *why = release_message(rejected);
    const struct plan *plan = operation_get_plan(attempt->operation);
    _cleanup_free_ char *summary = report_plan_summary(plan);
    _cleanup_free_ char *message = str_printf(
        "%s: the plan of Release %s was %s; nothing of it was done\nto have it shown again: change "
        "the Spec, or: kubectl delete release %s -n %s",
        summary, rejected->name, why ? why : "rejected", rejected->name,
        attempt->object.namespace_name);
    struct outcome outcome = {
        .verdict = {"False", RELEASE_REJECTED, message, PROGRESS_STALLED, NULL},
        .is_held = true, /* that is no failure */
        .is_end = true,
        .attempted = rejected->revision,
        .plan = plan,
    };
    int r;

    attempt_check_later(attempt, result);
    r = tell_outcome(attempt, &outcome, TELL_SPEC, error);
    attempt_end(attempt);
    return r;
}
