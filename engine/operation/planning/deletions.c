/* The guard of `maxDeletions`: an apply that would delete more than the Spec allows does nothing.
 */
#include "engine/operation/planning/planning.h"

#define NAMED_DELETIONS 20

/* What cannot be looked at now may be deleted when it is looked at again. What is replaced is made
 * again: `force` allows that, and it does not count. */
static bool may_delete(const struct plan_change *change)
{
    return !change->resource && !change->is_only_read && change->action != PLAN_FORGET;
}

int operation_guard_deletions(const struct operation *operation, struct error *error)
{
    const struct plan *plan = operation->plan;
    int64_t most = operation->spec ? operation->spec->policy.max_deletions : -1;
    _cleanup_buf_ struct buf names = BUF_INIT;
    int64_t count = 0;

    for (size_t i = plan->n_resources; i < plan->n_changes; i++) {
        if (!may_delete(&plan->changes[i]) || count++ >= NAMED_DELETIONS)
            continue;
        buf_add_str(&names, count > 1 ? ", " : "");
        operation_show_id(&names, plan->changes[i].id);
    }
    if (most < 0 || count <= most)
        return 0;
    if (count > NAMED_DELETIONS)
        buf_printf(&names, " and %lld more", (long long)(count - NAMED_DELETIONS));
    return err_set(
        error, ERR_CONFLICT, "DeletionGuardTripped",
        "nothing is done: it would delete %lld, and maxDeletions is %lld. If they are to "
        "go, set maxDeletions to %lld, or remove it; else put them back into the Spec: %s",
        (long long)count, (long long)most, (long long)count, names.data);
}
