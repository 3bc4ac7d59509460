#include "controller/reconcile/hold_begin.h"

#include <string.h>

#include "controller/reconcile/run/hold_revision.h"
#include "controller/reconcile/run/recall.h"
#include "controller/reconcile/run/request.h"
#include "engine/base/str.h"
#include "engine/log/log.h"
#include "runtimes/kubernetes/client/resource_version.h"

/* Requests that one reconcile ends: people can make any number. */
#define MOST_ENDED 20

/* ---- The Release by which a person asked ---- */

static int write_request(const struct run *run, const struct request *request,
                         enum release_phase phase, int64_t revision, struct verdict verdict,
                         struct error *error)
{
    const struct outcome outcome = {.phase = phase, .verdict = verdict};

    return request_write(run, request, revision, &outcome, error);
}

static int cancel_request(const struct attempt *attempt, const struct request *request,
                          const char *why, struct error *error)
{
    return write_request(&attempt->run, request, PHASE_CANCELLED, 0,
                         verdict_of_end("Superseded", why), error);
}

static int cancel_outdated(const struct attempt *attempt, const struct request *request,
                           struct error *error)
{
    _cleanup_free_ char *why = desk_superseded_by(attempt->run.subject.generation);

    return cancel_request(attempt, request, why, error);
}

static int refuse_request(const struct attempt *attempt, const struct request *request,
                          const struct error *refusal, struct error *error)
{
    const struct verdict verdict = {"False", refusal->reason, refusal->message, PROGRESS_STALLED,
                                    NULL};

    return write_request(&attempt->run, request, PHASE_FAILED, 0, verdict, error);
}

/* 0: there is none. A later one may come at any time, so the newest is looked up each time. */
static int cancel_one(struct attempt *attempt, struct error *error)
{
    const struct run *run = &attempt->run;
    const struct spec_key *spec = &run->subject.key;
    _cleanup_(request_done) struct request newest = {0}, older = {0};
    _cleanup_free_ char *why = NULL;
    int r;

    if (!desk_newest_request(run->context->desk, spec, NULL, &newest) ||
        !desk_newest_request(run->context->desk, spec, newest.uid, &older))
        return 0;
    why = request_supersedes(&newest);
    r = cancel_request(attempt, &older, why, error);
    if (r < 0)
        return r;
    desk_end_request(run->context->desk, spec, older.uid);
    return 1;
}

int hold_cancel_older(struct attempt *attempt, struct error *error)
{
    int r = 1;

    for (unsigned n = 0; n < MOST_ENDED && r > 0; n++)
        r = cancel_one(attempt, error);
    return r;
}

static int say_accepted(struct attempt *attempt, const struct request *request, int64_t revision,
                        struct error *error)
{
    _cleanup_(arena_done) struct arena arena = ARENA_INIT;
    const char *record = release_name(&arena, attempt->run.subject.key.name, revision);
    _cleanup_free_ char *message = str_printf(
        "it is carried out as revision %lld, in the Release %s", (long long)revision, record);

    return write_request(&attempt->run, request, PHASE_GENERATING, revision,
                         verdict_of_progress(message), error);
}

/* The Release of the hold's first operation. While the hold is in force, one that was cancelled
 * showed a plan that is another by now: the newest goes on with it. *ret: NULL: there is none. */
static int load_record(const struct attempt *attempt, const struct hold *hold, struct release **ret,
                       struct error *error)
{
    const struct run *run = &attempt->run;
    _cleanup_(release_free_p) struct release *newest = NULL;
    int r = releases_load(run->context, &run->subject, hold->revision, run->cancel, ret, error);

    if (r < 0 || !*ret || (*ret)->phase != PHASE_CANCELLED)
        return r;
    r = releases_latest(run->context, &run->subject, run->cancel, &newest, error);
    if (r < 0 || !newest || newest->operation != hold->operation)
        return r;
    release_free(*ret);
    *ret = TAKE(newest);
    return 0;
}

/* The process was killed, or the Release could not be written, when it was accepted or the
 * operation had ended. */
