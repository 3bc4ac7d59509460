#include "controller/reconcile/release.h"

#include "controller/desk/requests.h"
#include "controller/reconcile/attempt.h"
#include "controller/reconcile/errand.h"
#include "controller/reconcile/progress.h"
#include "controller/reconcile/quarantine.h"
#include "controller/reconcile/reconcile.h"
#include "controller/reconcile/records/api.h"
#include "controller/reconcile/records/finished.h"
#include "controller/reconcile/records/plans.h"
#include "controller/reconcile/run/hold_revision.h"
#include "controller/reconcile/run/operation_log.h"
#include "controller/reconcile/sources.h"
#include "controller/reconcile/status/report.h"
#include "controller/reconcile/tell.h"
#include "engine/base/str.h"
#include "engine/log/log.h"
#include "engine/spec/preview_policies.h"
#include "runtimes/kubernetes/history/history.h"

/* ---- Waiting ---- */

/* A Preview that cannot begin yet: as many Previews run as may, or there is no memory for it.
 *
 * It keeps nothing meanwhile but its place in the line: a tenant may create any number of them,
 * with resources of up to 1 MiB each. Its status says once that it waits, when it has waited for
 * PROGRESS_QUIET. The Release is read again for that, and when the Preview begins. */

#define PREVIEW_LOOK 2000 /* ms until a Preview looks again whether there are too many of them */

/* True: it asked for a place before, there still is none, and its status needs no write. *result:
 * when it looks again. False: its Release is to be read. */
static bool preview_waits_for_place(struct attempt *attempt, struct reconcile_result *result)
{
    bool is_report_due = attempt->wait_report_at && attempt_now(attempt) >= attempt->wait_report_at;

    *result = (struct reconcile_result){.kind = RECONCILE_WAITING, .after = PREVIEW_LOOK};
    return attempt_waits_for_place(attempt) && !is_report_due;
}

/* ---- Saying so ---- */

static int say(struct attempt *attempt, const char *message, const char *summary,
               struct error *error)
{
    struct outcome outcome = {
        .phase = PHASE_GENERATING, .verdict = verdict_of_progress(message), .summary = summary};
    struct error problem = {0};
    int r = tell_outcome(attempt, &outcome, TELL_RELEASE, &problem);

    return r < 0 && r != ERR_TOO_LARGE ? err_copy(error, &problem) : 0;
}

/* since: when it began to wait. look: ms until it looks again; 0: it is told. */
static int wait_for(struct attempt *attempt, int64_t since, int64_t look, const char *message,
                    const char *summary, struct reconcile_result *result, struct error *error)
{
    int64_t due = since + PROGRESS_QUIET, left = due - attempt_now(attempt);
    /* Or what it says is better to know: why it could not be planned the last time. */
    bool is_said = attempt->release->phase > PHASE_GENERATING ||
                   str_equal(release_message(attempt->release), message);
    int r = 0;

    if (!is_said && left <= 0) {
        r = say(attempt, message, summary, error);
        is_said = r >= 0;
    }
    attempt->wait_report_at = is_said ? 0 : due;
    *result = (struct reconcile_result){.kind = RECONCILE_WAITING,
                                        .after = !is_said && left > 0 ? left : look};
    attempt_empty(attempt);
    return r;
}

/* The attempt has its Release, and may not begin: empties the attempt, after it has said that it
 * waits, where that is due. */
static int preview_wait_for_place(struct attempt *attempt, struct reconcile_result *result,
                                  struct error *error)
{
    _cleanup_free_ char *message = str_printf(
        "waiting for other Previews: %d of a Spec, and %d of a namespace, run at the same time",
        PREVIEWS_OF_SPEC, PREVIEWS_OF_NAMESPACE);
    int64_t report_at = attempt->wait_report_at;

    return wait_for(attempt, report_at ? report_at - PROGRESS_QUIET : attempt_now(attempt),
                    PREVIEW_LOOK, message, "waiting for other Previews", result, error);
}

