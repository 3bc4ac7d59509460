/* Taking away what State names: prune and destroy share it. */
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/operation/private.h"

/* ms between two looks at an object that is going; watches wake earlier. */
#define FIRST_LOOK 100
#define LAST_LOOK  5000

struct removing {
    struct operation *operation;
    struct removal *removals;
    struct relations
        relations; /* of these; once the graph is made: what is last, and what it is in */
};

enum plan_action removal_action(const struct operation *operation, const struct record *record,
                                const struct observation *seen)
{
    bool inherited = operation->inherited;
    bool same = record->uid && str_equal(record->uid, seen->uid);
    enum plan_action action = plan_decide(true, false, seen->presence);

    if (action != PLAN_DELETE)
        return action;
    /* Only what is certainly ours: the object that was applied, or, where its uid is not known
     * (an intent) or State came from elsewhere, one that carries our label. */
    if (seen->owner == OWNER_SELF)
        return inherited && !same ? PLAN_FORGET : PLAN_DELETE;
    return same && !inherited && seen->owner != OWNER_SPEC ? PLAN_DELETE : PLAN_FORGET;
}

/* What gives us our rights goes last, when it may have been in something that is gone by then: so
 * it is gone, too, and we may have no right to look any more. Both are dropped in one save. */
static void drop_content(struct removing *removing, size_t index)
{
    const struct relations *relations = &removing->relations;

    if (removing->removals[index].seen.presence != PRESENCE_ABSENT)
        return;
    for (size_t i = 0; i < relations->n_items; i++) {
        struct removal *inner = &removing->removals[relations->items[i].node];

        if (relations->items[i].other == index && inner->record) {
            state_drop(removing->operation->state, inner->result->id);
            inner->record = NULL;
        }
    }
}

static void set_state_dropped(struct removing *removing, size_t index)
{
    struct removal *removal = &removing->removals[index];

    pthread_mutex_lock(&removing->operation->lock);
    if (removal->record) {
        drop_content(removing, index);
        state_drop(removing->operation->state, removal->result->id);
        removal->record = NULL;
    }
    operation_save_soon(removing->operation);
    pthread_mutex_unlock(&removing->operation->lock);
}

static struct runtime_target target_of(const struct removal *removal)
{
    return (struct runtime_target){.id = removal->record->id,
                                   .attributes = removal->record->attributes,
                                   .uid = removal->seen.uid};
}

/* 1: it is gone; 0: going. */
static int request(struct removal *removal, const struct runtime_binding *binding,
                   struct error *error)
{
    struct runtime_target target = target_of(removal);
    int r = 0;

    if (removal->seen.terminating)
        return 0;
    if (binding->ops->may_delete)
        r = binding->ops->may_delete(binding->session, &target, error);
    if (r < 0)
        return r;
    r = binding->ops->remove(binding->session, &target, error);
    return r < 0 ? err_wrap(error, "deleting") : r;
}

static int look_again(struct removal *removal, const struct runtime_binding *binding,
                      struct error *error)
{
    struct runtime_target target = target_of(removal);
    struct observation seen = {0};
    int r = binding->ops->read(binding->session, &target, &seen, error);

    if (r < 0) {
        observation_done(&seen);
        return r;
    }
    observation_done(&removal->seen);
    removal->seen = seen;
    return 0;
}

/* It is in the Spec's namespace, which is being deleted: it goes with that. */
static bool goes_with_namespace(const struct removing *removing, const struct record *record)
{
    const struct runtime_scope *scope = &removing->operation->config.scope;
    struct runtime_binding binding;

    return scope->spec_namespace_terminating &&
           operation_bind(removing->operation, record->type, &binding, NULL) >= 0 &&
           binding.ops->is_in_namespace(binding.session, record->attributes, scope->spec_namespace);
}

/* 1: gone, or not ours; 0: going; negative: failed. */
static int remove_step(struct removing *removing, struct removal *removal, unsigned count,
                       struct error *error)
{
    struct runtime_binding binding;
    enum plan_action action;
    int r;

    if (!removal->record || goes_with_namespace(removing, removal->record))
        return 1;
    r = operation_may_change(removing->operation, error);
    if (r >= 0)
        r = operation_bind(removing->operation, removal->record->type, &binding, error);
    if (r >= 0 && (count || removal->seen.presence == PRESENCE_UNKNOWN))
        r = look_again(removal, &binding, error);
    if (r < 0)
        return r;
    action = removal_action(removing->operation, removal->record, &removal->seen);
    removal->result->action = action == PLAN_FORGET && removal->requested ? PLAN_DELETE : action;
    if (action != PLAN_DELETE)
        return 1;
    if (!removal->requested) {
        r = request(removal, &binding, error);
        if (r < 0)
            return r;
        removal->requested = true;
        return r;
    }
    return 0;
}

