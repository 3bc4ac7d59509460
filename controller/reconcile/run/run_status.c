#include <string.h>

#include "controller/core/workqueue.h"
#include "controller/desk/dependencies.h"
#include "controller/desk/desk.h"
#include "controller/reconcile/records/api.h"
#include "controller/reconcile/run/corrections.h"
#include "controller/reconcile/run/drift.h"
#include "controller/reconcile/run/inventory.h"
#include "controller/reconcile/run/run.h"
#include "controller/reconcile/run/spec_secret.h"
#include "controller/reconcile/status/exposed.h"
#include "controller/reconcile/status/reason.h"
#include "controller/reconcile/status/report.h"
#include "engine/base/duration.h"
#include "engine/base/str.h"
#include "engine/base/timestamp.h"
#include "engine/base/utf8.h"
#include "engine/log/log.h"
#include "engine/spec/name.h"
#include "runtimes/kubernetes/runtime.h"

/* ms between tries of what run_retry_within() names; more if retryInterval is longer. */
#define SOON 30000

/* ---- The status as it is ---- */

static const struct value *status_of(const struct run *run)
{
    return value_get(run->object, "status");
}

static const struct value *ready_of(const struct run *run)
{
    return conditions_ready(status_of(run));
}

static bool is_of_this_generation(const struct run *run)
{
    const struct value *status = status_of(run);
    const char *observed = value_get_string(status, "observedSources");

    /* A hold does not depend on the sources. */
    return value_int(value_get(status, "observedGeneration"), -1) == run->subject.generation &&
           (run->hold.operation != RELEASE_APPLY ||
            str_equal(observed ? observed : "", run->sources_digest));
}

static bool says_something_new(const struct run *run, const struct verdict *verdict)
{
    const struct value *ready = ready_of(run);
    _cleanup_free_ char *message = utf8_show_lines(verdict->message); /* as conditions have it */

    return !str_equal(value_get_string(ready, "status"), verdict->ready) ||
           !str_equal(value_get_string(ready, "reason"), verdict->reason) ||
           !str_equal(value_get_string(ready, "message"), message);
}

bool run_says_already(const struct run *run, const struct error *failure)
{
    struct verdict verdict = verdict_of_error(failure, false);

    return is_of_this_generation(run) && !says_something_new(run, &verdict);
}

static const char *status_of_condition(const struct run *run, const char *type)
{
    const struct value *conditions = value_get(status_of(run), "conditions");

    return value_get_string(conditions_find(conditions, type), "status");
}

struct run_last run_last(const struct run *run)
{
    const struct value *ready = ready_of(run);

    return (struct run_last){
        .ready = value_get_string(ready, "status"),
        .reason = value_get_string(ready, "reason"),
        .message = value_get_string(ready, "message"),
        .healthy = status_of_condition(run, "Healthy"),
        .is_stalled = str_equal(status_of_condition(run, "Stalled"), "True"),
    };
}

bool run_says(const struct run *run, const char *ready, const char *reason)
{
    const struct value *condition = ready_of(run);

    return is_of_this_generation(run) && str_equal(value_get_string(condition, "status"), ready) &&
           (!reason || str_equal(value_get_string(condition, "reason"), reason));
}

bool run_has_request(const struct run *run)
{
    return run->trigger &&
           !str_equal(run->trigger, value_get_string(status_of(run), "lastHandledReconcileAt"));
}

bool run_is_settled(const struct run *run)
{
    return run->hold.operation == RELEASE_APPLY ? run_says(run, "True", NULL)
                                                : run_says(run, "False", hold_reason(&run->hold)) &&
                                                      run_last_applied(run) >= run->hold.revision;
}

int64_t run_last_applied(const struct run *run)
{
    return value_int(value_get(status_of(run), "lastAppliedRevision"), 0);
}

int64_t run_ready_generation_of(const struct value *object)
{
    const struct value *status = value_get(object, "status"), *ready;

    if (value_get(status, "readyGeneration"))
        return value_int(value_get(status, "readyGeneration"), 0);
    /* Written by a version that did not have it. */
    ready = conditions_ready(status);
    return str_equal(value_get_string(ready, "status"), "True")
               ? value_int(value_get(ready, "observedGeneration"), 0)
               : 0;
}

int64_t run_failures(const struct run *run)
{
    return is_of_this_generation(run) ? value_int(value_get(status_of(run), "failures"), 0) : 0;
}

const struct value *run_corrections(const struct run *run)
{
    return value_get(status_of(run), "driftCorrections");
}

