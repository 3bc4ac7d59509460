#include "controller/reconcile/apply.h"

#include "controller/reconcile/report.h"
#include "engine/base/log.h"
#include "engine/base/str.h"
#include "engine/state/calls.h"

/* ---- Endings ---- */

static bool is_reportable(int code)
{
    return code != ERR_CANCELLED && code != ERR_FENCED;
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

static int settle(struct attempt *attempt, int r, struct reconcile_result *result)
{
    attempt_check_later(attempt, result);
    end_unless_unwritten(attempt, r);
    return r;
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
    report->verdict = &status->verdict;
    status->is_end = true;
    if (report->plan)
        status->plan = report_plan(report->plan, report->digest);
    if (report->results)
        status->resources = report_resources(report->results);
    if (attempt->operation)
        status->inventory = report_inventory(operation_ledger(attempt->operation));
    r = release_write(run->context, &run->subject, attempt->release, report, error);
    written = run_write_status(run, status, r < 0 ? NULL : error);
    run_status_done(status);
    return r < 0 ? r : written;
}

static int begin_release(struct attempt *attempt, struct error *error)
{
    struct run *run = &attempt->run;
    int r = 0;

    if (!attempt->release)
        r = release_begin(run->context, &run->subject, RELEASE_APPLY, attempt->revision,
                          &attempt->release, error);
    if (attempt->release) /* another one, where a person's has the name of the first */
        attempt->revision = attempt->release->revision;
    if (r >= 0)
        operation_log_release(run, attempt->release);
    return r;
}

static int succeeded(struct attempt *attempt, const struct operation_results *results,
                     struct error *error)
{
    struct run *run = &attempt->run;
    int r = begin_release(attempt, error); /* a retry that succeeded gets its record now */
    _cleanup_free_ char *summary = report_summary(results);
    _cleanup_free_ char *message =
        str_printf("revision %lld: %s", (long long)attempt->revision, summary);
    struct release_report report = {.phase = PHASE_SUCCEEDED, .results = results};
    struct run_status status = {
        .verdict = {"True", "ReconciliationSucceeded", message, PROGRESS_SETTLED,
                    run->policy.wait ? "True" : NULL},
        .attempted = attempt->revision,
        .applied = attempt->revision,
    };
    int written = write_end(attempt, &report, &status, r < 0 ? NULL : error);

    if (r >= 0)
        r = written;
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
        .attempted = attempt->release ? attempt->revision : 0,
    };

    operation_log_failure(run, failure, run_says_already(run, failure));
    return write_end(attempt, &report, &status, error);
}

#define NAMED_CALLS 3

/* "why; still under way: a, b". Calls that an operation has sent outlive it. */
static char *describe_superseded(struct attempt *attempt, const struct operation_results *results)
{
    struct calls *calls = ledger_calls(operation_ledger(attempt->operation));
    struct buf text = BUF_INIT;
    size_t n = 0;

    buf_add_str(&text, attempt_outdated_by(attempt));
    for (size_t i = 0; results && i < results->count; i++) {
        const char *id = results->items[i].change->id;

        if (calls_since(calls, id) && n++ < NAMED_CALLS)
            buf_printf(&text, "%s%s", n == 1 ? "; still under way: " : ", ", id);
    }
    if (n > NAMED_CALLS)
        buf_printf(&text, " and %zu more", n - NAMED_CALLS);
    return buf_take(&text);
}

/* Its Release ends with what was done so far. Where that cannot be written, the next operation
 * cancels it. */
static void write_superseded(struct attempt *attempt, const struct operation_results *results)
{
    _cleanup_free_ char *message = describe_superseded(attempt, results);
    struct verdict verdict = {"False", "Superseded", message, PROGRESS_SETTLED, NULL};
    struct release_report report = {.phase = PHASE_CANCELLED,
                                    .plan = plan_of(attempt),
                                    .digest = attempt->digest,
                                    .results = results,
                                    .verdict = &verdict};

    release_write(attempt->run.context, &attempt->run.subject, attempt->release, &report, NULL);
}

static int end_badly(struct attempt *attempt, const struct error *failure,
                     const struct operation_results *results, struct reconcile_result *result,
                     struct error *error)
{
    struct error said = *failure;
    int r;

