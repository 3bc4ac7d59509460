#include "controller/reconcile/progress.h"

#include <stdio.h>

#include "controller/reconcile/status/report.h"
#include "controller/reconcile/tell.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/log/log.h"

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

void progress_begin(struct attempt *attempt)
{
    attempt->progress = (struct attempt_progress){.begun = attempt_now(attempt)};
}

/* State says so first: State with less is older (recall.h). 0: it does not yet. */
static int64_t unfinished_of(const struct attempt *attempt)
{
    int64_t saved = ledger_saved_revision(operation_ledger(attempt->operation));

    return attempt->run.log.operation != RELEASE_DESTROY && saved >= attempt->revision
               ? attempt->revision
               : 0;
}

/* Whether the Release tells, while it goes on, what became of each resource: not where that would
 * be a large write again and again. */
static bool tells_results(const struct attempt *attempt)
{
    return attempt->progress.is_working &&
           operation_progress(attempt->operation).total <= PROGRESS_RESULTS &&
           !value_get(attempt->release->status, "planRef");
}

/* To the Release, where the attempt has one, and to the Spec, where spec_message is set. is_count:
 * nothing is new but how much is done. */
static int write_progress(struct attempt *attempt, struct outcome *outcome, bool is_count,
                          struct error *error)
{
    bool is_working = attempt->progress.is_working;
    enum release_operation operation = attempt->run.log.operation;
    const struct release *release = attempt->release;
    struct operation_results results = {0};
    bool is_new;
    unsigned to = outcome->spec_message ? TELL_SPEC : 0;
    int r;

    outcome->phase = is_working ? words[operation].working_phase : PHASE_PREVIEWING;
    is_new = release && outcome->phase != release->phase;
    /* One that was taken up again may be further already. */
    if (release && (!is_new || release_phase_may_follow(operation, release->phase, outcome->phase)))
        to |= TELL_RELEASE;
    outcome->plan = operation_get_plan(attempt->operation);
    outcome->keeps_plan = !is_new || !is_working;
    outcome->attempted = release ? attempt->revision : 0;
    outcome->is_quiet = is_count;
    outcome->is_untold = attempt->progress.is_untold && !is_count;
    if (is_working && operation != RELEASE_DESTROY)
        outcome->objects = operation_progress(attempt->operation);
    if (is_working)
        outcome->unfinished = unfinished_of(attempt);
    if (to & TELL_RELEASE && tells_results(attempt))
        operation_results(attempt->operation, &results);
    if (results.count)
        outcome->results = &results;
    r = tell_outcome(attempt, outcome, to, error);
    outcome->results = NULL;
    operation_results_done(&results);
    if (r >= 0 && outcome->spec_message)
        attempt->progress.is_untold = is_count;
    return r;
}

/* "41 of 60 done, 2 failed", which is about to be said. */
static char *show_done(struct attempt *attempt)
{
    struct operation_progress progress = operation_progress(attempt->operation);
    struct buf text = BUF_INIT;

    attempt->progress.counted = progress.done + progress.failed;
    attempt->progress.counted_at = attempt_now(attempt);
    buf_printf(&text, "%zu of %zu done", progress.done, progress.total);
    if (progress.failed)
        buf_printf(&text, ", %zu failed", progress.failed);
    return buf_take(&text);
}

static int say_phase(struct attempt *attempt, struct error *error)
{
    bool is_working = attempt->progress.is_working;
    enum release_operation operation = attempt->run.log.operation;
    _cleanup_free_ char *done = show_done(attempt);
    struct outcome outcome = {.verdict = verdict_of_progress(is_working ? done : "planning"),
                              .spec_message = is_working ? words[operation].working
                                                         : words[operation].planning};

    return write_progress(attempt, &outcome, false, error);
}

/* Nothing goes on before State is saved. ms for which it could not be; *ret: why, if that is known
 * yet. */
static int64_t find_late_save(struct attempt *attempt, char *ret, size_t size, bool *ret_is_failing)
{
    struct ledger *ledger = operation_ledger(attempt->operation);
    char why[ERROR_MESSAGE_SIZE] = "";
    int64_t late = ledger ? ledger_late_for(ledger, why, sizeof(why)) : 0;
    _cleanup_free_ char *what =
        *why ? str_printf("State to be saved: %s", why)
             : str_printf("State to be saved: not done for %lld s", (long long)(late / 1000));

    str_copy(ret, size, what);
    *ret_is_failing = *why;
    return late;
}

/* Once, also where the status says nothing. */
static void warn_of_late_save(struct attempt *attempt)
{
    struct attempt_progress *progress = &attempt->progress;
    char what[ERROR_MESSAGE_SIZE];
    bool is_failing;

    if (progress->has_warned ||
        find_late_save(attempt, what, sizeof(what), &is_failing) < PROGRESS_FIRST)
        return;
    progress->has_warned = true;
    log_warn("an operation waits", "namespace", attempt->object.namespace_name, "spec",
             attempt->object.name, "for", what, NULL);
}

