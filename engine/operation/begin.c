/* What State has to know before anything is changed, and when everything is done. */
#include <stdio.h>
#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/value_mark.h"
#include "engine/operation/private.h"

/* Changes of State in the making. */
struct batch {
    struct ledger_change *items;
    size_t count, capacity;
};

static void add(struct batch *batch, struct ledger_change change)
{
    batch->items = mem_grow(batch->items, batch->count, &batch->capacity, sizeof(*batch->items));
    batch->items[batch->count++] = change;
}

/* Puts a new record; the batch has its reference. */
static void put(struct batch *batch, const struct record *like)
{
    add(batch, (struct ledger_change){.put = record_new(like)});
}

static void batch_done(struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        record_unref(batch->items[i].put);
    free(batch->items);
}

/* ---- Records ---- */

const struct value *operation_dependencies(const struct operation *operation, uint32_t change)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    const struct graph *graph = operation->graph;
    const struct value *ids = NULL;

    value_begin_array(b);
    for (uint32_t e = graph->dependency_start[change]; e < graph->dependency_start[change + 1]; e++)
        value_add_string(b, operation->plan->changes[graph->dependencies[e]].id);
    value_end_array(b);
    value_builder_finish(b, &ids, NULL);
    return ids;
}

static bool is_taken(const struct operation *operation, const char *id, const char *deposed)
{
    const struct record *record = ledger_get(operation->ledger, id, deposed);

    record_unref(record);
    return record != NULL;
}

const char *operation_name_deposed(struct operation *operation, const struct node *node)
{
    const char *id = operation->plan->changes[node->index].id;
    char name[24];
    unsigned n = 1;

    do
        snprintf(name, sizeof(name), "d%u", n++);
    while (is_taken(operation, id, name));
    pthread_mutex_lock(&operation->lock);
    id = arena_str(&operation->arena, name);
    pthread_mutex_unlock(&operation->lock);
    return id;
}

/* An id whose type is another now: what it was goes on under a name of its own. */
static void depose(struct operation *operation, struct node *node, struct batch *batch)
{
    struct record moved = *operation->plan->changes[node->index].record;

    node->deposed = operation_name_deposed(operation, node);
    moved.deposed = node->deposed;
    put(batch, &moved);
    add(batch, (struct ledger_change){.id = moved.id});
}

static bool makes_way(const struct operation *operation, const struct plan_change *change)
{
    return !change->resource && change->record && !change->deposed && operation->spec &&
           strmap_get(&operation->spec->by_id, change->id);
}

/* Whoever finds an intent after a crash looks whether its object was made. Where that cannot be
 * told, each call is marked instead, right before it (apply_step.c). */
static bool needs_intent(const struct node *node, const struct plan_change *change)
{
    return change->resource && !change->error && !change->record && change->step &&
           (change->action == PLAN_CREATE || change->action == PLAN_ADOPT) &&
           !(operation_ops(node)->flags & RUNTIME_CREATES_BLINDLY);
}

/* References that are not known yet stay as they were written; what is secret beside them still is.
 */
const struct value *operation_intended(const struct value *planned, const struct value *written)
{
    return value_has_unknown(planned) ? value_mark_like(written, planned) : value_ref(planned);
}

static void intend(struct operation *operation, const struct plan_change *change, uint32_t index,
                   struct batch *batch)
{
    _cleanup_value_ const struct value *dependencies = operation_dependencies(operation, index);
    _cleanup_value_ const struct value *attributes =
        operation_intended(change->step->attributes, change->resource->attributes);
    _cleanup_value_ const struct value *extensions =
        operation_intended(change->step->extensions, change->resource->extensions);

    put(batch, &(struct record){.status = RECORD_INTENT,
                                .id = change->id,
                                .type = change->type,
                                .attributes = attributes,
                                .extensions = extensions,
                                .dependencies = dependencies,
                                .revision = operation->how.revision,
                                .action = change->action});
}

/* An intent whose object is not there, and that no call can make any more. */
static bool is_void(const struct plan_change *change)
{
    return !change->resource && change->action == PLAN_FORGET &&
           change->record->status == RECORD_INTENT;
}

static bool deletes(const struct plan_change *change)
{
    return !change->error && (change->action == PLAN_DELETE || change->action == PLAN_REPLACE);
}

/* ---- The head ---- */