static int say_as_its_record(struct attempt *attempt, const struct request *request,
                             const struct hold *hold, struct error *error)
{
    _cleanup_(release_free_p) struct release *record = NULL;
    const struct value *ready;
    struct verdict verdict = {0};
    int r = load_record(attempt, hold, &record, error);

    if (r < 0)
        return r;
    if (!record || !release_phase_is_terminal(record->phase) || record->phase == PHASE_CANCELLED)
        return say_accepted(attempt, request, record ? record->revision : hold->revision, error);
    ready = conditions_ready(record->status);
    if (ready)
        verdict =
            (struct verdict){value_get_string(ready, "status"), value_get_string(ready, "reason"),
                             value_get_string(ready, "message"), PROGRESS_SETTLED, NULL};
    return write_request(&attempt->run, request, record->phase, record->revision, verdict, error);
}

int hold_refuse(struct attempt *attempt, const struct error *refusal, struct error *error)
{
    const struct run *run = &attempt->run;

    for (unsigned n = 0; n < MOST_ENDED; n++) {
        _cleanup_(request_done) struct request request = {0};
        int r;

        if (!desk_newest_request(run->context->desk, &run->subject.key, NULL, &request))
            return 0;
        r = refuse_request(attempt, &request, refusal, error);
        if (r < 0)
            return r;
        desk_end_request(run->context->desk, &run->subject.key, request.uid);
    }
    return 1;
}

/* ---- Beginning one ---- */

static struct hold hold_new(const struct run *run, enum release_operation operation)
{
    return (struct hold){.operation = operation,
                         .spec_uid = str_new(run->uid),
                         .generation = run->subject.generation,
                         .sources = run->sources_digest[0] ? str_new(run->sources_digest) : NULL};
}

/* The revision that carries it out, and durably so. What an earlier operation began is over. */
static int put_in_force(struct attempt *attempt, struct ledger *ledger, struct hold *hold,
                        struct release *latest, const char *why, struct error *error)
{
    struct run *run = &attempt->run;
    struct arena arena = ARENA_INIT;
    struct state_head head;
    int64_t highest;
    int r;

    ledger_head(ledger, &arena, &head);
    arena_done(&arena);
    highest = head.revision > run_last_applied(run) ? head.revision : run_last_applied(run);
    hold->revision = release_next_revision(highest, latest ? latest->revision : 0);
    r = run_add_finalizer(run, error); /* State is written */
    if (r >= 0)
        r = run_cancel_release(run, latest, why, error);
    return r < 0 ? r : hold_write(ledger, hold, error);
}

/* The Spec was made, or somebody changed it, after the request was made. In the same second, the
 * request counts as the later one. The time of a change may also be that of other fields that its
 * manager wrote, so what the Release of this generation says goes first. */
static bool is_outdated(const struct run *run, const struct request *request,
                        const struct release *latest)
{
    const char *made = value_string(value_path(run->object, "metadata", "creationTimestamp", NULL));
    bool is_of_this = latest && latest->generation == run->subject.generation &&
                      str_equal(latest->spec_uid, run->uid);
    const char *began = is_of_this ? value_get_string(latest->status, "createTime") : NULL;

    if (made && strcmp(request->created, made) < 0)
        return true;
    return run->changed_at && strcmp(request->created, run->changed_at) < 0 &&
           (!began || strcmp(request->created, began) < 0);
}

/* *hold: what is in force now; it is replaced. */
static int accept(struct attempt *attempt, const struct request *request, struct hold *hold,
                  struct error *error)
{
    struct run *run = &attempt->run;
    _cleanup_(release_revisions_done) struct release_revisions revisions = {0};
    _cleanup_(release_free_p) struct release *latest = NULL;
    _cleanup_(hold_done) struct hold next = hold_new(run, request->operation);
    _cleanup_free_ char *why = request_supersedes(request);
    struct error refusal = {0};
    int r = releases_find(run->context, &run->subject, run->cancel, &revisions, &latest, error);

    if (r >= 0 && is_outdated(run, request, latest))
        return cancel_outdated(attempt, request, error);
    if (r >= 0 && request->operation == RELEASE_ROLLBACK)
        r = hold_choose_revision(run, request->to_revision, hold, &revisions, &next, &refusal,
                                 error);
    if (r > 0)
        return refuse_request(attempt, request, &refusal, error);
    next.request = str_new(request->uid);
    next.requested_at = str_new(request->created);
    next.request_version = str_new(request->version);
    next.request_name = str_new(request->release);
    if (hold_is_in_force(hold, run->uid, run->subject.generation, run->sources_digest))
        next.before = hold_before(hold, run_last_applied(run));
    if (r >= 0)
        r = put_in_force(attempt, attempt->ledger, &next, latest, why, error);
    if (r < 0)
        return r;
    hold_done(hold);
    *hold = next;
    next = (struct hold){0};
    return say_accepted(attempt, request, hold->revision, error);
}

