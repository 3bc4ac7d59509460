/* Shows a plan in its Release, asks for its approval, and tells of it: approval.h. */
#include "controller/reconcile/approval_private.h"
#include "controller/reconcile/records/api.h"
#include "controller/reconcile/records/plans.h"
#include "controller/reconcile/run/operation_log.h"
#include "controller/reconcile/run/retention.h"
#include "controller/reconcile/status/report.h"
#include "controller/reconcile/tell.h"
#include "engine/base/str.h"
#include "engine/log/log.h"
#include "engine/plan/approved_value.h"

static int keep_plan(struct attempt *attempt, struct error *error)
{
    const struct reconcile_context *context = attempt->run.context;
    const struct store_call call = context_call(context, attempt->run.cancel);
    const struct document_name name = approval_document(attempt, attempt->release);
    _cleanup_(approved_plan_unref_p) struct approved_plan *plan =
        approved_plan_new(operation_get_plan(attempt->operation), attempt->run.plan_key,
                          sizeof(attempt->run.plan_key));
    _cleanup_value_ const struct value *value = approved_plan_to_value(plan);
    _cleanup_free_ char *place = NULL;

    if (!value)
        return err_set(error, ERR_TOO_LARGE, "TooLarge", "the plan is too large to be approved");
    return plans_keep(context, &name, value, &call, &place, error);
}

/* The command that approves the plan: in its Release, or else in the Spec, where what was said of
 * an earlier plan has to be taken back. */
static void add_command(const struct attempt *attempt, bool is_all_shown, struct buf *to)
{
    const struct run *run = &attempt->run;

    if (run->context->history->ops->is_in_api)
        buf_printf(to,
                   "\nto approve: kubectl patch release %s -n %s --type=merge -p "
                   "'{\"spec\":{\"approvedPlan\":\"%s\"%s}}'",
                   attempt->release->name, attempt->object.namespace_name, attempt->digest,
                   is_all_shown ? "" : ",\"approvedUnseen\":true");
    else
        buf_printf(to,
                   "\nto approve: kubectl patch spec %s -n %s --type=merge -p "
                   "'{\"spec\":{\"approval\":{\"approvedPlan\":\"%s\",\"approvedUnseen\":%s}}}'",
                   run->subject.key.name, run->subject.key.namespace_name, attempt->digest,
                   is_all_shown ? "false" : "true");
}

static void add_unseen(const struct report_unseen *unseen, struct buf *to)
{
    if (unseen->changes) {
        buf_printf(to, "; %zu of these are NOT shown in full", unseen->changes);
        if (unseen->fields)
            buf_printf(to, " (%zu fields)", unseen->fields);
        buf_add_str(to, ": they do not fit into the Release, or are hidden because of a Secret's "
                        "text");
    }
    if (unseen->sensitive)
        buf_printf(to, "; %zu sensitive value%s approved unseen", unseen->sensitive,
                   unseen->sensitive == 1 ? " is" : "s are");
}

static char *describe(const struct attempt *attempt, const char *summary,
                      const struct report_unseen *unseen)
{
    size_t unplanned = approval_count_open(operation_get_plan(attempt->operation));
    struct buf text = BUF_INIT;

    buf_printf(&text, "%s", summary);
    add_unseen(unseen, &text);
    if (unplanned)
        buf_printf(&text, " (%zu cannot be planned yet, and will need another approval)",
                   unplanned);
    if (attempt->apply.is_approval_spent)
        buf_add_str(&text, " (the approval in the Spec was of an earlier Release, which became "
                           "stale: it holds again if it is removed, and set anew)");
    if (attempt->run.context->history->ops->is_in_api)
        buf_printf(&text, "\nto see it: kubectl get release %s -n %s -o yaml",
                   attempt->release->name, attempt->object.namespace_name);
    else
        buf_printf(&text, "\nto see it: kubectl kusion preview %s -n %s",
                   attempt->run.subject.key.name, attempt->run.subject.key.namespace_name);
    add_command(attempt, !unseen->changes, &text);
    return buf_take(&text);
}

static int write_release(struct attempt *attempt, struct outcome *outcome, const char *summary,
                         struct error *error)
{
    bool is_shown = attempt->release->phase == PHASE_AWAITING_APPROVAL;
    int r = 0;

    /* A plan that is approved already gets here only if its document could not be read. */
    if (!is_shown || approval_find(attempt, attempt->release))
        r = keep_plan(attempt, error);
    if (r < 0 || is_shown)
        return r;
    operation_log_awaiting(&attempt->run, attempt->digest, summary);
    return tell_outcome(attempt, outcome, TELL_RELEASE, error);
}

/* A Spec that is Ready becomes Progressing: the next attempt looks for the approved Release only if
 * the Spec is not Ready. */
