/* Decisions that depend on all changes, made when every change is planned. */
#include <stdlib.h>

#include "engine/base/strmap.h"
#include "engine/operation/planning/doubt.h"
#include "engine/operation/planning/planning.h"

/* ---- Content, and objects with another id ---- */

int operation_guard_content(const struct node *node, struct error *error)
{
    const struct plan_change *change = operation_change(node);

    if (change->resource || !node->content)
        return 0;
    return err_set(
        error, ERR_CONFLICT, "DeletionGuardTripped",
        "it left the Spec, which still names \"%s\", and that would go with it: take both "
        "out of the Spec, or none",
        node->content->id);
}

static void guard_contents(struct operation *operation)
{
    for (size_t i = 0; i < operation->plan->n_changes; i++) {
        struct plan_change *change = &operation->plan->changes[i];
        struct error error = {0};

        if (change->action == PLAN_DELETE && !change->error &&
            operation_guard_content(&operation->nodes[i], &error) < 0)
            change->error = err_new(&error);
    }
}

static const char *live_uid(const struct plan_change *change)
{
    if (!change->resource)
        return NULL;
    return change->step ? change->step->uid : change->is_settled ? change->record->uid : NULL;
}

/* An object may go on under another id, for example because its API version changed. Then the old
 * id is forgotten, and the object is not deleted. */
static void keep_renamed(struct operation *operation)
{
    struct plan *plan = operation->plan;
    _cleanup_(strmap_done) struct strmap uids = STRMAP_INIT;

    for (size_t i = 0; i < plan->n_changes; i++) {
        const char *uid = live_uid(&plan->changes[i]);

        if (uid)
            strmap_put(&uids, uid, plan);
    }
    for (size_t i = plan->n_resources; i < plan->n_changes && uids.count; i++) {
        struct plan_change *change = &plan->changes[i];

        if (change->action == PLAN_DELETE && change->step->uid &&
            strmap_get(&uids, change->step->uid)) {
            change->action = PLAN_FORGET;
            change->stays = true;
            change->reason = "it stays: another resource of the Spec names the same object";
        }
    }
}

/* ---- The steps ---- */

static void edges_done(struct edges *edges)
{
    free(edges->items);
    *edges = (struct edges){0};
}

static int make_steps(struct operation *operation, struct error *error)
{
    struct plan *plan = operation->plan;
    struct steps_input input = {.changes = operation->step_changes,
                                .n_changes = (uint32_t)plan->n_changes,
                                .planned = operation->planned.items,
                                .n_planned = operation->planned.count,
                                .recorded = operation->recorded.items,
                                .n_recorded = operation->recorded.count,
                                .name = operation_change_name,
                                .arg = plan};
    int r;

    for (size_t i = 0; i < plan->n_changes; i++) {
        struct step_change *step = &operation->step_changes[i];

        step->applies = plan->changes[i].resource != NULL;
        step->deletes = !step->applies || plan->changes[i].action == PLAN_REPLACE;
        step->create_first = plan->changes[i].create_first;
        step->cannot_create_first = plan->changes[i].cannot_create_first;
        step->has_unknown = plan->changes[i].has_unknown;
    }
    r = steps_new(&input, &operation->steps, error);
    for (size_t i = 0; r >= 0 && i < plan->n_changes; i++)
        plan->changes[i].create_first = operation->step_changes[i].create_first;
    return r;
}

/* ---- The whole ---- */

static int describe_timeout(const struct operation *operation, struct error *error)
{
    const struct plan_change *awaited = NULL; /* its creation is */
    int64_t left;

    for (size_t i = 0; operation->config.for_approval && i < operation->plan->n_changes; i++)
        if (!awaited && operation_late_create(operation, operation->plan->changes[i].record))
            awaited = &operation->plan->changes[i];
    if (!awaited)
        return err_set(error, ERR_TIMEOUT, "Timeout",
                       "planning did not come to its end: out of time");
    left = awaited->record->call.until - operation_wall_clock(operation);
    return err_set(error, ERR_TIMEOUT, "Timeout",
                   "planning did not come to its end: a request to create %s was not answered, and "
                   "may still be carried out within %lld s",
                   awaited->id, (long long)(left + 999) / 1000);
}

/* If planning ran out of time or memory, some changes were not looked at. */
static int check_whole(struct operation *operation, struct error *error)
{
    struct walk_counts counts;
    int r;

    pthread_mutex_lock(&operation->lock);
    walk_counts(operation->walk, &counts);
    r = operation->exceeded.code ? err_copy(error, &operation->exceeded) : 0;
    pthread_mutex_unlock(&operation->lock);
    if (r < 0)
        return r;
    return counts.cancelled || counts.timed_out ? describe_timeout(operation, error) : 0;
}

int operation_conclude_plan(struct operation *operation, struct error *error)
{
    int r = check_whole(operation, error);

    if (r < 0)
        return r;
    keep_renamed(operation);
    guard_contents(operation);
    operation_take_approved(operation);
    r = make_steps(operation, error);
    if (r >= 0)
        r = operation_check_approved(operation, error);
    if (r >= 0 && operation_guard_deletions(operation, &operation->guarded) < 0)
        r = err_copy(error, &operation->guarded);
    edges_done(&operation->planned); /* the steps have them now */
    edges_done(&operation->recorded);
    return r;
}
