#include "controller/reconcile/apply_release.h"

#include "controller/reconcile/approval.h"
#include "controller/reconcile/records/recorded.h"
#include "controller/reconcile/run/operation_log.h"
#include "engine/base/str.h"

/* It applies what is in force now: this generation of the Spec, or its hold. */
static bool is_of_this(const struct attempt *attempt, const struct release *release)
{
    const struct release_subject *subject = &attempt->run.subject;
    const struct hold *hold = &attempt->run.hold;

    /* An earlier Spec of the name had generations, too. */
    return release->operation == hold->operation && release->revision >= hold->revision &&
           release->generation == subject->generation &&
           (!subject->sources || str_equal(release->spec_digest, subject->spec_digest)) &&
           (!release->spec_uid || str_equal(release->spec_uid, subject->uid));
}

/* What the newest Release, which has ended, makes of the attempt. Taken over where it is kept. */
static int consider(struct attempt *attempt, struct release **latest, struct error *error)
{
    bool is_reported =
        attempt->kind == ATTEMPT_RESYNC && (*latest)->revision <= run_last_applied(&attempt->run);

    if (!is_of_this(attempt, *latest) || is_reported)
        return 0;
    if (release_was_cancelled(*latest, RELEASE_REJECTED)) {
        attempt->apply.rejected = TAKE(*latest);
        return 0;
    }
    if ((*latest)->phase == PHASE_FAILED && attempt->kind == ATTEMPT_NEW) {
        attempt->kind = ATTEMPT_RETRY;
        return approval_load(attempt, *latest, error);
    }
    if ((*latest)->phase == PHASE_SUCCEEDED) {
        attempt->kind = ATTEMPT_STATUS_MISSING;
        attempt->release = TAKE(*latest);
    }
    return 0;
}

/* A first Release that was made unseen, and left unfinished: others of the name may be newer. */
static int find_first(struct attempt *attempt, struct release **latest, struct error *error)
{
    const struct run *run = &attempt->run;
    _cleanup_(release_free_p) struct release *first = NULL;
    int r;

    if (run_last_attempted(run) || !*latest || (*latest)->revision == 1)
        return 0;
    r = releases_load(run->context, &run->subject, 1, run->cancel, &first, error);
    if (r < 0 || !first || release_phase_is_terminal(first->phase) || !is_of_this(attempt, first))
        return r;
    release_free(*latest);
    *latest = TAKE(first);
    return 0;
}

/* One that was left unfinished, else none yet, and the next revision. An operation that is under
 * way was planned without an approved plan, and is not held to one: the next operation is. */
int apply_find_release(struct attempt *attempt, struct error *error)
{
    struct run *run = &attempt->run;
    _cleanup_(release_free_p) struct release *latest = NULL;
    int r;

    release_revisions_done(&attempt->apply.revisions);
    r = releases_find(run->context, &run->subject, run->cancel, &attempt->apply.revisions, &latest,
                      error);
    attempt->apply.knows_revisions = r >= 0;
    if (r >= 0)
        r = find_first(attempt, &latest, error);
    if (r < 0)
        return r;
    attempt->revision = release_next_revision(run_last_applied(run), latest ? latest->revision : 0);
    if (attempt->revision < run->hold.revision)
        attempt->revision = run->hold.revision;
    if (!latest)
        return 0;
    if (release_phase_is_terminal(latest->phase))
        return consider(attempt, &latest, error);
    if (!is_of_this(attempt, latest))
        return run_supersede(run, latest, error);
    attempt->kind = ATTEMPT_NEW;
    attempt->revision = latest->revision;
    attempt->release = TAKE(latest);
    return attempt->operation ? 0 : approval_load(attempt, attempt->release, error);
}

/* The Release has it itself, or names it. */
int apply_record_spec(struct attempt *attempt, struct error *error)
{
    const struct run *run = &attempt->run;
    const struct release_subject *subject = &run->subject;

    if (run->hold.operation != RELEASE_APPLY || !subject->spec_digest || subject->resources)
        return 0;
    return recorded_keep(run->context, &subject->key, run_source(run), subject->spec_digest, error);
}

int apply_begin_release(struct attempt *attempt, struct error *error)
{
    struct run *run = &attempt->run;
    int r = attempt->release ? 0 : apply_record_spec(attempt, error);

    if (r >= 0 && !attempt->release)
        r = release_begin(run->context, &run->subject, run->hold.operation, attempt->revision,
                          &attempt->release, error);
    if (attempt->release) /* another one, where a person's has the name of the first */
        attempt->revision = attempt->release->revision;
    if (r >= 0)
        operation_log_release(run, attempt->release);
    return r;
}
