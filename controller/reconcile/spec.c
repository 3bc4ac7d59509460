#include "controller/reconcile/spec.h"

#include <string.h>

#include "controller/core/finalizer.h"
#include "controller/desk/following.h"
#include "controller/desk/requests.h"
#include "controller/reconcile/apply.h"
#include "controller/reconcile/apply_end.h"
#include "controller/reconcile/attempt.h"
#include "controller/reconcile/deletion.h"
#include "controller/reconcile/dependencies.h"
#include "controller/reconcile/errand.h"
#include "controller/reconcile/following.h"
#include "controller/reconcile/hold_begin.h"
#include "controller/reconcile/inputs/source_watches.h"
#include "controller/reconcile/progress.h"
#include "controller/reconcile/quarantine.h"
#include "controller/reconcile/reconcile.h"
#include "controller/reconcile/records/api.h"
#include "controller/reconcile/run/operation_log.h"
#include "controller/reconcile/run/retention.h"
#include "controller/reconcile/sources.h"
#include "controller/reconcile/tell.h"
#include "engine/base/str.h"
#include "engine/base/timestamp.h"
#include "engine/log/log.h"
#include "engine/store/gate.h"
#include "engine/store/store_error.h"
#include "runtimes/kubernetes/client/path.h"

/* ---- Waiting for the store ---- */

/* Nothing is done of a Spec while the store may not be used (engine/store/gate.h). */

#define LOOK_INTERVAL 15000 /* ms between questions whether the store may be used */
#define BEFORE        "; before that, Ready was "

/* False: it waits for the store, and *result says when it is looked at again. */
static bool store_wait_is_over(const struct attempt *attempt, struct reconcile_result *result)
{
    if (store_gate_ask(attempt->run.context->gate, NULL) >= 0)
        return true;
    *result = (struct reconcile_result){
        .kind = RECONCILE_AFTER, .after = LOOK_INTERVAL, .priority = WORKQUEUE_RESYNC};
    return false;
}

static char *first_line(const char *text)
{
    return text ? str_new_n(text, strcspn(text, "\n")) : NULL;
}

/* "True (ReconciliationSucceeded): 3 created"; free(). NULL: it was not said. */
static char *ready_before(const struct run_last *last)
{
    _cleanup_free_ char *line = first_line(last->message);
    const char *before = line ? strstr(line, BEFORE) : NULL;

    if (before)
        return str_new(before + strlen(BEFORE));
    return last->ready ? str_printf("%s (%s): %s", last->ready, last->reason, line ? line : "")
                       : NULL;
}

/* Has the status say so, and what Ready said before. */
static int store_wait_tell(struct attempt *attempt, struct error *error)
{
    const struct run *run = &attempt->run;
    const struct run_last last = run_last(run);
    _cleanup_free_ char *line = NULL, *before = NULL, *message = NULL;
    struct error why = {0};
    struct outcome outcome = {.is_end = true};

    if (store_gate_ask(run->context->gate, &why) >= 0) /* by now */
        return 0;
    line = first_line(why.message);
    before = ready_before(&last);
    message = str_printf("%s%s%s%s", line, before ? BEFORE : "", before ? before : "",
                         err_hints(why.message));
    outcome.verdict = (struct verdict){"Unknown", why.reason, message,
                                       store_error_is_for_people(why.reason) ? PROGRESS_STALLED
                                                                             : PROGRESS_RECONCILING,
                                       last.healthy};
    return tell_outcome(attempt, &outcome, TELL_SPEC, error);
}

/* ms: another API server than the watch's may not have the version yet. */
#define READ_NEW_TIMEOUT 2000

#define SUSPENDED "suspended (spec.suspend is true)"

/* ---- Reading ---- */

/* A Spec that our readers refuse (nested too deep, too large) is still there, can get a status,
 * and can be deleted: its metadata is enough for that. */
static int load_unreadable(struct run *run, struct kube_ref ref, const struct error *why,
                           struct error *error)
{
    const struct spec_key *key = &run->subject.key;
    int r = api_get_metadata(run->context, ref, run->cancel, &run->object, error);

    if (r < 0)
        return r;
    run->is_unreadable = true;
    log_warn("the Spec cannot be read", "spec", key->name, "namespace", key->namespace_name,
             "error", why->message, NULL);
    return 0;
}

