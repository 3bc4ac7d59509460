#include <string.h>

#include "engine/base/mem.h"
#include "engine/state/ledger_private.h"

/* ---- What is in it ---- */

static void apply_begin(struct ledger *ledger, struct begin *begin)
{
    for (size_t i = 0; i < begin->n && !begin->is_applied; i++) {
        const struct ledger_change *change = &begin->changes[i];

        begin->before[i] =
            record_ref(state_find(ledger->state, change_id(change), change_deposed(change)));
        change_apply(change, ledger->state);
    }
    begin->is_applied = true;
}

static size_t count_changes(const struct ledger *ledger, const struct batch *batch)
{
    size_t count = ledger->n_landed;

    for (const struct begin *begin = batch->begins; begin; begin = begin->next)
        count += begin->n;
    return count;
}

static bool is_worth_an_entry(const struct ledger *ledger, const struct batch *batch)
{
    return ledger->snapshot_bytes > SNAPSHOT_LARGE ||
           (ledger->snapshot_bytes > SNAPSHOT_SMALL &&
            count_changes(ledger, batch) * ENTRY_SHARE < state_count(ledger->state));
}

static bool has_room(const struct ledger *ledger)
{
    return ledger->entry_bytes < ledger->snapshot_bytes || ledger->entry_bytes < ENTRIES_LARGE;
}

static bool entry_would_do(const struct ledger *ledger, const struct batch *batch)
{
    return ledger->file->store->ops->append && ledger->is_stored && !ledger->wants_snapshot &&
           has_room(ledger) && is_worth_an_entry(ledger, batch);
}

static void gather_changes(const struct ledger *ledger, struct batch *batch)
{
    for (size_t i = 0; i < ledger->n_landed; i++)
        changes_add(&batch->changes, &ledger->landed[i].change);
    for (const struct begin *begin = batch->begins; begin; begin = begin->next)
        for (size_t i = 0; i < begin->n; i++)
            changes_add(&batch->changes, &begin->changes[i]);
}

struct batch *batch_new(struct ledger *ledger)
{
    struct batch *batch = NEW(struct batch);

    buf_init(&batch->document.open, 0);
    buf_init(&batch->document.secret, 0);
    buf_init(&batch->entry, 0);
    batch->ticket = ledger->tickets;
    batch->has_landings = ledger->n_landed;
    batch->begins = TAKE(ledger->begins);
    for (struct begin *begin = batch->begins; begin; begin = begin->next)
        apply_begin(ledger, begin);
    state_head_copy(&batch->head, state_head(ledger->state));
    batch->head.serial = ledger->saved.serial + 1;
    batch->head.epoch = ledger->epoch > ledger->saved.epoch ? ledger->epoch : ledger->saved.epoch;
    ledger->head_changed = false;
    batch->is_entry = entry_would_do(ledger, batch);
    if (batch->is_entry) {
        gather_changes(ledger, batch);
    } else {
        batch->state = state_copy(ledger->state);
        state_set_head(batch->state, &batch->head);
    }
    return batch;
}

void batch_free(struct batch *batch)
{
    if (!batch)
        return;
    state_free(batch->state);
    changes_done(&batch->changes);
    state_head_done(&batch->head);
    document_done(&batch->document);
    buf_done(&batch->entry);
    free(batch);
}

void batch_commit(struct ledger *ledger, struct batch *batch)
{
    struct state_head head = *state_head(ledger->state);

    state_head_done(&ledger->saved);
    state_head_copy(&ledger->saved, &batch->head);
    head.serial = batch->head.serial;
    head.epoch = batch->head.epoch;
    state_set_head(ledger->state, &head);
    ledger->is_stored = true;
    ledger->saved_ticket = batch->ticket;
    ledger_forget_landed(ledger, batch->ticket);
    if (batch->is_entry) {
        ledger->n_entries++;
        ledger->entry_bytes += batch->entry.length;
    } else {
        ledger->snapshot_bytes = batch->document.open.length + batch->document.secret.length;
        ledger->n_entries = ledger->entry_bytes = 0;
        ledger->wants_snapshot = ledger->wants_write = false;
    }
    /* The changes of the failed begins were undone in the records, but the write happened after
     * all. A new snapshot removes them from the store. */
    if (batch->is_withdrawn)
        ledger->wants_snapshot = ledger->wants_write = true;
}

/* ---- Whether it happened ---- */

static bool same_bytes(const struct buf *a, const struct buf *b)
{
    return a->length == b->length && memcmp(a->data, b->data, a->length) == 0;
}

