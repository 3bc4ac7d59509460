#include "controller/reconcile/progress.h"

#include <stdio.h>
#include <string.h>

#include "controller/reconcile/approval.h"
#include "controller/reconcile/operations.h"
#include "controller/reconcile/report.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"

/* What it is called, and the Release's phase; NULL: the Spec is not concerned. */
static const struct {
    const char *planning, *working;
    enum release_phase working_phase;
} words[] = {
    [RELEASE_APPLY] = {"planning", "applying", PHASE_APPLYING},
    [RELEASE_PREVIEW] = {NULL, NULL, PHASE_PREVIEWING},
    [RELEASE_DESTROY] = {"planning to destroy", "destroying", PHASE_DESTROYING},
    [RELEASE_ROLLBACK] = {"planning to roll back", "rolling back", PHASE_ROLLING_BACK},
};

static int64_t now(const struct attempt *attempt)
{
    const struct clock_source *clock = attempt->run.context->clock;

    return clock->monotonic(clock);
}

void progress_begin(struct attempt *attempt)
{
    attempt->progress = (struct attempt_progress){.begun = now(attempt)};
}

static struct verdict verdict_of(const char *message)
{
    return (struct verdict){"Unknown", "Progressing", message, PROGRESS_RECONCILING, NULL};
}

static int write_spec(struct attempt *attempt, const char *message, struct error *error)
{
    const struct plan *plan = operation_get_plan(attempt->operation);
    struct run_status status = {
        .verdict = verdict_of(message),
        .attempted = attempt->release ? attempt->revision : 0,
        .plan = plan ? report_plan(plan, attempt->digest) : NULL,
    };
    int r = run_write_status(&attempt->run, &status, error);

    run_status_done(&status);
    return r;
}

/* summary: in place of the message, in a column; NULL: the message. */
static int write_release(struct attempt *attempt, bool is_working, const char *message,
                         const char *summary, struct error *error)
{
    enum release_operation operation = attempt->run.log.operation;
    struct verdict verdict = verdict_of(message);
    struct release_report report = {
        .phase = is_working ? words[operation].working_phase : PHASE_PREVIEWING,
        .digest = attempt->digest,
        .approval = approval_of(attempt),
        .verdict = &verdict,
        .summary = summary,
    };
    bool is_new;

    if (!attempt->release)
        return 0;
    /* One that was taken up again may be further already. */
    is_new = report.phase != attempt->release->phase;
    if (is_new && !release_phase_may_follow(operation, attempt->release->phase, report.phase))
        return 0;
    if (is_new && is_working)
        report.plan = operation_get_plan(attempt->operation);
    return release_write(attempt->run.context, &attempt->run.subject, attempt->release, &report,
                         error);
}

/* "41 of 60 done, 2 failed" */
static char *show_done(struct attempt *attempt)
{
    struct operation_progress progress = operation_progress(attempt->operation);
    struct buf text = BUF_INIT;

    buf_printf(&text, "%zu of %zu done", progress.done, progress.total);
    if (progress.failed)
        buf_printf(&text, ", %zu failed", progress.failed);
    return buf_take(&text);
}

static int say_phase(struct attempt *attempt, bool is_working, struct error *error)
{
    enum release_operation operation = attempt->run.log.operation;
    const char *message = is_working ? words[operation].working : words[operation].planning;
    _cleanup_free_ char *done = show_done(attempt);
    int r = write_release(attempt, is_working, is_working ? done : "planning", NULL, error);

    return r < 0 || !message ? r : write_spec(attempt, message, error);
}

/* "web: Available: 0/1" of "apps/v1:Deployment:shop:web: Available: 0/1": a column of `kubectl get`
 * has no room for the id. One that is quoted stays. Borrowed. */
static const char *skip_id(const char *what)
{
    const char *end = strstr(what, ": "), *start = end;

    if (!end || *what == '"')
        return what;
    while (start > what && start[-1] != ':')
        start--;
    return start;
}