static int preview_wait_for_memory(struct attempt *attempt, struct reconcile_result *result,
                                   struct error *error)
{
    return wait_for(attempt, attempt->reservation.since, 0, PROGRESS_NO_MEMORY,
                    "waiting for memory", result, error);
}

/* ---- Telling ---- */

/* The Release's own fields leave no room for a status: an event has to do. */
static void say_in_event(const struct attempt *attempt, const struct verdict *verdict)
{
    const struct event_subject subject = {
        .api_version = API_GROUP_VERSION,
        .kind = "Release",
        .namespace_name = attempt->object.namespace_name,
        .name = attempt->object.name,
        .uid = value_get_string(attempt->release->metadata, "uid"),
    };

    event_emit(attempt->run.context->events, &subject,
               str_equal(verdict->ready, "True") ? EVENT_NORMAL : EVENT_WARNING, verdict->reason,
               "Preview", "%s", verdict->message);
}

/* It is over, and not looked at again; unless that could not be written. */
static int end(struct attempt *attempt, struct outcome *outcome, struct error *error)
{
    struct error problem = {0};
    int r = tell_outcome(attempt, outcome, TELL_RELEASE, &problem);

    if (r == ERR_TOO_LARGE)
        say_in_event(attempt, &outcome->verdict);
    attempt_end(attempt);
    return r < 0 && r != ERR_TOO_LARGE ? err_copy(error, &problem) : 0;
}

/* The other side does not answer: the preview goes on when it does. */
static int put_off(struct attempt *attempt, const struct error *problem, struct error *error)
{
    struct outcome outcome = {.phase = PHASE_PREVIEWING,
                              .verdict = verdict_of_error(problem, false)};
    bool is_known = str_equal(release_message(attempt->release), problem->message);
    int r = 0;

    operation_log_failure(&attempt->run, problem, is_known);
    if (!is_known)
        r = tell_outcome(attempt, &outcome, TELL_RELEASE, error);
    attempt_end(attempt);
    return r < 0 ? r : err_copy(error, problem);
}

static int fail(struct attempt *attempt, const struct error *problem, struct error *error)
{
    struct outcome outcome = {.phase = PHASE_FAILED,
                              .verdict = verdict_of_error(problem, false),
                              .plan = attempt->operation ? operation_get_plan(attempt->operation)
                                                         : NULL};

    if (err_is_transient(problem->code) && outcome.verdict.progress == PROGRESS_RECONCILING)
        return put_off(attempt, problem, error);
    operation_log_failure(&attempt->run, problem, false);
    if (problem->code != ERR_CANCELLED && problem->code != ERR_FENCED)
        return end(attempt, &outcome, error);
    attempt_end(attempt);
    return err_copy(error, problem);
}

static int show(struct attempt *attempt, const struct plan *plan, struct error *error)
{
    int64_t to_revision = value_int(value_get(attempt->release->spec, "toRevision"), 0);
    _cleanup_free_ char *summary = report_to_revision(report_plan_summary(plan), to_revision);
    struct outcome outcome = {
        .phase = PHASE_SUCCEEDED, .verdict = verdict_of_success(summary), .plan = plan};

    operation_log_success(&attempt->run, summary);
    return end(attempt, &outcome, error);
}

/* The Spec of that name is reconciled. */
static void request_spec(const struct attempt *attempt, const char *spec)
{
    const struct spec_key key = {attempt->object.namespace_name, spec};

    desk_request(attempt->run.context->desk, DESK_SPEC, &key);
}

/* ---- A Rollback, or a Destroy ---- */

#define REQUEST_AGAIN 60000 /* ms until the Spec is asked once more, if nothing came of it */

