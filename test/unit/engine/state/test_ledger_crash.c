/* A process that is killed before or after any change of the store: all that was acknowledged is
 * there for the next one. */
#include "engine/base/str.h"
#include "test/unit/engine/state/stage.h"
#include "test/unit/suite.h"

enum step_kind { BEGIN, BEGIN_MARK, LAND, LAND_SOON, LAND_SECRET, DROP, HEAD, FLUSH };

/* One life of a Spec. n is the record's number, or the head's revision. */
static const struct step {
    enum step_kind kind;
    const char *id;
    int n;
} steps[] = {
    {HEAD, NULL, 1},     {BEGIN, "a", 1},       {BEGIN, "b", 1},       {LAND, "a", 2},
    {LAND, "b", 2},      {BEGIN_MARK, "db", 0}, {LAND, "db", 5},       {LAND_SOON, "c", 1},
    {LAND_SOON, "d", 1}, {FLUSH, NULL, 0},      {LAND_SECRET, "s", 0}, {BEGIN_MARK, "db2", 0},
    {DROP, "b", 0},      {DROP, "db2", 0},      {HEAD, NULL, 2},       {BEGIN, "e", 1},
    {LAND_SOON, "e", 2}, {FLUSH, NULL, 0},      {HEAD, NULL, 3},       {FLUSH, NULL, 0},
};

static int take_step(struct ledger *ledger, const struct step *step)
{
    struct arena arena = ARENA_INIT;
    struct state_head head;

    switch (step->kind) {
    case BEGIN:
        return begin_put(ledger, record_of(step->id, step->n), NULL);
    case BEGIN_MARK:
        return begin_put(ledger, mark_of(step->id, step->id), NULL);
    case LAND:
        return land_put(ledger, record_of(step->id, step->n), LEDGER_NOW, NULL);
    case LAND_SOON:
        return land_put(ledger, record_of(step->id, step->n), LEDGER_SOON, NULL);
    case LAND_SECRET:
        return land_put(ledger, full_record(step->id), LEDGER_NOW, NULL);
    case DROP:
        return land_drop(ledger, step->id, LEDGER_NOW, NULL);
    case HEAD:
        ledger_head(ledger, &arena, &head);
        head.revision = step->n;
        ledger_set_head(ledger, &head);
        arena_done(&arena);
        return 0;
    case FLUSH:
        return ledger_flush(ledger, NULL);
    }
    return 0;
}

/* What a step does to a State, as a model. */
static void model_step(struct state *model, const struct step *step)
{
    _cleanup_(record_unref_p) const struct record *record = NULL;
    struct state_head head = *state_head(model);

    if (step->kind == BEGIN || step->kind == LAND || step->kind == LAND_SOON)
        record = record_of(step->id, step->n);
    else if (step->kind == BEGIN_MARK)
        record = mark_of(step->id, step->id);
    else if (step->kind == LAND_SECRET)
        record = full_record(step->id);
    if (record)
        state_put(model, record);
    if (step->kind == DROP)
        state_drop(model, step->id, NULL);
    if (step->kind == HEAD) {
        head.revision = step->n;
        state_set_head(model, &head);
    }
}

static bool is_durable(enum step_kind kind)
{
    return kind != HEAD && kind != LAND_SOON;
}

static bool same_records(struct state *a, struct state *b)
{
    bool same =
        state_count(a) == state_count(b) && state_head(a)->revision == state_head(b)->revision;

    for (size_t i = 0; same && i < state_count(a); i++) {
        const struct record *record = state_at(a, i);

        same = record_equal(record, state_find(b, record->id, record->deposed));
    }
    return same;
}

/* The model after so many steps, large where entries are to be appended. */
static struct state *model_after(size_t n, bool is_large)
{
    struct state *model = empty_state();
    struct state_head head = *state_head(model);
    _cleanup_(record_unref_p) const struct record *big = large_record("big", 200000);

    head.revision = 0;
    state_set_head(model, &head);
    if (is_large)
        state_put(model, big);
    for (size_t i = 0; i < n; i++)
        model_step(model, &steps[i]);
    return model;
}

/* Stored is what was acknowledged last, or something after it that was on its way. */
static bool is_between(struct state *stored, size_t acknowledged, size_t asked, bool is_large)
{
    for (size_t n = acknowledged; n <= asked; n++) {
        _cleanup_(state_free_p) struct state *model = model_after(n, is_large);

        if (stored ? same_records(model, stored) : n == 0 && !is_large)
            return true;
    }
    return false;
}

static size_t kill_in; /* events until then; 0: now */

static enum store_fault killer(void *arg, const struct faulty_event *event)
{
    (void)arg;
    if (event->call != FAULTY_READ && kill_in-- == 0)
        faulty_store_kill(event->store);
    return FAULT_NONE;
}

/* False: it was not killed any more. */
static bool live(size_t kill_point, bool is_large)
{
    _cleanup_free_ char *note = str_printf("killed at %zu", kill_point);
    size_t acknowledged = 0, asked = 0;
    struct stage stage;
    struct process first, second;
    struct ledger *ledger;
    struct state *stored;
    bool was_killed;

    stage_init(&stage, NULL);
    process_init(&first, &stage);
    ledger = opened(&first, 1);
    if (is_large)
        land_put(ledger, large_record("big", 200000), LEDGER_NOW, NULL);
    atomic_fetch_add(&stage.clock.now, 1);
    kill_in = kill_point;
    store_faults_watch(stage.faults, killer, NULL);
    for (; asked < ARRAY_SIZE(steps); asked++) {
        int r = take_step(ledger, &steps[asked]);

        if (r < 0)
            break;
        if (is_durable(steps[asked].kind))
            acknowledged = asked + 1;
    }
    was_killed = asked < ARRAY_SIZE(steps);
    process_kill(&first, ledger);
    store_faults_watch(stage.faults, NULL, NULL);
    stored = stored_state(&stage);
    EXPECT(is_between(stored, acknowledged, was_killed ? asked + 1 : asked, is_large), note);
    state_free(stored);
    process_init(&second, &stage);
    ledger = opened(&second, 2);
    EXPECT_INT(begin_put(ledger, record_of("after", 1), NULL), 0, note);
    EXPECT_INT(stored_number(&stage, "after"), 1, note);
    ledger_unref(ledger);
    process_done(&second);
    stage_done(&stage);
    return was_killed;
}

static void a_killed_process_forgets_nothing(void)
{
    for (int is_large = 0; is_large < 2; is_large++) {
        size_t point = 0;

        while (live(point, is_large))
            point++;
        EXPECT(point >= 20, "before and after each change");
    }
}

SUITE(ledger_crash, TEST(a_killed_process_forgets_nothing))