static enum walk_verdict visit(void *arg, struct walk_visit *visit)
{
    struct removing *removing = arg;
    struct removal *removal = &removing->removals[visit->node];
    struct error error = {0};
    int r;

    operation_report(removing->operation, removal->result);
    r = remove_step(removing, removal, visit->count, &error);
    if (r == 0) {
        visit->retry_after = FIRST_LOOK << (visit->count < 6 ? visit->count : 6);
        if (visit->retry_after > LAST_LOOK)
            visit->retry_after = LAST_LOOK;
        err_set(&removal->result->error, ERR_TIMEOUT, "PruneFailed",
                "still being deleted: a finalizer of it, or an object that depends on it, is in "
                "the way");
        operation_report_pending(removing->operation, removal->result);
        return WALK_PARKED;
    }
    if (r < 0) {
        err_copy(&removal->result->error, &error);
        removal->result->status = RESULT_FAILED;
        operation_report(removing->operation, removal->result);
        return WALK_FAILED;
    }
    set_state_dropped(removing, visit->node);
    err_clear(&removal->result->error);
    removal->result->status = RESULT_SUCCEEDED;
    operation_report(removing->operation, removal->result);
    return WALK_DONE;
}

static void on_end(void *arg, uint32_t node, enum walk_outcome outcome, uint32_t cause)
{
    struct removing *removing = arg;
    _cleanup_free_ char *why = NULL;

    if (outcome == WALK_OUTCOME_SKIPPED)
        why = str_printf("%s, which depends on it, is still there",
                         removing->removals[cause].result->id);
    operation_end(removing->operation, removing->removals[node].result, outcome, why);
}

static void on_wait(void *arg, bool waits)
{
    struct removing *removing = arg;

    operation_wait(removing->operation, waits);
}

static const char **dependency_ids(struct arena *arena, const struct record *record)
{
    size_t n = value_count(record->dependencies);
    const char **ids = ARENA_ARRAY(arena, const char *, n + 1);

    for (size_t i = 0; i < n; i++)
        ids[i] = value_string(value_at(record->dependencies, i));
    return ids;
}

static int relate(struct removing *removing, size_t n, struct error *error)
{
    _cleanup_free_ const struct record **records = NEW_ARRAY(const struct record *, n + 1);

    for (size_t i = 0; i < n; i++)
        records[i] = removing->removals[i].record;
    return operation_relate_records(removing->operation, records, n, &removing->relations, error);
}

static int make_graph(const struct removing *removing, size_t n, struct graph **ret,
                      struct error *error)
{
    struct arena arena = ARENA_INIT;
    struct graph_record *records = ARENA_ARRAY(&arena, struct graph_record, n + 1);
    int r;

    for (size_t i = 0; i < n; i++) {
        const struct record *record = removing->removals[i].record;

        records[i] = (struct graph_record){record->id, dependency_ids(&arena, record),
                                           value_count(record->dependencies)};
    }
    r = graph_from_records(records, n, &removing->relations, ret, error);
    arena_done(&arena);
    return r;
}

/* Of a large State there are few, so that each removal can look through them. */
static void keep_what_is_last(struct relations *relations)
{
    size_t kept = 0;

    for (size_t i = 0; i < relations->n_items; i++)
        if (relations->items[i].kind == RELATION_IN && relations->last[relations->items[i].node])
            relations->items[kept++] = relations->items[i];
    relations->n_items = kept;
}

static void walk_removals(struct removing *removing, const struct graph *graph)
{
    const struct operation *operation = removing->operation;
    struct walk_config config = {
        .graph = graph,
        .reverse = true,
        .parallelism = operation->config.parallelism,
        .clock = operation->config.clock,
        .cancel = operation->config.cancel,
        .deadline = operation->deadline,
        .visit = visit,
        .on_end = on_end,
        .on_wait = on_wait,
        .arg = removing,
    };
    _cleanup_(walk_free_p) struct walk *walk = walk_new(&config);
    struct walk_counts counts;

    walk_run(walk, &counts);
}

int operation_remove(struct operation *operation, struct removal *removals, size_t n,
                     struct error *error)
{
    struct removing removing = {operation, removals, RELATIONS_INIT};
    _cleanup_(graph_free_p) struct graph *graph = NULL;
    int r = relate(&removing, n, error);

    if (r >= 0)
        r = make_graph(&removing, n, &graph, error);
    if (r >= 0)
        r = operation_save(operation, error); /* also proves that nobody else is at work */
    if (r >= 0) {
        keep_what_is_last(&removing.relations);
        walk_removals(&removing, graph);
    }
    relations_done(&removing.relations);
    return r < 0 ? r : 0;
}
