#include "controller/reconcile/deletion.h"

#include "controller/core/finalizer.h"
#include "controller/reconcile/cluster_secret.h"
#include "controller/reconcile/dependents.h"
#include "controller/reconcile/errand.h"
#include "controller/reconcile/progress.h"
#include "controller/reconcile/records/api.h"
#include "controller/reconcile/records/recorded.h"
#include "controller/reconcile/run/operation_log.h"
#include "controller/reconcile/status/reason.h"
#include "controller/reconcile/status/report.h"
#include "controller/reconcile/tell.h"
#include "engine/base/str.h"
#include "engine/log/log.h"

#define LOOK_AT_STATE 5000 /* ms, between two tries to remove State that may still come back */

/* ---- The end ---- */

/* What was done is of a deletion that there is not any more: the Spec is looked at anew. */
static int begin_anew(struct attempt *attempt, struct reconcile_result *result)
{
    const struct spec_key *key = &attempt->run.subject.key;

    log_warn("the Spec is not being deleted any more: was etcd set back?", "namespace",
             key->namespace_name, "spec", key->name, NULL);
    attempt_end(attempt);
    *result = (struct reconcile_result){.kind = RECONCILE_AFTER, .priority = WORKQUEUE_CHANGE};
    return 0;
}

static int release_finalizer(struct attempt *attempt, struct reconcile_result *result,
                             struct error *error)
{
    const struct run *run = &attempt->run;
    const struct kube_ref ref = api_spec_ref(&run->subject.key, NULL);
    _cleanup_value_ const struct value *now = NULL;
    struct error problem = {0};
    int r = api_get_metadata(run->context, ref, NULL, &now, &problem);
    bool is_it =
        r >= 0 && str_equal(value_string(value_path(now, "metadata", "uid", NULL)),
                            value_string(value_path(run->object, "metadata", "uid", NULL)));

    if (r < 0 && r != ERR_NOT_FOUND) {
        err_wrap(&problem, "removing the finalizer");
        return err_copy(error, &problem);
    }
    if (is_it && !api_is_deleting(now))
        return begin_anew(attempt, result);
    if (now && !is_it) /* another has the name by now, and what is kept of it */
        return 0;
    r = recorded_drop_all(run->context, &run->subject.key, error);
    if (r >= 0 && is_it)
        r = finalizer_remove(run->context->client, &ref, value_get(now, "metadata"), NULL, error);
    if (r >= 0 && run->is_bypassed) {
        desk_end_bypassed(attempt->entry);
        *result = (struct reconcile_result){.kind = RECONCILE_AFTER, .priority = WORKQUEUE_CHANGE};
    }
    return r;
}

/* The Release goes on at the next try: it ends when everything is gone. */
static int write_failure(struct attempt *attempt, const struct error *failure,
                         const struct operation_results *results, struct error *error)
{
    struct operation *operation = attempt->operation;
    struct outcome outcome = {
        .phase = PHASE_DESTROYING,
        .verdict = run_judge(&attempt->run, failure, results && report_timed_out(results)),
        .plan = operation ? operation_get_plan(operation) : NULL,
        .keeps_plan = true,
        .results = results,
        .is_end = true,
        .attempted = attempt->release ? attempt->revision : 0,
        .ledger = operation && attempt->knows_state ? operation_ledger(operation) : NULL,
    };

    if (results)
        tell_outcome(attempt, &outcome, TELL_RELEASE, NULL);
    return tell_outcome(attempt, &outcome, TELL_SPEC, error);
}

int deletion_hold(struct attempt *attempt, struct error *failure,
                  const struct operation_results *results, struct reconcile_result *result,
                  struct error *error)
{
    struct run *run = &attempt->run;
    int r;

