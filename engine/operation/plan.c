/* From intention and world to a plan. */
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/value_mark.h"
#include "engine/operation/private.h"

struct planning {
    struct operation *operation;
    const struct spec *spec;
    enum plan_depth depth;
    struct plan *plan;
};

static const struct record *record_of(struct operation *operation, const char *id)
{
    return state_find(operation->state, id);
}

/* ---- One resource ---- */

int operation_check_owner(const char *recorded_uid, const struct observation *seen,
                          struct error *error)
{
    if (seen->presence != PRESENCE_PRESENT)
        return 0;
    if (seen->owner == OWNER_SPEC)
        return err_set(error, ERR_CONFLICT, "ConflictDetected",
                       "it belongs to another Spec (label api.kusion.io/owner): remove it from one "
                       "of the two");
    if (seen->owner == OWNER_OTHER && !str_equal(recorded_uid, seen->uid))
        return err_set(error, ERR_CONFLICT, "ConflictDetected",
                       "it exists and is managed by another tool (Helm, Flux, Argo CD or an "
                       "applyset): adoptionPolicy AdoptIfUnowned leaves it alone");
    if (seen->terminating)
        return err_set(error, ERR_UNAVAILABLE, "Terminating",
                       "it is being deleted; it is made again when it is gone");
    return 0;
}

const struct value *operation_dependencies(const struct operation *operation,
                                           const struct spec *spec, size_t index)
{
    const struct graph *graph = operation->graph;
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    const struct value *ids = NULL;

    value_begin_array(b);
    for (uint32_t e = graph->dependency_start[index]; e < graph->dependency_start[index + 1]; e++)
        value_add_string(b, spec->resources[graph->dependencies[e]].id);
    value_end_array(b);
    value_builder_finish(b, &ids, NULL);
    return ids;
}

static bool are_equal(const struct value *a, const struct value *b)
{
    return a && b ? value_equal(a, b) : a == b;
}

/* What the runtime does not see of a resource: destroy goes by the dependencies, and what
 * became secret is to leave State's open part. */
static bool is_recorded_beside(const struct planning *planning, size_t index,
                               const struct value *attributes, const struct record *record)
{
    _cleanup_value_ const struct value *dependencies =
        operation_dependencies(planning->operation, planning->spec, index);
    _cleanup_value_ const struct value *secret = value_sensitive_paths(attributes),
                                       *recorded = value_sensitive_paths(record->attributes);

    return are_equal(secret, recorded) && are_equal(record->dependencies, dependencies) &&
           are_equal(record->extensions, planning->spec->resources[index].extensions);
}

static bool is_as_recorded(const struct record *record, const struct value *attributes,
                           const struct observation *seen)
{
    _cleanup_free_ char *digest = attributes_digest(attributes);

    return record && record->status == RECORD_APPLIED && str_equal(record->uid, seen->uid) &&
           str_equal(record->digest, digest) && record->footprint &&
           str_equal(record->footprint, seen->footprint);
}

/* Reads and dry-runs what exists and may differ. */
static int compare_with_live(struct planning *planning, size_t index,
                             const struct value *attributes, struct error *error)
{
    const struct resource *resource = &planning->spec->resources[index];
    struct plan_change *change = &planning->plan->changes[index];
    struct node *node = &planning->operation->nodes[index];
    struct runtime_target target = {
        .id = resource->id, .attributes = attributes, .uid = node->seen.uid};
    _cleanup_value_ const struct value *dry_run = NULL, *after = NULL;
    struct observation live = {0};
    struct runtime_binding binding;
    int r = operation_bind(planning->operation, resource->type, &binding, error);

    if (r >= 0)
        r = binding.ops->read(binding.session, &target, &live, error);
    if (r >= 0 && live.presence == PRESENCE_PRESENT && !node->unknown)
        r = binding.ops->preview(binding.session, &target, APPLY_TAKE, &dry_run, error);
    if (r >= 0) {
        operation_set_live(planning->operation, binding.ops, resource, node, live.object);
        after = operation_mark(planning->operation, binding.ops, resource, node, dry_run);
        change->from = diff_normalise(node->live);
        change->to = after ? diff_normalise(after) : value_ref(attributes);
        node->stale = change->action == PLAN_UPDATE && value_equal(change->from, change->to);
        if (node->stale)
            change->action = PLAN_UNCHANGED;
        else
            diff_values(change->from, change->to, &change->diff);
    }
    observation_done(&live);
    return r;
}

/* Whether something that it depends on is yet to be made: then a dry-run would fail for that. */
static bool waits_for_creation(const struct planning *planning, size_t index)
{
    const struct graph *graph = planning->operation->graph;

    for (uint32_t e = graph->dependency_start[index]; e < graph->dependency_start[index + 1]; e++)
        if (planning->plan->changes[graph->dependencies[e]].action == PLAN_CREATE)
            return true;
    return false;
}

