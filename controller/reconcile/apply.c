#include "controller/reconcile/apply.h"

#include "controller/core/finalizer.h"

#include "controller/reconcile/apply_end.h"
#include "controller/reconcile/apply_release.h"
#include "controller/reconcile/approval.h"
#include "controller/reconcile/cluster_secret.h"
#include "controller/reconcile/dependencies.h"
#include "controller/reconcile/errand.h"
#include "controller/reconcile/following.h"
#include "controller/reconcile/hold_begin.h"
#include "controller/reconcile/progress.h"
#include "controller/reconcile/records/recorded.h"
#include "controller/reconcile/rejection.h"
#include "controller/reconcile/run/corrections.h"
#include "controller/reconcile/run/drift.h"
#include "controller/reconcile/run/operation_log.h"
#include "controller/reconcile/run/recall.h"
#include "controller/reconcile/run/retention.h"
#include "controller/reconcile/sources.h"
#include "controller/reconcile/status/report.h"
#include "controller/reconcile/tell.h"
#include "engine/base/str.h"
#include "engine/log/log.h"

/* ---- While the plan is made ---- */

static void log_begin(struct attempt *attempt)
{
    bool waits = attempt->release && attempt->release->phase == PHASE_AWAITING_APPROVAL;

    if (waits && !attempt->apply.approved) /* it began before */
        return;
    operation_log_begin(&attempt->run, attempt->revision, attempt->kind == ATTEMPT_RETRY);
}

/* The Release may have been there, approved, and not been found. A rejected plan gets none, unless
 * it is another one now. 1: rejection_look(). */
static int begin_new(struct attempt *attempt, struct error *error)
{
    int r = rejection_look(attempt, error);

    if (r || attempt->apply.rejected)
        return r;
    r = apply_begin_release(attempt, error);
    return r < 0 || attempt->apply.approved ? r : approval_load(attempt, attempt->release, error);
}

/* While the plan is made: makes its Release. A retry, and the check of a Ready Spec, get one later.
 * 1: nothing is to be planned; begin again. */
static int announce(struct attempt *attempt, struct error *error)
{
    int r = 0;

    /* A Spec that was never applied has Releases only if an earlier Spec had its name. If the first
     * Release cannot be made, the next step looks which there are. */
    if (attempt->apply.is_first && apply_record_spec(attempt, error) < 0)
        return error->code;
    if (attempt->apply.is_first)
        release_begin_first(attempt->run.context, &attempt->run.subject, RELEASE_APPLY,
                            &attempt->release);
    if (attempt->kind == ATTEMPT_NEW && !attempt->release)
        r = apply_find_release(attempt, error);
    if (r >= 0 && attempt->kind == ATTEMPT_NEW)
        r = begin_new(attempt, error);
    if (r == 0 && (attempt->kind == ATTEMPT_NEW || attempt->kind == ATTEMPT_RETRY))
        log_begin(attempt);
    return r;
}

/* ---- Beginning ---- */

/* What is applied: nothing, under a hold that destroys. */
static int parse(struct attempt *attempt, struct error *error)
{
    struct run *run = &attempt->run;
    struct release_subject *subject = &run->subject;
    int r;

    if (run->hold.operation == RELEASE_DESTROY)
        return 0;
    r = run_parse(run, &attempt->spec, error);
    if (r < 0 && run->hold.operation == RELEASE_ROLLBACK)
        err_wrap(error, "revision %lld, to which it was rolled back (edit the Spec to end that)",
                 (long long)run->hold.to_revision);
    if (r < 0)
        return r;
    subject->project = attempt->spec->project;
    subject->stack = attempt->spec->stack;
    subject->workspace = attempt->spec->workspace;
    recorded_digest(run->context, run_source(run), run->spec_digest);
    subject->spec_digest = run->spec_digest[0] ? run->spec_digest : NULL;
    if (run->hold.operation == RELEASE_APPLY && subject->spec_digest)
        subject->resources = recorded_resources(run->context, run_source(run));
    subject->sources = run->hold.operation == RELEASE_APPLY ? run->sources : NULL;
    subject->to_revision = run->hold.to_revision;
    return 0;
}

/* It goes on by itself. 1: there is no memory for it. */
static int begin_plan(struct attempt *attempt, struct error *error)
{
    struct run *run = &attempt->run;
    _cleanup_(run_operation_done) struct run_operation operation = {0};
    _cleanup_(recall_done) struct recall recall = {0};
    int r;

    run_operation_init(&operation, run);
    operation.config.scope.thorough = run->policy.needs_approval; /* as the plan was shown */
    operation.config.approved = attempt->apply.approved;
    operation.config.for_approval = run->policy.needs_approval && !attempt->apply.approved;
    following_begin(attempt, &operation.config);
    r = attempt_open(attempt, &operation.config, attempt->spec, error);
    if (r == 0)
        r = recall_read(run, operation_ledger(attempt->operation), attempt->apply.is_first, &recall,
                        error);
    if (recall.is_needed) /* a Spec of which Releases tell is not the first of its name */
        attempt->apply.is_first = false;
    if (r == 0)
        errand_plan(attempt, &recall);
    return r;
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
    if (r != ERR_NOT_FOUND && r != ERR_CONFLICT && apply_is_reportable(r)) {
        r = apply_failed(attempt, &problem, result, error);
        return r < 0 ? r : 1;
    }
    attempt_end(attempt);
    return r == ERR_NOT_FOUND ? 1 : err_copy(error, &problem);
}

