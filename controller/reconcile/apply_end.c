#include "controller/reconcile/apply_end.h"

#include "controller/reconcile/apply_release.h"
#include "controller/reconcile/approval.h"
#include "controller/reconcile/following.h"
#include "controller/reconcile/hold_begin.h"
#include "controller/reconcile/run/corrections.h"
#include "controller/reconcile/run/operation_log.h"
#include "controller/reconcile/run/retention.h"
#include "controller/reconcile/status/report.h"
#include "controller/reconcile/tell.h"
#include "engine/base/str.h"
#include "engine/log/log.h"
#include "engine/state/calls.h"

bool apply_is_reportable(int code)
{
    return code != ERR_CANCELLED && code != ERR_FENCED;
}

/* What it needs besides the Spec was there. */
static bool was_planned(const struct attempt *attempt)
{
    return attempt->operation && operation_phase(attempt->operation) != OPERATION_NEW;
}

static const struct plan *plan_of(const struct attempt *attempt)
{
    return attempt->operation ? operation_get_plan(attempt->operation) : NULL;
}

/* Ends the attempt. Its outcome is kept if it could not be written, and the write may succeed
 * later; everything else can begin again. */
static void end_unless_unwritten(struct attempt *attempt, int r)
{
    if (r < 0 && err_is_transient(r) && attempt->operation &&
        operation_phase(attempt->operation) == OPERATION_ENDED)
        return;
    attempt_end(attempt);
}

int apply_settle(struct attempt *attempt, int r, struct reconcile_result *result)
{
    int64_t sooner = attempt->run.written.retry_after;

    attempt_check_later(attempt, result);
    if (sooner && sooner < result->after)
        result->after = sooner;
    if (r >= 0 && !sooner)
        following_settle(attempt, attempt->apply.drift_wait);
    end_unless_unwritten(attempt, r);
    return r;
}

/* Release, Spec and request say the same. */
static int write_end(struct attempt *attempt, struct outcome *outcome, struct error *error)
{
    const struct run *run = &attempt->run;
    const struct release *release = attempt->release;
    /* The Release shows a plan, which could not be made again this time. It can still be approved.
     */
    bool waits_on = outcome->phase == PHASE_FAILED && !outcome->results && release &&
                    release->phase == PHASE_AWAITING_APPROVAL && !attempt->apply.approved;
    int r;

    outcome->plan = plan_of(attempt);
    outcome->is_end = true;
    outcome->is_finished = attempt->operation && attempt->knows_state;
    if (outcome->is_finished)
        outcome->ledger = operation_ledger(attempt->operation);
    r = tell_outcome(attempt, outcome,
                     waits_on ? TELL_SPEC : TELL_RELEASE | TELL_SPEC | TELL_REQUEST, error);
    if (r >= 0 && attempt->release)
        retention_collect(run, attempt->apply.knows_revisions ? &attempt->apply.revisions : NULL,
                          attempt->revision, outcome->phase);
    else if (r >= 0 && attempt->kind == ATTEMPT_CORRECTION)
        retention_check(run);
    return r;
}

static const struct value *count_correction(const struct attempt *attempt, const char *summary)
{
    const struct run *run = &attempt->run;

    if (!attempt_is_correction(attempt))
        return NULL;
    return corrections_add(run_corrections(run), plan_of(attempt), summary,
                           context_now(run->context));
}

/* "revision 8: rolled back to revision 3: 2 configured" */
static char *describe_success(const struct attempt *attempt, const char *summary)
{
    const struct hold *hold = &attempt->run.hold;
    struct buf text = BUF_INIT;

    buf_printf(&text, "revision %lld: ", (long long)attempt->revision);
    if (hold->operation == RELEASE_ROLLBACK)
        buf_printf(&text, "rolled back to revision %lld: ", (long long)hold->to_revision);
    if (hold->operation == RELEASE_DESTROY)
        buf_add_str(&text, "destroyed: ");
    buf_add_str(&text, summary);
    return buf_take(&text);
}

static struct verdict verdict_of_apply(const struct run *run, const char *message)
{
    struct verdict verdict = verdict_of_success(message);

    verdict.healthy = run->policy.wait ? "True" : NULL;
    return verdict;
}

static int succeeded(struct attempt *attempt, const struct operation_results *results,
                     struct error *error)
{
    struct run *run = &attempt->run;
    /* A retry that succeeded gets its record now. */
    int r = attempt->kind == ATTEMPT_CORRECTION ? 0 : apply_begin_release(attempt, error);
    _cleanup_free_ char *summary = report_summary(results);
    _cleanup_free_ char *message = describe_success(attempt, summary);
    /* The table of Releases has the revision and the operation in other columns. */
    _cleanup_free_ char *column = report_to_revision(str_new(summary), run->hold.to_revision);
    _cleanup_value_ const struct value *corrections = count_correction(attempt, summary);
    struct outcome outcome = {
        .phase = PHASE_SUCCEEDED,
        .verdict = verdict_of_apply(run, message),
        .summary = column,
        .results = results,
        .attempted = attempt->revision,
        .applied = attempt->revision,
        .corrections = corrections,
        .drops_corrections = !attempt_is_correction(attempt),
    };
    int written;

