/* Carrying a plan out: intents, the walk, results into State, then prune. */
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/operation/private.h"

/* ms between two looks at an object that is not ready yet; watches wake earlier. */
#define FIRST_LOOK 250
#define LAST_LOOK  5000

/* How often an object that changes meanwhile is tried to be taken over. */
#define MAX_TAKES 5

struct applying {
    struct operation *operation;
    const struct spec *spec;
    const struct plan *plan;
    struct operation_result *results;
    struct walk *walk;
    bool verify;
    struct waiting *waiting; /* watches that were begun; under the operation's lock */
};

/* A watch over the resources of one kind in one namespace, begun when the first of them has
 * to be waited for. */
struct waiting {
    struct waiting *next;
    struct applying *applying;
    struct object_ref group;
    uint32_t *nodes;
    struct runtime_target *targets;
    size_t count;
    struct runtime_binding binding;
    struct runtime_watch *watch;
};

/* ---- Waking by watches ---- */

static bool is_in_group(const struct resource *resource, const struct object_ref *group)
{
    struct object_ref ref = object_ref_of(resource->attributes);

    return str_equal(ref.kind, group->kind) && str_equal(ref.api_version, group->api_version) &&
           str_equal(ref.namespace_name, group->namespace_name);
}

static void on_change(void *arg, size_t target)
{
    struct waiting *waiting = arg;

    walk_wake(waiting->applying->walk, waiting->nodes[target]);
}

static struct waiting *waiting_new(struct applying *applying, const struct resource *resource)
{
    const struct spec *spec = applying->spec;
    struct waiting *waiting = NEW(struct waiting);

    waiting->applying = applying;
    waiting->group = object_ref_of(resource->attributes);
    waiting->nodes = NEW_ARRAY(uint32_t, spec->n_resources);
    waiting->targets = NEW_ARRAY(struct runtime_target, spec->n_resources);
    for (size_t i = 0; i < spec->n_resources; i++)
        if (is_in_group(&spec->resources[i], &waiting->group)) {
            waiting->nodes[waiting->count] = (uint32_t)i;
            waiting->targets[waiting->count++] = (struct runtime_target){
                .id = spec->resources[i].id, .attributes = spec->resources[i].attributes};
        }
    return waiting;
}

/* Waiting works without a watch too, by looking now and then: so an error is no failure. */
static void watch_group(struct applying *applying, const struct runtime_binding *binding,
                        const struct resource *resource)
{
    struct waiting *waiting, *begun = NULL;

    pthread_mutex_lock(&applying->operation->lock);
    for (waiting = applying->waiting; waiting; waiting = waiting->next)
        if (is_in_group(resource, &waiting->group))
            break;
    if (!waiting) {
        begun = waiting_new(applying, resource);
        begun->binding = *binding;
        begun->next = applying->waiting;
        applying->waiting = begun;
    }
    pthread_mutex_unlock(&applying->operation->lock);
    /* Without the lock: hints may come at once, and take the walk's. */
    if (begun)
        binding->ops->watch(binding->session, begun->targets, begun->count, on_change, begun,
                            &begun->watch, NULL);
}

static void stop_watching(struct applying *applying)
{
    while (applying->waiting) {
        struct waiting *waiting = applying->waiting;

        applying->waiting = waiting->next;
        if (waiting->watch)
            waiting->binding.ops->unwatch(waiting->binding.session, waiting->watch);
        free(waiting->nodes);
        free(waiting->targets);
        free(waiting);
    }
}

/* ---- One resource ---- */

static void record_content(struct applying *applying, uint32_t node, struct record *record,
                           const struct value *attributes)
{
    _cleanup_value_ const struct value *dependencies =
        operation_dependencies(applying->operation, applying->spec, node);

    value_assign(&record->attributes, attributes);
    value_assign(&record->extensions, applying->spec->resources[node].extensions);
    value_assign(&record->dependencies, dependencies);
}

static void record_result(struct applying *applying, uint32_t node,
                          const struct runtime_binding *binding, const struct value *attributes,
                          const struct observation *now)
{
    struct operation *operation = applying->operation;
    const struct resource *resource = &applying->spec->resources[node];
    _cleanup_free_ char *digest = attributes_digest(attributes);
    struct record *record;

    pthread_mutex_lock(&operation->lock);
    record = state_record(operation->state, resource->id, resource->type);
    record_content(applying, node, record, attributes);
    record->status = RECORD_APPLIED;
    record_set_str(&record->uid, now->uid);
    record_set_str(&record->digest, digest);
    record_set_str(&record->footprint, now->footprint);
    operation_save_soon(operation);
    pthread_mutex_unlock(&operation->lock);
    operation_set_live(operation, binding->ops, resource, &operation->nodes[node], now->object);
}