/* What it waits for, and for what: one of WAITS_…. */
static unsigned find_waiting(struct attempt *attempt, char *ret, size_t size)
{
    bool is_failing = false, waits;
    char id[ERROR_MESSAGE_SIZE];
    int64_t took;

    if (find_late_save(attempt, ret, size, &is_failing) >= PROGRESS_FAILING)
        return is_failing ? WAITS_AS_IT_FAILS : WAITS_FOR_ANSWER;
    is_failing = false;
    waits = operation_waits_for(attempt->operation, ret, size, &is_failing);
    if (waits && is_failing)
        return WAITS_AS_IT_FAILS;
    took = operation_longest_visit(attempt->operation, id, sizeof(id));
    if (took < PROGRESS_FAILING)
        return waits ? WAITS_FOR_HEALTH : WAITS_FOR_NOTHING;
    snprintf(ret, size, "%s: no answer for %lld s", id, (long long)(took / 1000));
    return WAITS_FOR_ANSWER;
}

/* How far it is, and what it waits for. what: "ID: MESSAGE"; NULL: nothing. aside: "", or more
 * about the operation. is_count: nothing is new but how much is done. Of a Preview, the Release
 * alone says it. */
static int say(struct attempt *attempt, const char *aside, const char *what, bool is_count,
               struct error *error)
{
    bool is_working = attempt->progress.is_working;
    const char *stage = is_working ? words[attempt->run.log.operation].working
                                   : words[attempt->run.log.operation].planning;
    _cleanup_free_ char *done = is_working ? show_done(attempt) : str_new("planning");
    _cleanup_free_ char *waits = what ? str_printf("%swaiting for %s", aside, what) : NULL;
    _cleanup_free_ char *brief = what ? report_brief(what) : NULL, *message = NULL;
    _cleanup_free_ char *of_release = NULL, *of_spec = NULL, *column = NULL;
    struct outcome outcome;

    message = str_printf("%s%s%s", done, waits ? ", " : "", waits ? waits : "");
    of_release = brief ? str_printf("%s, %swaiting for %s", done, aside, brief) : NULL;
    column = brief ? str_printf("%swaiting for %s", aside, brief) : NULL;
    if (stage)
        of_spec = str_printf("%s: %s", stage, is_working ? message : waits ? waits : done);
    outcome = (struct outcome){.verdict = verdict_of_progress(message),
                               .summary = of_release,
                               .spec_message = of_spec,
                               .spec_summary = column};
    return write_progress(attempt, &outcome, is_count, error);
}

/* least: what is less urgent is not said. */
static int say_waiting(struct attempt *attempt, const char *aside, unsigned least, bool *ret_said,
                       struct error *error)
{
    char what[ERROR_MESSAGE_SIZE];
    unsigned waits = find_waiting(attempt, what, sizeof(what));

    *ret_said = waits >= least;
    if (!*ret_said)
        return 0;
    attempt->progress.waits_said = waits;
    return say(attempt, aside, what, false, error);
}

/* Says its phase if that is due. *ret_next: when it is, else. */
static int report_phase(struct attempt *attempt, bool is_working, int64_t *ret_next,
                        struct error *error)
{
    struct attempt_progress *progress = &attempt->progress;
    int64_t due =
        progress->said ? progress->said + PROGRESS_AGAIN : progress->begun + PROGRESS_QUIET;
    bool is_news = progress->what < (is_working ? SAID_WORKING : SAID_PLANNING);
    int64_t unfinished = is_working ? unfinished_of(attempt) : 0;
    /* State has been saved since the status was written. */
    bool is_behind = words[attempt->run.log.operation].working && unfinished &&
                     run_unfinished(&attempt->run) != unfinished;
    int r;

    if (!is_news && !is_behind)
        return 0;
    if (attempt_now(attempt) < due) {
        *ret_next = due;
        return 0;
    }
    r = say_phase(attempt, error);
    if (r < 0)
        return r;
    progress->what = is_working ? SAID_WORKING : SAID_PLANNING;
    progress->said = attempt_now(attempt);
    return 0;
}