int64_t run_unfinished(const struct run *run)
{
    return value_int(value_get(status_of(run), "unfinishedRevision"), 0);
}

int64_t run_last_attempted(const struct run *run)
{
    return value_int(value_get(status_of(run), "lastAttemptedRevision"), 0);
}

/* When this generation began to fail: ms since 1970; 0: it does not. */
static int64_t failing_since(const struct run *run)
{
    const char *since = value_get_string(status_of(run), "failingSince");

    return since && is_of_this_generation(run) ? timestamp_parse(since) : 0;
}

int64_t run_patience(const struct run *run)
{
    int64_t since = failing_since(run);
    int64_t left =
        since ? since + run->policy.timeout - context_now(run->context) : run->policy.timeout;

    return left > 0 ? left : 0;
}

int64_t run_retry_within(const struct run *run, const struct error *failure)
{
    int64_t interval = run->policy.retry_interval;

    if (!reason_has(failure->reason, REASON_SOON))
        return 0;
    return interval > SOON ? interval : SOON;
}

void run_say_retry(const struct run *run, struct error *failure)
{
    const struct spec_key *key = &run->subject.key;
    _cleanup_free_ char *now = kube_reconcile_command(key->namespace_name, key->name);
    int64_t within = run_retry_within(run, failure), interval = run->policy.retry_interval;
    _cleanup_free_ char *time = NULL;

    if (!within)
        within = interval > WORKQUEUE_RETRY_MAXIMUM ? interval : WORKQUEUE_RETRY_MAXIMUM;
    if (reason_has(failure->reason, REASON_OF_SPEC) || !now)
        return;
    time = duration_show(within);
    if (strstr(failure->message, now)) /* at the end of another command */
        err_hint(failure, "next try within %s", time);
    else
        err_hint(failure, "next try within %s; now: %s", time, now);
}

struct verdict run_judge(const struct run *run, const struct error *failure, bool is_spent)
{
    return verdict_of_error(failure, is_spent || !run_patience(run));
}

/* ---- The status as it is to be ---- */

static void set(const struct value **object, const char *key, const struct value *taken)
{
    const struct value *next = value_with(*object, key, taken);

    value_unref(*object);
    value_unref(taken);
    *object = next;
}

/* The defaults that were taken, since the schema has none. */
static const struct value *policy_value(const struct run *run)
{
    static const char *const deletion[] = {"MirrorPrune", "Delete", "WaitForTermination", "Orphan"};
    static const char *const adoption[] = {[ADOPT_IF_UNOWNED] = "AdoptIfUnowned",
                                           [ADOPT_MATCHING] = "MustMatch",
                                           [ADOPT_ALL] = "AdoptAll"};
    static const char *const drift[] = {
        [DRIFT_ENABLED] = "enabled", [DRIFT_WARN] = "warn", [DRIFT_DISABLED] = "disabled"};
    const struct spec_policy *policy = &run->policy;
    _cleanup_free_ char *interval = duration_show(policy->interval);
    _cleanup_free_ char *retry_interval = duration_show(policy->retry_interval);
    _cleanup_free_ char *timeout = duration_show(policy->timeout);
    const struct value *most =
        policy->max_deletions >= 0 ? value_pack("I", (int64_t)policy->max_deletions) : NULL;

    return value_pack(
        "{s:s?, s:b, s:b, s:b, s:b, s:s, s:{s:s}, s:{s:s}, s:s, s:s, s:s, s:s, s:s, s:V?, s:I}",
        "serviceAccountName", run_account(run), "suspend", policy->suspend, "prune", policy->prune,
        "wait", policy->wait, "force", policy->force, "deletionPolicy", deletion[policy->deletion],
        "approval", "mode", policy->needs_approval ? "Manual" : "Automatic", "driftDetection",
        "mode", drift[policy->drift], "interval", interval, "retryInterval", retry_interval,
        "timeout", timeout, "conflictPolicy", policy->objects.yields ? "Fail" : "Force",
        "adoptionPolicy", adoption[policy->objects.adoption], "maxDeletions", most,
        "revisionHistoryLimit", (int64_t)policy->history_limit);
}

static struct conditions_generation generation_of(const struct run *run,
                                                  const struct outcome *outcome)
{
    int64_t observed = run->subject.generation;
    const struct value *kept = value_get(ready_of(run), "observedGeneration");

    return (struct conditions_generation){.observed = observed,
                                          .ready = outcome->is_suspended ? value_int(kept, observed)
                                                                         : observed};
}