/* As the watch has just brought it: the API server has that in memory, decoded. Where it does not,
 * or says anything else, it is asked for the Spec as it is now. */
static int read_new(struct attempt *attempt, struct kube_ref ref)
{
    struct run *run = &attempt->run;
    const struct kube_request request = {.method = "GET",
                                         .ref = ref,
                                         .resource_version = desk_new_version(attempt->entry),
                                         .cancel = run->cancel,
                                         .timeout = READ_NEW_TIMEOUT};
    int r = request.resource_version ? kube_do(run->context->client, &request, &run->object, NULL)
                                     : ERR_NOT_FOUND;

    if (r == 0)
        r = desk_check_answer(attempt->entry, run->object, NULL);
    if (r < 0)
        value_unref(TAKE(run->object));
    return r;
}

static int load(struct attempt *attempt, struct error *why_unreadable, struct error *error)
{
    struct run *run = &attempt->run;
    const struct kube_ref ref = api_spec_ref(&attempt->object, NULL);
    const struct value *metadata;
    int r;

    run->subject.key = attempt->object;
    r = read_new(attempt, ref);
    if (r < 0)
        r = kube_get(run->context->client, ref, run->cancel, &run->object, why_unreadable);
    if (r < 0 && api_is_unreadable(why_unreadable))
        r = load_unreadable(run, ref, why_unreadable, error);
    else if (r < 0)
        err_copy(error, why_unreadable);
    if ((r == 0 || r == ERR_NOT_FOUND) && desk_check_answer(attempt->entry, run->object, error) < 0)
        return ERR_UNAVAILABLE;
    if (r < 0)
        return r;
    run_note_managers(run);
    run_drop_managed_fields(run);
    metadata = value_get(run->object, "metadata");
    run->subject.generation = value_int(value_get(metadata, "generation"), 0);
    run->uid = str_new(value_get_string(metadata, "uid"));
    run->subject.uid = run->uid;
    desk_note_read(attempt->entry, metadata);
    run_note_trigger(run);
    run_note_ready(run);
    run_read_policy(run);
    dependencies_note(run);
    return 0;
}

/* ---- Without an operation ---- */

/* What a person asks for is not done, now or later. */
static int refuse_requests(struct attempt *attempt, const char *reason, const char *message,
                           struct error *error)
{
    struct error refusal = {0};

    err_set(&refusal, ERR_INVALID, reason, "%s", message);
    return hold_refuse(attempt, &refusal, error);
}

/* The operator does not act on the Spec, and its last operation does not go on. Ready keeps its
 * status: who waits for the Spec does not fail or hang because somebody suspended it. */
static int suspend(struct attempt *attempt, struct error *error)
{
    struct run *run = &attempt->run;
    struct run_last last = run_last(run);
    bool was_suspended = str_equal(last.reason, "Suspended");
    bool is_settled = str_equal(last.ready, "True") || str_equal(last.ready, "False");
    _cleanup_free_ char *message = was_suspended ? str_new(last.message)
                                   : is_settled
                                       ? str_printf(SUSPENDED "; before that: %s", last.message)
                                       : str_new(SUSPENDED);
    struct outcome suspended = {
        .verdict = {is_settled ? last.ready : "Unknown", "Suspended", message,
                    last.is_stalled ? PROGRESS_STALLED : PROGRESS_SETTLED, last.healthy},
        .is_end = true,
        .is_suspended = is_settled,
    };
    int r = refuse_requests(attempt, "Suspended",
                            "the Spec is suspended; set spec.suspend to false, and make the "
                            "Release again",
                            error);

    if (r >= 0 && !was_suspended)
        r = run_cancel_latest(run, "the Spec was suspended", error);
    return r < 0 ? r : tell_outcome(attempt, &suspended, TELL_SPEC, error);
}