    if (is_reportable(failure->code)) {
        run_say_retry(&attempt->run, &said);
        attempt_retry(attempt, &said, result);
        r = failed(attempt, &said, results, error);
        end_unless_unwritten(attempt, r);
        return r;
    }
    operation_log_failure(&attempt->run, failure, false);
    if (failure->code == ERR_CANCELLED && attempt->operation && attempt_is_outdated(attempt))
        write_superseded(attempt, results);
    attempt_end(attempt);
    return err_copy(error, failure);
}

/* It came to nothing before anything was carried out. */
static int apply_failed(struct attempt *attempt, const struct error *failure,
                        struct reconcile_result *result, struct error *error)
{
    return end_badly(attempt, failure, NULL, result, error);
}

int apply_refused(struct attempt *attempt, const struct error *refusal,
                  struct reconcile_result *result, struct error *error)
{
    struct error failure = *refusal, problem = {0};

    if (!run_says_already(&attempt->run, refusal) &&
        run_cancel_latest(&attempt->run, "a newer generation of the Spec came", &problem) < 0)
        failure = problem;
    return end_badly(attempt, &failure, NULL, result, error);
}

int apply_ended(struct attempt *attempt, struct reconcile_result *result, struct error *error)
{
    struct operation_results results;
    struct error failure = {0};
    int r = operation_error(attempt->operation, &failure);

    operation_results(attempt->operation, &results);
    if (r < 0) {
        report_judge(&results, &failure);
        r = end_badly(attempt, &failure, results.count ? &results : NULL, result, error);
    } else {
        r = succeeded(attempt, &results, error);
        r = settle(attempt, r, result);
    }
    operation_results_done(&results);
    return r;
}

/* A Release succeeded, but the Spec's status does not say so: the process was killed between the
 * two writes, or the second was refused. The status is written from the Release. */
static int write_missing_status(struct attempt *attempt, struct reconcile_result *result,
                                struct error *error)
{
    struct run *run = &attempt->run;
    const struct value *recorded = attempt->release->status;
    const struct value *ready = conditions_find(value_get(recorded, "conditions"), "Ready");
    const char *message = value_get_string(ready, "message");
    struct run_status status = {
        .verdict = {"True", "ReconciliationSucceeded", message ? message : "applied",
                    PROGRESS_SETTLED, run->policy.wait ? "True" : NULL},
        .is_end = true,
        .attempted = attempt->release->revision,
        .applied = attempt->release->revision,
        .plan = value_ref(value_get(recorded, "plan")),
        .resources = report_all_ready(plan_of(attempt)->n_resources),
        .inventory = report_inventory(operation_ledger(attempt->operation)),
    };
    int r = run_write_status(run, &status, error);

    run_status_done(&status);
    return settle(attempt, r, result);
}

/* ---- The Release to work under ---- */

static bool is_of_this_generation(const struct attempt *attempt, const struct release *release)
{
    return release->operation == RELEASE_APPLY &&
           release->generation == attempt->run.subject.generation;
}

/* What the newest Release, which has ended, makes of the attempt. Taken over where it is kept. */
static void consider(struct attempt *attempt, struct release **latest)
{
    bool is_reported =
        attempt->kind == ATTEMPT_RESYNC && (*latest)->revision <= run_last_applied(&attempt->run);

    if (!is_of_this_generation(attempt, *latest) || is_reported)
        return;
    if ((*latest)->phase == PHASE_FAILED && attempt->kind == ATTEMPT_NEW)
        attempt->kind = ATTEMPT_RETRY;
    if ((*latest)->phase != PHASE_SUCCEEDED)
        return;
    attempt->kind = ATTEMPT_STATUS_MISSING;
    attempt->release = TAKE(*latest);
}

/* A first Release that was made unseen, and left unfinished: others of the name may be newer. */
static int find_first(struct attempt *attempt, struct release **latest, struct error *error)
{
    const struct run *run = &attempt->run;
    _cleanup_(release_free_p) struct release *first = NULL;
    int r;

    if (run_last_attempted(run) || !*latest || (*latest)->revision == 1)
        return 0;
    r = releases_load(run->context, &run->subject, 1, run->cancel, &first, error);
    if (r < 0 || !first || release_phase_is_terminal(first->phase) ||
        !is_of_this_generation(attempt, first))
        return r;
    release_free(*latest);
    *latest = TAKE(first);
    return 0;
}

