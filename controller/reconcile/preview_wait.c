#include "controller/reconcile/preview_wait.h"

#include "controller/reconcile/progress.h"
#include "controller/reconcile/tell.h"
#include "engine/base/str.h"

#define PREVIEW_LOOK 2000 /* ms until a Preview looks again whether there are too many of them */

bool preview_waits_for_place(struct attempt *attempt, struct reconcile_result *result)
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

int preview_wait_for_place(struct attempt *attempt, struct reconcile_result *result,
                           struct error *error)
{
    _cleanup_free_ char *message = str_printf(
        "waiting for other Previews: %d of a Spec, and %d of a namespace, run at the same time",
        PREVIEWS_OF_SPEC, PREVIEWS_OF_NAMESPACE);
    int64_t report_at = attempt->wait_report_at;

    return wait_for(attempt, report_at ? report_at - PROGRESS_QUIET : attempt_now(attempt),
                    PREVIEW_LOOK, message, "waiting for other Previews", result, error);
}

int preview_wait_for_memory(struct attempt *attempt, struct reconcile_result *result,
                            struct error *error)
{
    return wait_for(attempt, attempt->reservation.since, 0, PROGRESS_NO_MEMORY,
                    "waiting for memory", result, error);
}
