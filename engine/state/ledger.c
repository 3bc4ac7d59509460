#include "engine/state/ledger.h"

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/state/ledger_private.h"
#include "engine/threads/locked.h"

/* ---- What it knows ---- */

bool ledger_is_stored(struct ledger *ledger)
{
    LOCKED(&ledger->lock);

    return ledger->is_stored;
}

int64_t ledger_saved_revision(struct ledger *ledger)
{
    LOCKED(&ledger->lock);

    return ledger->is_stored ? ledger->saved.revision : 0;
}

bool ledger_is_inherited(struct ledger *ledger)
{
    LOCKED(&ledger->lock);

    return !str_equal(state_head(ledger->state)->spec_uid, ledger->spec_uid);
}

int64_t ledger_term(const struct ledger *ledger)
{
    return ledger->table->config.term;
}

const struct record *ledger_get(struct ledger *ledger, const char *id, const char *deposed)
{
    LOCKED(&ledger->lock);

    return record_ref(state_find(ledger->state, id, deposed));
}

struct ledger_records ledger_records(struct ledger *ledger)
{
    struct ledger_records records = {0};
    const struct record *record;
    LOCKED(&ledger->lock);

    records.items = NEW_ARRAY(const struct record *, state_count(ledger->state) + 1);
    for (size_t at = 0; (record = state_next(ledger->state, &at));)
        records.items[records.count++] = record_ref(record);
    return records;
}

void ledger_records_done(struct ledger_records *records)
{
    for (size_t i = 0; i < records->count; i++)
        record_unref(records->items[i]);
    free(records->items);
    *records = (struct ledger_records){0};
}

void ledger_head(struct ledger *ledger, struct arena *arena, struct state_head *ret)
{
    LOCKED(&ledger->lock);

    *ret = *state_head(ledger->state);
    ret->spec_namespace = arena_str(arena, ret->spec_namespace);
    ret->spec_name = arena_str(arena, ret->spec_name);
    ret->spec_uid = arena_str(arena, ret->spec_uid);
    ret->operation_uid = arena_str(arena, ret->operation_uid);
    ret->place = arena_str(arena, ret->place);
}

void ledger_set_head(struct ledger *ledger, const struct state_head *head)
{
    struct state_head own = *head;

    own.spec_namespace = ledger->key.namespace_name;
    own.spec_name = ledger->key.name;
    LOCKED(&ledger->lock);
    own.serial = state_head(ledger->state)->serial;
    own.epoch = state_head(ledger->state)->epoch;
    state_set_head(ledger->state, &own);
    ledger->head_changed = true;
}

static void note_progress(struct ledger *ledger)
{
    const struct clock_source *clock = ledger->table->config.clock;

    if (state_progress(ledger->state, clock->now(clock)))
        ledger->head_changed = true;
}

void ledger_progress(struct ledger *ledger)
{
    LOCKED(&ledger->lock);

    note_progress(ledger);
}

/* ---- Beginning ---- */

int ledger_begin(struct ledger *ledger, const struct ledger_change *changes, size_t n,
                 struct error *error)
{
    _cleanup_free_ const struct record **before = NEW_ARRAY(const struct record *, n + 1);
    struct begin begin = {.changes = changes, .n = n, .before = before};
    int r = permit_ask(ledger->table->config.permit, PERMIT_ACT, error);

    if (r >= 0) {
        pthread_mutex_lock(&ledger->lock);
        r = ledger_save_begin(ledger, &begin, error);
        pthread_mutex_unlock(&ledger->lock);
    }
    if (r < 0)
        err_wrap(error, "saving State");
    return r;
}

int ledger_check(struct ledger *ledger, struct error *error)
{
    int r = permit_ask(ledger->table->config.permit, PERMIT_ACT, error);

    if (r < 0)
        return r;
    pthread_mutex_lock(&ledger->lock);
    if (ledger->is_lost)
        r = err_copy(error, &ledger->lost);
    else if (ledger->n_landed)
        r = err_copy(error, &ledger->failure);
    pthread_mutex_unlock(&ledger->lock);
    if (r < 0)
        err_wrap(error, "saving State");
    return r;
}

/* ---- Landing ---- */

