#include "controller/reconcile/approval.h"

#include <string.h>

#include "controller/reconcile/approval_private.h"
#include "controller/reconcile/records/plans.h"
#include "controller/reconcile/tell.h"
#include "engine/base/str.h"
#include "engine/log/log.h"
#include "engine/plan/approved_value.h"

static bool names(const struct release_approval *approval, const char *digest)
{
    return digest && str_equal(approval->plan, digest);
}

/* What the Release does not show is approved only in so many words. */
static bool covers(const struct release_approval *approval, const struct release *release)
{
    return names(approval, release_plan(release)) &&
           (approval->covers_unseen ||
            !value_int(value_path(release->status, "plan", "unseen", NULL), 0));
}

/* The Release's own approval comes first: it is of this plan alone. A rejection in the Release
 * comes before an approval in the Spec. */
const struct release_approval *approval_find(const struct attempt *attempt,
                                             const struct release *release)
{
    if (release && release->rejection.is_rejected)
        return NULL;
    if (release && covers(&release->approval, release))
        return &release->approval;
    return covers(&attempt->run.approval, release) ? &attempt->run.approval : NULL;
}

/* Releases that are read to find out whether an approval is spent. */
#define MOST_READ 20
#define SECONDS   19 /* characters of a time, as far as its seconds */

static bool was_approved_by(const struct release *release, const struct release_approval *approval)
{
    const struct value *own = value_get(release->status, "approval");

    return str_equal(value_get_string(own, "manager"), approval->manager) &&
           str_equal(value_get_string(own, "time"), approval->time);
}

/* By seconds, which is all that the time of an approval has. */
static bool ended_before(const struct release *release, const struct release_approval *approval)
{
    const char *ended = value_get_string(release->status, "modifiedTime");

    return ended && approval->time && strncmp(ended, approval->time, SECONDS) < 0;
}

/* The approval in the Spec has been used for this plan, and was found stale: it was about another
 * object than would be made now. Or the plan was rejected after it was approved. */
static int find_spent(const struct run *run, int64_t revision, bool *ret, struct error *error)
{
    const struct release_approval *approval = &run->approval;

    for (unsigned n = 0; n < MOST_READ && --revision > 0; n++) {
        _cleanup_(release_free_p) struct release *before = NULL;
        bool is_stale;
        int r = releases_load(run->context, &run->subject, revision, run->cancel, &before, error);

        if (r < 0 || !before || ended_before(before, approval))
            return r;
        if (!names(approval, release_plan(before)))
            continue;
        is_stale = release_was_cancelled(before, PLAN_STALE);
        *ret = is_stale ? was_approved_by(before, approval)
                        : release_was_cancelled(before, RELEASE_REJECTED);
        if (*ret || is_stale || before->phase != PHASE_CANCELLED)
            return 0;
    }
    return 0;
}

int approval_drop_if_spent(struct attempt *attempt, const struct release *release,
                           const char *digest, struct error *error)
{
    struct run *run = &attempt->run;
    bool is_spent = false;
    int r;

    if (!release || names(&release->approval, digest) || !names(&run->approval, digest))
        return 0;
    r = find_spent(run, release->revision, &is_spent, error);
    if (is_spent) {
        release_approval_done(&run->approval);
        attempt->apply.is_approval_spent = true;
    }
    return r;
}

struct document_name approval_document(const struct attempt *attempt, const struct release *release)
{
    return (struct document_name){DOCUMENT_APPROVAL, attempt->run.subject.key, release->name};
}

/* ---- What was approved ---- */

static int load(const struct attempt *attempt, const struct release *release,
                struct approved_plan **ret, struct error *error)
{
    const struct reconcile_context *context = attempt->run.context;
    const struct store_call call = context_call(context, attempt->run.cancel);
    const struct document_name name = approval_document(attempt, release);
    _cleanup_value_ const struct value *plan = NULL;
    int r = plans_load(context, &name, &call, &plan, error);

    return r < 0 ? r
                 : approved_plan_from_value(plan, attempt->run.plan_key,
                                            sizeof(attempt->run.plan_key), release_plan(release),
                                            ret, error);
}

static bool is_lost(int code)
{
    return code == ERR_NOT_FOUND || code == ERR_CORRUPT || code == ERR_UNSUPPORTED;
}

/* *ret: NULL: it is lost. */
static int load_shown(const struct attempt *attempt, const struct release *release,
                      struct approved_plan **ret, struct error *error)
{
    struct error problem = {0};
    int r = load(attempt, release, ret, &problem);

