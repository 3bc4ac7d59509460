/* The walk that makes a plan. */
#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"
#include "engine/base/value_mark.h"
#include "engine/operation/private.h"

#define LOOK_AT_CALL 50 /* ms, between two looks whether a short call has landed */

/* ---- Hints ---- */

/* Hints that are missing cost a request each, later: so an error is none here. */
void operation_prefetch(struct operation *operation, struct binding *binding)
{
    const struct plan *plan = operation->plan;
    _cleanup_free_ struct runtime_target *targets =
        NEW_ARRAY(struct runtime_target, plan->n_changes + 1);
    _cleanup_free_ struct node **members = NEW_ARRAY(struct node *, plan->n_changes + 1);
    _cleanup_free_ struct observation *hints = NEW_ARRAY(struct observation, plan->n_changes + 1);
    struct runtime_call call = operation_call(operation);
    struct runtime_session *session;
    size_t n = 0;

    for (size_t i = 0; i < plan->n_changes; i++)
        if (operation->nodes[i].binding == binding) {
            members[n] = &operation->nodes[i];
            targets[n++] = operation_target(&operation->nodes[i], plan->changes[i].record);
        }
    if (n && binding->runtime->ops->prefetch &&
        operation_session(operation, members[0], &session, NULL) >= 0)
        binding->runtime->ops->prefetch(session, targets, n, &call, hints, NULL);
    for (size_t i = 0; i < n; i++) {
        members[i]->hint = hints[i];
        operation_target_done(&targets[i]);
    }
}

/* ---- The walk ---- */

static const char *name_of(void *arg, uint32_t node)
{
    const struct plan *plan = arg;

    return plan->changes[node].id;
}

static uint16_t group_of(const struct operation *operation, const struct node *node)
{
    return node->binding ? (uint16_t)(node->binding - operation->bindings) : 0;
}

/* steps NULL: the graph's nodes are the plan's changes. */
static void begin_walk(struct operation *operation, const struct graph *graph,
                       const struct steps *steps)
{
    struct walk_config config = {.graph = graph,
                                 .parallelism = operation->config.parallelism,
                                 .n_groups = (uint16_t)operation->config.n_runtimes,
                                 .arg = operation};
    uint16_t *groups = NEW_ARRAY(uint16_t, (size_t)graph->n_nodes + 1);
    struct walk *walk;

    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        uint32_t change = steps ? steps->nodes[i].change : i;

        if (change != STEP_NONE)
            groups[i] = group_of(operation, &operation->nodes[change]);
    }
    config.groups = groups;
    config.on_end = steps ? operation_on_end : NULL;
    walk = walk_new(&config);
    pthread_mutex_lock(&operation->lock);
    walk_free(operation->walk);
    free(operation->groups);
    operation->walk = walk;
    operation->groups = groups;
    pthread_mutex_unlock(&operation->lock);
}

int operation_begin_planning(struct operation *operation, struct error *error)
{
    uint32_t n = (uint32_t)operation->plan->n_changes;
    _cleanup_free_ uint16_t *ranks = NEW_ARRAY(uint16_t, (size_t)n + 1);
    int r;

    for (uint32_t i = 0; i < n; i++)
        ranks[i] = operation->step_changes[i].rank;
    r = graph_new(n, operation->planned.items, operation->planned.count, ranks, name_of,
                  operation->plan, &operation->graph, error);
    if (r >= 0)
        begin_walk(operation, operation->graph, NULL);
    return r;
}

void operation_begin_steps(struct operation *operation)
{
    begin_walk(operation, operation->steps->graph, operation->steps);
}

/* ---- One visit ---- */

/* Where a secret went in, it is secret in what comes out. step: the one that tells of the change as
 * a whole. */
static void show_difference(const struct operation *operation, struct plan_change *change,
                            const struct runtime_step *step)
{
    const struct record *record = change->record;
    _cleanup_value_ const struct value *before =
        value_mark_like(step->before, record ? record->attributes : NULL);
    _cleanup_value_ const struct value *after = value_mark_like(step->after, step->attributes);
    bool is_shown = change->action != PLAN_UNCHANGED && change->action != PLAN_DELETE &&
                    (step->before || operation->config.scope.thorough);

    if (!is_shown)
        return;
    change->diff = NEW(struct diff);
    diff_values(before, after, change->diff);
}

static void take(struct operation *operation, struct plan_change *change, struct planned *planned)
{
    const struct runtime_step *telling = planned->answer ? planned->answer : planned->step;

    change->action = planned->action;
    change->create_first = planned->create_first;
    change->cannot_create_first = planned->cannot_create_first;
    change->has_unknown = planned->has_unknown;
    if (telling && telling->reason)
        change->reason = operation_text(operation, "%s", telling->reason);
    if (telling)
        show_difference(operation, change, telling);
    change->step = TAKE(planned->step);
    change->removal = TAKE(planned->removal);
    planned_done(planned);
}

/* What State has may be about to change by a call that an earlier operation made. 0: there is none,
 * or it takes long, which defers the change; 1: it is waited for. */