    if (results)
        report_judge(results, failure);
    run_say_retry(run, failure);
    if (reason_has(failure->reason, REASON_BLOCKS_DELETION)) /* perhaps for good */
        err_wrap(failure, "held (deletionPolicy Orphan would leave what remains)");
    operation_log_failure(run, failure, run_says_already(run, failure));
    attempt_retry(attempt, failure, result);
    /* State is removed soon, when nothing can bring it back. */
    if (str_equal(failure->reason, STORE_OUTCOME_UNKNOWN) &&
        run->policy.retry_interval > LOOK_AT_STATE)
        *result = (struct reconcile_result){
            .kind = RECONCILE_AFTER, .after = LOOK_AT_STATE, .priority = WORKQUEUE_RETRY};
    if (failure->code == ERR_CANCELLED || failure->code == ERR_FENCED)
        r = err_copy(error, failure);
    else
        r = write_failure(attempt, failure, results, error);
    attempt_end(attempt);
    return r;
}

static bool is_to_be_orphaned(const struct spec_policy *policy)
{
    return policy->suspend || policy->deletion == DELETION_ORPHAN ||
           (policy->deletion == DELETION_MIRROR_PRUNE && !policy->prune);
}

static const char *describe_nothing(const struct run *run)
{
    return is_to_be_orphaned(&run->policy) ? "nothing is deleted: orphaned" : "nothing to delete";
}

/* results: NULL: there was nothing to delete. */
static int destroyed(const struct run *run, struct release *release,
                     const struct operation_results *results, struct error *error)
{
    _cleanup_free_ char *summary =
        results ? report_summary(results) : str_new(describe_nothing(run));
    const struct outcome outcome = {
        .phase = PHASE_SUCCEEDED, .verdict = verdict_of_success(summary), .results = results};

    return release_write(run->context, &run->subject, release, &outcome, error);
}

static bool may_pass(int r)
{
    return err_is_transient(r) || r == ERR_FENCED || r == ERR_CANCELLED;
}

static void warn_unended(const struct run *run, const struct error *refusal)
{
    log_warn("a Release cannot be ended", "namespace", run->subject.key.namespace_name, "spec",
             run->subject.key.name, "reason", refusal->reason, "error", refusal->message, NULL);
}

/* ---- Without anything to delete ---- */

/* Its phase was written before the first deletion. */
static bool is_end_of_destroy(const struct release *latest)
{
    return latest && latest->operation == RELEASE_DESTROY &&
           (latest->phase == PHASE_DESTROYING || latest->phase == PHASE_SUCCEEDED);
}

/* A retry saves State under the revision that it will have if it succeeds. Where it did not, the
 * number goes to the next: so State's own is not asked for. */
static int64_t last_revision(const struct run *run, struct ledger *ledger)
{
    int64_t applied = run_state_numbers(ledger).applied_revision;
    int64_t attempted = run_last_attempted(run);

    return attempted > applied ? attempted : applied;
}

/* The one that was left unfinished, or a new one. latest: owned, or NULL. */
static int begin_destroy_after(const struct run *run, struct ledger *ledger, struct release *latest,
                               struct release **ret, struct error *error)
{
    _cleanup_(release_free_p) struct release *owned = latest;
    int64_t revision;
    int r;

    if (latest && latest->operation == RELEASE_DESTROY &&
        !release_phase_is_terminal(latest->phase)) {
        *ret = TAKE(owned);
        return 0;
    }
    r = run_cancel_release(run, latest, "the Spec was deleted", error);
    if (r < 0)
        return r;
    revision = release_next_revision(last_revision(run, ledger), latest ? latest->revision : 0);
    return release_begin(run->context, &run->subject, RELEASE_DESTROY, revision, ret, error);
}

static int orphan(struct run *run, struct ledger *ledger, struct error *error)
{
    int r = ledger_remove(ledger, error);

    if (r >= 0)
        operation_log_success(run, describe_nothing(run));
    return r;
}

/* Before State goes that alone knew of objects, the status says that none is left. So State that is
 * gone while the status names some was lost. */
static int say_nothing_is_left(struct run *run, struct ledger *ledger, struct error *error)
{
    const struct outcome outcome = {.verdict = verdict_of_progress("destroying"), .ledger = ledger};

    return recall_names_recorded(run) ? run_write_status(run, &outcome, error) : 0;
}

/* What Releases tell of was left to others: a Destroy that deletes nothing says so to the next Spec
 * of the name (witness.h). One that is refused for good does not keep the Spec. latest: owned, or
 * NULL. */