    return r < 0 && !is_lost(r) ? err_copy(error, &problem) : 0;
}

int approval_load(struct attempt *attempt, const struct release *release, struct error *error)
{
    struct run *run = &attempt->run;
    const struct release_approval *approval;
    struct error problem = {0};
    int r = run->policy.needs_approval
                ? approval_drop_if_spent(attempt, release, release_plan(release), error)
                : 0;

    approval = approval_find(attempt, release);
    if (r < 0 || !run->policy.needs_approval || !approval)
        return r;
    r = load(attempt, release, &attempt->apply.approved, &problem);
    if (is_lost(r)) {
        log_warn("an approved plan cannot be read: it is made again", "namespace",
                 run->subject.key.namespace_name, "release", release->name, "reason",
                 problem.reason, "error", problem.message, NULL);
        free(attempt->apply.approval_lost);
        attempt->apply.approval_lost =
            str_printf("what was approved cannot be compared: %s; the next Release shows the plan",
                       problem.message);
        return 0;
    }
    if (r < 0)
        return err_copy(error, &problem);
    release_approval_copy(&attempt->apply.approval, approval);
    return 0;
}

/* ---- What is to be approved ---- */

/* The object is gone, or another one has its name, or it was only read: only the record leaves
 * State. */
static bool is_gone(const struct plan_change *change)
{
    return change->action == PLAN_FORGET &&
           (change->is_only_read || (change->step && change->step->action == PLAN_FORGET));
}

bool approval_is_missing(const struct attempt *attempt)
{
    const struct plan *plan = operation_get_plan(attempt->operation);

    if (!attempt->run.policy.needs_approval || attempt->apply.approved)
        return false;
    for (size_t i = 0; i < plan->n_changes; i++) {
        const struct plan_change *change = &plan->changes[i];

        if (change->error ||
            (change->action != PLAN_UNCHANGED && change->action != PLAN_NONE && !is_gone(change)))
            return true;
    }
    return false;
}

static bool shows_creations(const struct plan *plan)
{
    for (size_t i = 0; i < plan->n_changes; i++)
        if (plan->changes[i].digest && *plan->changes[i].digest->shown.hex)
            return true;
    return false;
}

/* The plan is the same, and the API server or a webhook would make something else of a creation. */
static int shows_another(const struct attempt *attempt, bool *ret, struct error *error)
{
    const struct plan *plan = operation_get_plan(attempt->operation);
    _cleanup_(approved_plan_unref_p) struct approved_plan *shown = NULL;
    int r = shows_creations(plan) ? load_shown(attempt, attempt->release, &shown, error) : 0;

    *ret = shown && !approved_plan_shows(shown, plan);
    return r;
}

int approval_needs_release(const struct attempt *attempt, bool *ret, struct error *error)
{
    const struct release *release = attempt->release;

    *ret = release && (release->phase > PHASE_AWAITING_APPROVAL ||
                       (release->phase == PHASE_AWAITING_APPROVAL &&
                        !str_equal(release_plan(release), attempt->digest)));
    return *ret || !release || release->phase != PHASE_AWAITING_APPROVAL
               ? 0
               : shows_another(attempt, ret, error);
}

/* What waits was shown under other digests, which say nothing of what would be done now. *ret:
 * NULL: it was not. */
static int find_incomparable(const struct attempt *attempt, const char **ret, struct error *error)
{
    _cleanup_(approved_plan_unref_p) struct approved_plan *shown = NULL;
    struct error problem = {0};
    int r = load(attempt, attempt->release, &shown, &problem);

    *ret =
        r == ERR_CORRUPT || r == ERR_UNSUPPORTED
            ? "its plan cannot be compared: another version of the operator made its digest, or it "
              "was made for another account or with another key; the next Release shows the plan"
            : NULL;
    return r < 0 && !is_lost(r) ? err_copy(error, &problem) : 0;
}

int approval_cancel(const struct attempt *attempt, struct error *error)
{
    const char *why = attempt->apply.approval_lost;
    int r = why ? 0 : find_incomparable(attempt, &why, error);

    if (r < 0)
        return r;
    return why ? run_cancel_release_as(&attempt->run, attempt->release, PLAN_STALE, why, error)
               : run_cancel_release(&attempt->run, attempt->release,
                                    "something else would be done now than its plan shows", error);
}