static int plan_creation(struct planning *planning, size_t index, const struct value *attributes,
                         struct error *error)
{
    const struct resource *resource = &planning->spec->resources[index];
    struct plan_change *change = &planning->plan->changes[index];
    struct node *node = &planning->operation->nodes[index];
    struct runtime_target target = {.id = resource->id, .attributes = attributes};
    _cleanup_value_ const struct value *dry_run = NULL, *after = NULL;
    struct runtime_binding binding;
    int r = operation_bind(planning->operation, resource->type, &binding, error);

    if (r >= 0 && planning->depth == PLAN_DEEP && !node->unknown &&
        !waits_for_creation(planning, index))
        r = binding.ops->preview(binding.session, &target, APPLY_CREATE, &dry_run, error);
    if (r < 0)
        return r;
    after = operation_mark(planning->operation, binding.ops, resource, node, dry_run);
    change->to = after ? diff_normalise(after) : value_ref(attributes);
    if (planning->depth == PLAN_DEEP)
        diff_values(NULL, change->to, &change->diff);
    return 0;
}

static int plan_resource(struct planning *planning, size_t index, struct error *error)
{
    const struct resource *resource = &planning->spec->resources[index];
    struct plan_change *change = &planning->plan->changes[index];
    struct node *node = &planning->operation->nodes[index];
    const struct record *record = record_of(planning->operation, resource->id);
    _cleanup_value_ const struct value *attributes = NULL;
    int r;

    change->action = plan_decide(record != NULL, true, node->seen.presence);
    if (change->action == PLAN_UNKNOWN)
        return err_copy(error, &node->seen.error);
    r = operation_check_owner(record ? record->uid : NULL, &node->seen, error);
    if (r >= 0)
        r = operation_resolve(planning->operation, planning->spec, planning->plan, index, true,
                              &attributes, error);
    if (r < 0)
        return r;
    node->unknown = value_has_unknown(attributes);
    if (change->action == PLAN_CREATE)
        return plan_creation(planning, index, attributes, error);
    if (!node->unknown && is_as_recorded(record, attributes, &node->seen)) {
        change->action = PLAN_UNCHANGED;
        node->stale = !is_recorded_beside(planning, index, attributes, record);
        return 0;
    }
    return compare_with_live(planning, index, attributes, error);
}

static enum walk_verdict visit(void *arg, struct walk_visit *visit)
{
    struct planning *planning = arg;
    struct plan_change *change = &planning->plan->changes[visit->node];

    plan_resource(planning, visit->node, &change->error);
    /* A problem of one resource is its own: all others are planned too. */
    return WALK_DONE;
}

/* ---- All of them ---- */

/* Everything that the Spec or State names, in the order of the plan's changes. */
struct looked_at {
    struct runtime_target *targets;
    const char **types;
    size_t count;
};

static void look_at(struct looked_at *all, const char *id, const char *type,
                    const struct value *attributes, const char *uid)
{
    all->targets[all->count] =
        (struct runtime_target){.id = id, .attributes = attributes, .uid = uid};
    all->types[all->count++] = type;
}

static void collect(const struct operation *operation, const struct spec *spec,
                    struct looked_at *all)
{
    for (size_t i = 0; i < spec->n_resources; i++) {
        const struct record *record = state_find(operation->state, spec->resources[i].id);

        look_at(all, spec->resources[i].id, spec->resources[i].type, spec->resources[i].attributes,
                record ? record->uid : NULL);
    }
    for (size_t i = 0; i < operation->state->n_records; i++) {
        const struct record *record = operation->state->records[i];

        if (!strmap_get(&spec->by_id, record->id))
            look_at(all, record->id, record->type, record->attributes, record->uid);
    }
}

/* The id of a resource that the Spec still names, and that would go with the Namespace or the
 * CustomResourceDefinition that these attributes are; NULL: there is none. */
static const char *find_content(const struct spec *spec, const struct value *attributes)
{
    const struct object_ref it = object_ref_of(attributes);
    const struct value *definition = value_get(attributes, "spec");
    const char *group = value_get_string(definition, "group");
    const char *kind = value_string(value_path(definition, "names", "kind", NULL));
    bool is_namespace = str_equal(it.kind, "Namespace") && api_group_is(it.api_version, ""),
         is_definition = str_equal(it.kind, "CustomResourceDefinition") && group;

    for (size_t i = 0; (is_namespace || is_definition) && i < spec->n_resources; i++) {
        const struct object_ref *ref = &spec->resources[i].object;

        if (!ref->name)
            continue;
        if (is_namespace ? str_equal(ref->namespace_name, it.name)
                         : str_equal(ref->kind, kind) && api_group_is(ref->api_version, group))
            return spec->resources[i].id;
    }
    return NULL;
}