/* What it waits for, and for what: one of WAITS_…. */
static unsigned find_waiting(struct attempt *attempt, char *ret, size_t size)
{
    bool is_failing = false;
    bool waits = operation_waits_for(attempt->operation, ret, size, &is_failing);
    char id[ERROR_MESSAGE_SIZE];
    int64_t took;

    if (waits && is_failing)
        return WAITS_AS_IT_FAILS;
    took = operation_longest_visit(attempt->operation, id, sizeof(id));
    if (took < PROGRESS_FAILING)
        return waits ? WAITS_FOR_HEALTH : WAITS_FOR_NOTHING;
    snprintf(ret, size, "%s: no answer for %lld s", id, (long long)(took / 1000));
    return WAITS_FOR_ANSWER;
}

/* aside: "", or more about the operation. least: what is less urgent is not said. Of a Preview, the
 * Release alone says it. */
static int say_waiting(struct attempt *attempt, const char *aside, unsigned least, bool *ret_said,
                       struct error *error)
{
    bool is_working = attempt->progress.is_working;
    const char *stage = is_working ? words[attempt->run.log.operation].working
                                   : words[attempt->run.log.operation].planning;
    _cleanup_free_ char *done = NULL, *message = NULL, *summary = NULL, *of_spec = NULL;
    char what[ERROR_MESSAGE_SIZE];
    unsigned waits = find_waiting(attempt, what, sizeof(what));
    int r;

    *ret_said = waits >= least;
    if (!*ret_said)
        return 0;
    attempt->progress.waits_said = waits;
    done = is_working ? show_done(attempt) : str_new("planning");
    message = str_printf("%s, %swaiting for %s", done, aside, what);
    summary = str_printf("%s, %swaiting for %s", done, aside, skip_id(what));
    of_spec = is_working ? str_printf("%s: %s", stage ? stage : "", message)
                         : str_printf("%s: waiting for %s", stage ? stage : "", what);
    r = write_release(attempt, is_working, message, summary, error);
    return r < 0 || !stage ? r : write_spec(attempt, of_spec, error);
}

/* Says its phase if that is due. *ret_next: when it is, else. */
static int report_phase(struct attempt *attempt, bool is_working, int64_t *ret_next,
                        struct error *error)
{
    struct attempt_progress *progress = &attempt->progress;
    int64_t due =
        progress->said ? progress->said + PROGRESS_AGAIN : progress->begun + PROGRESS_QUIET;
    int r;

    if (progress->what >= (is_working ? SAID_WORKING : SAID_PLANNING))
        return 0;
    if (now(attempt) < due) {
        *ret_next = due;
        return 0;
    }
    r = say_phase(attempt, is_working, error);
    if (r < 0)
        return r;
    progress->what = is_working ? SAID_WORKING : SAID_PLANNING;
    progress->said = now(attempt);
    return 0;
}

static void begin_stage(struct attempt *attempt, bool is_working)
{
    struct attempt_progress *progress = &attempt->progress;

    progress->is_working = is_working;
    progress->waits_from = now(attempt);
    progress->waits_due = progress->waits_from + PROGRESS_FIRST;
    progress->waits_said = WAITS_FOR_NOTHING;
}

/* ms until what was said is said again, as it is then. */
static int64_t holds_for(const struct attempt_progress *progress, bool said)
{
    return said && progress->waits_said != WAITS_FOR_ANSWER ? PROGRESS_INTERVAL : PROGRESS_FIRST;
}

/* What fails, or gets no answer, is said once, as soon as it does. The rest is said from time to
 * time. is_busy: calls are under way. */
static int report_waiting(struct attempt *attempt, bool is_working, bool is_busy, int64_t *ret_next,
                          struct error *error)
{
    struct attempt_progress *progress = &attempt->progress;
    unsigned urgent;
    int64_t urgent_due, next;
    bool said = false, is_due;
    int r = 0;