static char *recorded_uid(struct applying *applying, const char *id)
{
    struct operation *operation = applying->operation;
    const struct record *record;
    char *uid;

    pthread_mutex_lock(&operation->lock);
    record = state_find(operation->state, id);
    uid = str_new(record ? record->uid : NULL);
    pthread_mutex_unlock(&operation->lock);
    return uid;
}

/* What is not ours yet is taken only as it was seen, so that of two who want it one gets it. */
static int take(const struct runtime_binding *binding, const struct runtime_target *target,
                const struct observation *seen, struct observation *ret, struct error *error)
{
    enum apply_mode mode = seen->presence == PRESENCE_PRESENT ? APPLY_TAKE : APPLY_CREATE;
    struct runtime_target as_seen = *target;

    if (seen->owner != OWNER_SELF)
        as_seen.version = seen->version;
    return binding->ops->apply(binding->session, &as_seen, mode, ret, error);
}

/* Whose it is may have changed since it was planned, minutes ago perhaps: it is looked at again. */
static int look_and_take(struct applying *applying, const struct runtime_binding *binding,
                         const struct runtime_target *target, struct observation *ret,
                         struct error *error)
{
    _cleanup_free_ char *uid = recorded_uid(applying, target->id);

    for (unsigned takes = 1;; takes++) {
        struct observation seen = {0};
        bool is_free;
        int r = binding->ops->read(binding->session, target, &seen, error);

        if (r >= 0)
            r = operation_check_owner(uid, &seen, error);
        is_free = r >= 0;
        if (is_free)
            r = take(binding, target, &seen, ret, error);
        observation_done(&seen);
        if (!is_free || r != ERR_CONFLICT || takes == MAX_TAKES)
            return r;
        err_clear(error);
    }
}

/* A create may meet an object that was not there when it was planned. */
static int send(struct applying *applying, const struct runtime_binding *binding,
                const struct runtime_target *target, enum plan_action action,
                struct observation *ret, struct error *error)
{
    int r = ERR_CONFLICT;

    if (action == PLAN_CREATE)
        r = binding->ops->apply(binding->session, target, APPLY_CREATE, ret, error);
    if (r != ERR_CONFLICT)
        return r;
    err_clear(error);
    return look_and_take(applying, binding, target, ret, error);
}

static int apply_resource(struct applying *applying, uint32_t node,
                          const struct runtime_binding *binding, struct observation *ret,
                          struct error *error)
{
    const struct resource *resource = &applying->spec->resources[node];
    const struct plan_change *change = &applying->plan->changes[node];
    _cleanup_value_ const struct value *attributes = NULL;
    struct runtime_target target = {.id = resource->id, .uid = change->uid};
    int r = operation_resolve(applying->operation, applying->spec, applying->plan, node, false,
                              &attributes, error);

    if (r < 0)
        return r;
    target.attributes = attributes;
    r = send(applying, binding, &target, change->action, ret, error);
    if (r < 0)
        return r;
    record_result(applying, node, binding, attributes, ret);
    return 0;
}

static int read_resource(struct applying *applying, uint32_t node,
                         const struct runtime_binding *binding, struct observation *ret,
                         struct error *error)
{
    const struct resource *resource = &applying->spec->resources[node];
    struct operation *operation = applying->operation;
    struct runtime_target target = {.id = resource->id, .attributes = resource->attributes};
    int r = binding->ops->read(binding->session, &target, ret, error);

    if (r < 0)
        return r;
    if (ret->presence != PRESENCE_PRESENT)
        return err_set(error, ERR_NOT_FOUND, "HealthCheckFailed", "it was deleted meanwhile");
    operation_set_live(operation, binding->ops, resource, &operation->nodes[node], ret->object);
    return 0;
}

/* What is there is as wanted, and its record is made to say so. */
static int refresh_record(struct applying *applying, uint32_t node,
                          const struct runtime_binding *binding, const struct observation *now,
                          struct error *error)
{
    _cleanup_value_ const struct value *attributes = NULL;
    int r = operation_resolve(applying->operation, applying->spec, applying->plan, node, false,
                              &attributes, error);

    if (r < 0)
        return r;
    record_result(applying, node, binding, attributes, now);
    return 0;
}

/* Custom resources cannot be made before their definition is established. */
static bool must_wait(const struct applying *applying, uint32_t node)
{
    const char *kind = value_get_string(applying->spec->resources[node].attributes, "kind");

    return applying->spec->policy.wait || str_equal(kind, "CustomResourceDefinition");
}

static enum walk_verdict park(struct walk_visit *visit)
{
    visit->retry_after = FIRST_LOOK << (visit->count < 5 ? visit->count : 5);
    if (visit->retry_after > LAST_LOOK)
        visit->retry_after = LAST_LOOK;
    return WALK_PARKED;
}