/* A later request was carried out already. */
static bool is_overtaken(const struct run *run, const struct request *request,
                         const struct hold *hold)
{
    int by_second;

    if (!hold_is_in_force(hold, run->uid, run->subject.generation, run->sources_digest) ||
        !hold->requested_at)
        return false;
    by_second = strcmp(request->created, hold->requested_at);
    if (by_second)
        return by_second < 0;
    if (request->revision)
        return request->revision < hold->revision;
    return kube_compare_versions(request->version, hold->request_version) < 0;
}

static int answer(struct attempt *attempt, const struct request *request, struct hold *hold,
                  struct error *error)
{
    const struct run *run = &attempt->run;

    if (is_overtaken(run, request, hold))
        return cancel_request(attempt, request, "a later one was carried out", error);
    if (!str_equal(hold->request, request->uid))
        return accept(attempt, request, hold, error);
    if (!hold_is_in_force(hold, run->uid, run->subject.generation, run->sources_digest))
        return cancel_outdated(attempt, request, error);
    return say_as_its_record(attempt, request, hold, error);
}

/* ---- Before an apply ---- */

/* The Spec was held, by its status, and State does not know of it: State is gone, and was the only
 * one to know. To apply the Spec now could bring back what was rolled back. */
static int check_state_lost(const struct run *run, struct error *error)
{
    /* Not StateLost of single resources. */
    bool was_held = run_says(run, "False", "RolledBack") || run_says(run, "False", "Destroyed") ||
                    (run_says(run, "False", "StateLost") && !recall_holds_resources(run));

    if (!was_held)
        return 0;
    return err_set(error, ERR_CORRUPT, "StateLost",
                   "the Spec was rolled back or destroyed, and State, which has what is in "
                   "force, is gone: request a Rollback again, or change the Spec to have it "
                   "applied");
}

/* An older State has the hold that was in force before the one that the status tells of. */
static bool is_newest(const struct attempt *attempt, const struct hold *hold)
{
    const struct run *run = &attempt->run;

    return hold->revision >= run_last_applied(run) || recall_is_whole(run, attempt->ledger);
}

int hold_begin(struct attempt *attempt, struct error *error)
{
    struct run *run = &attempt->run;
    _cleanup_(request_done) struct request request = {0};
    _cleanup_(hold_done) struct hold hold = {0};
    bool is_asked = desk_newest_request(run->context->desk, &run->subject.key, NULL, &request);
    int r;

    if (attempt->apply.is_first && !is_asked) /* there is no State */
        return 0;
    r = attempt->ledger ? 0 : run_open_state(run, &attempt->ledger, error);
    if (r >= 0)
        r = hold_read(attempt->ledger, &hold, error);
    if (r >= 0)
        r = hold_end_if_changed(attempt->ledger, &hold, run->uid, run->subject.generation,
                                run->sources_digest, error);
    if (r >= 0 && is_asked)
        r = answer(attempt, &request, &hold, error);
    if (r < 0)
        return r;
    /* The status may tell still of a hold that has ended. */
    if (hold_has_ended(&hold, run->uid, run->subject.generation) && is_newest(attempt, &hold))
        return 0;
    if (!hold_is_in_force(&hold, run->uid, run->subject.generation, run->sources_digest) ||
        !is_newest(attempt, &hold))
        return check_state_lost(run, error);
    run->hold = hold;
    hold = (struct hold){0};
    return hold_take_source(run, error);
}

/* ---- Remediation ---- */

int hold_remediate(struct attempt *attempt, const char *cause, struct error *error)
{
    struct run *run = &attempt->run;
    _cleanup_(release_free_p) struct release *last = NULL;
    _cleanup_(hold_done) struct hold hold = hold_new(run, RELEASE_ROLLBACK);
    int64_t applied = run_last_applied(run);
    int r = applied ? releases_load(run->context, &run->subject, applied, run->cancel, &last, error)
                    : 0;

    /* What fails now may have succeeded before: it would be applied again, and be held then. */
    if (r < 0 || !last || str_equal(last->spec_digest, run->spec_digest))
        return r < 0 ? r : 1;
    r = hold_take_revision(run, last, &hold, NULL, error);
    if (r)
        return r;
    hold.cause = str_new(cause);
    return put_in_force(attempt, operation_ledger(attempt->operation), &hold, attempt->release,
                        "remediation rolls back", error);
}