static int say_orphaned(const struct run *run, struct ledger *ledger, struct release *latest,
                        struct error *error)
{
    _cleanup_(release_free_p) struct release *owned = latest, *release = NULL;
    struct error problem = {0};
    int r;

    if (!latest || (latest->operation == RELEASE_DESTROY && latest->phase == PHASE_SUCCEEDED))
        return 0;
    r = begin_destroy_after(run, ledger, TAKE(owned), &release, &problem);
    if (r >= 0)
        r = destroyed(run, release, NULL, &problem);
    if (r < 0 && may_pass(r))
        return err_copy(error, &problem);
    if (r < 0)
        warn_unended(run, &problem);
    return 0;
}

/* In a namespace that goes no Releases can be made, and those of a Spec that is gone go with it. */
static bool has_no_release(const struct run *run)
{
    return run->is_namespace_terminating || run->is_bypassed;
}

/* Nothing was made, or all is deleted, or left. (A process may have been killed after State went,
 * and before the Release said so.) */
static int forget(struct run *run, struct ledger *ledger, struct error *error)
{
    _cleanup_(release_free_p) struct release *latest = NULL;
    int r = is_to_be_orphaned(&run->policy) ? 0 : say_nothing_is_left(run, ledger, error);

    if (r < 0)
        return r;
    if (has_no_release(run))
        return orphan(run, ledger, error);
    r = releases_latest(run->context, &run->subject, run->cancel, &latest, error);
    if (r < 0)
        return r;
    if (is_end_of_destroy(latest) && !ledger_is_stored(ledger))
        ledger_was_removed(ledger);
    r = orphan(run, ledger, error);
    if (r < 0)
        return r;
    if (is_to_be_orphaned(&run->policy))
        return say_orphaned(run, ledger, TAKE(latest), error);
    return is_end_of_destroy(latest)
               ? destroyed(run, latest, NULL, error)
               : run_cancel_release(run, latest, "the Spec was deleted", error);
}

/* ---- Beginning ---- */

/* While the CRD itself goes, every Spec is deleted by the API server: surely nobody meant
 * everything that they hold. */
static int check_definition(const struct run *run, struct error *error)
{
    const struct kube_ref ref = {.kind = &kube_definitions, .name = "specs.api.kusion.io"};
    _cleanup_value_ const struct value *definition = NULL;
    int r = api_get_metadata(run->context, ref, run->cancel, &definition, error);

    if (r < 0)
        return r;
    if (api_is_deleting(definition))
        return err_set(error, ERR_CONFLICT, "DeletionGuardTripped",
                       "held: the CRD specs.api.kusion.io is being deleted, and with it every "
                       "Spec. To let this one's resources go: set deletionPolicy to Orphan");
    return 0;
}

/* Of a Spec that cannot be read, what it said when it was last applied. */
static void recall_policy(struct run *run, struct ledger *ledger)
{
    _cleanup_(arena_done) struct arena arena = ARENA_INIT;
    const struct value *object;
    struct state_head head;

    ledger_head(ledger, &arena, &head);
    object = value_with(run->object, "spec", head.policy);
    value_unref(run->object);
    run->object = object;
    run_read_policy(run);
}

/* Before the first deletion the Release says that they have begun: State that is gone later is no
 * riddle then. */
static int begin_release(struct attempt *attempt, struct error *error)
{
    struct run *run = &attempt->run;
    struct outcome outcome = {.phase = PHASE_DESTROYING};
    _cleanup_(release_free_p) struct release *latest = NULL;
    int r;

    if (has_no_release(run)) {
        attempt->revision = last_revision(run, operation_ledger(attempt->operation)) + 1;
        return 0;
    }
    r = releases_latest(run->context, &run->subject, run->cancel, &latest, error);
    if (r >= 0)
        r = begin_destroy_after(run, operation_ledger(attempt->operation), TAKE(latest),
                                &attempt->release, error);
    if (r < 0)
        return r;
    attempt->revision = attempt->release->revision;
    operation_log_release(run, attempt->release);
    if (attempt->release->phase == PHASE_DESTROYING)
        return 0;
    return tell_outcome(attempt, &outcome, TELL_RELEASE, error);
}

