/* The changes of State that are saved before anything is changed in the world. */
#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/operation/carrying/carrying.h"
#include "engine/operation/planning/doubt.h"
#include "engine/operation/planning/planning.h"
#include "engine/operation/records.h"

/* Changes of State in the making. */
struct state_changes {
    struct ledger_change *items;
    size_t count, capacity;
};

static void add_change(struct state_changes *batch, struct ledger_change change)
{
    batch->items = mem_grow(batch->items, batch->count, &batch->capacity, sizeof(*batch->items));
    batch->items[batch->count++] = change;
}

static void batch_done(struct state_changes *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        record_unref(batch->items[i].put);
    free(batch->items);
}

/* ---- Needs of each change ---- */

/* Its id has another type now: the object goes on under a name of its own, to be deleted. */
static bool makes_way(const struct operation *operation, const struct plan_change *change)
{
    return !change->resource && change->record && !change->deposed && operation->spec &&
           strmap_get(&operation->spec->by_id, change->id);
}

/* After a crash, an intent makes the next operation look for the object. It replaces the record of
 * an object that is gone and is created again. Where objects cannot be found again, each create is
 * marked instead, right before its call (call.c). */
static bool needs_intent(const struct node *node, const struct plan_change *change)
{
    bool is_unknown = !change->record || change->record->status != RECORD_INTENT;

    if (!change->resource || change->error || !change->step ||
        operation_ops(node)->flags & RUNTIME_CREATES_BLINDLY)
        return false;
    return change->action == PLAN_CREATE ? is_unknown
                                         : change->action == PLAN_ADOPT && !change->record;
}

/* An intent without an object, and without a call that could still make it. */
static bool is_void_intent(const struct plan_change *change)
{
    return !change->resource && change->action == PLAN_FORGET &&
           change->record->status == RECORD_INTENT;
}

/* ---- All of them ---- */

int operation_record_intents(struct operation *operation, struct error *error)
{
    struct plan *plan = operation->plan;
    _cleanup_(batch_done) struct state_changes batch = {0};
    bool is_needed = false;
    int r;

    operation_set_head(operation, AT_BEGIN); /* each of the writes has it */
    r = operation_move_records(operation, error);
    for (uint32_t i = 0; i < plan->n_changes; i++) {
        struct plan_change *change = &plan->changes[i];
        struct node *node = &operation->nodes[i];

        if (makes_way(operation, change))
            add_change(&batch, (struct ledger_change){.put = operation_depose(node)});
        if (makes_way(operation, change) || is_void_intent(change))
            add_change(&batch,
                       (struct ledger_change){.id = change->id, .deposed = change->deposed});
        is_needed =
            is_needed ||
            (!change->error && (change->action == PLAN_DELETE || change->action == PLAN_REPLACE));
    }
    for (uint32_t i = 0; i < plan->n_changes; i++) {
        struct plan_change *change = &plan->changes[i];
        struct node *node = &operation->nodes[i];
        int64_t late = operation_late_create(operation, change->record);

        if (!needs_intent(node, change))
            continue;
        add_change(&batch,
                   (struct ledger_change){.put = operation_intent(node, change->action, late)});
        node_move(node, STEP_APPLY, NODE_INTENDED);
    }
    /* Before deletions State is written even without changes: that fails if another leader is at
     * work. */
    if (r >= 0 && (batch.count || is_needed))
        r = ledger_begin(operation->ledger, batch.items, batch.count, error);
    else if (r >= 0)
        r = ledger_check(operation->ledger, error);
    return r;
}

/* An earlier create may still come: the intent has its time. */
static bool may_be_dropped(const struct node *node)
{
    _cleanup_(record_unref_p) const struct record *known = operation_known(node);

    return node->phases[STEP_APPLY] == NODE_INTENDED && known && known->status == RECORD_INTENT &&
           !operation_late_create(node->operation, known);
}

void operation_drop_intents(struct operation *operation)
{
    _cleanup_(batch_done) struct state_changes batch = {0};

    for (uint32_t i = 0; i < operation->plan->n_changes; i++)
        if (may_be_dropped(&operation->nodes[i]))
            add_change(&batch, (struct ledger_change){.id = operation->plan->changes[i].id});
    if (batch.count)
        ledger_land(operation->ledger, batch.items, batch.count, LEDGER_SOON, NULL);
}