static int say_approved(struct attempt *attempt, struct error *error)
{
    struct outcome outcome = {.verdict = verdict_of_progress("the plan is approved"),
                              .attempted = attempt->revision};

    return run_is_settled(&attempt->run) ? tell_outcome(attempt, &outcome, TELL_SPEC, error) : 0;
}

/* Of a request: if the Release is not there any more, somebody deleted it, and so withdrew it. */
static int note_shown(struct attempt *attempt, struct error *error)
{
    struct hold *hold = &attempt->run.hold;

    if (!hold->request_name || hold->shown == attempt->revision)
        return 0;
    hold->shown = attempt->revision;
    return hold_write(operation_ledger(attempt->operation), hold, error);
}

int approval_ask(struct attempt *attempt, struct reconcile_result *result, struct error *error)
{
    const struct plan *plan = operation_get_plan(attempt->operation);
    _cleanup_free_ char *summary =
        report_to_revision(report_plan_summary(plan), attempt->run.hold.to_revision);
    _cleanup_free_ char *message = NULL;
    struct outcome outcome = {
        .phase = PHASE_AWAITING_APPROVAL,
        .verdict = {"Unknown", "AwaitingApproval", NULL, PROGRESS_RECONCILING, NULL},
        .plan = plan,
        .account = run_account(&attempt->run),
        .is_end = true,
        .attempted = attempt->revision,
    };
    struct report_unseen unseen;
    bool is_new;
    int r;

    if (!attempt->release)
        return err_set(error, ERR_FORBIDDEN, "NamespaceTerminating",
                       "the namespace is being deleted: there is no Release to approve a plan in");
    r = approval_drop_if_spent(attempt, attempt->release, attempt->digest, error);
    if (r < 0)
        return r;
    unseen = report_unseen(plan);
    outcome.unseen = unseen.changes;
    outcome.verdict.message = message = describe(attempt, summary, &unseen);
    is_new = attempt->release->phase != PHASE_AWAITING_APPROVAL;
    r = note_shown(attempt, error);
    if (r >= 0)
        r = write_release(attempt, &outcome, summary, error);
    if (r < 0)
        return r;
    if (is_new)
        approval_tell(attempt, attempt->release, EVENT_NORMAL, "PlanReady", message);
    if (is_new) /* no operation ends here, and Releases that nobody approves would pile up */
        retention_collect(&attempt->run,
                          attempt->apply.knows_revisions ? &attempt->apply.revisions : NULL,
                          attempt->revision, PHASE_AWAITING_APPROVAL);
    attempt_check_later(attempt, result);
    if (approval_find(attempt, attempt->release)) {
        *result = (struct reconcile_result){.kind = RECONCILE_AFTER, .priority = WORKQUEUE_CHANGE};
        r = say_approved(attempt, error);
    } else {
        r = tell_outcome(attempt, &outcome, TELL_SPEC, error);
    }
    attempt_end(attempt);
    return r;
}

/* ---- Who is told ---- */

/* Tools find an event by the uid of its object. A Release that cannot be read has none. */
static void tell_release(const struct attempt *attempt, const struct release *release,
                         const char *type, const char *reason, const char *message)
{
    const struct reconcile_context *context = attempt->run.context;
    const struct spec_key key = {attempt->object.namespace_name, release->name};
    _cleanup_value_ const struct value *object = NULL;
    struct event_subject subject = {.api_version = API_GROUP_VERSION,
                                    .kind = "Release",
                                    .namespace_name = key.namespace_name,
                                    .name = key.name};

    if (!context->history->ops->is_in_api || attempt->run.is_namespace_terminating ||
        api_get_metadata(context, api_release_ref(&key, NULL), attempt->run.cancel, &object, NULL) <
            0)
        return;
    subject.uid = value_string(value_path(object, "metadata", "uid", NULL));
    event_emit(context->events, &subject, type, reason, "Approve", "%s", message);
}

void approval_tell(const struct attempt *attempt, const struct release *release, const char *type,
                   const char *reason, const char *message)
{
    run_event(&attempt->run, type, reason, message);
    tell_release(attempt, release, type, reason, message);
}

void approval_tell_approved(const struct attempt *attempt)
{
    const struct release_approval *approval = &attempt->apply.approval;
    _cleanup_free_ char *message =
        str_printf("the plan of Release %s was approved%s%s", attempt->release->name,
                   approval->approver ? " by " : "", approval->approver ? approval->approver : "");

    log_info("plan approved", "namespace", attempt->object.namespace_name, "spec",
             attempt->object.name, "release", attempt->release->name, "plan", approval->plan,
             "approver", approval->approver, "approvedAt", approval->time, NULL);
    approval_tell(attempt, attempt->release, EVENT_NORMAL, "PlanApproved", message);
}
