#include "test/unit/engine/state/stage.h"

#include "engine/state/codec.h"
#include "test/unit/suite.h"

const struct spec_key stage_key = {"team", "web"};

/* ---- Clock ---- */

static int64_t stage_now(const struct clock_source *source)
{
    return atomic_load(&((struct stage_clock *)(uintptr_t)source)->now);
}

static void stage_wait(const struct clock_source *source, pthread_cond_t *condition,
                       pthread_mutex_t *mutex, int64_t until)
{
    struct stage_clock *clock = (struct stage_clock *)(uintptr_t)source;
    int64_t now = atomic_load(&clock->now);

    (void)condition, (void)mutex;
    while (now < until && !atomic_compare_exchange_weak(&clock->now, &now, until))
        ;
}

void stage_init(struct stage *stage, const struct memory_medium_config *config)
{
    stage->medium = memory_medium_new(config);
    stage->faults = store_faults_new();
    stage->clock.source =
        (struct clock_source){.now = stage_now, .monotonic = stage_now, .wait = stage_wait};
    atomic_init(&stage->clock.now, 1000000);
}

void stage_done(struct stage *stage)
{
    memory_medium_free(stage->medium);
    store_faults_free(stage->faults);
}

/* ---- Processes ---- */

static int ask(void *arg, enum permit_use use, struct error *error)
{
    struct process *process = arg;

    if (use == PERMIT_ACT && atomic_load(&process->is_fenced))
        return err_set(error, ERR_FENCED, "NotLeader", "the Lease is lost");
    if (use == PERMIT_RECORD && atomic_load(&process->is_mute))
        return err_set(error, ERR_FENCED, "NotLeader", "may not even tell");
    return 0;
}

void process_init(struct process *process, struct stage *stage)
{
    atomic_init(&process->is_fenced, false);
    atomic_init(&process->is_mute, false);
    process->store = faulty_store_new(stage->faults, memory_store_new(stage->medium));
    process->permit = (struct permit){ask, process};
    process->ledgers = ledgers_new(&(struct ledgers_config){
        .store = process->store, .clock = &stage->clock.source, .permit = &process->permit});
}

void process_done(struct process *process)
{
    ledgers_free(process->ledgers);
    process->store->ops->free(process->store);
}

void process_kill(struct process *process, struct ledger *ledger)
{
    faulty_store_kill(process->store);
    ledger_unref(ledger);
    process_done(process);
}

int open_at(struct process *process, int64_t epoch, struct ledger **ret, struct error *error)
{
    struct ledger_opening opening = {.key = stage_key, .spec_uid = "uid-1", .epoch = epoch};

    return ledger_open(process->ledgers, &opening, ret, error);
}

struct ledger *opened(struct process *process, int64_t epoch)
{
    struct ledger *ledger = NULL;
    struct error error = {0};

    EXPECT_INT(open_at(process, epoch, &ledger, &error), 0, error.message);
    if (!ledger)
        abort();
    return ledger;
}

/* ---- Changes ---- */

int begin_put(struct ledger *ledger, const struct record *record, struct error *error)
{
    int r = ledger_begin(ledger, &(struct ledger_change){.put = record}, 1, error);

    record_unref(record);
    return r;
}

int land_put(struct ledger *ledger, const struct record *record, enum ledger_when when,
             struct error *error)
{
    int r = ledger_land(ledger, &(struct ledger_change){.put = record}, 1, when, error);

    record_unref(record);
    return r;
}

int land_drop(struct ledger *ledger, const char *id, enum ledger_when when, struct error *error)
{
    return ledger_land(ledger, &(struct ledger_change){.id = id}, 1, when, error);
}

/* ---- What is there ---- */

static int64_t number_in(const struct record *record)
{
    return record ? value_int(value_get(record->attributes, "n"), 0) : -1;
}

int64_t number_of(struct ledger *ledger, const char *id)
{
    _cleanup_(record_unref_p) const struct record *record = ledger_get(ledger, id, NULL);

    return number_in(record);
}

struct state *stored_state(struct stage *stage)
{
    struct store *store = memory_store_new(stage->medium);
    struct document_name name = {DOCUMENT_STATE, stage_key, NULL};
    struct document document = DOCUMENT_INIT;
    const struct store_call call = {0};
    struct store_file *file = NULL;
    struct state *state = NULL;
    struct error error = {0};

    EXPECT_INT(store->ops->open(store, &name, STORE_READ, &call, &file, &error), 0, error.message);
    if (store->ops->read(file, &call, &document, &error) == 0)
        EXPECT_INT(state_decode(&document, &state, &error), 0, error.message);
    document_done(&document);
    store->ops->close(file);
    store->ops->free(store);
    return state;
}

int64_t stored_number(struct stage *stage, const char *id)
{
    _cleanup_(state_free_p) struct state *state = stored_state(stage);

    return state ? number_in(state_find(state, id, NULL)) : -1;
}

size_t writes(struct stage *stage)
{
    return memory_count(stage->medium, MEMORY_WRITE);
}