static void begin_stage(struct attempt *attempt, bool is_working)
{
    struct attempt_progress *progress = &attempt->progress;

    progress->is_working = is_working;
    progress->waits_from = attempt_now(attempt);
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
static int report_waiting(struct attempt *attempt, bool is_busy, int64_t *ret_next,
                          struct error *error)
{
    struct attempt_progress *progress = &attempt->progress;
    unsigned urgent;
    int64_t urgent_due, next;
    bool said = false, is_due;
    int r = 0;

    urgent_due = progress->waits_from + PROGRESS_FAILING;
    if (progress->said && progress->said + PROGRESS_AGAIN > urgent_due)
        urgent_due = progress->said + PROGRESS_AGAIN;
    urgent = progress->waits_said < WAITS_FOR_ANSWER ? WAITS_FOR_ANSWER : WAITS_AS_IT_FAILS;
    is_due = attempt_now(attempt) >= progress->waits_due;
    if (is_due || (progress->waits_said < urgent && attempt_now(attempt) >= urgent_due)) {
        r = say_waiting(attempt, "", is_due ? WAITS_FOR_HEALTH : urgent, &said, error);
        if (is_due || said)
            progress->waits_due = attempt_now(attempt) + holds_for(progress, said);
    }
    next = progress->waits_due;
    if (attempt_now(attempt) < urgent_due)
        next = urgent_due;
    else if (is_busy && progress->waits_said < WAITS_FOR_ANSWER)
        next = attempt_now(attempt) + PROGRESS_FAILING;
    if (next < *ret_next)
        *ret_next = next;
    return r;
}

/* What it waits for is news if it was not said before. */
static int say_counts(struct attempt *attempt, struct error *error)
{
    struct attempt_progress *progress = &attempt->progress;
    char what[ERROR_MESSAGE_SIZE];
    unsigned waits = find_waiting(attempt, what, sizeof(what));
    bool is_news = waits > progress->waits_said;

    if (is_news) {
        progress->waits_said = waits;
        progress->waits_due = attempt_now(attempt) + holds_for(progress, true);
    }
    return say(attempt, "", waits ? what : NULL, !is_news, error);
}

/* How much is done is said again when that has changed, but not at each change. */
static int report_done(struct attempt *attempt, int64_t *ret_next, struct error *error)
{
    struct attempt_progress *progress = &attempt->progress;
    int64_t due = progress->counted_at + PROGRESS_FIRST;
    int r = 0;

    if (!progress->counted_at || !words[attempt->run.log.operation].working)
        return 0;
    if (attempt_now(attempt) >= due) {
        struct operation_progress now = operation_progress(attempt->operation);

        if (now.done + now.failed != progress->counted)
            r = say_counts(attempt, error);
        due = attempt_now(attempt) + PROGRESS_FIRST;
    }
    if (due < *ret_next)
        *ret_next = due;
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
    bool is_working = phase != OPERATION_ENDED && operation_has_begun(attempt->operation);
    bool is_busy = phase != OPERATION_PARKED;
    int64_t next = CLOCK_FOREVER;
    int r;

    *ret_after = 0;
    warn_of_late_save(attempt);
    if (is_silent(attempt, is_working))
        return 0;
    if (!attempt->progress.waits_due || attempt->progress.is_working != is_working)
        begin_stage(attempt, is_working);
    r = report_phase(attempt, is_working, &next, error);
    if (r >= 0)
        r = report_waiting(attempt, is_busy, &next, error);
    if (r >= 0 && is_working)
        r = report_done(attempt, &next, error);
    if (next != CLOCK_FOREVER)
        *ret_after = next > attempt_now(attempt) ? next - attempt_now(attempt) : 1;
    return r;
}

int progress_report_rest(struct attempt *attempt, int64_t rest, struct error *error)
{
    _cleanup_free_ char *aside =
        str_printf("set aside for %lld s, because memory is short (--operation-memory), ",
                   (long long)(rest + 999) / 1000);
    _cleanup_free_ char *done = NULL;
    struct outcome outcome = {0};
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
    outcome.verdict = verdict_of_progress(done);
    return write_progress(attempt, &outcome, false, error);
}

/* ---- Waiting for memory ---- */

int progress_put_off(struct attempt *attempt, struct reconcile_result *result, struct error *error)
{
    const struct run *run = &attempt->run;
    struct outcome outcome = {.verdict = verdict_of_progress(PROGRESS_NO_MEMORY)};
    int64_t due = attempt->reservation.since + PROGRESS_FIRST, left = due - attempt_now(attempt);
    /* Of a look at a Spec that is Ready nothing is said, nor of a retry. */
    bool is_reported = run_says(run, "True", NULL) || run_says(run, "False", NULL);
    int r = 0;

    if (!is_reported && left <= 0) {
        r = tell_outcome(attempt, &outcome, TELL_SPEC, error);
        is_reported = r >= 0;
    }
    attempt->wait_report_at = is_reported ? 0 : due;
    *result = (struct reconcile_result){.kind = RECONCILE_WAITING,
                                        .after = !is_reported && left > 0 ? left : 0};
    attempt_empty(attempt);
    return r;
}