/* What State does not know is looked for. Where the account may be gone (the namespace terminates,
 * or a destroy had ended, and State went with it), only what a list shows counts. */
static int read_lost(struct attempt *attempt, struct ledger *ledger, struct recall *ret,
                     struct error *error)
{
    struct run *run = &attempt->run;
    _cleanup_(release_free_p) struct release *latest = NULL;
    int r;

    r = recall_read(run, ledger, false, ret, error);
    if (r < 0 || !ret->is_needed)
        return r;
    ret->known.only_listed = run->is_namespace_terminating;
    if (run->is_namespace_terminating || !ret->is_gone)
        return 0;
    r = releases_latest(run->context, &run->subject, run->cancel, &latest, error);
    ret->known.only_listed = is_end_of_destroy(latest);
    return r;
}

/* Plans it in the background, and makes its Release meanwhile. 1: there is no memory for it. */
static int begin_destroy(struct attempt *attempt, struct recall *recall, struct error *error)
{
    struct run *run = &attempt->run;
    _cleanup_(run_operation_done) struct run_operation operation = {0};
    int r;

    run_operation_init(&operation, run);
    /* State goes when the status says that nothing is there any more (remove_state()). */
    operation.config.keeps_state = recall_names_recorded(run);
    r = attempt_open(attempt, &operation.config, NULL, error);
    if (r)
        return r;
    attempt->kind = run_says(run, "False", NULL) ? ATTEMPT_RETRY : ATTEMPT_NEW;
    errand_plan(attempt, recall);
    r = begin_release(attempt, error);
    if (r >= 0)
        operation_log_begin(run, attempt->revision, attempt->kind == ATTEMPT_RETRY);
    return r;
}

/* Before State goes that says what is left, the state file of Terraform does. The operation is
 * never planned. 0 without an operation: it is done. 1: there is no memory for one. */
static int begin_forgetting(struct attempt *attempt, struct ledger *ledger, struct error *error)
{
    _cleanup_(run_operation_done) struct run_operation operation = {0};
    int r;

    if (!errand_export_is_wanted(attempt))
        return forget(&attempt->run, ledger, error);
    run_operation_init(&operation, &attempt->run);
    r = attempt_open(attempt, &operation.config, NULL, error);
    if (r)
        return r;
    progress_begin(attempt);
    errand_export(attempt, false, NULL);
    return 0;
}

static size_t count_records(struct ledger *ledger)
{
    _cleanup_(ledger_records_done) struct ledger_records records = ledger_records(ledger);
    size_t count = records.count;

    return count;
}

/* Of a Spec that was removed past its finalizer: it began an operation, or State would be its own
 * now. Else what State has was left by an earlier one, and is for the next. */
static bool has_begun(const struct run *run, struct ledger *ledger)
{
    _cleanup_(arena_done) struct arena arena = ARENA_INIT;
    struct state_head head;
    bool has;

    ledger_head(ledger, &arena, &head);
    has = str_equal(head.operation_uid ? head.operation_uid : head.spec_uid, run->uid);
    return has;
}

/* 0 without an operation: there is nothing to delete any more. 1: there is no memory for one. */
static int take_down(struct attempt *attempt, struct error *error)
{
    struct run *run = &attempt->run;
    _cleanup_(ledger_unref_p) struct ledger *ledger = NULL;
    _cleanup_(recall_done) struct recall recall = {0};
    int r = run_open_state(run, &ledger, error);

    if (r < 0 || (run->is_bypassed && !has_begun(run, ledger)))
        return r;
    if (run->is_unreadable)
        recall_policy(run, ledger);
    if (!is_to_be_orphaned(&run->policy))
        r = check_definition(run, error);
    if (r >= 0)
        r = api_namespace_terminating(run->context, run->subject.key.namespace_name, run->cancel,
                                      &run->is_namespace_terminating, error);
    if (r >= 0 && !is_to_be_orphaned(&run->policy) && !run->is_bypassed)
        r = read_lost(attempt, ledger, &recall, error);
    if (r < 0)
        return r;
    return is_to_be_orphaned(&run->policy) || (!recall.is_needed && !count_records(ledger))
               ? begin_forgetting(attempt, ledger, error)
               : begin_destroy(attempt, &recall, error);
}

