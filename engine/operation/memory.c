/* The memory that an operation holds. */
#include "engine/operation/private.h"
#include "engine/threads/locked.h"

#define OPERATION_ITSELF (28u << 10) /* the Spec's metadata, its State, sessions */
#define MEMORY_FACTOR    3           /* measured: 2.3 to 2.7 where all is to be created */
#define STEP_ITSELF      512         /* the runtime's own fields of a step */
#define HOLD_PART        8           /* it asks for one in so many bytes more than it needs */
#define GRAPH_PLACES     256         /* a node's part of rows, walk and subscription */

static size_t memory_of_step(const struct runtime_step *step)
{
    if (!step)
        return 0;
    return STEP_ITSELF + value_memory(step->attributes) + value_memory(step->extensions) +
           value_memory(step->before) + value_memory(step->after) + value_memory(step->result) +
           value_memory(step->shown_before) + value_memory(step->shown_after) +
           value_memory(step->memory);
}

/* The bytes that planning has added to a change. */
static size_t memory_of_plan(const struct operation *operation, size_t index)
{
    const struct plan_change *change = &operation->plan->changes[index];
    const struct node *node = &operation->nodes[index];
    size_t bytes = err_size(change->error);

    bytes += memory_of_step(change->step) + memory_of_step(change->removal);
    bytes += memory_of_step(node->step) + memory_of_step(node->removal);
    bytes += value_memory(node->attributes) + value_memory(node->extensions) +
             value_memory(node->former) + value_memory(node->recorded) +
             value_memory(change->secrets);
    if (change->digest)
        bytes += sizeof(*change->digest) + value_memory(change->digest->unknown) +
                 value_memory(change->digest->shown.assigned);
    if (change->diff)
        bytes += sizeof(*change->diff) + change->diff->arena.used +
                 change->diff->capacity * sizeof(*change->diff->fields);
    return bytes;
}

static size_t memory_of_change(const struct operation *operation, size_t index)
{
    const struct node *node = &operation->nodes[index];
    const struct operation_results *results = &operation->results;
    const struct error *error = index < results->count ? results->items[index].error : NULL;

    return sizeof(*node) + sizeof(struct plan_change) + sizeof(struct operation_result) +
           sizeof(struct step_change) + GRAPH_PLACES + value_memory(node->seen) + err_size(error) +
           memory_of_plan(operation, index);
}

static size_t memory_of_spec(const struct spec *spec)
{
    return spec->arena.used + value_memory(spec->source) + spec->shared_memory;
}

size_t operation_measure(const struct operation *operation)
{
    size_t bytes = OPERATION_ITSELF + operation->arena.used +
                   approved_plan_memory(operation->config.approved) +
                   value_memory(operation->config.scope.context) +
                   value_memory(operation->config.scope.existing);

    if (operation->spec)
        bytes += memory_of_spec(operation->spec);
    if (!operation->plan)
        return bytes;
    bytes += operation->plan->arena.used;
    for (size_t i = 0; i < operation->plan->n_changes; i++)
        bytes += memory_of_change(operation, i);
    return bytes;
}

static size_t memory_of_records(struct ledger *ledger)
{
    _cleanup_(ledger_records_done) struct ledger_records records = ledger_records(ledger);
    size_t bytes = 0;

    for (size_t i = 0; i < records.count; i++) {
        const struct record *record = records.items[i];

        bytes += sizeof(*record) + value_memory(record->attributes) +
                 value_memory(record->extensions) + value_memory(record->result) +
                 value_memory(record->memory);
    }
    return bytes;
}

size_t operation_estimate(const struct spec *spec, struct ledger *ledger)
{
    size_t wanted = spec ? memory_of_spec(spec) : 0;
    size_t recorded = ledger ? memory_of_records(ledger) : 0;

    return OPERATION_ITSELF + MEMORY_FACTOR * (wanted > recorded ? wanted : recorded);
}

size_t operation_memory(struct operation *operation)
{
    LOCKED(&operation->lock);

    return operation_measure(operation);
}

/* ---- While it grows ---- */

void operation_hold(struct operation *operation, size_t before, size_t now)
{
    struct error error = {0};

    operation->held = operation->held + now > before ? operation->held + now - before : 0;
    if (!operation->config.reserve || operation->held <= operation->reserved ||
        operation->exceeded.code)
        return;
    operation->reserved = operation->held + operation->held / HOLD_PART;
    if (operation->config.reserve(operation->config.arg, operation->reserved, &error) >= 0)
        return;
    err_copy(&operation->exceeded, &error);
    walk_stop(operation->walk, false);
}

void operation_hold_change(const struct node *node)
{
    struct operation *operation = node->operation;
    operation_hold(operation, 0, memory_of_plan(operation, node->index));
}

/* ---- Freed early ---- */

/* An approved plan is compared with the steps when all are planned, and its digests have another
 * key. */
bool operation_frees_objects(const struct operation *operation)
{
    return operation->config.digest_key.length && !operation->config.approved;
}