/* Which plan is approved is known from the Release. So that comes first. */
static int begin_as_approved(struct attempt *attempt, struct reconcile_result *result,
                             struct error *error)
{
    struct error problem = {0};
    int r = add_finalizer(attempt, result, error);

    if (r)
        return r < 0 ? r : 0;
    r = announce(attempt, &problem);
    if (r > 0) {
        attempt_end(attempt);
        *result = (struct reconcile_result){.kind = RECONCILE_AFTER, .priority = WORKQUEUE_CHANGE};
        return 0;
    }
    if (r >= 0)
        r = begin_plan(attempt, &problem);
    if (r > 0)
        return progress_put_off(attempt, result, error);
    return r < 0 ? apply_failed(attempt, &problem, result, error) : 0;
}

int apply_begin(struct attempt *attempt, struct reconcile_result *result, struct error *error)
{
    struct run *run = &attempt->run;
    struct error failure = {0}, problem = {0}, no_sources = {0};
    int r = sources_gather(attempt, &no_sources);

    if (r == SOURCES_UNDER_WAY) {
        *result = (struct reconcile_result){.kind = RECONCILE_WAITING};
        return 0;
    }
    if (r == SOURCES_NEED_MEMORY)
        return progress_put_off(attempt, result, error);
    cluster_secret_follow(attempt);
    operation_log_start(run, RELEASE_APPLY);
    attempt->kind = ATTEMPT_NEW;
    attempt->apply.is_first = !run_says(run, "True", NULL) &&
                              !finalizer_is_set(value_get(run->object, "metadata")) &&
                              !run_last_attempted(run);
    if (hold_begin(attempt, &failure) < 0)
        return apply_failed(attempt, &failure, result, error);
    run->log.operation = run->hold.operation;
    if (no_sources.code && run->hold.operation == RELEASE_APPLY)
        return apply_failed(attempt, &no_sources, result, error);
    if (run_is_settled(run))
        attempt->kind = ATTEMPT_RESYNC;
    if (parse(attempt, &failure) < 0)
        return apply_refused(attempt, &failure, result, error);
    r = dependencies_await(attempt, result, &failure);
    if (r > 0)
        return 0;
    if (r < 0)
        return r == ERR_INVALID ? apply_refused(attempt, &failure, result, error)
                                : apply_failed(attempt, &failure, result, error);
    if (run->policy.needs_approval)
        return begin_as_approved(attempt, result, error);
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
    return run_state_numbers(operation_ledger(attempt->operation)).revision >
           run_last_applied(&attempt->run);
}

/* The hold was carried out, and the Release by which a person asked for it may not say so yet:
 * it could not be written, and the operation's own Release is not there any more. */
static void tell_settled(struct attempt *attempt)
{
    const struct run *run = &attempt->run;
    const struct run_last last = run_last(run);
    struct outcome outcome = {.phase = PHASE_SUCCEEDED,
                              .verdict = verdict_of_success(last.message),
                              .applied = run_last_applied(run)};

    outcome.verdict.healthy = last.healthy;
    tell_outcome(attempt, &outcome, TELL_REQUEST, NULL);
}

static int idle(struct attempt *attempt, struct reconcile_result *result, struct error *error)
{
    int r;

    following_note(attempt);
    r = run_acknowledge(&attempt->run, error);
    tell_settled(attempt);
    retention_check(&attempt->run);
    log_debug("nothing to do", "namespace", attempt->object.namespace_name, "spec",
              attempt->object.name, NULL);
    return apply_settle(attempt, r, result);
}

/* State has to say that the Release was begun, before a status says that it is being applied
 * (recall.h). And where the Spec is Ready, and stays so: killed after the last change, the next
 * process would find nothing to do, and never look for the Release. */
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

/* Before anything is done: the Release has who approved it. */
static int record_approval(struct attempt *attempt, struct error *error)
{
    struct outcome outcome = {.phase = release_working_phase(attempt->run.hold.operation)};
    int r;

    if (!attempt->release || attempt->release->phase == outcome.phase)
        return 0;
    r = tell_outcome(attempt, &outcome, TELL_RELEASE, error);
    if (r >= 0)
        approval_tell_approved(attempt);
    return r;
}

static int begin_work(struct attempt *attempt, struct error *error)
{
    int r;

    if (attempt->kind == ATTEMPT_RETRY || attempt->kind == ATTEMPT_CORRECTION)
        return 0;
    r = apply_begin_release(attempt, error);
    if (r >= 0 && (attempt->apply.approved || attempt->kind == ATTEMPT_RESYNC))
        r = mark_revision(attempt, error);
    if (r >= 0 && attempt->apply.approved)
        r = record_approval(attempt, error);
    if (r >= 0 && attempt->kind == ATTEMPT_RESYNC)
        progress_begin(attempt);
    return r;
}