static void drop(const struct value **object, const char *key)
{
    const struct value *next = value_without(*object, key);

    value_unref(*object);
    *object = next;
}

static bool is_bad_news(const struct outcome *outcome)
{
    return str_equal(outcome->verdict.ready, "False") && !outcome->is_suspended &&
           !outcome->is_held && !outcome->waits;
}

/* A suspended Spec that was ready counts as it is. */
static void set_ready_generation(const struct run *run, const struct outcome *outcome,
                                 const struct value **next)
{
    if (str_equal(outcome->verdict.ready, "True"))
        set(next, "readyGeneration", value_pack("I", run->subject.generation));
    else if (outcome->is_held)
        drop(next, "readyGeneration");
}

/* While an operation goes on, it is not known whether the generation still fails. */
static void set_failing_since(const struct run *run, const struct outcome *outcome,
                              const struct value **next)
{
    int64_t since = failing_since(run);
    char time[TIMESTAMP_SIZE];

    if (is_bad_news(outcome)) {
        timestamp_format(since ? since : context_now(run->context), time);
        set(next, "failingSince", value_pack("s", time));
    } else if (outcome->is_end || !since) {
        drop(next, "failingSince");
    }
}

/* A failure that may heal by waiting, and progress, leave the number as it is. */
static void set_failures(const struct run *run, const struct outcome *outcome,
                         const struct value **next)
{
    int64_t failures = run_failures(run) + outcome->counts_failure;
    bool is_over = outcome->is_end && !is_bad_news(outcome);

    if (failures && !is_over)
        set(next, "failures", value_pack("I", failures));
    else
        drop(next, "failures");
}

static void set_handled(const struct run *run, const struct value **next)
{
    if (run->trigger)
        set(next, "lastHandledReconcileAt", value_pack("s", run->trigger));
}

static int64_t count_of(const struct value *resources, const char *which)
{
    return value_int(value_get(resources, which), 0);
}

/* "5/6", of those that are wanted; NULL: as before. */
static const struct value *objects_of(const struct outcome *outcome, const struct value *resources)
{
    int64_t total = (int64_t)outcome->objects.total, ready = (int64_t)outcome->objects.done;
    _cleanup_free_ char *text = NULL;

    if (resources) {
        total = count_of(resources, "total");
        ready = count_of(resources, "ready");
    } else if (!total) {
        return NULL;
    }
    text = str_printf("%lld/%lld", (long long)ready, (long long)total);
    return value_pack("s", text);
}

/* As the last try to write the state file came out, or as before; none if none is asked for. */
static void add_written(const struct run *run, const struct value *old,
                        const struct value **conditions)
{
    const struct run_written *written = &run->written;
    const struct verdict verdict = {
        .ready = written->status, .reason = written->reason, .message = written->message};

    if (spec_secret_of(run, "to").name)
        conditions_add_written(conditions, old, written->is_tried ? &verdict : NULL,
                               run->subject.generation, context_now(run->context));
    else if (conditions_find(*conditions, CONDITION_WRITTEN))
        conditions_drop(conditions, CONDITION_WRITTEN);
}

bool run_says_written(const struct run *run)
{
    const struct value *said =
        conditions_find(value_get(status_of(run), "conditions"), CONDITION_WRITTEN);

    return str_equal(value_get_string(said, "status"), run->written.status) &&
           str_equal(value_get_string(said, "message"), run->written.message);
}

/* corrections: status.driftCorrections as it is to be. */
static void set_drifted(const struct run *run, const struct value *corrections,
                        const struct value *old, const struct value **conditions)
{
    int64_t now = context_now(run->context);
    _cleanup_free_ char *fight = corrections_fight(corrections, run->policy.interval, now);
    const struct value *said = conditions_find(old, "Drifted");
    bool says_drift =
        is_of_this_generation(run) && str_equal(value_get_string(said, "reason"), DRIFT_DETECTED);
    /* What the status says of drift that is left as it is holds as long as no plan tells. */
    const char *left = run->knows_drift ? run->drifted
                       : says_drift     ? value_get_string(said, "message")
                                        : NULL;
    const struct warning drifted = left ? (struct warning){"Drifted", DRIFT_DETECTED, left}
                                        : (struct warning){"Drifted", "FieldFight", fight};

    conditions_set_warning(conditions, old, &drifted, run->subject.generation, now);
}