/* What it had begun does not go on, either. */
static int hold_out(struct attempt *attempt, struct error *error)
{
    struct run *run = &attempt->run;
    const struct spec_key *key = &run->subject.key;
    _cleanup_(release_free_p) struct release *latest = NULL;
    struct error why = {0};
    struct outcome outcome = {.is_end = true, .counts_failure = true};
    int r = releases_latest(run->context, &run->subject, run->cancel, &latest, error);

    quarantine_explain(&why, "Spec");
    err_hint(&why,
             "then edit the Spec, or have it tried as it is: kubectl annotate specs.api.kusion.io "
             "%s -n %s --overwrite api.kusion.io/reconcile-requested-at=\"$(date +%%s)\"",
             key->name, key->namespace_name);
    outcome.verdict = (struct verdict){"False", QUARANTINED, why.message, PROGRESS_STALLED, NULL};
    if (r >= 0)
        r = run_cancel_release_as(run, latest, QUARANTINED, why.message, error);
    return r < 0 ? r : tell_outcome(attempt, &outcome, TELL_SPEC, error);
}

/* 1: it is held, because the process died over it. */
static int keep_out(struct attempt *attempt, struct error *error)
{
    struct quarantine *quarantine = attempt->run.context->quarantine;
    const struct run *run = &attempt->run;
    bool was_held = str_equal(run_last(run).reason, QUARANTINED);
    bool is_held = run_says(run, "False", QUARANTINED) && !run_has_request(run);
    int r = 0;

    if (!is_held && quarantine_enter(quarantine, desk_key(attempt->entry, NULL), was_held))
        return 0;
    if (!is_held)
        r = hold_out(attempt, error);
    if (r < 0)
        return r;
    quarantine_forget(
        quarantine,
        desk_key(attempt->entry, NULL)); /* the process before may have died before that */
    r = refuse_requests(attempt, QUARANTINED,
                        "the Spec is held, because the operator's process ended several times "
                        "while it was worked on; let it go as its status says, and make the "
                        "Release again",
                        error);
    return r < 0 ? r : 1;
}

/* ---- One reconcile ---- */

/* Others have their turn before the rest. */
static int come_back(struct attempt *attempt, struct reconcile_result *result)
{
    attempt_end(attempt);
    *result = (struct reconcile_result){.kind = RECONCILE_AFTER, .priority = WORKQUEUE_CHANGE};
    return 0;
}

/* The Spec is gone. */
static int end_history(struct attempt *attempt, struct reconcile_result *result,
                       struct error *error)
{
    struct run *run = &attempt->run;
    int r = refuse_requests(attempt, "SpecNotFound", "there is no such Spec", error);

    if (r > 0)
        return come_back(attempt, result);
    if (r >= 0)
        r = run_cancel_latest(run, "the Spec was deleted", error);
    return r < 0 ? r : retention_forget(run, error);
}

/* Kubernetes looks at the finalizers of an object that is to be deleted, and removes it at once if
 * there are none, though ours was set since: what the Spec has by now goes all the same. What was
 * to become of that, State tells. */
static int end_bypassed(struct attempt *attempt, const char *uid, struct reconcile_result *result,
                        struct error *error)
{
    struct run *run = &attempt->run;
    const struct spec_key *key = &run->subject.key;
    char now[TIMESTAMP_SIZE];

    timestamp_format(context_now(run->context), now);
    run->object =
        value_pack("{s:s, s:s, s:{s:s, s:s, s:s, s:s, s:[s]}}", "apiVersion", API_GROUP_VERSION,
                   "kind", "Spec", "metadata", "namespace", key->namespace_name, "name", key->name,
                   "uid", uid, "deletionTimestamp", now, "finalizers", KUSION_FINALIZER);
    run->uid = str_new(uid);
    run->subject.uid = run->uid;
    run->is_unreadable = run->is_bypassed = true;
    run_read_policy(run);
    log_info("a Spec was removed right after its finalizer was set: what it has goes", "namespace",
             key->namespace_name, "spec", key->name, NULL);
    return deletion_begin(attempt, result, error);
}

/* The next of the name, from here on, makes the attempt outdated. */
static int end(struct attempt *attempt, struct reconcile_result *result, struct error *error)
{
    _cleanup_free_ char *bypassed = NULL;

    desk_note_read(attempt->entry, NULL);
    bypassed = desk_bypassed(attempt->entry);
    return bypassed ? end_bypassed(attempt, bypassed, result, error)
                    : end_history(attempt, result, error);
}