/* One that was left unfinished, else none yet, and the next revision. */
static int find_release(struct attempt *attempt, struct error *error)
{
    struct run *run = &attempt->run;
    _cleanup_(release_free_p) struct release *latest = NULL;
    int r = releases_latest(run->context, &run->subject, run->cancel, &latest, error);

    if (r >= 0)
        r = find_first(attempt, &latest, error);
    if (r < 0)
        return r;
    attempt->revision = release_next_revision(run_last_applied(run), latest ? latest->revision : 0);
    if (!latest)
        return 0;
    if (release_phase_is_terminal(latest->phase)) {
        consider(attempt, &latest);
        return 0;
    }
    if (!is_of_this_generation(attempt, latest))
        return run_cancel_release(run, latest, "a newer generation of the Spec came", error);
    attempt->kind = ATTEMPT_NEW;
    attempt->revision = latest->revision;
    attempt->release = TAKE(latest);
    return 0;
}

static void log_begin(struct attempt *attempt)
{
    operation_log_begin(&attempt->run, attempt->revision, attempt->kind == ATTEMPT_RETRY);
}

/* While the plan is made: makes its Release. A retry, and the check of a Ready Spec, get one later.
 */
static int announce(struct attempt *attempt, struct error *error)
{
    int r = 0;

    /* A Spec that was never applied has Releases only if an earlier Spec had its name. If the first
     * Release cannot be made, the next step looks which there are. */
    if (attempt->is_first)
        release_begin_first(attempt->run.context, &attempt->run.subject, RELEASE_APPLY,
                            &attempt->release);
    if (attempt->kind == ATTEMPT_NEW && !attempt->release)
        r = find_release(attempt, error);
    if (r >= 0 && attempt->kind == ATTEMPT_NEW)
        r = begin_release(attempt, error);
    if (r >= 0 && (attempt->kind == ATTEMPT_NEW || attempt->kind == ATTEMPT_RETRY))
        log_begin(attempt);
    return r;
}

/* ---- Beginning ---- */

static int parse(struct attempt *attempt, struct error *error)
{
    struct release_subject *subject = &attempt->run.subject;
    int r = run_parse(&attempt->run, &attempt->spec, error);

    if (r < 0)
        return r;
    subject->project = attempt->spec->project;
    subject->stack = attempt->spec->stack;
    subject->workspace = attempt->spec->workspace;
    return 0;
}

/* It goes on by itself. 1: there is no memory for it. */
static int begin_plan(struct attempt *attempt, struct error *error)
{
    struct run *run = &attempt->run;
    _cleanup_value_ const struct value *identity = NULL;
    struct operation_config config;
    int r;

    run_operation_config(run, &config, &identity);
    r = attempt_open(attempt, &config, attempt->spec, error);
    if (r)
        return r;
    if (run_lacks_state(run, operation_ledger(attempt->operation)))
        run_event(run, EVENT_WARNING, "StateLost",
                  "State is gone: what the Spec names is taken over again, and what it does not "
                  "name any more is left where it is");
    progress_begin(attempt);
    operation_plan(attempt->operation, TAKE(attempt->spec));
    return 0;
}

/* Nothing is made before the finalizer is there. 1: it could not be set, and the status says so; or
 * the Spec is gone. Where another write of the Spec came before it, the Spec has to be read again.
 */
static int add_finalizer(struct attempt *attempt, struct reconcile_result *result,
                         struct error *error)
{
    struct error problem = {0};
    int r = run_add_finalizer(&attempt->run, &problem);

    if (r >= 0)
        return 0;
    if (r != ERR_NOT_FOUND && r != ERR_CONFLICT && is_reportable(r)) {
        r = apply_failed(attempt, &problem, result, error);
        return r < 0 ? r : 1;
    }
    attempt_end(attempt);
    return r == ERR_NOT_FOUND ? 1 : err_copy(error, &problem);
}

