#include "controller/reconcile/apply_end.h"

#include "controller/reconcile/apply_release.h"
#include "controller/reconcile/approval.h"
#include "controller/reconcile/corrections.h"
#include "controller/reconcile/following.h"
#include "controller/reconcile/hold_begin.h"
#include "controller/reconcile/inventory.h"
#include "controller/reconcile/operation_log.h"
#include "controller/reconcile/report.h"
#include "controller/reconcile/retention.h"
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
        following_settle(attempt, attempt->drift_wait);
    end_unless_unwritten(attempt, r);
    return r;
}

/* The Release shows a plan, which could not be made again this time. It can still be approved. */
static bool waits_on(const struct attempt *attempt, const struct release_report *report)
{
    return report->phase == PHASE_FAILED && !report->results && attempt->release &&
           attempt->release->phase == PHASE_AWAITING_APPROVAL && !attempt->approved;
}

/* The Release of a person by which the operation was asked for ends as the operation does. */
static void tell_request(struct attempt *attempt, const struct release_report *end)
{
    const struct request_report report = {end->phase, attempt->revision, end->verdict,
                                          end->summary};

    hold_tell(attempt, &report);
}

/* Release and status say the same. If the Release cannot be written, only the Spec says it; the
 * first error is returned. */
static int write_end(struct attempt *attempt, struct release_report *report,
                     struct run_status *status, struct error *error)
{
    struct run *run = &attempt->run;
    int r, written;

    report->plan = plan_of(attempt);
    report->digest = attempt->digest;
    report->approval = approval_of(attempt);
    report->verdict = report->verdict ? report->verdict : &status->verdict;
    status->is_end = true;
    if (report->plan)
        status->plan = report_plan(report->plan, report->digest);
    if (report->results)
        status->resources = report_resources(report->results);
    if (attempt->operation && attempt->knows_state) {
        status->inventory = inventory_value(run->context, operation_ledger(attempt->operation));
        status->is_finished = true;
    }
    r = waits_on(attempt, report)
            ? 0
            : release_write(run->context, &run->subject, attempt->release, report, error);
    written = run_write_status(run, status, r < 0 ? NULL : error);
    run_status_done(status);
    if (r >= 0 && written >= 0 && !waits_on(attempt, report))
        tell_request(attempt, report);
    if (r >= 0 && written >= 0 && attempt->release)
        retention_collect(run, attempt->knows_revisions ? &attempt->revisions : NULL,
                          attempt->revision, report->phase);
    else if (r >= 0 && written >= 0 && attempt->kind == ATTEMPT_CORRECTION)
        retention_check(run);
    return r < 0 ? r : written;
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

/* The same for the table of Releases, which has the revision and the operation in other columns. */
static char *describe_for_table(const struct run *run, const char *summary)
{
    const struct hold *hold = &run->hold;

    return report_to_revision(str_new(summary), hold->to_revision);
}

static bool is_held(const struct run *run)
{
    return run->hold.operation != RELEASE_APPLY;
}

/* The same for the Spec, which is not in force itself under a hold. */
static char *describe_for_spec(const struct run *run, const char *message)
{
    const struct hold *hold = &run->hold;
    struct buf text = BUF_INIT;

    if (!is_held(run))
        return str_new(message);
    buf_printf(&text, "%s; ", message);
    if (hold->cause)
        buf_printf(&text, "generation %lld failed: %s; ", (long long)hold->generation, hold->cause);
    buf_add_str(&text, "the Spec is applied again when it changes");
    return buf_take(&text);
}

static struct verdict verdict_of_success(const struct run *run, const char *message)
{
    const char *healthy = run->policy.wait ? "True" : NULL;

    return is_held(run) ? (struct verdict){"False", hold_reason(&run->hold), message,
                                           PROGRESS_STALLED, healthy}
                        : (struct verdict){"True", "ReconciliationSucceeded", message,
                                           PROGRESS_SETTLED, healthy};
}

static int succeeded(struct attempt *attempt, const struct operation_results *results,
                     struct error *error)
{
    struct run *run = &attempt->run;
    /* A retry that succeeded gets its record now. */
    int r = attempt->kind == ATTEMPT_CORRECTION ? 0 : apply_begin_release(attempt, error);
    _cleanup_free_ char *summary = report_summary(results);
    _cleanup_free_ char *message = describe_success(attempt, summary);
    _cleanup_free_ char *said = describe_for_spec(run, message);
    _cleanup_free_ char *told = describe_for_table(run, summary);
    struct verdict done = {"True", "ReconciliationSucceeded", message, PROGRESS_SETTLED,
                           run->policy.wait ? "True" : NULL};
    struct release_report report = {
        .phase = PHASE_SUCCEEDED, .results = results, .verdict = &done, .summary = told};
    struct run_status status = {
        .verdict = verdict_of_success(run, said),
        .is_held = is_held(run),
        .attempted = attempt->revision,
        .applied = attempt->revision,
        .corrections = count_correction(attempt, summary),
        .drops_corrections = !attempt_is_correction(attempt),
    };
    bool is_correction = status.corrections != NULL;
    int written;

