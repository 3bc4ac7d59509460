/* What lands for a begin mark where State cannot be written: two leaders, and a lost Lease. */
#include "test/unit/engine/state/stage.h"
#include "test/unit/suite.h"

static struct stage stage;
static struct process old, new;

static void set_up(void)
{
    stage_init(&stage, NULL);
    process_init(&old, &stage);
    process_init(&new, &stage);
}

static void tear_down(void)
{
    process_done(&old);
    process_done(&new);
    stage_done(&stage);
}

/* What a call came to, and how it is written. */
static const struct row {
    const char *note;
    bool is_fenced; /* the Lease is lost; else another process wrote State first */
    bool is_dropped;
    enum ledger_when when;
} rows[] = {
    {"fenced", true, false, LEDGER_NOW},
    {"fenced, soon", true, false, LEDGER_SOON},
    {"fenced, nothing there", true, true, LEDGER_NOW},
    {"lost", false, false, LEDGER_NOW},
    {"lost, nothing there", false, true, LEDGER_NOW},
};

static int land_row(struct ledger *ledger, const struct row *row)
{
    return row->is_dropped ? land_drop(ledger, "db", row->when, NULL)
                           : land_put(ledger, record_of("db", 5), row->when, NULL);
}

/* The old leader has a call under way when it loses the Lease, or is overtaken. */
static void the_next_leader_folds_it_in(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const char *note = rows[i].note;
        struct ledger *theirs, *ours;
        _cleanup_(record_unref_p) const struct record *mark = NULL;

        set_up();
        theirs = opened(&old, 1);
        begin_put(theirs, mark_of("db", "call-1"), NULL);
        ours = opened(&new, 2);
        mark = ledger_get(ours, "db", NULL);
        EXPECT(mark && mark->status == RECORD_CREATING, "the new one sees the mark");
        begin_put(ours, record_of("other", 1), NULL);
        atomic_store(&old.is_fenced, rows[i].is_fenced);
        EXPECT_INT(land_row(theirs, &rows[i]), rows[i].is_fenced ? ERR_FENCED : ERR_CONFLICT, note);
        EXPECT_INT(begin_put(theirs, record_of("more", 1), NULL),
                   rows[i].is_fenced ? ERR_FENCED : ERR_CONFLICT, "nothing begins");
        EXPECT_INT((long long)memory_documents(stage.medium), 2, "State and an outcome document");
        ledger_unref(ours);
        ours = opened(&new, 2);
        EXPECT_INT(number_of(ours, "db"), rows[i].is_dropped ? -1 : 5, note);
        EXPECT_INT(stored_number(&stage, "db"), rows[i].is_dropped ? -1 : 5, note);
        EXPECT_INT(number_of(ours, "other"), 1, "and its own");
        EXPECT_INT((long long)memory_documents(stage.medium), 1, "the outcome document is gone");
        ledger_unref(ours);
        ledger_unref(theirs);
        tear_down();
    }
}

/* A landing without a mark is found by looking at the world: no document is written. */
static void only_calls_with_a_mark_get_a_document(void)
{
    struct ledger *ledger;

    set_up();
    ledger = opened(&old, 1);
    begin_put(ledger, record_of("a", 1), NULL);
    begin_put(ledger, mark_of("m", "call-1"), NULL);
    atomic_store(&old.is_fenced, true);
    land_put(ledger, record_of("a", 2), LEDGER_NOW, NULL);
    land_put(ledger, record_of("b", 2), LEDGER_NOW, NULL);
    land_put(ledger, mark_of("m", "call-1"), LEDGER_NOW, NULL); /* still under way */
    EXPECT_INT((long long)memory_documents(stage.medium), 1, "State alone");
    EXPECT_INT(stored_number(&stage, "a"), 1, "which is as it was");
    ledger_unref(ledger);
    tear_down();
}