/* What is to be done about a Spec of which nothing is under way. */
static int begin(struct attempt *attempt, struct reconcile_result *result, struct error *error)
{
    struct run *run = &attempt->run;
    struct error why_unreadable = {0}, problem = {0};
    int r = load(attempt, &why_unreadable, &problem);

    if (r == ERR_NOT_FOUND || (r == 0 && api_is_deleting(run->object)))
        source_watches_forget(run->context->source_watches, &run->subject.key);
    if (r == ERR_NOT_FOUND) {
        source_watches_forget(run->context->secret_watches, &run->subject.key);
        desk_unfollow(attempt->entry);
    }
    if (r == ERR_NOT_FOUND)
        return store_wait_is_over(attempt, result) ? end(attempt, result, error) : 0;
    if (r < 0)
        return err_copy(error, &problem);
    if (!desk_is_listed(attempt->entry)) { /* it is there, and another's by now */
        desk_unfollow(attempt->entry);
        return 0;
    }
    if (api_is_deleting(run->object) || run->policy.suspend)
        desk_unfollow(attempt->entry);
    if (!store_wait_is_over(attempt, result))
        return store_wait_tell(attempt, error);
    r = keep_out(attempt, error);
    if (r)
        return r < 0 ? r : 0;
    if (api_is_deleting(run->object))
        return deletion_begin(attempt, result, error);
    r = hold_cancel_older(attempt, error);
    if (r)
        return r < 0 ? r : come_back(attempt, result);
    if (run->policy.suspend)
        return suspend(attempt, error);
    if (run->is_unreadable)
        api_refuse_unreadable("Spec", &why_unreadable, &problem);
    else
        api_check_size("Spec", run->object, &problem);
    if (!problem.code)
        return apply_begin(attempt, result, error);
    /* One that was never applied gets no finalizer: there is nothing to be done at its end. */
    operation_log_start(run, RELEASE_APPLY);
    hold_refuse(attempt, &problem, NULL); /* one at most is left: hold_cancel_older() */
    return apply_refused(attempt, &problem, result, error);
}

/* The operation puts the key into the queue when it is planned, and when it has ended. */
static int wait_for(struct attempt *attempt, struct reconcile_result *result, struct error *error)
{
    int64_t after = 0;
    int r = progress_report(attempt, &after, error);

    *result = (struct reconcile_result){.kind = RECONCILE_WAITING, .after = after};
    return r;
}

/* What the Spec needs besides itself is gathered. */
static int go_on_gathering(struct attempt *attempt, bool is_deletion,
                           struct reconcile_result *result, struct error *error)
{
    struct error failure = {0};

    if (errand_plan_gathered(attempt, &failure) >= 0)
        return wait_for(attempt, result, error);
    return is_deletion ? deletion_hold(attempt, &failure, NULL, result, error)
                       : apply_failed(attempt, &failure, result, error);
}

/* What comes next is the end, which says what became of the state file. */
static bool ends(struct attempt *attempt, enum operation_phase phase, bool is_deletion)
{
    bool is_check = attempt->kind == ATTEMPT_RESYNC || attempt->kind == ATTEMPT_STATUS_MISSING;
    int r = operation_error(attempt->operation, NULL);

    if (!attempt->knows_state || !apply_is_reportable(r) || (is_deletion && r < 0))
        return false;
    return phase == OPERATION_ENDED ||
           (phase == OPERATION_PLANNED && !is_deletion &&
            (r < 0 || (is_check && plan_is_empty(operation_get_plan(attempt->operation)))));
}

/* 1: the state file is being written, and the end waits for that. Of an apply, the status says why
 * it could not be. */
static int export_first(struct attempt *attempt, enum operation_phase phase, bool is_deletion,
                        struct reconcile_result *result, struct error *error)
{
    int r = ends(attempt, phase, is_deletion)
                ? errand_export(attempt, phase == OPERATION_PLANNED, error)
                : 0;

    if (r > 0)
        *result = (struct reconcile_result){.kind = RECONCILE_WAITING};
    return r < 0 && !is_deletion ? 0 : r;
}