/* What the Release before shows, if that is the same plan; else NULL. */
static int load_before(const struct attempt *attempt, struct approved_plan **ret,
                       struct error *error)
{
    const struct run *run = &attempt->run;
    _cleanup_(release_free_p) struct release *before = NULL;
    int r = releases_load(run->context, &run->subject, attempt->release->revision - 1, run->cancel,
                          &before, error);

    return r < 0 || !before || !str_equal(release_plan(before), attempt->digest)
               ? r
               : load_shown(attempt, before, ret, error);
}

int approval_check_shown(struct attempt *attempt, struct error *error)
{
    const struct plan *plan = operation_get_plan(attempt->operation);
    const struct release *release = attempt->release;
    _cleanup_(approved_plan_unref_p) struct approved_plan *shown = NULL;
    int r;

    if (!release || release->revision < 2 || release->phase >= PHASE_AWAITING_APPROVAL ||
        !names(&attempt->run.approval, attempt->digest) || !shows_creations(plan))
        return 0;
    r = load_before(attempt, &shown, error);
    if (r < 0 || !shown || approved_plan_shows(shown, plan))
        return r;
    attempt->apply.approved = TAKE(shown);
    release_approval_copy(&attempt->apply.approval, &attempt->run.approval);
    return err_set(error, ERR_CONFLICT, PLAN_STALE,
                   "the approval in the Spec is of the plan that the Release before has shown: the "
                   "API server, or an admission webhook, would make other objects now");
}

static bool is_open(const struct plan_change *change)
{
    return change->error || change->action == PLAN_DEFERRED || change->action == PLAN_UNKNOWN;
}

size_t approval_count_open(const struct plan *plan)
{
    size_t n = 0;

    for (size_t i = 0; i < plan->n_changes; i++)
        n += is_open(&plan->changes[i]);
    return n;
}

/* Why the first of those that cannot be planned cannot. */
static int first_open(const struct plan *plan, struct error *error)
{
    const struct plan_change *first = plan->changes;

    while (!is_open(first))
        first++;
    if (!first->error)
        return err_set(error, ERR_UNAVAILABLE, "Progressing", "%s: %s", first->id,
                       first->reason ? first->reason : "it cannot be planned yet");
    err_copy(error, first->error);
    err_wrap(error, "%s", first->id);
    return first->error->code;
}

int approval_check(const struct attempt *attempt, struct error *error)
{
    const struct plan *plan = operation_get_plan(attempt->operation);

    for (size_t i = 0; i < plan->n_changes; i++) {
        const struct plan_change *change = &plan->changes[i];

        if (!is_open(change) && change->action != PLAN_UNCHANGED && change->action != PLAN_NONE)
            return 0;
    }
    return first_open(plan, error);
}

/* ---- What waits ---- */

int approval_outlasts(const struct attempt *attempt, bool *ret, struct error *error)
{
    const struct release *release = attempt->release;
    const struct plan *plan = operation_get_plan(attempt->operation);
    _cleanup_(approved_plan_unref_p) struct approved_plan *shown = NULL;
    int r;

    *ret = false;
    if (!release || release->phase != PHASE_AWAITING_APPROVAL || !approval_count_open(plan) ||
        str_equal(release_plan(release), attempt->digest))
        return 0;
    r = load_shown(attempt, release, &shown, error);
    *ret = shown && approved_plan_outlasts(shown, plan);
    return r;
}

/* The Spec's status says what the Release says. */
static int write_as_shown(struct attempt *attempt, struct error *error)
{
    struct outcome outcome = {
        .verdict = {"Unknown", "AwaitingApproval", release_message(attempt->release),
                    PROGRESS_RECONCILING, NULL},
        .is_end = true,
        .attempted = attempt->revision,
        .shown = attempt->release->status,
    };

    return tell_outcome(attempt, &outcome, TELL_SPEC, error);
}

int approval_wait_on(struct attempt *attempt, struct reconcile_result *result, struct error *error)
{
    struct error why = {0};
    int r;

    first_open(operation_get_plan(attempt->operation), &why);
    log_warn("a part of a plan that awaits approval cannot be planned now", "namespace",
             attempt->object.namespace_name, "release", attempt->release->name, "reason",
             why.reason, "error", why.message, NULL);
    attempt_check_later(attempt, result);
    r = write_as_shown(attempt, error);
    attempt_end(attempt);
    return r;
}
