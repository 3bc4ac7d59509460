#include "controller/reconcile/attempt.h"

#include "engine/base/mem.h"
#include "engine/base/str.h"

/* ---- Memory ---- */

bool attempt_reserve(struct attempt *attempt, size_t bytes)
{
    size_t needed = attempt->needed;

    attempt->estimate = bytes;
    if (needed > bytes)
        bytes = needed;
    attempt->waits = !budget_reserve(desk_budget_of(attempt->entry), &attempt->reservation, bytes);
    return !attempt->waits;
}

/* Reserves nothing, unless it waits. */
static void give_back(struct attempt *attempt)
{
    if (!attempt->waits)
        budget_give_back(desk_budget_of(attempt->entry), &attempt->reservation);
}

void attempt_measure(struct attempt *attempt)
{
    budget_measure(desk_budget_of(attempt->entry), &attempt->reservation,
                   operation_memory(attempt->operation));
}

bool attempt_waits_for_memory(struct attempt *attempt, int64_t *ret_after)
{
    const struct clock_source *clock = desk_clock(attempt->entry);
    int64_t report_at = attempt->wait_report_at, now = clock->monotonic(clock);
    bool is_report_due = report_at && now >= report_at;

    attempt->waits = attempt->waits && !is_report_due && !attempt_is_outdated(attempt) &&
                     budget_is_waiting(desk_budget_of(attempt->entry), &attempt->reservation);
    if (attempt->waits)
        *ret_after = report_at ? report_at - now : 0;
    return attempt->waits;
}

void attempt_give_up_ticket(struct attempt *attempt)
{
    if (!attempt->operation && !attempt->waits)
        budget_drop_ticket(desk_budget_of(attempt->entry), &attempt->reservation);
}

static void on_park(void *arg, size_t bytes)
{
    struct attempt *attempt = arg;

    budget_park(desk_budget_of(attempt->entry), &attempt->reservation, bytes);
}

/* All that an operation holds is reserved, as it grows. Of twice its estimate it is not ended. What
 * ends it is reserved by the next attempt before that begins, so that it waits rather than fails
 * again. A quarter of the budget, which it never gets so, is not waited for. */
int attempt_grow(void *arg, size_t bytes, struct error *error)
{
    struct attempt *attempt = arg;
    struct error problem = {0};
    int r = budget_grow(desk_budget_of(attempt->entry), &attempt->reservation, bytes,
                        2 * attempt->estimate, &problem);

    if (r >= 0)
        return 0;
    if (r == ERR_UNAVAILABLE)
        attempt->needed = bytes;
    return err_copy(error, &problem);
}

/* ---- Places of Previews ---- */

bool attempt_reserve_preview(struct attempt *attempt, const char *spec)
{
    bool has_place = desk_reserve_preview(attempt->entry, spec);

    free(attempt->to_preview);
    attempt->to_preview = has_place ? NULL : str_new(spec);
    return has_place;
}

bool attempt_waits_for_place(struct attempt *attempt)
{
    _cleanup_free_ char *spec = TAKE(attempt->to_preview);

    return spec && desk_is_listed(attempt->entry) && !attempt_reserve_preview(attempt, spec);
}

/* ---- Lifetime ---- */

static void apply_done(struct apply *apply)
{
    release_free(apply->rejected);
    release_revisions_done(&apply->revisions);
    approved_plan_unref(apply->approved);
    release_approval_done(&apply->approval);
    free(apply->approval_lost);
    *apply = (struct apply){0};
}

void attempt_empty(struct attempt *attempt)
{
    desk_end_try(attempt->entry);
    release_free(TAKE(attempt->release));
    run_done(&attempt->run);
    source_reading_drop(TAKE(attempt->sources));
    operation_free(TAKE(attempt->operation));
    apply_done(&attempt->apply);
    attempt->errand = NULL;
    attempt->is_exported = false;
    ledger_unref(TAKE(attempt->ledger));
    free(TAKE(attempt->superseded_by));
    spec_free(TAKE(attempt->spec));
    give_back(attempt);
    attempt->kind = ATTEMPT_NEW;
    attempt->knows_state = false;
    attempt->revision = 0;
    attempt->progress = (struct attempt_progress){0};
}

void attempt_end(struct attempt *attempt)
{
    attempt_empty(attempt);
    desk_note_read(attempt->entry, NULL);
    attempt->waits = false;
    attempt->wait_report_at = 0;
    give_back(attempt);
    attempt->needed = 0;
    budget_drop_ticket(desk_budget_of(attempt->entry), &attempt->reservation);
    free(TAKE(attempt->to_preview));
    attempt->evictions = 0;
    attempt->rests_until = 0;
}

struct attempt *attempt_enter(struct desk *desk, enum desk_kind kind, const char *key)
{
    struct attempt *fresh = NEW(struct attempt), *attempt = fresh;
    struct desk_entry *entry = desk_enter(desk, kind, key, &attempt);

    if (!entry || attempt != fresh) {
        free(fresh);
        return entry ? attempt : NULL;
    }
    attempt->entry = entry;
    attempt->reservation.key = desk_key(entry, &attempt->object);
    attempt->reservation.namespace_name = attempt->object.namespace_name;
    return attempt;
}

static void attempt_free(struct attempt *attempt)
{
    attempt_end(attempt);
    free(attempt);
}