    following_note(attempt);
    written = write_end(attempt, &report, &status, r < 0 ? NULL : error);

    if (r >= 0)
        r = written;
    if (r >= 0 && is_correction)
        operation_log_correction(run);
    if (r >= 0)
        operation_log_success(run, summary);
    return r;
}

static int failed(struct attempt *attempt, const struct error *failure,
                  const struct operation_results *results, struct error *error)
{
    struct run *run = &attempt->run;
    struct release_report report = {.phase = PHASE_FAILED, .results = results};
    struct run_status status = {
        .verdict = run_judge(run, failure, results && report_timed_out(results)),
        .results = results,
    };
    int r = attempt->kind == ATTEMPT_CORRECTION ? apply_record_correction(attempt, error) : 0;

    if (r < 0)
        return r;
    status.attempted = attempt->release ? attempt->revision : 0;
    status.counts_failure = was_planned(attempt) && status.verdict.progress == PROGRESS_STALLED;
    operation_log_failure(run, failure, run_says_already(run, failure));
    return write_end(attempt, &report, &status, error);
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

/* The Release alone ends: the Spec's status is the next attempt's to write. */
static int write_release_end(struct attempt *attempt, enum release_phase phase,
                             const struct verdict *verdict, const struct operation_results *results,
                             struct error *error)
{
    struct release_report report = {.phase = phase,
                                    .plan = plan_of(attempt),
                                    .digest = attempt->digest,
                                    .approval = approval_of(attempt),
                                    .results = results,
                                    .verdict = verdict};

    return release_write(attempt->run.context, &attempt->run.subject, attempt->release, &report,
                         error);
}

/* Its Release ends with what was done so far. Where that cannot be written, the next operation
 * cancels it. */
static void write_superseded(struct attempt *attempt, const struct operation_results *results)
{
    _cleanup_free_ char *message = describe_superseded(attempt, results);
    struct verdict verdict = {"False", "Superseded", message, PROGRESS_SETTLED, NULL};

    write_release_end(attempt, PHASE_CANCELLED, &verdict, results, NULL);
    tell_request(attempt, &(struct release_report){.phase = PHASE_CANCELLED, .verdict = &verdict});
}

/* ms before a plan that was approved or carried out in vain is made again, and later each time. */
#define PLAN_RETRY 1000

/* Not what was approved would be done. The Release is cancelled, so that the next one shows the new
 * plan; a retry gets one for that. */
static int stale(struct attempt *attempt, const struct error *failure,
                 const struct operation_results *results, struct reconcile_result *result,
                 struct error *error)
{
    struct verdict verdict = {"False", PLAN_STALE, failure->message, PROGRESS_SETTLED, NULL};
    int r = apply_begin_release(attempt, error);

    if (r >= 0)
        r = write_release_end(attempt, PHASE_CANCELLED, &verdict, results, error);
    operation_log_failure(&attempt->run, failure, false);
    *result = (struct reconcile_result){.kind = RECONCILE_RETRY, .after = PLAN_RETRY};
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
    struct verdict verdict = {"True", "ReconciliationSucceeded", message, PROGRESS_SETTLED, NULL};
    int r = apply_begin_release(attempt, error);

    if (r >= 0)
        r = write_release_end(attempt, PHASE_SUCCEEDED, &verdict, results, error);
    if (r >= 0)
        operation_log_success(&attempt->run, message);
    *result = (struct reconcile_result){.kind = RECONCILE_RETRY, .after = PLAN_RETRY};
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
        if (r >= 0)
            remediate(attempt, failure, result);
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

/* Once: an object that is as wanted is not told of again. */
static void tell_warnings(const struct run *run, const struct operation_results *results)
{
    _cleanup_free_ char *warnings = report_warnings(results);

    if (warnings)
        run_event(run, EVENT_WARNING, "ProviderWarning", warnings);
}

int apply_ended(struct attempt *attempt, struct reconcile_result *result, struct error *error)
{
    struct operation_results results;
    struct error failure = {0};
    int r = operation_error(attempt->operation, &failure);

    operation_results(attempt->operation, &results);
    tell_warnings(&attempt->run, &results);
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
    const struct value *recorded = attempt->release->status;
    const struct value *ready = conditions_ready(recorded);
    const char *message = value_get_string(ready, "message");
    _cleanup_free_ char *said = describe_for_spec(run, message ? message : "applied");
    struct run_status status = {
        .verdict = verdict_of_success(run, said),
        .is_held = is_held(run),
        .is_end = true,
        .attempted = attempt->release->revision,
        .applied = attempt->release->revision,
        .drops_corrections = true,
        .plan = value_ref(value_get(recorded, "plan")),
        .resources = report_all_ready(plan_of(attempt)->n_resources),
        .inventory = inventory_value(run->context, operation_ledger(attempt->operation)),
    };
    int r;

    following_note(attempt);
    r = run_write_status(run, &status, error);
    run_status_done(&status);
    if (r >= 0)
        retention_check(run);
    return apply_settle(attempt, r, result);
}
