#include "controller/reconcile/apply.h"

#include "controller/reconcile/report.h"
#include "engine/base/log.h"
#include "engine/base/str.h"

/* ms. Where all is applied, and was not healthy in time before, a retry is a look at it: what a
 * large Spec keeps while it waits is a worker, which others need, and a small one memory. */
#define RETRY_LOOK 1000

/* What one attempt holds, from plan to status. */
struct attempt {
    struct run *run;
    struct spec *spec;
    struct operation *operation;
    struct plan *plan;
    char digest[HASH_HEX_SIZE];
    struct operation_results results;
    struct release *release; /* NULL: a retry, which makes one when it succeeds */
    int64_t revision;
    bool was_ready;
    bool retry;
};

static void attempt_done(struct attempt *attempt)
{
    release_free(attempt->release);
    operation_results_done(&attempt->results);
    plan_free(attempt->plan);
    operation_free(attempt->operation);
    spec_free(attempt->spec);
}

static int parse(struct run *run, struct spec **ret, struct error *error)
{
    int r = run_parse(run, ret, error);

    if (r < 0)
        return r;
    run->subject.project = (*ret)->project;
    run->subject.stack = (*ret)->stack;
    run->subject.workspace = (*ret)->workspace;
    return 0;
}

static void say_progress(struct attempt *attempt, const char *message)
{
    struct run_status status = {
        .verdict = {"Unknown", "Progressing", message, PROGRESS_RECONCILING, NULL},
        .attempted = attempt->revision,
        .plan = attempt->plan,
        .digest = attempt->digest,
    };

    run_begin_status(attempt->run, &status);
}

static int make_plan(struct attempt *attempt, struct error *error)
{
    const struct reconcile_context *context = attempt->run->context;
    int r = run_operation(attempt->run, &attempt->operation, error);

    if (r >= 0 && run_lacks_state(attempt->run, attempt->operation))
        run_event(attempt->run, "Warning", "StateLost",
                  "State is gone: what the Spec names is taken over again, and what it does not "
                  "name any more is left where it is");
    if (r >= 0)
        r = operation_plan(attempt->operation, attempt->spec, PLAN_SHALLOW, &attempt->plan, error);
    if (r >= 0)
        plan_digest(attempt->plan, context->plan_key, sizeof(context->plan_key), attempt->digest);
    return r;
}

/* The Release to work under: one that was left unfinished, else the next revision's. */
static int choose_revision(struct attempt *attempt, struct release **ret_unfinished,
                           struct error *error)
{
    struct run *run = attempt->run;
    _cleanup_(release_free_p) struct release *latest = NULL;
    const struct value *status = value_get(run->object, "status");
    int64_t highest = 0, known = value_int(value_get(status, "lastAppliedRevision"), 0);
    int r = releases_latest(run->context, &run->subject, run->cancel, &latest, &highest, error);

    if (r < 0)
        return r;
    if (latest && !release_phase_is_terminal(latest->phase)) {
        if (latest->generation == run->generation && latest->operation == RELEASE_APPLY) {
            attempt->revision = latest->revision;
            *ret_unfinished = TAKE(latest);
            return 0;
        }
        r = run_cancel_release(run, latest, "a newer generation of the Spec came", error);
        if (r < 0)
            return r;
    }
    attempt->retry = latest && latest->generation == run->generation &&
                     latest->phase == PHASE_FAILED && !run_says(run, "True", NULL);
    attempt->revision = release_next_revision(known, highest);
    return 0;
}

static int begin_release(struct attempt *attempt, struct error *error)
{
    struct run *run = attempt->run;
    int r = 0;

    if (!attempt->release)
        r = release_begin(run->context, &run->subject, RELEASE_APPLY, attempt->revision,
                          &attempt->release, error);
    if (r >= 0)
        operation_log_release(run, attempt->release);
    if (r >= 0 && attempt->release->phase == PHASE_NONE)
        r = release_write(run->context, &run->subject, attempt->release, PHASE_GENERATING, NULL,
                          NULL, NULL, NULL, error);
    return r;
}

static int write_phase(struct attempt *attempt, enum release_phase phase, struct error *error)
{
    return release_write(attempt->run->context, &attempt->run->subject, attempt->release, phase,
                         attempt->plan, attempt->digest, NULL, NULL, error);
}

/* ---- Endings ---- */

/* A retry that succeeded gets its record now. */
static int make_up_release(struct attempt *attempt, struct error *error)
{
    int r = begin_release(attempt, error);

    if (r >= 0 && attempt->release->phase == PHASE_GENERATING)
        r = write_phase(attempt, PHASE_PREVIEWING, error);
    return r < 0 ? r : write_phase(attempt, PHASE_APPLYING, error);
}

