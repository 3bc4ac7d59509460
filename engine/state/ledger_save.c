#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/state/ledger_private.h"
#include "engine/threads/locked.h"

struct store_call ledger_call(const struct ledger *ledger, enum permit_use use)
{
    return (struct store_call){.permit = ledger->table->config.permit, .use = use};
}

void ledger_work_begin(struct ledger *ledger)
{
    while (ledger->working)
        pthread_cond_wait(&ledger->changed, &ledger->lock);
    ledger->working = true;
}

void ledger_work_end(struct ledger *ledger)
{
    ledger->working = false;
    pthread_cond_broadcast(&ledger->changed);
}

/* ---- What landed ---- */

/* Notes that the landing's outcome document is no longer needed. */
static void note_written(struct ledger *ledger, const struct landing *landing)
{
    ledger->written =
        mem_grow(ledger->written, ledger->n_written, &ledger->written_capacity, sizeof(char *));
    ledger->written[ledger->n_written++] = str_new(landing->mark->call.id);
}

void ledger_forget_landed(struct ledger *ledger, uint64_t ticket)
{
    size_t count = 0;

    while (count < ledger->n_landed && ledger->landed[count].ticket <= ticket) {
        if (ledger->landed[count].is_written)
            note_written(ledger, &ledger->landed[count]);
        change_done(&ledger->landed[count].change);
        record_unref(ledger->landed[count++].mark);
    }
    ledger->n_landed -= count;
    if (ledger->n_landed)
        memmove(ledger->landed, ledger->landed + count, ledger->n_landed * sizeof(*ledger->landed));
}

/* ---- Begins ---- */

/* Undoes the begin's changes in the records, except where a later change replaced them. */
static void undo(struct ledger *ledger, struct begin *begin)
{
    for (size_t i = begin->n; begin->is_applied && i-- > 0;) {
        const struct ledger_change *change = &begin->changes[i];
        const char *id = change_id(change), *deposed = change_deposed(change);

        if (state_find(ledger->state, id, deposed) != change->put)
            continue;
        if (begin->before[i])
            state_put(ledger->state, begin->before[i]);
        else
            state_drop(ledger->state, id, deposed);
    }
}

/* problem NULL: the begin is saved. */
static void answer(struct ledger *ledger, struct begin *begin, const struct error *problem)
{
    if (problem) {
        undo(ledger, begin);
        begin->error = *problem;
    }
    for (size_t i = 0; i < begin->n; i++)
        record_unref(begin->before[i]);
    begin->is_done = true;
}

/* Newest first: if two begins changed the same record, the undo restores the older content last. */
static void answer_all(struct ledger *ledger, struct begin *begins, const struct error *problem)
{
    if (!begins)
        return;
    answer_all(ledger, begins->next, problem);
    answer(ledger, begins, problem);
}

/* Answers the waiting begins with tickets up to this one. */
static void answer_waiting(struct ledger *ledger, uint64_t ticket, const struct error *problem)
{
    struct begin *first = ledger->begins, **end = &ledger->begins;

    while (*end && (*end)->ticket <= ticket)
        end = &(*end)->next;
    if (end == &ledger->begins)
        return;
    ledger->begins = TAKE(*end);
    answer_all(ledger, first, problem);
}

static void queue(struct ledger *ledger, struct begin *begin)
{
    struct begin **end = &ledger->begins;

    while (*end)
        end = &(*end)->next;
    *end = begin;
}

/* ---- Working ---- */

void ledger_lose(struct ledger *ledger, const struct error *why)
{
    struct store_file *file = TAKE(ledger->file);

    ledger->lost = *why;
    answer_waiting(ledger, UINT64_MAX, &ledger->lost);
    pthread_mutex_unlock(&ledger->lock);
    if (file) /* releases the store's lock, so that State can be opened again */
        file->store->ops->close(file);
    pthread_mutex_lock(&ledger->lock);
    /* Outcomes are written before is_lost is set: the next ledger_open() reads the documents. */
    ledger_write_outcomes(ledger, SAVE_PATIENCE);
    ledger->is_lost = true;
    answer_waiting(ledger, UINT64_MAX, &ledger->lost);
    ledger_write_outcomes(ledger, SAVE_PATIENCE);
    if (!ledger_has_unwritten_outcomes(ledger))
        ledger_forget_landed(ledger, UINT64_MAX);
}

int ledger_refuse_removed(struct error *error)
{
    return err_set(error, ERR_CONFLICT, "StateRemoved", "State was removed meanwhile");
}

void ledger_set_removed(struct ledger *ledger)
{
    struct store_file *file = TAKE(ledger->file);
    struct error removed = {0};

    ledger_refuse_removed(&removed);
    ledger->is_removed = true;
    answer_waiting(ledger, UINT64_MAX, &removed);
    pthread_mutex_unlock(&ledger->lock);
    if (file) /* releases the store's lock, so that State can be opened again */
        file->store->ops->close(file);
    pthread_mutex_lock(&ledger->lock);
}

/* Takes back a batch that was not written. True: the rest of its content can be tried at once. */
static bool give_back(struct ledger *ledger, struct batch *batch, const struct error *problem)
{
    bool is_too_long = problem->code == ERR_TOO_LARGE && batch->is_entry;
    struct begin *begins = TAKE(batch->begins);
    bool again = is_too_long || (begins && batch->has_landings && problem->code != ERR_FENCED);

    ledger->head_changed = true;
    if (is_too_long) {
        struct begin *later = TAKE(ledger->begins);

        ledger->wants_snapshot = true;
        ledger->begins = begins;
        queue(ledger, later);
    } else {
        answer_all(ledger, begins, problem);
    }
    batch_free(batch);
    return again;
}