/* A reference to what has let go before it had the field. */
static bool is_yet_to_come(const struct error *error)
{
    return error->code == ERR_UNAVAILABLE && str_equal(error->reason, "DependencyNotReady");
}

/* DONE, PARKED, or FAILED with the error. */
static enum walk_verdict judge(struct applying *applying, struct walk_visit *visit,
                               const struct runtime_binding *binding, const struct observation *now,
                               struct error *error)
{
    struct health health;

    if (!must_wait(applying, visit->node))
        return WALK_DONE;
    binding->ops->health(now->object, &health);
    if (health.status == HEALTH_CURRENT)
        return WALK_DONE;
    err_set(error, health.status == HEALTH_FAILED ? ERR_INVALID : ERR_TIMEOUT, "HealthCheckFailed",
            "%s", health.message);
    if (health.status == HEALTH_FAILED)
        return WALK_FAILED;
    watch_group(applying, binding, &applying->spec->resources[visit->node]);
    visit->lets_go = health.may_wait_for_consumer;
    return park(visit);
}

/* Makes it so, or looks at it where that was done, or is not needed. */
static int make_or_look(struct applying *applying, uint32_t index,
                        const struct runtime_binding *binding, struct observation *ret,
                        struct error *error)
{
    const struct plan_change *change = &applying->plan->changes[index];
    struct node *node = &applying->operation->nodes[index];
    int r;

    if (!node->applied && change->action != PLAN_UNCHANGED)
        r = apply_resource(applying, index, binding, ret, error);
    else
        r = read_resource(applying, index, binding, ret, error);
    if (r >= 0 && !node->applied && node->stale)
        r = refresh_record(applying, index, binding, ret, error);
    if (r >= 0)
        node->applied = true;
    return r;
}

static enum walk_verdict step(struct applying *applying, struct walk_visit *visit,
                              struct error *error)
{
    const struct plan_change *change = &applying->plan->changes[visit->node];
    bool stale = applying->operation->nodes[visit->node].stale;
    struct observation now = {0};
    struct runtime_binding binding;
    enum walk_verdict verdict;
    int r;

    if (change->error.code) {
        err_copy(error, &change->error);
        return WALK_FAILED;
    }
    if (change->action == PLAN_UNCHANGED && !applying->verify && !stale)
        return WALK_DONE;
    r = operation_may_change(applying->operation, error);
    if (r >= 0)
        r = operation_bind(applying->operation, applying->spec->resources[visit->node].type,
                           &binding, error);
    if (r >= 0)
        r = make_or_look(applying, visit->node, &binding, &now, error);
    if (r >= 0)
        verdict = judge(applying, visit, &binding, &now, error);
    else
        verdict = is_yet_to_come(error) ? park(visit) : WALK_FAILED;
    observation_done(&now);
    return verdict;
}

static void set_let_go(struct applying *applying, uint32_t node, bool has_let_go)
{
    struct operation *operation = applying->operation;

    pthread_mutex_lock(&operation->lock);
    operation->nodes[node].has_let_go = has_let_go;
    pthread_mutex_unlock(&operation->lock);
}

static enum walk_verdict visit(void *arg, struct walk_visit *visit)
{
    struct applying *applying = arg;
    struct operation_result *result = &applying->results[visit->node];
    struct error error = {0};
    enum walk_verdict verdict;

    if (visit->count == 0)
        operation_report(applying->operation, result);
    verdict = step(applying, visit, &error);
    set_let_go(applying, visit->node, visit->lets_go);
    result->error = error;
    if (verdict == WALK_PARKED) {
        operation_report_pending(applying->operation, result);
        return verdict;
    }
    result->status = verdict == WALK_DONE ? RESULT_SUCCEEDED : RESULT_FAILED;
    operation_report(applying->operation, result);
    return verdict;
}

static void on_end(void *arg, uint32_t node, enum walk_outcome outcome, uint32_t cause)
{
    struct applying *applying = arg;
    _cleanup_free_ char *why = NULL;

    if (outcome == WALK_OUTCOME_SKIPPED)
        why = str_printf("it depends on %s", applying->spec->resources[cause].id);
    operation_end(applying->operation, &applying->results[node], outcome, why);
}

static void on_wait(void *arg, bool waits)
{
    struct applying *applying = arg;

    operation_wait(applying->operation, waits);
}

/* ---- All of them ---- */