/* All that landed together is in one document: a deposed object is not there twice. */
static void what_landed_together_is_in_one_document(void)
{
    _cleanup_(record_unref_p) const struct record *prior = record_of("db", 1), *deposed = NULL,
                                                  *mark = mark_of("db", "call-1");
    struct record copy = *prior;
    struct ledger *ledger;

    set_up();
    copy.deposed = "d1";
    deposed = record_new(&copy);
    ledger = opened(&old, 1);
    begin_put(ledger, record_ref(prior), NULL);
    ledger_begin(ledger, (struct ledger_change[]){{.put = deposed}, {.put = mark}}, 2, NULL);
    atomic_store(&old.is_fenced, true);
    ledger_land(ledger, (struct ledger_change[]){{.id = "db", .deposed = "d1"}, {.put = prior}}, 2,
                LEDGER_NOW, NULL);
    ledger_unref(ledger);
    ledger = opened(&new, 2);
    EXPECT_INT(number_of(ledger, "db"), 1, "in force again");
    EXPECT(!ledger_get(ledger, "db", "d1"), "and no other");
    ledger_unref(ledger);
    tear_down();
}

static void a_lease_found_again_stores_it(void)
{
    struct ledger *ledger;

    set_up();
    ledger = opened(&old, 1);
    begin_put(ledger, mark_of("db", "call-1"), NULL);
    atomic_store(&old.is_fenced, true);
    land_put(ledger, record_of("db", 5), LEDGER_NOW, NULL);
    land_put(ledger, record_of("b", 6), LEDGER_NOW, NULL);
    EXPECT_INT((long long)memory_documents(stage.medium), 2, "written");
    EXPECT_INT((long long)ledgers_retry(old.ledgers), 1, "still fenced");
    EXPECT_INT((long long)ledgers_drain(old.ledgers), 0, "a process that ends has done all it can");
    atomic_store(&old.is_fenced, false);
    ledger_unref(ledger);
    EXPECT_INT((long long)ledgers_retry(old.ledgers), 0, "stored");
    EXPECT_INT(stored_number(&stage, "db"), 5, "with all that landed");
    EXPECT_INT(stored_number(&stage, "b"), 6, "with all that landed");
    EXPECT_INT((long long)memory_documents(stage.medium), 1, "the outcome document is gone");
    tear_down();
}

static enum store_fault down(void *arg, const struct faulty_event *event)
{
    (void)event;
    return atomic_load((atomic_bool *)arg) ? FAULT_BEFORE : FAULT_NONE;
}

/* What could not be written is kept, also by a ledger that is lost and without references. */
static void what_cannot_be_written_is_kept(void)
{
    for (int is_lost = 0; is_lost < 2; is_lost++) {
        atomic_bool is_down = false;
        struct ledger *ledger, *other;

        set_up();
        ledger = opened(&old, 1);
        begin_put(ledger, mark_of("db", "call-1"), NULL);
        if (is_lost) {
            other = opened(&new, 2);
            begin_put(other, record_of("other", 1), NULL);
            ledger_unref(other);
            land_put(ledger, record_of("x", 1), LEDGER_NOW, NULL);
        }
        atomic_store(&old.is_fenced, !is_lost);
        atomic_store(&is_down, true);
        store_faults_watch(stage.faults, down, &is_down);
        land_put(ledger, record_of("db", 5), LEDGER_NOW, NULL);
        ledger_unref(ledger);
        EXPECT_INT((long long)ledgers_retry(old.ledgers), 1, "kept");
        EXPECT_INT((long long)ledgers_drain(old.ledgers), 1, "also by a process that ends");
        atomic_store(&is_down, false);
        EXPECT_INT((long long)ledgers_retry(old.ledgers), !is_lost, "written");
        EXPECT_INT((long long)memory_documents(stage.medium), 2, "there it is");
        other = opened(&new, 2);
        EXPECT_INT(number_of(other, "db"), 5, "folded in");
        ledger_unref(other);
        tear_down();
    }
}

static enum store_fault state_is_down(void *arg, const struct faulty_event *event)
{
    bool is_change = event->call == FAULTY_WRITE || event->call == FAULTY_APPEND;

    return atomic_load((atomic_bool *)arg) && is_change && event->name->kind == DOCUMENT_STATE
               ? FAULT_BEFORE
               : FAULT_NONE;
}