/* The reconcile of the Spec carries it out. */
static int hand_over(struct attempt *attempt, struct reconcile_result *result)
{
    const struct release *release = attempt->release;
    const struct spec_key spec = {attempt->object.namespace_name,
                                  value_string(value_path(release->spec, "specRef", "name", NULL))};
    struct request request = {
        .release = str_new(release->name),
        .uid = str_new(value_get_string(release->metadata, "uid")),
        .created = str_new(value_get_string(release->metadata, "creationTimestamp")),
        .version = str_new(value_get_string(release->metadata, "resourceVersion")),
        .operation = release->operation,
        .to_revision = value_int(value_get(release->spec, "toRevision"), 0),
        .revision = value_int(value_get(release->status, "revision"), 0),
    };

    desk_add_request(attempt->run.context->desk, &spec, &request);
    request_done(&request);
    request_spec(attempt, spec.name);
    *result = (struct reconcile_result){
        .kind = RECONCILE_AFTER, .after = REQUEST_AGAIN, .priority = WORKQUEUE_RESYNC};
    attempt_end(attempt);
    return 0;
}

/* ---- Reading ---- */

/* It has ended: it is read once more, to be deleted some time. */
static const struct reconcile_result look_again = {.kind = RECONCILE_AFTER,
                                                   .priority = WORKQUEUE_RESYNC};

static bool is_generated(const struct value *object)
{
    return value_path(object, "metadata", "labels", KUBE_GENERATED_LABEL, NULL) != NULL;
}

/* A request that is deleted is withdrawn, if its plan still waits: the Spec's reconcile sees it. */
static void drop_request(const struct attempt *attempt)
{
    _cleanup_free_ char *spec = desk_drop_request(attempt->run.context->desk, &attempt->object);

    if (spec)
        request_spec(attempt, spec);
}

/* The Release is gone. If it waited for approval, its Spec gets another one, unless a person had
 * requested the operation. */
static int forget(struct attempt *attempt, struct error *error)
{
    const struct reconcile_context *context = attempt->run.context;
    const struct store_call call = context_call(context, attempt->run.cancel);
    _cleanup_free_ char *spec = NULL;
    int r;

    desk_forget_finished(context->desk, &attempt->object);
    drop_request(attempt);
    r = plans_find_approval(context, &attempt->object, &call, &spec, error);
    if (r >= 0)
        r = plans_drop(context, &attempt->object, &call, error);
    if (r >= 0 && spec)
        request_spec(attempt, spec);
    return r;
}

/* Its plan is approved, and its operation has not begun; or it is rejected. */
static bool is_decided(const struct value *object)
{
    const struct value *status = value_get(object, "status");
    const char *approved = value_string(value_path(object, "spec", "approvedPlan", NULL));

    if (release_status_phase(status) != PHASE_AWAITING_APPROVAL)
        return false;
    if (value_bool(value_path(object, "spec", "rejected", NULL), false))
        return true;
    return approved &&
           str_equal(approved, value_string(value_path(status, "plan", "digest", NULL)));
}

/* The Release of an operation. Somebody approved or rejected its plan: then its Spec is reconciled.
 * Or it has ended, and what was approved was left by a process that was killed. Of one that goes on
 * waiting, the plan would be made once more for nothing. */
static int attend_record(const struct attempt *attempt, const struct value *object,
                         struct error *error)
{
    const struct reconcile_context *context = attempt->run.context;
    const struct store_call call = context_call(context, attempt->run.cancel);
    const struct spec_key spec = {
        attempt->object.namespace_name,
        value_string(value_path(object, "spec", "specRef", "name", NULL))};
    enum release_phase phase = release_status_phase(value_get(object, "status"));

    if (!spec.name || phase == PHASE_FAILED) /* it may be retried */
        return 0;
    if (release_phase_is_terminal(phase))
        return plans_drop_approvals(context, &spec, APPROVALS_OF, attempt->object.name, &call,
                                    error);
    if (is_decided(object))
        request_spec(attempt, spec.name);
    return 0;
}

/* The Release; none if there is nothing to do for it but to delete it some time. *problem: it is to
 * be refused. */