static int carry_out(struct attempt *attempt, struct reconcile_result *result, struct error *error)
{
    struct operation_apply how = {.verify = !attempt_is_correction(attempt),
                                  .anew = attempt->kind == ATTEMPT_CORRECTION};
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

/* A Release shows one plan. With another plan it is cancelled, and the next one shows that. */
static int await_approval(struct attempt *attempt, struct reconcile_result *result,
                          struct error *error)
{
    struct error failure = {0};
    bool waits_on = false, is_another = false;
    int r = approval_check(attempt, &failure);

    if (r >= 0)
        r = approval_outlasts(attempt, &waits_on, &failure);
    if (r >= 0 && !waits_on)
        r = approval_needs_release(attempt, &is_another, &failure);
    if (r < 0)
        return apply_failed(attempt, &failure, result, error);
    if (waits_on)
        return approval_wait_on(attempt, result, error);
    if (rejection_is_of_plan(attempt))
        return rejection_say(attempt, result, error);
    if (is_another) {
        r = approval_cancel(attempt, &failure);
        begin_anew(attempt);
    }
    if (r >= 0)
        r = apply_begin_release(attempt, &failure);
    if (r >= 0)
        r = approval_check_shown(attempt, &failure);
    if (r >= 0)
        r = approval_ask(attempt, result, &failure);
    if (r < 0 && !attempt->operation) /* the Release shows the plan, and stays as it is */
        return err_copy(error, &failure);
    return r < 0 ? apply_failed(attempt, &failure, result, error) : 0;
}

#define FIGHT_LOOK \
    5000 /* ms between looks whether anything else drifts, while fields are fought for */

/* What others changed is left as it is: because driftDetection.mode is `warn`, or because the same
 * was corrected a moment ago, again and again. */
static int leave_drift(struct attempt *attempt, int64_t wait, struct reconcile_result *result,
                       struct error *error)
{
    struct run *run = &attempt->run;
    int r;

    if (run->policy.drift == DRIFT_WARN)
        run->drifted = drift_describe(operation_get_plan(attempt->operation));
    following_note(attempt);
    if (run->drifted)
        drift_tell(run);
    r = run_acknowledge(run, error);
    if (run->policy.drift == DRIFT_ENABLED)
        attempt->apply.drift_wait = wait < FIGHT_LOOK ? wait : FIGHT_LOOK;
    r = apply_settle(attempt, r, result);
    if (wait && result->kind == RECONCILE_AFTER && wait < result->after)
        result->after = wait;
    return r;
}

/* ms for which drift is not corrected; 0: it is now, as when a person asks for it. */
static int64_t drift_rests(const struct attempt *attempt)
{
    const struct run *run = &attempt->run;
    const struct plan *plan = operation_get_plan(attempt->operation);

    if (run->policy.drift != DRIFT_ENABLED)
        return drift_is_in(plan) ? run->policy.interval : 0;
    return run->policy.needs_approval || run_has_request(run)
               ? 0
               : corrections_rest(run_corrections(run), plan, context_now(run->context));
}

int apply_planned(struct attempt *attempt, struct reconcile_result *result, struct error *error)
{
    const struct plan *plan = operation_get_plan(attempt->operation);
    struct error failure = {0};
    bool is_empty;

    if (attempt->apply.approved) /* also of a plan that is stale */
        approved_plan_digest(attempt->apply.approved, attempt->digest);
    if (operation_error(attempt->operation, &failure) < 0)
        return apply_failed(attempt, &failure, result, error);
    attempt_measure(attempt);
    if (!attempt->apply.approved)
        plan_digest(plan, attempt->run.plan_key, sizeof(attempt->run.plan_key), attempt->digest);
    is_empty = plan_is_empty(plan);
    if (attempt->kind == ATTEMPT_RESYNC && !has_unreported_revision(attempt)) {
        int64_t wait = is_empty ? 0 : drift_rests(attempt);

        if (is_empty)
            return idle(attempt, result, error);
        if (wait)
            return leave_drift(attempt, wait, result, error);
        if (!attempt->run.policy.needs_approval &&
            corrections_repeat(run_corrections(&attempt->run), plan)) {
            attempt->kind = ATTEMPT_CORRECTION;
            attempt->revision = run_last_applied(&attempt->run);
        }
    }
    if (attempt->kind == ATTEMPT_RESYNC) {
        if (apply_find_release(attempt, &failure) < 0)
            return apply_failed(attempt, &failure, result, error);
        if (is_empty && attempt->kind == ATTEMPT_RESYNC)
            return idle(attempt, result, error);
    }
    if (attempt->kind == ATTEMPT_STATUS_MISSING && is_empty)
        return apply_write_missing_status(attempt, result, error);
    if (attempt->kind == ATTEMPT_STATUS_MISSING)
        begin_anew(attempt);
    if (approval_is_missing(attempt))
        return await_approval(attempt, result, error);
    return carry_out(attempt, result, error);
}