static bool is_of_batch(const struct ledger *ledger, const struct batch *batch,
                        const struct document *stored)
{
    if (batch->is_entry)
        return stored->n_entries == ledger->n_entries + 1 &&
               same_bytes(&stored->entries[stored->n_entries - 1], &batch->entry);
    return stored->n_entries == 0 && same_bytes(&stored->open, &batch->document.open) &&
           same_bytes(&stored->secret, &batch->document.secret);
}

static bool is_as_saved(const struct ledger *ledger, const struct document *stored)
{
    _cleanup_(state_free_p) struct state *state = NULL;

    return ledger->is_stored && state_decode(stored, &state, NULL) >= 0 &&
           state_head(state)->serial == ledger->saved.serial &&
           state_head(state)->epoch == ledger->saved.epoch;
}

int batch_look(struct ledger *ledger, const struct batch *batch, struct error *error)
{
    struct store_call call = ledger_call(ledger, PERMIT_ACT);
    _cleanup_(document_done) struct document stored = DOCUMENT_INIT;
    struct error problem = {0};
    int r = ledger->file->store->ops->read(ledger->file, &call, &stored, &problem);

    if (r == ERR_NOT_FOUND)
        r = ledger->is_stored ? STORED_NOTHING : STORED_BEFORE;
    else if (r == ERR_CORRUPT)
        r = STORED_OTHER;
    else if (r < 0)
        err_copy(error, &problem);
    else if (batch && is_of_batch(ledger, batch, &stored))
        r = STORED_BATCH;
    else
        r = is_as_saved(ledger, &stored) ? STORED_BEFORE : STORED_OTHER;
    return r;
}

int batch_conflict(const struct ledger *ledger, struct error *error)
{
    _cleanup_free_ char *place = ledger_describe(ledger, DOCUMENT_STATE, NULL);

    return err_set(error, ERR_CONFLICT, "StateConflict",
                   "State was changed by another process meanwhile: %s", place);
}

/* ---- Sending ---- */

static int encode(const struct ledger *ledger, struct batch *batch, struct error *problem)
{
    int r = batch->is_entry ? entry_encode(&ledger->saved, &batch->head, &batch->changes,
                                           &batch->entry, problem)
                            : state_encode(batch->state, &batch->document, problem);

    state_free(TAKE(batch->state));
    batch->is_encoded = r >= 0;
    return r;
}

static int send(struct ledger *ledger, const struct batch *batch, struct error *problem)
{
    const struct store_ops *ops = ledger->file->store->ops;
    struct store_call call = ledger_call(ledger, PERMIT_ACT);

    if (batch->is_entry)
        return ops->append(ledger->file, &call, batch->entry.data, batch->entry.length, problem);
    return ops->write(ledger->file, &call, &batch->document, problem);
}

/* Finds out whether an earlier attempt was written; if not, sends the batch. */
static enum batch_outcome try_once(struct ledger *ledger, struct batch *batch,
                                   struct error *problem)
{
    int r;

    if (batch->is_in_doubt) {
        r = batch_look(ledger, batch, problem);
        if (r < 0)
            return BATCH_FAILED;
        if (r == STORED_BATCH)
            return BATCH_STORED;
        if (r != STORED_BEFORE) {
            batch_conflict(ledger, problem);
            return BATCH_LOST;
        }
        batch->is_in_doubt = false;
    }
    r = send(ledger, batch, problem);
    if (r >= 0)
        return BATCH_STORED;
    if (r == ERR_CONFLICT && !batch->was_in_doubt) {
        batch_conflict(ledger, problem);
        return BATCH_LOST;
    }
    /* After an unanswered attempt, a conflict may come from our own late write. */
    if (r == ERR_UNAVAILABLE || r == ERR_TIMEOUT || r == ERR_CONFLICT)
        batch->is_in_doubt = batch->was_in_doubt = true;
    return BATCH_FAILED;
}

enum batch_outcome batch_run(struct ledger *ledger, struct batch *batch, int64_t patience,
                             struct error *problem)
{
    int64_t until = ledger_clock(ledger) + patience, wait = SAVE_WAIT_FIRST;

    if (!batch->is_encoded && encode(ledger, batch, problem) < 0)
        return BATCH_FAILED;
    for (;;) {
        enum batch_outcome outcome = try_once(ledger, batch, problem);

        if (outcome != BATCH_FAILED || !err_is_transient(problem->code) ||
            ledger_clock(ledger) >= until)
            return outcome;
        ledger_note_late(ledger, problem);
        ledger_pause(ledger, wait);
        wait = 2 * wait < SAVE_WAIT_MOST ? 2 * wait : SAVE_WAIT_MOST;
    }
}