static int load_release(struct attempt *attempt, struct reconcile_result *result,
                        struct error *problem, struct error *error)
{
    const struct reconcile_context *context = attempt->run.context;
    const struct spec_key *key = &attempt->object;
    _cleanup_value_ const struct value *object = NULL;
    struct cancel *cancel = attempt->run.cancel;
    int r = kube_get(context->client, api_release_ref(key, NULL), cancel, &object, problem);

    if (r == ERR_NOT_FOUND) {
        r = desk_check_answer(attempt->entry, NULL, error);
        return r < 0 ? r : forget(attempt, error);
    }
    if (r < 0 && !api_is_unreadable(problem))
        return err_copy(error, problem);
    if (r < 0) { /* it can get a status all the same */
        struct error why = *problem;

        api_refuse_unreadable("Release", &why, problem);
        r = api_get_metadata(context, api_release_ref(key, NULL), cancel, &object, error);
    }
    if (r == 0)
        r = desk_check_answer(attempt->entry, object, error);
    if (r < 0)
        return r;
    if (api_is_deleting(object)) {
        drop_request(attempt);
        return 0;
    }
    if (is_generated(object) && kube_release_is_orphan(value_get(object, "metadata")))
        return finished_keep_orphan(context, object, cancel, result, error);
    if (is_generated(object))
        return attend_record(attempt, object, error);
    desk_note_read(attempt->entry, value_get(object, "metadata"));
    attempt->release = release_of(object);
    if (!attempt->release)
        return err_set(error, ERR_UNAVAILABLE, "UnexpectedAnswer", "a Release without a name");
    if (!problem->code)
        api_check_size("Release", object, problem);
    if (!release_phase_is_terminal(attempt->release->phase))
        return 0;
    release_free(TAKE(attempt->release));
    free(desk_drop_request(context->desk, key));
    return finished_keep(context, object, cancel, result, error);
}

/* ---- The Spec that is previewed ---- */

#define ACCOUNT "serviceAccountName"

static bool has_own_resources(const struct attempt *attempt)
{
    const struct value *fields = attempt->release->spec;

    return value_get(fields, "resources") || value_count(value_get(fields, "resourcesFrom"));
}

static void set_spec(const struct value **object, const struct value *taken)
{
    const struct value *next = value_with(*object, "spec", taken);

    value_unref(taken);
    value_unref(*object);
    *object = next;
}

/* The Spec as it would be with what the Release carries: its resources and sources are in the place
 * of the Spec's own. It may not be stored: there is no uid then, and State has nothing of it. */
static const struct value *with_own_resources(const struct attempt *attempt,
                                              const struct value *stored)
{
    static const char *const carried[] = {"resources", "resourcesFrom", ACCOUNT};
    const struct spec_key *key = &attempt->run.subject.key;
    const struct value *policies = value_get(attempt->release->spec, "policies");
    const struct value *object =
        stored
            ? value_ref(stored)
            : value_pack("{s:s, s:s, s:{s:s, s:s}}", "apiVersion", API_GROUP_VERSION, "kind",
                         "Spec", "metadata", "namespace", key->namespace_name, "name", key->name);

    for (size_t i = 0; i < ARRAY_SIZE(carried); i++) {
        const struct value *field = value_get(attempt->release->spec, carried[i]);
        const struct value *before = value_get(object, "spec");

        if (field || (value_get(before, carried[i]) && !str_equal(carried[i], ACCOUNT)))
            set_spec(&object, field ? value_with(before, carried[i], field)
                                    : value_without(before, carried[i]));
    }
    if (policies)
        set_spec(&object, preview_with_policies(value_get(object, "spec"), policies));
    return object;
}