/* Why drift is not found at once; nothing where it is. */
static void set_unfollowed(const struct run *run, const struct value **next)
{
    if (!run->knows_drift)
        return;
    if (run->unfollowed)
        set(next, "driftDetection",
            value_pack("{s:s, s:s}", "by", "Interval", "message", run->unfollowed));
    else if (value_get(*next, "driftDetection"))
        drop(next, "driftDetection");
}

/* brief: the summary. counted: the resources as the status has them, or is to have them. */
static const struct value *conditions_of(const struct run *run, const struct outcome *outcome,
                                         const char *brief, const struct value *counted)
{
    const struct conditions_generation generation = generation_of(run, outcome);
    const struct value *old = value_get(status_of(run), "conditions");
    bool has_sources = run->sources && run->hold.operation == RELEASE_APPLY;
    const struct value *resources =
        value_path(has_sources ? run->source : run->object, "spec", "resources", NULL);
    _cleanup_free_ char *exposed = exposed_secrets(resources);
    int64_t now = context_now(run->context);
    _cleanup_free_ char *healthy =
        str_printf("%lld of %lld healthy", (long long)count_of(counted, "ready"),
                   (long long)count_of(counted, "total"));
    const struct conditions_clauses clauses = {brief, counted ? healthy : NULL};
    const struct value *conditions, *corrections;

    conditions = conditions_make(old, &outcome->verdict, &clauses, generation, now);

    conditions_set_warning(&conditions, old,
                           &(struct warning){"SecretsInClear", "SecretsInClear", exposed},
                           generation.observed, now);
    corrections = outcome->corrections         ? outcome->corrections
                  : outcome->drops_corrections ? NULL
                                               : run_corrections(run);
    set_drifted(run, corrections, old, &conditions);
    add_written(run, old, &conditions);
    return conditions;
}

static const struct value *next_status(const struct run *run, const struct outcome *outcome)
{
    const struct value *old = status_of(run), *next = value_ref(old);
    /* Those that are not as they should be are named; NULL: as before. */
    const struct value *resources = outcome->results ? report_resources(outcome->results)
                                    : outcome->all_ready
                                        ? report_all_ready(outcome->all_ready->n_resources)
                                        : NULL;
    const struct value *objects = objects_of(outcome, resources);
    char summary[REPORT_SUMMARY_SIZE], owner[SPEC_HASH_NAME_SIZE];

    report_short(outcome->summary ? outcome->summary : outcome->verdict.message, outcome->results,
                 summary, sizeof(summary));

    set(&next, "observedGeneration", value_pack("I", run->subject.generation));
    if (run->sources_digest[0])
        set(&next, "observedSources", value_pack("s", run->sources_digest));
    else if (value_get(next, "observedSources"))
        drop(&next, "observedSources");
    set(&next, "conditions",
        conditions_of(run, outcome, summary, resources ? resources : value_get(old, "resources")));
    set(&next, "summary", value_pack("s", summary));
    if (objects)
        set(&next, "objects", objects);
    spec_hash_name(run->subject.key.namespace_name, run->subject.key.name, owner);
    set(&next, "owner", value_pack("s", owner));
    set_ready_generation(run, outcome, &next);
    set_unfollowed(run, &next);
    set_failing_since(run, outcome, &next);
    set_failures(run, outcome, &next);
    if (outcome->is_end)
        set_handled(run, &next);
    if (!run->is_unreadable)
        set(&next, "policy", policy_value(run));
    if (outcome->attempted)
        set(&next, "lastAttemptedRevision", value_pack("I", outcome->attempted));
    if (outcome->unfinished)
        set(&next, "unfinishedRevision", value_pack("I", outcome->unfinished));
    else if (outcome->is_finished && value_get(next, "unfinishedRevision"))
        drop(&next, "unfinishedRevision");
    if (outcome->applied)
        set(&next, "lastAppliedRevision", value_pack("I", outcome->applied));
    if (outcome->shown)
        set(&next, "plan", value_ref(value_get(outcome->shown, "plan")));
    else if (outcome->plan)
        set(&next, "plan", report_plan(outcome->plan, outcome->digest));
    if (resources)
        set(&next, "resources", resources);
    if (outcome->ledger)
        set(&next, "inventory", inventory_value(run->context, outcome->ledger));
    if (outcome->drops_corrections)
        drop(&next, "driftCorrections");
    if (outcome->corrections)
        set(&next, "driftCorrections", value_ref(outcome->corrections));
    return next;
}

/* ---- Writes ---- */