/* State cannot be written when the next leader would fold it in. */
static void a_document_stays_until_it_is_folded_in(void)
{
    atomic_bool is_down = true;
    struct ledger *ledger, *other = NULL;

    set_up();
    ledger = opened(&old, 1);
    begin_put(ledger, mark_of("db", "call-1"), NULL);
    atomic_store(&old.is_fenced, true);
    land_put(ledger, record_of("db", 5), LEDGER_NOW, NULL);
    store_faults_watch(stage.faults, state_is_down, &is_down);
    EXPECT_INT(open_at(&new, 2, &other, NULL), ERR_UNAVAILABLE, "State cannot be written");
    EXPECT_INT((long long)memory_documents(stage.medium), 2, "State and an outcome document");
    process_done(&new);
    process_init(&new, &stage);
    atomic_store(&is_down, false);
    other = opened(&new, 2);
    EXPECT_INT(stored_number(&stage, "db"), 5, "folded in");
    EXPECT_INT((long long)memory_documents(stage.medium), 1, "the outcome document is gone");
    ledger_unref(other);
    ledger_unref(ledger);
    tear_down();
}

/* A document that nobody waits for says nothing new. */
static void a_late_document_is_removed(void)
{
    struct ledger *ledger, *other;

    set_up();
    ledger = opened(&old, 1);
    begin_put(ledger, mark_of("db", "call-1"), NULL);
    begin_put(ledger, mark_of("db2", "call-2"), NULL);
    other = opened(&new, 2);
    land_put(other, record_of("db", 9), LEDGER_NOW, NULL); /* found in the world */
    ledger_unref(other);
    land_put(ledger, record_of("db", 5), LEDGER_NOW, NULL);
    EXPECT_INT((long long)memory_documents(stage.medium), 2, "written");
    other = opened(&new, 2);
    EXPECT_INT(number_of(other, "db"), 9, "not folded in");
    EXPECT_INT((long long)memory_documents(stage.medium), 1, "gone");
    EXPECT_INT((long long)memory_count(stage.medium, MEMORY_REMOVE), 1, "removed");
    ledger_unref(other);
    ledger_unref(ledger);
    tear_down();
}

static void a_damaged_document_is_named(void)
{
    struct document_name name = {DOCUMENT_OUTCOME, stage_key, "call-1"};
    struct ledger *ledger, *other = NULL;
    struct error error = {0};

    set_up();
    ledger = opened(&old, 1);
    begin_put(ledger, mark_of("db", "call-1"), NULL);
    atomic_store(&old.is_fenced, true);
    land_put(ledger, record_of("db", 5), LEDGER_NOW, NULL);
    memory_damage(stage.medium, &name, "open part");
    EXPECT_INT(open_at(&new, 2, &other, &error), ERR_CORRUPT, error.message);
    EXPECT(strstr(error.message, "call-1"), error.message);
    ledger_unref(ledger);
    tear_down();
}

/* Old and new leader in turns: each that is overtaken is lost, whatever it does next. */
static void of_two_leaders_one_writes(void)
{
    struct ledger *a, *b;

    set_up();
    a = opened(&old, 1);
    begin_put(a, mark_of("m1", "call-1"), NULL);
    b = opened(&new, 2);
    begin_put(b, mark_of("m2", "call-2"), NULL);
    EXPECT_INT(begin_put(a, record_of("x", 1), NULL), ERR_CONFLICT, "overtaken");
    EXPECT_INT(land_put(a, record_of("m1", 1), LEDGER_NOW, NULL), ERR_CONFLICT, "written");
    EXPECT_INT(land_put(b, record_of("m2", 2), LEDGER_NOW, NULL), 0, "stored");
    ledger_unref(a);
    a = NULL;
    EXPECT_INT(open_at(&old, 1, &a, NULL), ERR_CONFLICT, "and may not open it again");
    ledger_unref(b);
    b = opened(&new, 2);
    EXPECT_INT(number_of(b, "m1"), 1, "both outcomes are known");
    EXPECT_INT(number_of(b, "m2"), 2, "both outcomes are known");
    EXPECT_INT(number_of(b, "x"), -1, "what did not begin is not");
    EXPECT_INT((long long)memory_documents(stage.medium), 1, "State alone");
    ledger_unref(b);
    tear_down();
}

SUITE(ledger_outcomes, TEST(the_next_leader_folds_it_in),
      TEST(only_calls_with_a_mark_get_a_document), TEST(what_landed_together_is_in_one_document),
      TEST(a_lease_found_again_stores_it), TEST(what_cannot_be_written_is_kept),
      TEST(a_document_stays_until_it_is_folded_in), TEST(a_late_document_is_removed),
      TEST(a_damaged_document_is_named), TEST(of_two_leaders_one_writes))