/* What a deletion has to know, too, where the Spec cannot be read any more by then. */
static const struct value *policy_of(const struct spec *spec)
{
    const struct value *fields = value_get(spec->source, "spec");

    return value_pack("{s:v?, s:v?, s:v?, s:v?}", "deletionPolicy",
                      value_get(fields, "deletionPolicy"), "prune", value_get(fields, "prune"),
                      "suspend", value_get(fields, "suspend"), "serviceAccountName",
                      value_get(fields, "serviceAccountName"));
}

static int64_t wall_clock(const struct operation *operation)
{
    return operation->config.clock->now(operation->config.clock);
}

static int64_t generation_of(const struct operation *operation)
{
    return operation->spec ? operation->spec->generation : 0;
}

int64_t operation_time_lost(struct operation *operation, int64_t revision)
{
    struct arena arena = ARENA_INIT;
    struct state_head head;
    int64_t lost;

    ledger_head(operation->ledger, &arena, &head);
    arena_done(&arena);
    if (!head.progressed_at || head.revision != revision ||
        head.generation != generation_of(operation))
        return -1;
    lost = wall_clock(operation) - head.progressed_at;
    return lost > 0 ? lost : 0;
}

enum moment { AT_BEGIN, AT_END, AT_SUCCESS };

/* Until everything is as the Spec has it, State belongs to the Spec that it was made for: not
 * before all that was inherited is applied again or dealt with. */
static void set_head(struct operation *operation, enum moment moment)
{
    struct arena arena = ARENA_INIT;
    _cleanup_value_ const struct value *policy = NULL;
    struct state_head head;

    ledger_head(operation->ledger, &arena, &head);
    head.revision = operation->how.revision;
    if (operation->spec) {
        policy = policy_of(operation->spec);
        head.policy = policy;
    }
    head.generation = generation_of(operation);
    if (moment != AT_BEGIN)
        head.progressed_at = 0;
    else if (!operation->continues)
        head.progressed_at = wall_clock(operation);
    if (moment == AT_SUCCESS) {
        head.applied_revision = operation->how.revision;
        head.spec_uid = operation->config.scope.spec_uid;
    }
    ledger_set_head(operation->ledger, &head);
    arena_done(&arena);
}

/* ---- Begin and end ---- */

int operation_record_intents(struct operation *operation, struct error *error)
{
    struct plan *plan = operation->plan;
    struct batch batch = {0};
    bool is_needed = false;
    int r = 0;

    for (uint32_t i = 0; i < plan->n_changes; i++) {
        struct plan_change *change = &plan->changes[i];
        struct node *node = &operation->nodes[i];

        if (makes_way(operation, change))
            depose(operation, node, &batch);
        else if (is_void(change))
            add(&batch, (struct ledger_change){.id = change->id, .deposed = change->deposed});
        is_needed = is_needed || deletes(change);
    }
    for (uint32_t i = 0; i < plan->n_changes; i++)
        if (needs_intent(&operation->nodes[i], &plan->changes[i]))
            intend(operation, &plan->changes[i], i, &batch);
    set_head(operation, AT_BEGIN);
    /* Before deletions it also proves that nobody else is at work. */
    if (batch.count || is_needed)
        r = ledger_begin(operation->ledger, batch.items, batch.count, error);
    else
        r = ledger_check(operation->ledger, error);
    batch_done(&batch);
    if (r >= 0)
        operation_begin_steps(operation);
    if (r < 0)
        err_wrap(error, "saving State");
    return r;
}

static int end_destroyed(struct operation *operation, struct error *error)
{
    int r = ledger_remove(operation->ledger, error);

    if (r < 0)
        err_wrap(error, "removing State");
    return r;
}

int operation_conclude(struct operation *operation, struct error *error)
{
    struct error save_error = {0};
    int r;

    pthread_mutex_lock(&operation->lock);
    r = operation_results_error(&operation->results, operation->spec ? "apply" : "destroy", error);
    pthread_mutex_unlock(&operation->lock);
    if (r >= 0 && !operation->spec)
        return end_destroyed(operation, error);
    set_head(operation, r >= 0 ? AT_SUCCESS : AT_END);
    if (ledger_flush(operation->ledger, &save_error) >= 0)
        return r;
    err_wrap(&save_error, "saving State");
    return err_copy(error, &save_error);
}