static void note_ready_generation(const struct run *run)
{
    desk_note_ready_generation(run->context->desk, &run->subject.key, run->uid,
                               run_ready_generation_of(run->object));
}

static int put_status(struct run *run, const struct value *status, struct error *error)
{
    const struct spec_key *key = &run->subject.key;
    _cleanup_value_ const struct value *metadata = value_ref(value_get(run->object, "metadata"));
    struct api_status write = {.ref = api_spec_ref(key, "status"), .status = status};
    struct error problem = {0};
    int r = api_put_status(run->context, &write, &metadata, &problem);

    if (r == ERR_TOO_LARGE)
        log_warn("a Spec has no room left for its status", "namespace", key->namespace_name, "spec",
                 key->name, "error", problem.message, NULL);
    if (r < 0) {
        err_wrap(&problem, "writing the Spec's status");
        return err_copy(error, &problem);
    }
    run_set_metadata(run, metadata);
    set(&run->object, "status", value_ref(status));
    note_ready_generation(run);
    return 0;
}

static void note(const struct run *run, const char *ready, const char *reason)
{
    desk_note_ready(run->context->desk, &run->subject.key, ready,
                    reason ? reason_label(reason) : NULL);
}

void run_note_ready(const struct run *run)
{
    struct run_last last = run_last(run);

    note(run, last.ready, last.reason);
    note_ready_generation(run);
}

/* The message of a hold that was carried out; free(). */
static char *describe_hold(const struct hold *hold, const char *message)
{
    struct buf text = BUF_INIT;

    buf_printf(&text, "%s; ", message);
    if (hold->cause)
        buf_printf(&text, "generation %lld failed: %s; ", (long long)hold->generation, hold->cause);
    buf_add_str(&text, "the Spec is applied again when it changes");
    return buf_take(&text);
}

/* As the Spec says it, which is not in force itself under a hold. *ret_message: what that borrows;
 * free(). */
static struct outcome for_spec(const struct run *run, const struct outcome *outcome,
                               char **ret_message)
{
    const struct hold *hold = &run->hold;
    struct outcome own = *outcome;

    if (own.spec_message)
        own.verdict.message = own.spec_message;
    own.summary = own.spec_summary;
    if (!own.is_end) /* they change with each that is done: the Release alone has them */
        own.results = NULL;
    if (hold->operation == RELEASE_APPLY || !str_equal(own.verdict.ready, "True"))
        return own;
    *ret_message = describe_hold(hold, own.verdict.message);
    own.verdict = (struct verdict){"False", hold_reason(hold), *ret_message, PROGRESS_STALLED,
                                   own.verdict.healthy};
    own.is_held = true;
    return own;
}

int run_write_status(struct run *run, const struct outcome *outcome, struct error *error)
{
    _cleanup_free_ char *message = NULL;
    const struct outcome own = for_spec(run, outcome, &message);
    const struct verdict *verdict = &own.verdict;
    _cleanup_value_ const struct value *next = next_status(run, &own);
    bool is_news = !own.is_quiet && (own.is_untold || says_something_new(run, verdict));
    struct error problem = {0};
    int r = 0;

    if (run->is_bypassed) /* there is none */
        return 0;
    note(run, verdict->ready, verdict->reason);
    /* What an unreadable object's status says is not known: it is then written each time. */
    if (run->is_unreadable || !value_equal(status_of(run), next))
        r = put_status(run, next, &problem);
    if (r == ERR_NOT_FOUND)
        return 0;
    if (is_news && !err_is_transient(r))
        run_event(run, is_bad_news(&own) ? EVENT_WARNING : EVENT_NORMAL, verdict->reason,
                  verdict->message);
    return r < 0 && r != ERR_TOO_LARGE ? err_copy(error, &problem) : 0;
}

int run_acknowledge(struct run *run, struct error *error)
{
    const struct value *next = value_ref(status_of(run));
    const struct value *old = value_get(next, "conditions"), *conditions = value_ref(old);
    struct error problem = {0};
    int r = 0;

    set_drifted(run, run_corrections(run), old, &conditions);
    add_written(run, old, &conditions);
    set(&next, "conditions", conditions);
    set_unfollowed(run, &next);
    set_handled(run, &next);
    if (!run->is_unreadable && !value_equal(status_of(run), next))
        r = put_status(run, next, &problem);
    value_unref(next);
    return r < 0 && r != ERR_NOT_FOUND ? err_copy(error, &problem) : 0;
}