    following_note(attempt);
    written = write_end(attempt, &outcome, r < 0 ? NULL : error);
    if (r >= 0)
        r = written;
    if (r >= 0 && corrections)
        operation_log_correction(run);
    if (r >= 0)
        operation_log_success(run, summary);
    return r;
}

static int failed(struct attempt *attempt, const struct error *failure,
                  const struct operation_results *results, struct error *error)
{
    struct run *run = &attempt->run;
    struct outcome outcome = {
        .phase = PHASE_FAILED,
        .verdict = run_judge(run, failure, results && report_timed_out(results)),
        .results = results,
    };
    int r = 0;

    if (attempt->kind ==
        ATTEMPT_CORRECTION) { /* it fails this time, and gets a Release of its own */
        attempt->kind = ATTEMPT_RESYNC;
        r = apply_find_release(attempt, error);
        if (r >= 0)
            r = apply_begin_release(attempt, error);
    }
    if (r < 0)
        return r;
    outcome.attempted = attempt->release ? attempt->revision : 0;
    outcome.counts_failure = was_planned(attempt) && outcome.verdict.progress == PROGRESS_STALLED;
    operation_log_failure(run, failure, run_says_already(run, failure));
    return write_end(attempt, &outcome, error);
}

/* After so many failures the last revision that succeeded is applied again. It is tried once: what
 * fails under the hold is retried. */
static void remediate(struct attempt *attempt, const struct error *failure,
                      struct reconcile_result *result)
{
    const struct run *run = &attempt->run;
    const struct spec_policy *policy = &run->policy;
    struct error problem = {0};
    int r;

    if (!policy->rolls_back || policy->retries < 0 || run->hold.operation != RELEASE_APPLY ||
        run_failures(run) <= policy->retries || !was_planned(attempt))
        return;
    r = hold_remediate(attempt, failure->message, &problem);
    if (r == 0)
        *result = (struct reconcile_result){.kind = RECONCILE_AFTER, .priority = WORKQUEUE_CHANGE};
    else if (r > 0 && run_failures(run) == policy->retries + 1)
        run_event(run, EVENT_WARNING, "RemediationFailed",
                  "there is no revision that succeeded with another Spec to roll back to");
    else if (r < 0)
        log_warn("a Spec cannot be rolled back yet", "namespace", run->subject.key.namespace_name,
                 "spec", run->subject.key.name, "reason", problem.reason, "error", problem.message,
                 NULL);
}

#define NAMED_CALLS 3

/* Whether it has changed anything. */
static bool has_done_something(const struct operation_results *results)
{
    for (size_t i = 0; results && i < results->count; i++)
        if (results->items[i].status == RESULT_SUCCEEDED &&
            results->items[i].action != PLAN_UNCHANGED && results->items[i].action != PLAN_READ)
            return true;
    return false;
}

/* "why, after 2 created; still under way: a, b". Calls that an operation has sent outlive it. */
static char *describe_superseded(struct attempt *attempt, const struct operation_results *results)
{
    struct calls *calls = ledger_calls(operation_ledger(attempt->operation));
    _cleanup_free_ char *why = attempt_outdated_by(attempt);
    struct buf text = BUF_INIT;
    size_t n = 0;

    buf_add_str(&text, why);
    if (has_done_something(results)) {
        _cleanup_free_ char *done = report_summary(results);

        buf_printf(&text, ", after %s", done);
    }
    for (size_t i = 0; results && i < results->count; i++) {
        const char *id = results->items[i].change->id;

        if (calls_since(calls, id) && n++ < NAMED_CALLS)
            buf_printf(&text, "%s%s", n == 1 ? "; still under way: " : ", ", id);
    }
    if (n > NAMED_CALLS)
        buf_printf(&text, " and %zu more", n - NAMED_CALLS);
    return buf_take(&text);
}

/* Its Release ends with what was done so far, and the next attempt writes the Spec's status. Where
 * that cannot be written, the next operation cancels it. */
static void write_superseded(struct attempt *attempt, const struct operation_results *results)
{
    _cleanup_free_ char *message = describe_superseded(attempt, results);
    struct outcome outcome = {.phase = PHASE_CANCELLED,
                              .verdict = verdict_of_end("Superseded", message),
                              .plan = plan_of(attempt),
                              .results = results};

    tell_outcome(attempt, &outcome, TELL_RELEASE | TELL_REQUEST, NULL);
}

/* ms before a plan that was approved or carried out in vain is made again, and later each time. */
#define PLAN_RETRY 1000

/* The next operation goes on: the Release ends, and the Spec's status stays as it is. */
static int end_for_another_plan(struct attempt *attempt, struct outcome *outcome,
                                struct reconcile_result *result, struct error *error)
{
    int r = apply_begin_release(attempt, error); /* also of a retry */