/* Keeps a batch whose outcome is not known: a later attempt looks in the store. */
static void keep(struct ledger *ledger, struct batch *batch, const struct error *problem)
{
    batch->is_withdrawn = batch->is_withdrawn || batch->begins;
    answer_all(ledger, TAKE(batch->begins), problem);
    ledger->batch = batch;
}

/* True: more content can be tried at once. */
static bool save_one(struct ledger *ledger, int64_t patience, struct error *problem)
{
    struct batch *batch = ledger->batch ? TAKE(ledger->batch) : batch_new(ledger);
    enum batch_outcome outcome;

    pthread_mutex_unlock(&ledger->lock);
    outcome = batch_run(ledger, batch, patience, problem);
    pthread_mutex_lock(&ledger->lock);
    if (outcome == BATCH_FAILED && !batch->is_in_doubt)
        return give_back(ledger, batch, problem);
    if (outcome == BATCH_FAILED) {
        keep(ledger, batch, problem);
        return false;
    }
    if (outcome == BATCH_STORED) {
        err_clear(problem);
        batch_commit(ledger, batch);
    }
    answer_all(ledger, TAKE(batch->begins), outcome == BATCH_LOST ? problem : NULL);
    batch_free(batch);
    if (outcome == BATCH_LOST)
        ledger_lose(ledger, problem);
    else
        ledger_remove_written_outcomes(ledger);
    return false;
}

static size_t count_begins(const struct ledger *ledger)
{
    size_t count = 0;

    for (const struct begin *begin = ledger->begins; begin; begin = begin->next)
        count++;
    return count;
}

/* While calls are under way, waits for those that are about to end: their outcomes, and what begins
 * after them, share the write. */
static void gather(struct ledger *ledger)
{
    const struct clock_source *clock = ledger->table->config.clock;

    /* A call counts from before its intent is saved: those that wait for this very save do not
     * end meanwhile. */
    if (calls_count(ledger->calls) > count_begins(ledger))
        clock->wait(clock, &ledger->never, &ledger->lock, clock->monotonic(clock) + GATHER_TIME);
}

/* With the lock. */
static void set_late(struct ledger *ledger, int64_t since, const char *why)
{
    ledger->late_since = since;
    free(ledger->late_why);
    ledger->late_why = str_new(why);
}

void ledger_note_late(struct ledger *ledger, const struct error *why)
{
    LOCKED(&ledger->lock);
    set_late(ledger, ledger->late_since, why->message);
}

int64_t ledger_late_for(struct ledger *ledger, char *ret, size_t size)
{
    int64_t late = 0;
    LOCKED(&ledger->lock);

    if (ledger->late_since)
        late = ledger_clock(ledger) - ledger->late_since;
    str_copy(ret, size, ledger->late_why ? ledger->late_why : "");
    return late;
}

static void work(struct ledger *ledger, int64_t patience)
{
    struct error problem = {0};
    uint64_t waiting;

    ledger_work_begin(ledger);
    if (!ledger->late_since)
        set_late(ledger, ledger_clock(ledger), NULL);
    gather(ledger);
    if (ledger->patient)
        patience = SAVE_PATIENCE; /* some waiting thread wants the retries */
    do {
        err_clear(&problem);
        waiting = ledger->tickets;
    } while (save_one(ledger, patience, &problem));
    if (problem.code)
        answer_waiting(ledger, waiting, &problem);
    if (problem.code == ERR_FENCED)
        ledger_write_outcomes(ledger, patience);
    if (problem.code && (ledger->begins || ledger_is_dirty(ledger)))
        set_late(ledger, ledger->late_since, problem.message);
    else /* what could not be saved was answered, and undone */
        set_late(ledger, 0, NULL);
    ledger->failure = problem;
    ledger->tries++;
    ledger->tried_ticket = waiting;
    ledger->tried_at = ledger_clock(ledger);
    ledger->was_tried = true;
    ledger_work_end(ledger);
}

/* ---- Waiting for it ---- */

static int wait_for(struct ledger *ledger, uint64_t ticket, int64_t patience, struct error *error)
{
    uint64_t tries = ledger->tries;

    while (ledger->saved_ticket < ticket) {
        if (ledger->is_lost)
            return err_copy(error, &ledger->lost);
        if (ledger->is_removed)
            return ledger_refuse_removed(error);
        if (ledger->tries != tries && ledger->tried_ticket >= ticket && ledger->failure.code)
            return err_copy(error, &ledger->failure);
        if (ledger->working)
            pthread_cond_wait(&ledger->changed, &ledger->lock);
        else
            work(ledger, patience);
    }
    return 0;
}

int ledger_save(struct ledger *ledger, uint64_t ticket, int64_t patience, struct error *error)
{
    int r;

    ledger->patient += patience > 0;
    r = wait_for(ledger, ticket, patience, error);
    ledger->patient -= patience > 0;
    return r;
}

int ledger_save_all(struct ledger *ledger, int64_t patience, struct error *error)
{
    if (ledger->is_lost)
        return err_copy(error, &ledger->lost);
    if (ledger->is_removed || (!ledger_is_dirty(ledger) && !ledger->head_changed))
        return 0;
    return ledger_save(ledger, ++ledger->tickets, patience, error);
}

int ledger_save_begin(struct ledger *ledger, struct begin *begin, struct error *error)
{
    if (ledger->is_lost)
        return err_copy(error, &ledger->lost);
    if (ledger->is_removed)
        return ledger_refuse_removed(error);
    begin->ticket = ++ledger->tickets;
    queue(ledger, begin);
    ledger->patient++;
    while (!begin->is_done)
        if (ledger->working)
            pthread_cond_wait(&ledger->changed, &ledger->lock);
        else
            work(ledger, SAVE_PATIENCE);
    ledger->patient--;
    return err_copy(error, &begin->error);
}
