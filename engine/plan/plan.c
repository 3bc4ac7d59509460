#include "engine/plan/plan.h"

#include "engine/base/mem.h"
#include "engine/base/str.h"

struct plan *plan_new(size_t n_changes)
{
    struct plan *plan = NEW(struct plan);

    arena_init(&plan->arena);
    plan->changes = NEW_ARRAY(struct plan_change, n_changes + 1);
    plan->n_changes = n_changes;
    return plan;
}

void plan_free(struct plan *plan)
{
    if (!plan)
        return;
    for (size_t i = 0; i < plan->n_changes; i++) {
        value_unref(plan->changes[i].from);
        value_unref(plan->changes[i].to);
        diff_done(&plan->changes[i].diff);
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
        sum.unknown += action == PLAN_UNKNOWN;
    }
    *ret = sum;
}

bool plan_is_empty(const struct plan *plan)
{
    for (size_t i = 0; i < plan->n_changes; i++)
        if (plan->changes[i].error.code ||
            (plan->changes[i].action != PLAN_UNCHANGED && plan->changes[i].action != PLAN_NONE))
            return false;
    return true;
}