    if (!progress->waits_due || progress->is_working != is_working)
        begin_stage(attempt, is_working);
    urgent_due = progress->waits_from + PROGRESS_FAILING;
    if (progress->said && progress->said + PROGRESS_AGAIN > urgent_due)
        urgent_due = progress->said + PROGRESS_AGAIN;
    urgent = progress->waits_said < WAITS_FOR_ANSWER ? WAITS_FOR_ANSWER : WAITS_AS_IT_FAILS;
    is_due = now(attempt) >= progress->waits_due;
    if (is_due || (progress->waits_said < urgent && now(attempt) >= urgent_due)) {
        r = say_waiting(attempt, "", is_due ? WAITS_FOR_HEALTH : urgent, &said, error);
        if (is_due || said)
            progress->waits_due = now(attempt) + holds_for(progress, said);
    }
    next = progress->waits_due;
    if (now(attempt) < urgent_due)
        next = urgent_due;
    else if (is_busy && progress->waits_said < WAITS_FOR_ANSWER)
        next = now(attempt) + PROGRESS_FAILING;
    if (next < *ret_next)
        *ret_next = next;
    return r;
}

/* Nothing is said of a look at a Spec that is Ready, or that waits for approval, of a correction
 * that repeats, nor of a retry. */
static bool is_silent(const struct attempt *attempt, bool is_working)
{
    bool is_shown = attempt->release && attempt->release->phase == PHASE_AWAITING_APPROVAL;

    return attempt->kind == ATTEMPT_RETRY || attempt->kind == ATTEMPT_CORRECTION ||
           ((attempt->kind != ATTEMPT_NEW || is_shown) && !is_working);
}

int progress_report(struct attempt *attempt, int64_t *ret_after, struct error *error)
{
    enum operation_phase phase = operation_phase(attempt->operation);
    bool is_working = phase == OPERATION_RUNNING || phase == OPERATION_PARKED;
    bool is_busy = phase != OPERATION_PARKED;
    int64_t next = CLOCK_FOREVER;
    int r;

    *ret_after = 0;
    if (is_silent(attempt, is_working))
        return 0;
    r = report_phase(attempt, is_working, &next, error);
    if (r >= 0)
        r = report_waiting(attempt, is_working, is_busy, &next, error);
    if (next != CLOCK_FOREVER)
        *ret_after = next > now(attempt) ? next - now(attempt) : 1;
    return r;
}

int progress_report_rest(struct attempt *attempt, int64_t rest, struct error *error)
{
    _cleanup_free_ char *aside =
        str_printf("set aside for %lld s, because memory is short (--operation-memory), ",
                   (long long)(rest + 999) / 1000);
    _cleanup_free_ char *done = NULL;
    bool said = false;
    int r = 0;

    if (is_silent(attempt, true))
        return 0;
    attempt->progress.is_working = true;
    if (words[attempt->run.log.operation].working)
        r = say_waiting(attempt, aside, WAITS_FOR_HEALTH, &said, error);
    if (r < 0 || said)
        return r;
    done = show_done(attempt);
    return write_release(attempt, true, done, NULL, error);
}

/* ---- Waiting for memory ---- */

/* Of a look at a Spec that is Ready nothing is said, nor of a retry. */
static bool says_already_how_it_ended(const struct run *run)
{
    return run_says(run, "True", NULL) || run_says(run, "False", NULL);
}

int progress_put_off(struct attempt *attempt, struct reconcile_result *result, struct error *error)
{
    struct run *run = &attempt->run;
    struct run_status status = {
        .verdict = {"Unknown", "Progressing", PROGRESS_NO_MEMORY, PROGRESS_RECONCILING, NULL}};
    int64_t due = attempt->reservation.since + PROGRESS_FIRST, left = due - now(attempt);
    bool is_reported = says_already_how_it_ended(run);
    int r = 0;

    if (!is_reported && left <= 0) {
        r = run_write_status(run, &status, error);
        is_reported = r >= 0;
    }
    attempt->wait_report_at = is_reported ? 0 : due;
    *result = (struct reconcile_result){.kind = RECONCILE_WAITING,
                                        .after = !is_reported && left > 0 ? left : 0};
    attempt_empty(attempt);
    return r;
}
