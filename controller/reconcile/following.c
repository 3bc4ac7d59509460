#include "controller/reconcile/following.h"

#include "controller/desk/following.h"
#include "controller/reconcile/inputs/source_watches.h"
#include "controller/reconcile/run/corrections.h"
#include "engine/base/str.h"
#include "runtimes/io/random.h"

/* A check of a Ready Spec that was followed before this process looked at it last. */
static enum runtime_look look_of(struct attempt *attempt)
{
    int64_t verify_at = desk_verify_at(attempt->entry);

    if (attempt->kind != ATTEMPT_RESYNC)
        return RUNTIME_LOOK_FIELDS;
    if (run_has_request(&attempt->run) || (verify_at && attempt_now(attempt) >= verify_at))
        return RUNTIME_LOOK_VALUES;
    if (!verify_at)
        return RUNTIME_LOOK_FIELDS;
    return desk_following_state(attempt->entry, NULL) == FOLLOWING_BROKEN ? RUNTIME_LOOK_VALUES
                                                                          : RUNTIME_LOOK_FOLLOWED;
}

void following_begin(struct attempt *attempt, struct operation_config *config)
{
    const struct reconcile_context *context = attempt->run.context;

    if (attempt->run.policy.drift == DRIFT_DISABLED) {
        desk_unfollow(attempt->entry);
        return;
    }
    attempt->apply.drift_wait = 0;
    attempt->apply.look = config->scope.look = look_of(attempt);
    config->followings = desk_follow(attempt->entry, context->runtimes, context->n_runtimes);
}

/* ---- Settling ---- */

/* What these name is read at each check. */
static bool reads_others(const struct run *run)
{
    const struct value *spec = value_get(run_source(run), "spec");

    return value_get(spec, "contextFrom") || value_get(spec, "secretStore");
}

/* All that the Spec has tells what others do to it. */
static bool is_all_followed(const struct attempt *attempt)
{
    const struct plan *plan = operation_get_plan(attempt->operation);

    if (!plan || reads_others(&attempt->run))
        return false;
    for (size_t i = 0; i < plan->n_changes; i++) {
        const struct plan_change *change = &plan->changes[i];
        const struct runtime *runtime = context_runtime(attempt->run.context, change->type);

        if (change->is_only_read || !runtime || !runtime->ops->follow)
            return false;
    }
    return true;
}

void following_note(struct attempt *attempt)
{
    struct run *run = &attempt->run;
    struct error why = {0};

    run->knows_drift = true;
    if (run->policy.drift == DRIFT_DISABLED || !attempt->operation)
        return;
    operation_settle_followings(attempt->operation);
    attempt->apply.is_followed = is_all_followed(attempt);
    free(TAKE(run->unfollowed));
    if (desk_following_state(attempt->entry, &why) == FOLLOWING_BROKEN)
        run->unfollowed = str_new(why.message);
}

/* When the values are verified next: at first somewhere within the interval, because a process that
 * begins has all Specs to settle at once. */
static int64_t next_verification(const struct attempt *attempt)
{
    int64_t interval = attempt->run.context->verify_interval;
    int64_t last = desk_verify_at(attempt->entry);

    if (last && attempt->apply.look != RUNTIME_LOOK_VALUES)
        return last;
    if (!last)
        return attempt_now(attempt) + interval / 4 + (int64_t)random_below((uint64_t)interval);
    return attempt_now(attempt) + interval - interval / 4 +
           (int64_t)random_below((uint64_t)interval / 2 + 1);
}

void following_settle(struct attempt *attempt, int64_t drift_wait)
{
    const struct run *run = &attempt->run;
    bool is_disabled = run->policy.drift == DRIFT_DISABLED;
    /* That a fight is over is for a check to see: nobody tells. */
    _cleanup_free_ char *fight =
        corrections_fight(run_corrections(run), run->policy.interval, context_now(run->context));
    const struct desk_rest rest = {.is_followed = attempt->apply.is_followed && !fight,
                                   .ignores_drift = is_disabled && !reads_others(run),
                                   .interval = run->policy.interval,
                                   .verify_at = is_disabled ? 0 : next_verification(attempt),
                                   .drift_wait = drift_wait};

    if (run->knows_drift)
        desk_set_rest(attempt->entry, &rest);
}

void following_listen(struct attempt *attempt)
{
    desk_listen(attempt->entry);
}

bool following_rests(const struct reconcile_context *context, const char *key,
                     struct reconcile_result *ret)
{
    /* Each change of what it is read from, besides the Spec itself, is told. */
    bool is_read_whole = source_watches_are_whole(context->source_watches, key) &&
                         source_watches_are_whole(context->secret_watches, key);
    int64_t after;

    if (!desk_is_at_rest(context->desk, key, is_read_whole, &after))
        return false;
    *ret = (struct reconcile_result){.kind = RECONCILE_AFTER, .after = after};
    return true;
}