static void guard_content(const struct planning *planning, const struct record *record,
                          struct plan_change *change)
{
    const char *content = find_content(planning->spec, record->attributes);

    if (content)
        err_set(&change->error, ERR_CONFLICT, "DeletionGuardTripped",
                "it left the Spec, which still names \"%s\", and that would go with it: take both "
                "out of the Spec, or none",
                content);
}

static void plan_leaver(const struct planning *planning, struct plan_change *change,
                        const struct observation *seen)
{
    const struct record *record = record_of(planning->operation, change->id);

    change->action = planning->spec->policy.prune
                         ? removal_action(planning->operation, record, seen)
                         : PLAN_FORGET;
    if (change->action == PLAN_UNKNOWN)
        err_copy(&change->error, &seen->error);
    if (change->action == PLAN_DELETE) {
        change->uid = arena_str(&planning->plan->arena, seen->uid);
        change->from = value_ref(record->attributes);
        guard_content(planning, record, change);
    }
}

/* An object that goes on under another id (its API version changed, say) is not deleted as the
 * old one. */
static void keep_renamed(const struct planning *planning)
{
    const struct operation *operation = planning->operation;
    struct plan *plan = planning->plan;
    struct strmap uids = STRMAP_INIT;

    for (size_t i = 0; i < operation->n_nodes; i++)
        if (operation->nodes[i].seen.uid)
            strmap_put(&uids, operation->nodes[i].seen.uid, &operation->nodes[i]);
    for (size_t i = operation->n_nodes; i < plan->n_changes; i++)
        if (plan->changes[i].uid && strmap_get(&uids, plan->changes[i].uid))
            plan->changes[i].action = PLAN_FORGET;
    strmap_done(&uids);
}

static int run(struct planning *planning, const struct looked_at *all, struct observation *seen,
               struct error *error)
{
    struct operation *operation = planning->operation;
    struct walk_config config = {
        .graph = operation->graph,
        .parallelism = operation->config.parallelism,
        .clock = operation->config.clock,
        .cancel = operation->config.cancel,
        .deadline = operation->deadline,
        .visit = visit,
        .arg = planning,
    };
    _cleanup_(walk_free_p) struct walk *walk = NULL;
    struct walk_counts counts;
    size_t n = planning->spec->n_resources;
    int r = operation_observe(operation, all->targets, all->types, all->count, seen, error);

    if (r < 0)
        return r;
    for (size_t i = 0; i < all->count; i++) {
        planning->plan->changes[i].id = arena_str(&planning->plan->arena, all->targets[i].id);
        planning->plan->changes[i].type = arena_str(&planning->plan->arena, all->types[i]);
        if (i >= n)
            plan_leaver(planning, &planning->plan->changes[i], &seen[i]);
        else if (seen[i].presence != PRESENCE_UNKNOWN)
            planning->plan->changes[i].uid = arena_str(&planning->plan->arena, seen[i].uid);
    }
    for (size_t i = 0; i < n; i++) {
        operation->nodes[i].seen = seen[i];
        seen[i] = (struct observation){0};
    }
    keep_renamed(planning);
    walk = walk_new(&config);
    walk_run(walk, &counts);
    if (counts.cancelled)
        return err_set(error, cancel_fired(operation->config.cancel) ? ERR_CANCELLED : ERR_TIMEOUT,
                       cancel_fired(operation->config.cancel) ? "Cancelled" : "Timeout",
                       "planning did not come to its end: %s",
                       cancel_fired(operation->config.cancel)
                           ? cancel_reason(operation->config.cancel)
                           : "out of time");
    return 0;
}

int operation_plan(struct operation *operation, const struct spec *spec, enum plan_depth depth,
                   struct plan **ret, struct error *error)
{
    size_t most = spec->n_resources + operation->state->n_records;
    struct looked_at all = {NEW_ARRAY(struct runtime_target, most + 1),
                            NEW_ARRAY(const char *, most + 1), 0};
    struct planning planning = {operation, spec, depth, NULL};
    struct observation *seen;
    int r = graph_from_spec(spec, &operation->graph, error);

    collect(operation, spec, &all);
    seen = NEW_ARRAY(struct observation, all.count + 1);
    if (r >= 0) {
        operation->n_nodes = spec->n_resources;
        operation->nodes = NEW_ARRAY(struct node, spec->n_resources + 1);
        planning.plan = plan_new(all.count);
        r = run(&planning, &all, seen, error);
    }
    for (size_t i = 0; i < all.count; i++)
        observation_done(&seen[i]);
    free(seen);
    free(all.targets);
    free(all.types);
    if (r < 0) {
        plan_free(planning.plan);
        return r;
    }
    *ret = planning.plan;
    return 0;
}