bool ledger_is_dirty(const struct ledger *ledger)
{
    if (ledger->is_lost)
        return ledger_has_unwritten_outcomes(ledger);
    return ledger->n_landed || ledger->batch || ledger->wants_write;
}

/* The begin mark that a change ends: the outcome of the marked call is known now. NULL: none. */
static const struct record *ended_mark(const struct ledger *ledger,
                                       const struct ledger_change *change)
{
    const struct record *before =
        state_find(ledger->state, change_id(change), change_deposed(change));

    if (!before || before->status != RECORD_CREATING || !before->call.id)
        return NULL;
    if (change->put && change->put->status == RECORD_CREATING &&
        str_equal(change->put->call.id, before->call.id))
        return NULL;
    return before;
}

static void add_landing(struct ledger *ledger, const struct ledger_change *change, bool is_fold)
{
    struct landing landing = {.ticket = ledger->tickets};
    struct changes own = CHANGES_INIT;

    landing.mark = is_fold ? NULL : record_ref(ended_mark(ledger, change));
    changes_add(&own, change);
    landing.change = own.items[0];
    free(own.items);
    ledger->landed = mem_grow(ledger->landed, ledger->n_landed, &ledger->landed_capacity,
                              sizeof(*ledger->landed));
    ledger->landed[ledger->n_landed++] = landing;
    change_apply(change, ledger->state);
}

/* Writes outcome documents for landed outcomes that State cannot take. */
static void write_outcomes_now(struct ledger *ledger)
{
    if (!ledger_has_unwritten_outcomes(ledger))
        return;
    ledger_work_begin(ledger);
    ledger_write_outcomes(ledger, SAVE_PATIENCE);
    ledger_work_end(ledger);
}

static bool may_wait(const struct ledger *ledger)
{
    return ledger->working ||
           (ledger->was_tried && ledger_clock(ledger) - ledger->tried_at < SAVE_INTERVAL);
}

/* fenced: the permit's refusal; code 0: saving is allowed. */
static int store_landed(struct ledger *ledger, enum ledger_when when, const struct error *fenced,
                        struct error *error)
{
    uint64_t ticket = ledger->tickets;

    if (ledger->is_lost) {
        write_outcomes_now(ledger);
        if (!ledger_has_unwritten_outcomes(ledger))
            ledger_forget_landed(ledger, UINT64_MAX);
        return err_copy(error, &ledger->lost);
    }
    if (fenced->code) {
        ledger->failure = *fenced;
        write_outcomes_now(ledger);
        return err_copy(error, fenced);
    }
    if (when == LEDGER_SOON && may_wait(ledger))
        return err_copy(error, &ledger->failure);
    return ledger_save(ledger, ticket, SAVE_PATIENCE, error);
}

static int land(struct ledger *ledger, const struct ledger_change *changes, size_t n,
                enum ledger_when when, bool is_fold, struct error *error)
{
    struct error fenced = {0};
    int r;

    permit_ask(ledger->table->config.permit, PERMIT_ACT, &fenced);
    pthread_mutex_lock(&ledger->lock);
    if (ledger->is_removed) {
        pthread_mutex_unlock(&ledger->lock);
        return ledger_refuse_removed(error);
    }
    ledger->tickets++;
    for (size_t i = 0; i < n; i++)
        add_landing(ledger, &changes[i], is_fold);
    if (!is_fold)
        note_progress(ledger);
    r = store_landed(ledger, when, &fenced, error);
    pthread_mutex_unlock(&ledger->lock);
    if (r < 0)
        err_wrap(error, "saving State");
    return r;
}

int ledger_land(struct ledger *ledger, const struct ledger_change *changes, size_t n,
                enum ledger_when when, struct error *error)
{
    return land(ledger, changes, n, when, false, error);
}

int ledger_fold(struct ledger *ledger, const struct changes *changes, struct error *error)
{
    return land(ledger, changes->items, changes->count, LEDGER_NOW, true, error);
}

int ledger_flush(struct ledger *ledger, struct error *error)
{
    int r;

    pthread_mutex_lock(&ledger->lock);
    r = ledger_save_all(ledger, SAVE_PATIENCE, error);
    pthread_mutex_unlock(&ledger->lock);
    if (r < 0)
        err_wrap(error, "saving State");
    return r;
}

struct calls *ledger_calls(struct ledger *ledger)
{
    return ledger->calls;
}