/* The Spec to preview, as run->object. */
static int load_spec(struct attempt *attempt, struct error *error)
{
    struct run *run = &attempt->run;
    const struct spec_key *key = &run->subject.key;
    _cleanup_value_ const struct value *stored = NULL;
    struct error absent = {0};
    int r = kube_get(run->context->client, api_spec_ref(key, NULL), run->cancel, &stored, &absent);

    if (r == ERR_NOT_FOUND && !has_own_resources(attempt))
        return err_set(
            error, ERR_INVALID, "SpecNotFound",
            "there is no Spec \"%s\" in namespace %s; to preview one before it is "
            "created, put its resources into the Release (spec.resources, spec.resourcesFrom)",
            key->name, key->namespace_name);
    if (r < 0 && r != ERR_NOT_FOUND)
        return err_copy(error, &absent);
    run->has_own_resources = has_own_resources(attempt);
    run->looks_up_nothing = true;
    run->object = has_own_resources(attempt) ? with_own_resources(attempt, stored) : TAKE(stored);
    return 0;
}

static int parse_spec(struct attempt *attempt, struct error *error)
{
    struct run *run = &attempt->run;
    struct release_subject *subject = &run->subject;
    int64_t to_revision = value_int(value_get(attempt->release->spec, "toRevision"), 0);
    int r = load_spec(attempt, error);

    if (r < 0)
        return r;
    subject->generation = value_int(value_path(run->object, "metadata", "generation", NULL), 0);
    run_read_policy(run);
    if (to_revision)
        r = hold_preview_revision(run, to_revision, error);
    else
        r = sources_gather(attempt, error);
    if (r)
        return r;
    subject->sources = run->sources;
    if (r >= 0)
        r = run_parse(run, &attempt->spec, error);
    if (r < 0)
        return r;
    subject->project = attempt->spec->project;
    subject->stack = attempt->spec->stack;
    subject->workspace = attempt->spec->workspace;
    return 0;
}

/* ---- Quarantine ---- */

/* 1: it fails for good, because the process died over it. */
static int keep_out(struct attempt *attempt, struct error *error)
{
    struct quarantine *quarantine = attempt->run.context->quarantine;
    _cleanup_free_ char *key = reconcile_suspect(DESK_RELEASE, attempt);
    struct error why = {0};
    int r;

    if (quarantine_enter(quarantine, key, false))
        return 0;
    quarantine_explain(&why, "Preview");
    err_hint(&why, "then make the Preview again");
    r = fail(attempt, &why, error);
    if (r < 0)
        return r;
    quarantine_forget(quarantine, key);
    return 1;
}

/* ---- Beginning ---- */

/* It goes on by itself, with an operation, or (SOURCES_UNDER_WAY) with its sources. */
static int begin_plan(struct attempt *attempt, struct error *error)
{
    struct run *run = &attempt->run;
    _cleanup_(run_operation_done) struct run_operation operation = {0};
    int r = parse_spec(attempt, error);

    if (r)
        return r;
    run_operation_init(&operation, run);
    operation.config.scope.thorough = true;
    r = attempt_open(attempt, &operation.config, attempt->spec, error);
    if (r > 0)
        return SOURCES_NEED_MEMORY;
    operation_log_begin(run, 0, attempt->release->phase == PHASE_PREVIEWING);
    if (r == 0)
        errand_plan(attempt, &(struct recall){0});
    return r;
}

static int begin(struct attempt *attempt, struct reconcile_result *result, struct error *error)
{
    struct run *run = &attempt->run;
    struct error problem = {0};
    int r;

    if (preview_waits_for_place(attempt, result))
        return 0;
    *result = (struct reconcile_result){.kind = RECONCILE_DONE};
    r = load_release(attempt, result, &problem, error);
    if (!attempt->release)
        source_reading_drop(TAKE(attempt->sources));
    if (r < 0 || !attempt->release)
        return r;
    *result = look_again;
    run->subject.key.namespace_name = attempt->object.namespace_name;
    run->subject.key.name =
        value_string(value_path(attempt->release->spec, "specRef", "name", NULL));
    if (!run->subject.key.name) /* of one that cannot be read */
        run->subject.key.name = "";
    operation_log_start(run, attempt->release->operation);
    operation_log_release(run, attempt->release);
    if (problem.code)
        return fail(attempt, &problem, error);
    if (attempt->release->operation == RELEASE_APPLY) {
        err_set(
            &problem, ERR_INVALID, "InvalidRelease",
            "people request a Preview, a Rollback or a Destroy; a Spec is applied when it changes");
        return fail(attempt, &problem, error);
    }
    if (attempt->release->operation != RELEASE_PREVIEW)
        return hand_over(attempt, result);
    if (!attempt_reserve_preview(attempt, run->subject.key.name))
        return preview_wait_for_place(attempt, result, error);
    r = keep_out(attempt, error);
    if (r)
        return r < 0 ? r : 0;
    r = begin_plan(attempt, &problem);
    if (r == SOURCES_UNDER_WAY) { /* the Release is read again when they are there */
        release_free(TAKE(attempt->release));
        *result = (struct reconcile_result){.kind = RECONCILE_WAITING};
        return 0;
    }
    if (r > 0)
        return preview_wait_for_memory(attempt, result, error);
    return r < 0 ? fail(attempt, &problem, error) : 0;
}