static int end_well(struct attempt *attempt, struct error *error)
{
    struct run *run = attempt->run;
    _cleanup_free_ char *summary = report_summary(&attempt->results);
    _cleanup_free_ char *message =
        str_printf("revision %lld: %s", (long long)attempt->revision, summary);
    struct verdict verdict = {"True", "ReconciliationSucceeded", message, PROGRESS_SETTLED,
                              run->policy.wait ? "True" : NULL};
    struct run_status status = {
        .verdict = verdict,
        .attempted = attempt->revision,
        .applied = attempt->revision,
        .plan = attempt->plan,
        .digest = attempt->digest,
        .results = &attempt->results,
        .n_resources = attempt->spec->n_resources,
    };
    int r = 0;

    if (!attempt->release)
        r = make_up_release(attempt, error);
    if (r >= 0)
        r = release_write(run->context, &run->subject, attempt->release, PHASE_SUCCEEDED,
                          attempt->plan, attempt->digest, &attempt->results, &verdict, error);
    if (r >= 0)
        r = run_write_status(run, &status, error);
    if (r >= 0)
        operation_log_success(run, summary);
    return r;
}

static int end_badly(struct attempt *attempt, const struct error *failure, struct error *error)
{
    struct run *run = attempt->run;
    struct run_status status = {
        .verdict = verdict_of_error(failure),
        .attempted = attempt->release ? attempt->revision : 0,
        .plan = attempt->plan,
        .digest = attempt->digest,
        .results = attempt->results.count ? &attempt->results : NULL,
        .n_resources = attempt->spec ? attempt->spec->n_resources : 0,
    };
    int r = 0;

    operation_log_failure(run, failure, run_says_already(run, failure));
    if (attempt->release)
        r = release_write(run->context, &run->subject, attempt->release, PHASE_FAILED,
                          attempt->plan, attempt->digest,
                          attempt->results.count ? &attempt->results : NULL, &status.verdict,
                          error);
    return r < 0 ? r : run_write_status(run, &status, error);
}

/* ---- The way of an attempt ---- */

/* A new generation, or one that was left unfinished: its Release tells before it is looked at.
 * (The Spec itself is large, and a write of its status costs the API server as much as one of
 * all of it: until there is a plan, its generation that is not observed yet says enough.) */
static int announce(struct attempt *attempt, struct error *error)
{
    int r = choose_revision(attempt, &attempt->release, error);

    if (r >= 0 && !attempt->retry)
        r = begin_release(attempt, error);
    if (r >= 0)
        operation_log_begin(attempt->run, attempt->revision, attempt->retry);
    if (r >= 0 && !attempt->retry && attempt->release->phase == PHASE_GENERATING)
        r = write_phase(attempt, PHASE_PREVIEWING, error);
    return r;
}

/* All that comes before anything is made. *ret_idle: there is nothing to do. */
static int prepare(struct attempt *attempt, bool *ret_idle, struct error *error)
{
    int r = parse(attempt->run, &attempt->spec, error);

    if (r < 0)
        return run_supersede(attempt->run, error);
    if (!attempt->was_ready)
        r = announce(attempt, error);
    if (r >= 0)
        r = make_plan(attempt, error);
    if (r < 0)
        return r;
    *ret_idle = attempt->was_ready && plan_is_empty(attempt->plan);
    if (*ret_idle)
        return 0;
    if (attempt->was_ready)
        r = announce(attempt, error);
    return r < 0 || attempt->retry ? r : write_phase(attempt, PHASE_APPLYING, error);
}

static int carry_out(struct attempt *attempt, struct error *error)
{
    int r = 0;

    if (!attempt->retry)
        say_progress(attempt, "applying");
    else if (plan_is_empty(attempt->plan))
        operation_limit(attempt->operation, RETRY_LOOK);
    /* Else, killed after it, we would find a Spec that is Ready and has nothing to do, and its
     * Release would stay as it is. */
    if (attempt->was_ready)
        r = run_settle(attempt->run, error);
    if (r < 0)
        return r;
    if (!attempt->retry)
        progress_begin(attempt->run, "applying");
    r = operation_apply(attempt->operation, attempt->spec, attempt->plan, attempt->revision,
                        !attempt->was_ready, &attempt->results, error);
    progress_end(attempt->run);
    return r;
}

static bool is_ours_to_tell(int code)
{
    return code != ERR_CANCELLED && code != ERR_FENCED;
}

static int end(struct attempt *attempt, const struct error *failure, int64_t *after,
               struct error *error)
{
    const struct spec_policy *policy = &attempt->run->policy;

    *after = failure->code ? policy->retry_interval : policy->interval;
    if (!failure->code)
        return end_well(attempt, error);
    if (is_ours_to_tell(failure->code))
        return end_badly(attempt, failure, error);
    operation_log_failure(attempt->run, failure, false);
    return err_copy(error, failure);
}

int reconcile_apply(struct run *run, int64_t *after, struct error *error)
{
    struct attempt attempt = {.run = run, .was_ready = run_says(run, "True", NULL)};
    struct error failure = {0};
    bool idle = false;
    int prepared, r;

    operation_log_start(run, RELEASE_APPLY);
    prepared = prepare(&attempt, &idle, &failure);
    r = run_settle(run, error); /* nothing is made before the finalizer is there */
    if (r < 0 && run->log.is_begun)
        operation_log_failure(run, error, false);
    *after = run->policy.interval;
    if (r >= 0 && prepared >= 0 && !idle)
        carry_out(&attempt, &failure);
    if (r >= 0 && !idle)
        r = end(&attempt, &failure, after, error);
    if (idle)
        log_debug("nothing to do", "namespace", run->namespace_name, "spec", run->name, NULL);
    attempt_done(&attempt);
    return r;
}