/* Goes on with what is under way, as far as that goes without waiting. */
static int go_on(struct attempt *attempt, struct reconcile_result *result, struct error *error)
{
    bool is_deletion = api_is_deleting(attempt->run.object);
    enum operation_phase phase = operation_phase(attempt->operation);
    int r = 0;

    if (phase == OPERATION_NEW)
        return errand_is_export(attempt) ? deletion_exported(attempt, result, error)
                                         : go_on_gathering(attempt, is_deletion, result, error);
    if (phase == OPERATION_PLANNED) {
        r = export_first(attempt, phase, is_deletion, result, error);
        if (r == 0)
            r = is_deletion ? deletion_planned(attempt, result, error)
                            : apply_planned(attempt, result, error);
    }
    if (r || !attempt->operation)
        return r < 0 ? r : 0;
    phase = operation_phase(attempt->operation);
    if (phase != OPERATION_ENDED)
        return wait_for(attempt, result, error);
    r = export_first(attempt, phase, is_deletion, result, error);
    if (r)
        return r < 0 ? r : 0;
    return is_deletion ? deletion_ended(attempt, result, error)
                       : apply_ended(attempt, result, error);
}

/* The operation is of a Spec that is not there any more in that way. If it came to its end before
 * that, the status says so; its Release is cancelled by what comes now. */
static void supersede(struct attempt *attempt)
{
    struct reconcile_result ignored;

    operation_cancel(attempt->operation, "Superseded");
    attempt->is_exported = true; /* the next attempt does it */
    go_on(attempt, &ignored, NULL);
    attempt_end(attempt);
}

/* A person asks for something else than what is under way, and the Spec is not being deleted. */
static void note_request(struct attempt *attempt)
{
    const struct run *run = &attempt->run;
    _cleanup_(request_done) struct request newest = {0};

    if (!api_is_deleting(run->object) &&
        desk_newest_request(run->context->desk, &run->subject.key, NULL, &newest) &&
        !str_equal(newest.uid, run->hold.request))
        attempt->superseded_by = request_supersedes(&newest);
}

/* The Spec left the watch: nothing is said of it, since whoever has it now goes on under the same
 * Release. */
static void abandon(struct attempt *attempt)
{
    struct error left = {0};

    err_set(&left, ERR_CANCELLED, "Cancelled", "the Spec is not watched any more");
    operation_log_failure(&attempt->run, &left, false);
    attempt_end(attempt);
}

/* It goes on later, under the same Release. */
static void evict(struct attempt *attempt)
{
    struct error problem = {0};

    if (progress_report_rest(attempt, attempt_next_rest(attempt), &problem) < 0)
        log_warn("what an operation waits for could not be said", "namespace",
                 attempt->object.namespace_name, "spec", attempt->object.name, "error",
                 problem.message, NULL);
    operation_log_eviction(&attempt->run);
    attempt_evict(attempt);
}

static int advance(struct attempt *attempt, const struct reconcile_context *context,
                   struct cancel *cancel, struct reconcile_result *result, struct error *error)
{
    int64_t after;
    int r;

    attempt->run.cancel = cancel;
    if (attempt->operation && desk_has_left(attempt->entry))
        abandon(attempt);
    if (attempt->operation)
        note_request(attempt);
    if (attempt->operation)
        sources_look_again(attempt);
    if (attempt->operation && attempt_is_outdated(attempt))
        supersede(attempt);
    if (attempt->operation && attempt_is_chosen(attempt))
        evict(attempt);
    if (attempt->operation)
        return go_on(attempt, result, error);
    if (attempt->sources && attempt_is_outdated(attempt))
        attempt_end(attempt);
    after = attempt_rests(attempt);
    if (after || attempt_waits_for_memory(attempt, &after)) {
        *result = (struct reconcile_result){.kind = RECONCILE_WAITING, .after = after};
        return 0;
    }
    attempt->run.context = context;
    attempt->run.cancel = cancel;
    r = begin(attempt, result, error);
    /* A plan of nothing is made by now, perhaps, and the key is in the queue once more. If this
     * were its end, the next reconcile would plan again, and so on for ever. */
    return r < 0 || !attempt->operation ? r : wait_for(attempt, result, error);
}

struct reconcile_result reconcile_spec(void *arg, const char *key, struct cancel *cancel)
{
    const struct reconcile_context *context = arg;
    struct reconcile_result result = {.kind = RECONCILE_DONE};

    return following_rests(context, key, &result)
               ? result
               : reconcile_key(context,
                               &(struct reconcile_kind){DESK_SPEC, "spec",
                                                        "reconciling a Spec failed", advance},
                               key, cancel);
}