static int wait_for_call(struct operation *operation, struct plan_change *change,
                         struct walk_visit *visit)
{
    int64_t since = calls_since(ledger_calls(operation->ledger), change->id);
    int64_t took = since ? operation_now(operation) - since : 0;

    if (!since)
        return 0;
    if (took < EXECUTOR_LONG_RUN) {
        visit->retry_after = LOOK_AT_CALL;
        return 1;
    }
    change->action = PLAN_DEFERRED;
    change->reason = operation_text(operation,
                                    "a change of it is under way, for %lld s now: the rest is done "
                                    "without it",
                                    (long long)(took / 1000));
    return 0;
}

static bool is_before(const struct operation *operation, int64_t until)
{
    return operation->config.clock->now(operation->config.clock) < until;
}

/* A create was begun, and its outcome never told. While it may be under way, nothing is done. */
static bool may_still_be_made(struct operation *operation, struct plan_change *change)
{
    if (!operation_is_in_flight(operation, change->record))
        return false;
    change->action = PLAN_DEFERRED;
    change->reason = "its creation was begun before a restart, and may still take effect";
    return true;
}

/* The answer to its creation was lost, and it is not there: not forgotten before it cannot come any
 * more. */
static void keep_doubtful(struct operation *operation, struct plan_change *change)
{
    const struct record *record = change->record;

    if (change->resource || change->action != PLAN_FORGET || !record ||
        record->status != RECORD_INTENT || !is_before(operation, record->call.until))
        return;
    change->action = PLAN_DEFERRED;
    change->reason = "the answer to its creation was lost, and it may still appear";
}

/* A call of an earlier operation may have landed since the changes were listed, or come to nothing.
 * What has another type now is another change's. */
static void refresh_record(struct operation *operation, struct plan_change *change)
{
    const struct record *now = ledger_get(operation->ledger, change->id, change->deposed);

    if (now && !str_equal(now->type, change->type)) {
        record_unref(now);
        return;
    }
    record_unref(change->record);
    change->record = now;
}

enum walk_verdict operation_plan_visit(struct operation *operation, struct walk_visit *visit)
{
    struct plan_change *change = &operation->plan->changes[visit->node];
    struct node *node = &operation->nodes[visit->node];
    struct planned planned = {0};
    struct error error = {0};

    if (wait_for_call(operation, change, visit))
        return WALK_PARKED;
    refresh_record(operation, change);
    if (change->action == PLAN_DEFERRED || may_still_be_made(operation, change))
        return WALK_DONE;
    /* A problem of one resource is its own: all others are planned, too. */
    if (operation_settle_doubt(operation, node, &change->record, &error) < 0 ||
        operation_plan_one(operation, node, change->record, false, &planned, &error) < 0)
        change->error = err_new(&error);
    if (change->error && change->action == PLAN_NONE)
        change->action = PLAN_UNKNOWN;
    else
        take(operation, change, &planned);
    planned_done(&planned);
    keep_doubtful(operation, change);
    observation_done(&node->hint); /* of no use any more */
    return WALK_DONE;
}

/* ---- When all are planned ---- */

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

static void guard_content(struct operation *operation)
{
    for (size_t i = 0; i < operation->plan->n_changes; i++) {
        struct plan_change *change = &operation->plan->changes[i];
        struct error error = {0};

        if (change->action == PLAN_DELETE && !change->error &&
            operation_guard_content(&operation->nodes[i], &error) < 0)
            change->error = err_new(&error);
    }
}

/* An object that goes on under another id (its API version changed, say) is not deleted as the old
 * one. */
static void keep_renamed(struct operation *operation)
{
    struct plan *plan = operation->plan;
    struct strmap uids = STRMAP_INIT;

    for (size_t i = 0; i < plan->n_changes; i++) {
        const struct plan_change *change = &plan->changes[i];

        if (change->resource && change->step && change->step->uid)
            strmap_put(&uids, change->step->uid, plan);
    }
    for (size_t i = plan->n_resources; i < plan->n_changes && uids.count; i++) {
        struct plan_change *change = &plan->changes[i];

        if (change->action == PLAN_DELETE && change->step->uid &&
            strmap_get(&uids, change->step->uid))
            change->action = PLAN_FORGET;
    }
    strmap_done(&uids);
}

static const char *step_name(void *arg, uint32_t change)
{
    const struct plan *plan = arg;

    return plan->changes[change].id;
}

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
                                .name = step_name,
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
    edges_done(&operation->planned); /* the steps have them now */
    edges_done(&operation->recorded);
    return r;
}

/* Where time ran out, some changes were not looked at. */
static int check_whole(struct operation *operation, struct error *error)
{
    struct walk_counts counts;

    pthread_mutex_lock(&operation->lock);
    walk_counts(operation->walk, &counts);
    pthread_mutex_unlock(&operation->lock);
    if (!counts.cancelled && !counts.timed_out)
        return 0;
    return err_set(error, ERR_TIMEOUT, "Timeout", "planning did not come to its end: out of time");
}

int operation_conclude_plan(struct operation *operation, struct error *error)
{
    int r = check_whole(operation, error);

    if (r < 0)
        return r;
    keep_renamed(operation);
    guard_content(operation);
    return make_steps(operation, error);
}