int apply_begin(struct attempt *attempt, struct reconcile_result *result, struct error *error)
{
    struct run *run = &attempt->run;
    struct error failure = {0}, problem = {0};
    int r;

    operation_log_start(run, RELEASE_APPLY);
    attempt->kind = run_says(run, "True", NULL) ? ATTEMPT_RESYNC : ATTEMPT_NEW;
    attempt->is_first =
        attempt->kind == ATTEMPT_NEW && !run_has_finalizer(run) && !run_last_attempted(run);
    if (parse(attempt, &failure) < 0)
        return apply_refused(attempt, &failure, result, error);
    if (begin_plan(attempt, &failure) > 0)
        return progress_put_off(attempt, result, error);
    r = add_finalizer(attempt, result, error);
    if (r)
        return r < 0 ? r : 0;
    if (announce(attempt, &problem) < 0)
        return apply_failed(attempt, &problem, result, error);
    return failure.code ? apply_failed(attempt, &failure, result, error) : 0;
}

/* ---- Going on ---- */

/* An operation began after the one in the status: its Release may be unfinished. */
static bool has_unreported_revision(const struct attempt *attempt)
{
    struct arena arena = ARENA_INIT;
    struct state_head head;

    ledger_head(operation_ledger(attempt->operation), &arena, &head);
    arena_done(&arena);
    return head.revision > run_last_applied(&attempt->run);
}

static int idle(struct attempt *attempt, struct reconcile_result *result, struct error *error)
{
    int r = run_acknowledge(&attempt->run, error);

    log_debug("nothing to do", "namespace", attempt->object.namespace_name, "spec",
              attempt->object.name, NULL);
    return settle(attempt, r, result);
}

/* The Spec is Ready, and stays so: State has to say that its Release was begun. Else, killed after
 * the last change, the next process would find nothing to do, and never look for it. */
static int mark_revision(struct attempt *attempt, struct error *error)
{
    struct ledger *ledger = operation_ledger(attempt->operation);
    struct arena arena = ARENA_INIT;
    struct state_head head;

    ledger_head(ledger, &arena, &head);
    if (head.revision != attempt->revision)
        head.progressed_at = 0; /* it was another's */
    head.revision = attempt->revision;
    ledger_set_head(ledger, &head);
    arena_done(&arena);
    return ledger_begin(ledger, NULL, 0, error);
}

static int begin_work(struct attempt *attempt, struct error *error)
{
    int r;

    if (attempt->kind == ATTEMPT_RETRY)
        return 0;
    r = begin_release(attempt, error);
    if (r < 0 || attempt->kind != ATTEMPT_RESYNC)
        return r;
    progress_begin(attempt);
    return mark_revision(attempt, error);
}

static int carry_out(struct attempt *attempt, struct reconcile_result *result, struct error *error)
{
    struct operation_apply how = {.verify = attempt->kind != ATTEMPT_RESYNC};
    struct error problem = {0};

    if (begin_work(attempt, &problem) < 0)
        return apply_failed(attempt, &problem, result, error);
    if (!attempt->run.log.is_begun && attempt->kind != ATTEMPT_RETRY)
        log_begin(attempt);
    how.revision = attempt->revision;
    operation_apply(attempt->operation, &how);
    return 0;
}

/* There is something to do after all, which the Release that succeeded does not contain. */
static void begin_anew(struct attempt *attempt)
{
    attempt->revision =
        release_next_revision(run_last_applied(&attempt->run), attempt->release->revision);
    release_free(TAKE(attempt->release));
    attempt->kind = ATTEMPT_NEW;
}

int apply_planned(struct attempt *attempt, struct reconcile_result *result, struct error *error)
{
    const struct reconcile_context *context = attempt->run.context;
    const struct plan *plan = operation_get_plan(attempt->operation);
    struct error failure = {0};
    bool is_empty;

    if (operation_error(attempt->operation, &failure) < 0)
        return apply_failed(attempt, &failure, result, error);
    attempt_measure(attempt);
    plan_digest(plan, context->plan_key, sizeof(context->plan_key), attempt->digest);
    is_empty = plan_is_empty(plan);
    if (attempt->kind == ATTEMPT_RESYNC) {
        if (is_empty && !has_unreported_revision(attempt))
            return idle(attempt, result, error);
        if (find_release(attempt, &failure) < 0)
            return apply_failed(attempt, &failure, result, error);
        if (is_empty && attempt->kind == ATTEMPT_RESYNC)
            return idle(attempt, result, error);
    }
    if (attempt->kind == ATTEMPT_STATUS_MISSING && is_empty)
        return write_missing_status(attempt, result, error);
    if (attempt->kind == ATTEMPT_STATUS_MISSING)
        begin_anew(attempt);
    return carry_out(attempt, result, error);
}
