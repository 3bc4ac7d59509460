#include "engine/plan/plan.h"

#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/plan/digest.h"

struct plan *plan_new(size_t n_resources, size_t n_leaving)
{
    struct plan *plan = NEW(struct plan);

    arena_init(&plan->arena);
    plan->changes = NEW_ARRAY(struct plan_change, n_resources + n_leaving + 1);
    plan->n_changes = n_resources + n_leaving;
    plan->n_resources = n_resources;
    return plan;
}

void plan_step_free(struct runtime_step *step)
{
    if (step)
        step->ops->step_free(step);
}

void plan_step_compared(struct runtime_step *step)
{
    if (!step)
        return;
    value_assign(&step->before, NULL);
    value_assign(&step->after, NULL);
    value_assign(&step->shown_before, NULL);
    value_assign(&step->shown_after, NULL);
    value_assign(&step->result, NULL);
}

static void change_clear(struct plan_change *change)
{
    plan_step_free(TAKE(change->step));
    plan_step_free(TAKE(change->removal));
    change_digest_free(TAKE(change->digest));
    if (change->diff)
        diff_done(change->diff);
    free(TAKE(change->diff));
    free(TAKE(change->error));
    value_assign(&change->warnings, NULL);
    value_assign(&change->secrets, NULL);
    change->reason = NULL;
}

void plan_free(struct plan *plan)
{
    if (!plan)
        return;
    for (size_t i = 0; i < plan->n_changes; i++) {
        change_clear(&plan->changes[i]);
        record_unref(plan->changes[i].record);
    }
    free(plan->changes);
    arena_done(&plan->arena);
    free(plan);
}

void plan_summarise(const struct plan *plan, struct plan_summary *ret)
{
    struct plan_summary sum = {0};

    for (size_t i = 0; i < plan->n_changes; i++) {
        enum plan_action action = plan->changes[i].action;

        sum.create += action == PLAN_CREATE;
        sum.adopt += action == PLAN_ADOPT;
        sum.update += action == PLAN_UPDATE;
        sum.replace += action == PLAN_REPLACE;
        sum.delete += action == PLAN_DELETE;
        sum.unchanged += action == PLAN_UNCHANGED;
        sum.read += action == PLAN_READ;
        sum.deferred += action == PLAN_DEFERRED;
        sum.unknown += action == PLAN_UNKNOWN;
        sum.moved += plan->changes[i].moved_from && !plan->changes[i].error;
        sum.stay += action == PLAN_FORGET && plan->changes[i].stays;
    }
    *ret = sum;
}

bool plan_is_empty(const struct plan *plan)
{
    for (size_t i = 0; i < plan->n_changes; i++) {
        const struct plan_change *change = &plan->changes[i];

        if (change->error || (change->step && change->step->is_unrecorded) ||
            (change->is_only_read && !change->record) || change->moved_from ||
            (change->action != PLAN_UNCHANGED && change->action != PLAN_NONE))
            return false;
    }
    return true;
}