int deletion_begin(struct attempt *attempt, struct reconcile_result *result, struct error *error)
{
    struct run *run = &attempt->run;
    struct error failure = {0};
    int r;

    if (!finalizer_is_set(value_get(run->object, "metadata")))
        return 0;
    operation_log_start(run, RELEASE_DESTROY);
    cluster_secret_follow(attempt);
    r = is_to_be_orphaned(&run->policy) ? 0 : dependents_await(attempt, result, error);
    if (r)
        return r < 0 ? r : 0;
    r = take_down(attempt, &failure);
    if (r < 0)
        return deletion_hold(attempt, &failure, NULL, result, error);
    if (r > 0)
        return progress_put_off(attempt, result, error);
    return attempt->operation ? 0 : release_finalizer(attempt, result, error);
}

/* ---- Going on ---- */

int deletion_exported(struct attempt *attempt, struct reconcile_result *result, struct error *error)
{
    struct error failure = {0};
    int r = errand_export(attempt, false, error);

    if (r > 0) {
        *result = (struct reconcile_result){.kind = RECONCILE_WAITING};
        return 0;
    }
    if (r < 0) {
        attempt_end(attempt);
        return r;
    }
    r = forget(&attempt->run, operation_ledger(attempt->operation), &failure);
    if (r < 0)
        return deletion_hold(attempt, &failure, NULL, result, error);
    r = release_finalizer(attempt, result, error);
    attempt_end(attempt);
    return r;
}

int deletion_planned(struct attempt *attempt, struct reconcile_result *result, struct error *error)
{
    struct operation_apply how = {.revision = attempt->revision};
    struct error failure = {0};

    if (operation_error(attempt->operation, &failure) < 0)
        return deletion_hold(attempt, &failure, NULL, result, error);
    attempt_measure(attempt);
    plan_digest(operation_get_plan(attempt->operation), attempt->run.plan_key,
                sizeof(attempt->run.plan_key), attempt->digest);
    operation_apply(attempt->operation, &how);
    return 0;
}

/* All is gone, and State is kept yet, where it is the only one to know of objects. */
static int remove_state(struct attempt *attempt, struct error *error)
{
    struct ledger *ledger = operation_ledger(attempt->operation);
    int r = ledger_is_stored(ledger) ? say_nothing_is_left(&attempt->run, ledger, error) : 0;

    return r < 0 || !ledger_is_stored(ledger) ? r : ledger_remove(ledger, error);
}

/* The operation is kept until all of it is written; a Release that is refused for good does not
 * keep the Spec. */
static int end_well(struct attempt *attempt, const struct operation_results *results,
                    struct reconcile_result *result, struct error *error)
{
    struct run *run = &attempt->run;
    _cleanup_free_ char *summary = report_summary(results);
    struct error refusal = {0};
    int r = destroyed(run, attempt->release, results, &refusal);

    if (r < 0 && may_pass(r))
        return err_copy(error, &refusal);
    if (r < 0)
        warn_unended(run, &refusal);
    if (!run->log.is_ended)
        run_event(run, EVENT_NORMAL, "ReconciliationSucceeded", "all resources are deleted");
    operation_log_success(run, summary);
    r = release_finalizer(attempt, result, error);
    if (r >= 0)
        attempt_end(attempt);
    return r;
}

int deletion_ended(struct attempt *attempt, struct reconcile_result *result, struct error *error)
{
    struct operation_results results;
    struct error failure = {0};
    int r = operation_error(attempt->operation, &failure);

    operation_results(attempt->operation, &results);
    if (r >= 0)
        r = remove_state(attempt, &failure);
    if (r < 0)
        r = deletion_hold(attempt, &failure, results.count ? &results : NULL, result, error);
    else
        r = end_well(attempt, &results, result, error);
    operation_results_done(&results);
    return r;
}