/* ---- Going on ---- */

/* Resources that could not be planned make a preview that failed, with the plan shown. */
static int plan_problem(const struct plan *plan, struct error *error)
{
    const struct plan_change *first = NULL;
    _cleanup_buf_ struct buf id = BUF_INIT;
    const char *why;
    size_t count = 0;

    for (size_t i = 0; i < plan->n_changes; i++)
        if (plan->changes[i].error) {
            first = first ? first : &plan->changes[i];
            count++;
        }
    if (!first)
        return 0;
    why = first->error->message;
    operation_show_id(&id, first->id);
    err_set(error, first->error->code, first->error->reason, "%zu of %zu cannot be done: %s: %.*s",
            count, plan->n_changes, id.data, (int)(err_hints(why) - why), why);
    err_add_hints(error, why);
    return first->error->code;
}

static int planned(struct attempt *attempt, struct error *error)
{
    const struct plan *plan = operation_get_plan(attempt->operation);
    struct error problem = {0};
    int r = operation_error(attempt->operation, &problem);

    if (plan)
        plan_digest(plan, attempt->run.plan_key, sizeof(attempt->run.plan_key), attempt->digest);
    if (r >= 0)
        r = plan_problem(plan, &problem);
    return r < 0 ? fail(attempt, &problem, error) : show(attempt, plan, error);
}

static int go_on(struct attempt *attempt, struct reconcile_result *result, struct error *error)
{
    enum operation_phase phase = operation_phase(attempt->operation);
    struct error problem = {0};
    int64_t after = 0;
    int r;

    *result = look_again;
    if (phase == OPERATION_NEW && errand_plan_gathered(attempt, &problem) < 0)
        return fail(attempt, &problem, error);
    if (phase == OPERATION_PLANNED || phase == OPERATION_ENDED)
        return planned(attempt, error);
    r = progress_report(attempt, &after, error);
    *result = (struct reconcile_result){.kind = RECONCILE_WAITING, .after = after};
    return r;
}

static int advance(struct attempt *attempt, const struct reconcile_context *context,
                   struct cancel *cancel, struct reconcile_result *result, struct error *error)
{
    int64_t after;
    int r;

    if (attempt->operation && attempt_is_outdated(attempt)) {
        operation_cancel(attempt->operation, "Superseded");
        planned(attempt, NULL);
    }
    if (!attempt->operation && attempt_waits_for_memory(attempt, &after)) {
        *result = (struct reconcile_result){.kind = RECONCILE_WAITING, .after = after};
        return 0;
    }
    if (!attempt->operation) {
        attempt->run.context = context;
        attempt->run.cancel = cancel;
        r = begin(attempt, result, error);
        if (r < 0 || !attempt->operation)
            return r;
    }
    attempt->run.cancel = cancel;
    return go_on(attempt, result, error);
}

struct reconcile_result reconcile_release(void *arg, const char *key, struct cancel *cancel)
{
    return reconcile_key(
        arg,
        &(struct reconcile_kind){DESK_RELEASE, "release", "reconciling a Release failed", advance},
        key, cancel);
}