    outcome->plan = plan_of(attempt);
    if (r >= 0)
        r = tell_outcome(attempt, outcome, TELL_RELEASE, error);
    *result = (struct reconcile_result){.kind = RECONCILE_RETRY, .after = PLAN_RETRY};
    return r;
}

/* Not what was approved would be done. The Release is cancelled, so that the next one shows the new
 * plan. */
static int stale(struct attempt *attempt, const struct error *failure,
                 const struct operation_results *results, struct reconcile_result *result,
                 struct error *error)
{
    struct outcome outcome = {.phase = PHASE_CANCELLED,
                              .verdict = verdict_of_end(PLAN_STALE, failure->message),
                              .results = results};
    int r = end_for_another_plan(attempt, &outcome, result, error);

    operation_log_failure(&attempt->run, failure, false);
    attempt_end(attempt);
    return r;
}

/* All that was approved is done. What is left could not be planned then: the next Release shows it.
 */
static int partly_done(struct attempt *attempt, const struct error *rest,
                       const struct operation_results *results, struct reconcile_result *result,
                       struct error *error)
{
    _cleanup_free_ char *summary = report_summary(results);
    _cleanup_free_ char *message =
        str_printf("revision %lld: %s; %s", (long long)attempt->revision, summary, rest->message);
    struct outcome outcome = {
        .phase = PHASE_SUCCEEDED, .verdict = verdict_of_success(message), .results = results};
    int r = end_for_another_plan(attempt, &outcome, result, error);

    if (r >= 0)
        operation_log_success(&attempt->run, message);
    end_unless_unwritten(attempt, r);
    return r;
}

static int end_badly(struct attempt *attempt, const struct error *failure,
                     const struct operation_results *results, struct reconcile_result *result,
                     struct error *error)
{
    struct error said = *failure;
    int r;

    if (str_equal(failure->reason, PLAN_STALE))
        return stale(attempt, failure, results, result, error);
    if (str_equal(failure->reason, OPERATION_NEEDS_APPROVAL))
        return partly_done(attempt, failure, results, result, error);
    if (apply_is_reportable(failure->code)) {
        run_say_retry(&attempt->run, &said);
        attempt_retry(attempt, &said, result);
        if (results && report_needs_plan(results) && result->kind == RECONCILE_RETRY)
            result->after = PLAN_RETRY;
        r = failed(attempt, &said, results, error);
        if (r >= 0) {
            following_listen(attempt);
            remediate(attempt, failure, result);
        }
        end_unless_unwritten(attempt, r);
        return r;
    }
    operation_log_failure(&attempt->run, failure, false);
    if (failure->code == ERR_CANCELLED && attempt->operation && attempt_is_outdated(attempt))
        write_superseded(attempt, results);
    attempt_end(attempt);
    return err_copy(error, failure);
}

int apply_failed(struct attempt *attempt, const struct error *failure,
                 struct reconcile_result *result, struct error *error)
{
    return end_badly(attempt, failure, NULL, result, error);
}

int apply_refused(struct attempt *attempt, const struct error *refusal,
                  struct reconcile_result *result, struct error *error)
{
    struct error failure = *refusal, problem = {0};

    run_say_retry(&attempt->run, &failure); /* as the status has it */
    if (!run_says_already(&attempt->run, &failure) &&
        run_supersede(&attempt->run, NULL, &problem) < 0)
        failure = problem;
    return end_badly(attempt, &failure, NULL, result, error);
}

int apply_ended(struct attempt *attempt, struct reconcile_result *result, struct error *error)
{
    struct operation_results results;
    _cleanup_free_ char *warnings = NULL;
    struct error failure = {0};
    int r = operation_error(attempt->operation, &failure);

    operation_results(attempt->operation, &results);
    warnings = report_warnings(&results);
    if (warnings) /* once: an object that is as wanted is not told of again */
        run_event(&attempt->run, EVENT_WARNING, "ProviderWarning", warnings);
    if (r < 0) {
        report_judge(&results, &failure);
        r = end_badly(attempt, &failure, results.count ? &results : NULL, result, error);
    } else {
        r = succeeded(attempt, &results, error);
        r = apply_settle(attempt, r, result);
    }
    operation_results_done(&results);
    return r;
}

int apply_write_missing_status(struct attempt *attempt, struct reconcile_result *result,
                               struct error *error)
{
    struct run *run = &attempt->run;
    const char *message = release_message(attempt->release);
    struct outcome outcome = {
        .verdict = verdict_of_apply(run, message ? message : "applied"),
        .is_end = true,
        .attempted = attempt->release->revision,
        .applied = attempt->release->revision,
        .drops_corrections = true,
        .shown = attempt->release->status,
        .all_ready = plan_of(attempt),
        .ledger = operation_ledger(attempt->operation),
    };
    int r;

    following_note(attempt);
    r = tell_outcome(attempt, &outcome, TELL_SPEC, error);
    if (r >= 0)
        retention_check(run);
    return apply_settle(attempt, r, result);
}