void attempt_leave(struct attempt *attempt)
{
    struct desk_entry *entry = attempt->entry;
    bool stays = attempt->operation || attempt->sources || attempt->rests_until ||
                 attempt->reservation.ticket || attempt->needed || attempt->to_preview;

    if (!attempt->operation) {
        if (!attempt->sources)
            give_back(attempt);
        run_done(&attempt->run);
        ledger_unref(TAKE(attempt->ledger));
    }
    if (stays)
        return;
    attempt_free(attempt);
    desk_leave(entry);
}

void attempts_abandon(struct desk *desk)
{
    desk_end_all(desk, attempt_free);
}

/* ---- Its operation ---- */

static void on_change(void *arg)
{
    const struct attempt *attempt = arg;

    desk_wake(attempt->entry);
}

static int make_operation(struct attempt *attempt, const struct operation_config *config,
                          struct operation **ret, struct error *error)
{
    struct operation_config own = *config;

    own.on_change = on_change;
    own.on_park = on_park;
    own.reserve = attempt_grow;
    own.arg = attempt;
    desk_expect_landing(attempt->entry, &own);
    return operation_new(&own, ret, error);
}

int attempt_open(struct attempt *attempt, const struct operation_config *config,
                 const struct spec *spec, struct error *error)
{
    _cleanup_(operation_free_p) struct operation *operation = NULL;
    size_t approved = approved_plan_memory(config->approved);
    int r;

    if (!attempt_reserve(attempt, operation_estimate(spec, NULL) + approved))
        return 1;
    r = make_operation(attempt, config, &operation, error);
    if (r < 0)
        return r;
    if (!attempt_reserve(attempt, operation_estimate(spec, operation_ledger(operation)) + approved))
        return 1;
    attempt->needed = 0;
    attempt->operation = TAKE(operation);
    desk_set_operation(attempt->entry, attempt->operation);
    return 0;
}

bool attempt_is_outdated(struct attempt *attempt)
{
    return attempt->superseded_by || desk_is_outdated(attempt->entry);
}

char *attempt_outdated_by(struct attempt *attempt)
{
    return attempt->superseded_by ? str_new(attempt->superseded_by)
                                  : desk_outdated_by(attempt->entry);
}

/* ---- When it is tried again ---- */

/* At once if somebody asked for it, else as planned. A request that comes later puts the key into
 * the queue, where it waits until this reconcile is done. */
static struct reconcile_result unless_asked_for(struct attempt *attempt,
                                                struct reconcile_result planned)
{
    const struct reconcile_result at_once = {.kind = RECONCILE_AFTER, .priority = WORKQUEUE_CHANGE};

    return desk_is_asked_for(attempt->entry) ? at_once : planned;
}

void attempt_check_later(struct attempt *attempt, struct reconcile_result *ret)
{
    *ret =
        unless_asked_for(attempt, (struct reconcile_result){.kind = RECONCILE_AFTER,
                                                            .after = attempt->run.policy.interval});
}

void attempt_retry(struct attempt *attempt, const struct error *failure,
                   struct reconcile_result *ret)
{
    const struct run *run = &attempt->run;
    int64_t patience = conditions_may_heal(failure) ? run_patience(run) : 0;
    int64_t within = run_retry_within(run, failure);
    struct reconcile_result retry = {.kind = RECONCILE_RETRY,
                                     .after = run->policy.retry_interval,
                                     .most = within && (!patience || within < patience) ? within
                                                                                        : patience,
                                     .is_new_failure = !run_says_already(run, failure)};

    if (desk_has_seen_landing(attempt->entry)) /* what it waited for may be there */
        retry = (struct reconcile_result){.kind = RECONCILE_AFTER, .priority = WORKQUEUE_RETRY};
    *ret = unless_asked_for(attempt, retry);
}

/* ---- Eviction ---- */

bool attempt_is_chosen(struct attempt *attempt)
{
    return budget_is_chosen(desk_budget_of(attempt->entry), &attempt->reservation);
}

int64_t attempt_next_rest(const struct attempt *attempt)
{
    const struct clock_source *clock = desk_clock(attempt->entry);
    int64_t progressed_at = run_state_numbers(operation_ledger(attempt->operation)).progressed_at;
    int64_t left = progressed_at + attempt->run.policy.timeout - clock->now(clock);
    int64_t rest = EVICTED_FIRST << (attempt->evictions < 8 ? attempt->evictions : 8);

    if (rest > EVICTED_MOST)
        rest = EVICTED_MOST;
    if (left < 0) /* the operation would be out of time */
        left = 0;
    return left < rest ? left : rest;
}

/* What cannot be stored now is kept, and tried again, by the ledger. */
void attempt_evict(struct attempt *attempt)
{
    const struct clock_source *clock = desk_clock(attempt->entry);
    int64_t rest = attempt_next_rest(attempt);

    ledger_flush(operation_ledger(attempt->operation), NULL);
    attempt_empty(attempt);
    attempt->evictions++;
    attempt->rests_until = clock->monotonic(clock) + rest;
}

int64_t attempt_rests(struct attempt *attempt)
{
    const struct clock_source *clock = desk_clock(attempt->entry);
    int64_t left = attempt->rests_until - clock->monotonic(clock);

    if (attempt->rests_until && left > 0 && !attempt_is_outdated(attempt) &&
        !desk_is_asked_for(attempt->entry))
        return left;
    attempt->rests_until = 0;
    return 0;
}