static void record_intents(struct applying *applying)
{
    struct operation *operation = applying->operation;

    for (uint32_t i = 0; i < applying->spec->n_resources; i++) {
        const struct resource *resource = &applying->spec->resources[i];
        const struct plan_change *change = &applying->plan->changes[i];
        _cleanup_value_ const struct value *attributes = NULL;
        struct runtime_binding binding;
        struct record *record;

        if (change->error.code || (change->action != PLAN_CREATE && change->action != PLAN_ADOPT) ||
            state_find(operation->state, resource->id) ||
            operation_bind(operation, resource->type, &binding, NULL) < 0)
            continue;
        attributes = binding.ops->mark(resource->attributes);
        record = state_record(operation->state, resource->id, resource->type);
        record_content(applying, i, record, attributes);
    }
}

/* Results of what leaves the Spec, which are not part of the walk. */
static int prune(struct applying *applying, struct error *error)
{
    const struct plan *plan = applying->plan;
    size_t first = applying->spec->n_resources, n = plan->n_changes - first, count = 0;
    struct operation *operation = applying->operation;
    _cleanup_free_ struct removal *removals = NEW_ARRAY(struct removal, n + 1);
    int r = 0;

    for (size_t i = first; i < plan->n_changes; i++) {
        struct operation_result *result = &applying->results[i];

        if (plan->changes[i].action == PLAN_FORGET) {
            state_drop(operation->state, result->id);
            result->status = RESULT_SUCCEEDED;
            continue;
        }
        if (plan->changes[i].action == PLAN_DELETE && plan->changes[i].error.code) {
            err_copy(&result->error, &plan->changes[i].error);
            result->status = RESULT_FAILED;
            continue;
        }
        removals[count].record = state_find(operation->state, result->id);
        removals[count++].result = result;
    }
    if (count)
        r = operation_remove(operation, removals, count, error);
    for (size_t i = 0; i < count; i++)
        observation_done(&removals[i].seen);
    return r;
}

static void skip_prune(struct applying *applying)
{
    for (size_t i = applying->spec->n_resources; i < applying->plan->n_changes; i++) {
        struct operation_result *result = &applying->results[i];

        result->status = RESULT_SKIPPED;
        err_set(&result->error, ERR_CANCELLED, "DependencyNotReady",
                "skipped: nothing is deleted while something else fails");
    }
}

static int walk_spec(struct applying *applying, struct error *error)
{
    struct operation *operation = applying->operation;
    struct walk_counts counts;

    applying->walk = walk_new(&(struct walk_config){
        .graph = operation->graph,
        .parallelism = operation->config.parallelism,
        .clock = operation->config.clock,
        .cancel = operation->config.cancel,
        .deadline = operation->deadline,
        .visit = visit,
        .on_end = on_end,
        .on_wait = on_wait,
        .arg = applying,
    });
    walk_run(applying->walk, &counts);
    stop_watching(applying);
    walk_free(applying->walk);
    if (counts.done == applying->spec->n_resources)
        return prune(applying, error);
    skip_prune(applying);
    return 0;
}

/* What a deletion has to know, too, where the Spec cannot be read any more by then. */
static void record_policy(struct state *state, const struct spec *spec)
{
    const struct value *fields = value_get(spec->source, "spec");
    const struct value *policy = value_pack(
        "{s:v?, s:v?, s:v?, s:v?}", "deletionPolicy", value_get(fields, "deletionPolicy"), "prune",
        value_get(fields, "prune"), "suspend", value_get(fields, "suspend"), "serviceAccountName",
        value_get(fields, "serviceAccountName"));

    value_unref(state->policy);
    state->policy = policy;
}

int operation_apply(struct operation *operation, const struct spec *spec, const struct plan *plan,
                    int64_t revision, bool verify, struct operation_results *ret,
                    struct error *error)
{
    struct applying applying = {
        .operation = operation, .spec = spec, .plan = plan, .verify = verify};
    struct error problem = {0}, save_error = {0};
    int r;

    applying.results = operation_results_init(ret, plan->n_changes);
    for (size_t i = 0; i < plan->n_changes; i++) {
        ret->items[i].id = arena_str(&ret->arena, plan->changes[i].id);
        ret->items[i].action = plan->changes[i].action;
    }
    operation->state->revision = revision;
    operation->state->generation = spec->generation;
    record_policy(operation->state, spec);
    record_intents(&applying);
    r = operation_save(operation, &problem);
    if (r < 0) {
        operation_results_abandon(ret, &problem);
        return err_copy(error, &problem);
    }
    r = walk_spec(&applying, &problem);
    if (r < 0)
        operation_results_abandon(ret, &problem);
    else
        r = operation_results_error(ret, "apply", &problem);
    if (r >= 0) {
        operation->state->applied_revision = revision;
        /* Not before all that was inherited is applied again or dealt with. */
        record_set_str(&operation->state->spec_uid, operation->config.scope.spec_uid);
    }
    if (operation_save(operation, &save_error) < 0)
        return err_copy(error, &save_error);
    return r < 0 ? err_copy(error, &problem) : 0;
}
