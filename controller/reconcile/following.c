#include "controller/reconcile/following.h"

#include "controller/desk/following.h"
#include "controller/reconcile/corrections.h"
#include "engine/base/str.h"
#include "runtimes/io/random.h"

static int64_t now(const struct attempt *attempt)
{
    const struct clock_source *clock = attempt->run.context->clock;

    return clock->monotonic(clock);
}

/* A check of a Ready Spec that was followed before this process looked at it last. */
static enum runtime_look look_of(struct attempt *attempt)
{
    int64_t verify_at = desk_verify_at(attempt->entry);

    if (attempt->kind != ATTEMPT_RESYNC)
        return RUNTIME_LOOK_FIELDS;
    if (run_has_request(&attempt->run) || (verify_at && now(attempt) >= verify_at))
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
    attempt->drift_wait = 0;
    attempt->look = config->scope.look = look_of(attempt);
    config->followings = desk_follow(attempt->entry, context->runtimes, context->n_runtimes);
}

void following_end(struct attempt *attempt)
{
    desk_unfollow(attempt->entry);
}

/* ---- Settling ---- */

static const struct runtime_ops *ops_of(const struct reconcile_context *context, const char *type)
{
    for (size_t i = 0; i < context->n_runtimes; i++)
        if (str_equal(context->runtimes[i]->ops->type, type))
            return context->runtimes[i]->ops;
    return NULL;
}

/* All that the Spec has tells what others do to it. */
static bool is_all_followed(const struct attempt *attempt)
{
    const struct plan *plan = operation_get_plan(attempt->operation);
    const struct value *spec = value_get(run_source(&attempt->run), "spec");

    /* What these name is read at each check. */
    if (!plan || value_get(spec, "contextFrom") || value_get(spec, "secretStore"))
        return false;
    for (size_t i = 0; i < plan->n_changes; i++) {
        const struct plan_change *change = &plan->changes[i];
        const struct runtime_ops *ops = ops_of(attempt->run.context, change->type);

        if (change->is_only_read || !ops || !ops->follow)
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
    attempt->is_followed = is_all_followed(attempt);
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

    if (last && attempt->look != RUNTIME_LOOK_VALUES)
        return last;
    if (!last)
        return now(attempt) + interval / 4 + (int64_t)random_below((uint64_t)interval);
    return now(attempt) + interval - interval / 4 +
           (int64_t)random_below((uint64_t)interval / 2 + 1);
}

void following_settle(struct attempt *attempt, int64_t drift_wait)
{
    const struct run *run = &attempt->run;
    bool is_disabled = run->policy.drift == DRIFT_DISABLED;
    /* That a fight is over is for a check to see: nobody tells. */
    _cleanup_free_ char *fight = corrections_fight(run_corrections(run), run->policy.interval,
                                                   run->context->clock->now(run->context->clock));
    const struct desk_rest rest = {.is_followed = attempt->is_followed && !fight,
                                   .interval = run->policy.interval,
                                   .verify_at = next_verification(attempt),
                                   .drift_wait = drift_wait};

    if (run->knows_drift && !is_disabled)
        desk_set_rest(attempt->entry, &rest);
}

bool following_rests(const struct reconcile_context *context, const char *key,
                     struct reconcile_result *ret)
{
    int64_t after;

    if (!desk_is_at_rest(context->desk, key, &after))
        return false;
    *ret = (struct reconcile_result){.kind = RECONCILE_AFTER, .after = after};
    return true;
}
