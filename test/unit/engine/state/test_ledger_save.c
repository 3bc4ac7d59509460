/* Saving: doubt, outages, the journal, and one write for many. */
#include <pthread.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "test/unit/engine/state/stage.h"
#include "test/unit/suite.h"

static struct stage stage;
static struct process us;
static struct ledger *ledger;

static void set_up(const struct memory_medium_config *config)
{
    stage_init(&stage, config);
    process_init(&us, &stage);
    ledger = opened(&us, 1);
}

static void tear_down(void)
{
    ledger_unref(ledger);
    process_done(&us);
    stage_done(&stage);
}

/* ---- One fault ---- */

/* A change that fails once, or of which the answer is lost, is no failure of what begins or lands
 * (V7), and happens once. */
static void one_lost_answer_fails_nothing(void)
{
    static const struct {
        const char *note;
        enum store_fault fault;
        bool is_first; /* State is not there yet */
        bool begins;
        bool is_large; /* it appends */
    } rows[] = {
        {"first, before", FAULT_BEFORE, true, true, false},
        {"first, after", FAULT_AFTER, true, true, false},
        {"begin, before", FAULT_BEFORE, false, true, false},
        {"begin, after", FAULT_AFTER, false, true, false},
        {"landing, before", FAULT_BEFORE, false, false, false},
        {"landing, after", FAULT_AFTER, false, false, false},
        {"appended, before", FAULT_BEFORE, false, false, true},
        {"appended, after", FAULT_AFTER, false, true, true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct error error = {0};
        size_t before;
        int r;

        set_up(NULL);
        if (!rows[i].is_first)
            land_put(ledger, large_record("big", rows[i].is_large ? 200000 : 10), LEDGER_NOW, NULL);
        before = writes(&stage) + memory_count(stage.medium, MEMORY_APPEND);
        store_faults_fail(stage.faults, 1, rows[i].fault);
        r = rows[i].begins ? begin_put(ledger, record_of("a", 1), &error)
                           : land_put(ledger, record_of("a", 1), LEDGER_NOW, &error);
        EXPECT_INT(r, 0, error.message);
        EXPECT_INT(stored_number(&stage, "a"), 1, rows[i].note);
        EXPECT_INT((long long)(writes(&stage) + memory_count(stage.medium, MEMORY_APPEND) - before),
                   1, rows[i].note);
        EXPECT_INT(land_put(ledger, record_of("b", 1), LEDGER_NOW, NULL), 0, "and it goes on");
        EXPECT_INT(stored_number(&stage, "b"), 1, rows[i].note);
        tear_down();
    }
}

/* ---- Outages ---- */

static atomic_bool is_down, answers_are_lost;

static enum store_fault outage(void *arg, const struct faulty_event *event)
{
    (void)arg, (void)event;
    if (!atomic_load(&is_down))
        return FAULT_NONE;
    return atomic_load(&answers_are_lost) && event->call != FAULTY_READ ? FAULT_AFTER
                                                                        : FAULT_BEFORE;
}

static void goes_down(bool after)
{
    atomic_store(&answers_are_lost, after);
    atomic_store(&is_down, true);
    store_faults_watch(stage.faults, outage, NULL);
}

/* The store is down for a minute while 20 things land. */
static void an_outage_loses_nothing(void)
{
    for (int row = 0; row < 4; row++) {
        int64_t until;
        struct error error = {0};
        char id[16] = "", why[ERROR_MESSAGE_SIZE];

        set_up(NULL);
        begin_put(ledger, large_record("big", row & 2 ? 200000 : 10), NULL);
        goes_down(row & 1);
        until = atomic_load(&stage.clock.now) + 60000;
        for (int i = 0; i < 20; i++) {
            snprintf(id, sizeof(id), "r%d", i);
            EXPECT_INT(land_put(ledger, record_of(id, i), i % 4 ? LEDGER_SOON : LEDGER_NOW, &error),
                       ERR_UNAVAILABLE, id);
            EXPECT_INT(number_of(ledger, id), i, "in the records");
        }
        EXPECT_INT(ledger_check(ledger, NULL), ERR_UNAVAILABLE, "nothing may begin");
        EXPECT_INT(begin_put(ledger, record_of("never", 1), NULL), ERR_UNAVAILABLE, "nor does it");
        EXPECT_INT(number_of(ledger, "never"), -1, "nor is it in the records");
        EXPECT(ledger_late_for(ledger, why, sizeof(why)) >= 10000, "it is late");
        EXPECT(*why, "and it is known why");
        EXPECT_INT((long long)ledgers_retry(us.ledgers), 1, "one holds something");
        if (atomic_load(&stage.clock.now) < until)
            atomic_store(&stage.clock.now, until);
        atomic_store(&is_down, false);
        EXPECT_INT((long long)ledgers_retry(us.ledgers), 0, "all is stored");
        for (int i = 0; i < 20; i++) {
            snprintf(id, sizeof(id), "r%d", i);
            EXPECT_INT(stored_number(&stage, id), i, id);
        }
        EXPECT_INT(stored_number(&stage, "never"), -1, "what was refused is not stored");
        EXPECT_INT(ledger_check(ledger, NULL), 0, "things may begin");
        EXPECT_INT(ledger_late_for(ledger, why, sizeof(why)), 0, "nothing is late");
        EXPECT_STR(why, "", "any more");
        tear_down();
    }
}

/* A begin that can never be saved is answered, and undone. */
static void nothing_is_late_where_nothing_waits(void)
{
    _cleanup_value_ const struct value *unknown = value_pack("{s:u}", "x");
    const struct record unsavable = {.id = "u", .type = "t", .attributes = unknown};
    char why[ERROR_MESSAGE_SIZE];

    set_up(NULL);
    land_put(ledger, record_of("a", 1), LEDGER_NOW, NULL);
    EXPECT_INT(begin_put(ledger, record_new(&unsavable), NULL), ERR_INTERNAL,
               "it cannot be stored");
    atomic_fetch_add(&stage.clock.now, 60000);
    EXPECT_INT(ledger_late_for(ledger, why, sizeof(why)), 0, "nothing waits");
    EXPECT_STR(why, "", "for anything");
    tear_down();
}

static void a_short_outage_is_waited_for(void)
{
    int64_t from;

    set_up(NULL);
    begin_put(ledger, record_of("a", 1), NULL);
    from = atomic_load(&stage.clock.now);
    store_faults_fail(stage.faults, 1, FAULT_BEFORE);
    EXPECT_INT(land_put(ledger, record_of("a", 2), LEDGER_NOW, NULL), 0, "landed");
    EXPECT(atomic_load(&stage.clock.now) > from, "after a pause");
    goes_down(false);
    from = atomic_load(&stage.clock.now);
    EXPECT_INT(land_put(ledger, record_of("a", 3), LEDGER_NOW, NULL), ERR_UNAVAILABLE,
               "a long one");
    EXPECT(atomic_load(&stage.clock.now) - from >= 5000, "is waited for some seconds");
    EXPECT(atomic_load(&stage.clock.now) - from <= 20000, "and not for ever");
    atomic_store(&is_down, false);
    tear_down();
}

/* After our write, and before we look, another puts a secret part of its own in the place of ours.
 */
static enum store_fault replace_secret(void *arg, const struct faulty_event *event)
{
    struct store *other = memory_store_new(stage.medium);
    const struct store_call call = {0};
    struct document document = DOCUMENT_INIT;
    struct store_file *file = NULL;

    (void)arg;
    if (event->call == FAULTY_READ && !event->is_done) {
        other->ops->open(other, event->name, STORE_WRITE, &call, &file, NULL);
        EXPECT_INT(other->ops->read(file, &call, &document, NULL), 0, "read");
        buf_add_char(&document.secret, 'x');
        EXPECT_INT(other->ops->write(file, &call, &document, NULL), 0, "replaced");
        other->ops->close(file);
    }
    document_done(&document);
    other->ops->free(other);
    return event->call == FAULTY_WRITE ? FAULT_AFTER : FAULT_NONE;
}

static void anothers_secret_part_is_no_save_of_ours(void)
{
    struct error error = {0};

    set_up(NULL);
    EXPECT_INT(begin_put(ledger, full_record("f"), NULL), 0, "with secrets");
    store_faults_watch(stage.faults, replace_secret, NULL);
    EXPECT_INT(land_put(ledger, record_of("a", 1), LEDGER_NOW, &error), ERR_CONFLICT,
               error.message);
    EXPECT_STR(error.reason, "StateConflict", error.message);
    tear_down();
}

/* What a begin wrote that was said to have failed does not stay. */
static void a_begin_in_doubt_leaves_no_trace(void)
{
    for (int is_large = 0; is_large < 2; is_large++) {
        set_up(NULL);
        begin_put(ledger, large_record("big", is_large ? 200000 : 10), NULL);
        goes_down(true);
        EXPECT_INT(begin_put(ledger, mark_of("a", "call-1"), NULL), ERR_UNAVAILABLE, "in doubt");
        atomic_store(&is_down, false);
        EXPECT_INT(stored_number(&stage, "a"), 0, "it did happen");
        ledger_unref(ledger);
        EXPECT_INT((long long)ledgers_retry(us.ledgers), 0, "put right");
        EXPECT_INT(stored_number(&stage, "a"), -1, "it did not, after all");
        ledger = opened(&us, 1);
        tear_down();
    }
}

static atomic_bool has_landed;

static void *land_five(void *arg)
{
    (void)arg;
    land_put(ledger, record_of("a", 5), LEDGER_NOW, NULL);
    return NULL;
}

/* The first save fails after an outcome of the same record has landed. arg: the thread. */
static enum store_fault land_meanwhile(void *arg, const struct faulty_event *event)
{
    if (event->call == FAULTY_READ || event->is_done || !atomic_load(&is_down))
        return FAULT_NONE;
    if (!atomic_exchange(&has_landed, true)) {
        CU_ASSERT_FATAL(pthread_create(arg, NULL, land_five, NULL) == 0);
        while (number_of(ledger, "a") != 5)
            usleep(1000);
    }
    return FAULT_BEFORE;
}

/* A begin that fails is undone; what landed since is not. */
static void a_begin_that_fails_undoes_no_outcome(void)
{
    pthread_t thread;

    set_up(NULL);
    begin_put(ledger, record_of("b", 1), NULL);
    atomic_store(&has_landed, false);
    atomic_store(&is_down, true);
    store_faults_watch(stage.faults, land_meanwhile, &thread);
    EXPECT_INT(begin_put(ledger, mark_of("a", "call-1"), NULL), ERR_UNAVAILABLE, "it failed");
    atomic_store(&is_down, false);
    pthread_join(thread, NULL);
    EXPECT_INT(number_of(ledger, "a"), 5, "as it landed");
    EXPECT_INT(ledger_flush(ledger, NULL), 0, "stored");
    EXPECT_INT(stored_number(&stage, "a"), 5, "as it landed");
    tear_down();
}

/* ---- Without references ---- */

static void what_is_not_stored_outlives_the_operation(void)
{
    struct error error = {0};

    set_up(&(struct memory_medium_config){.has_locks = true});
    begin_put(ledger, record_of("a", 1), NULL);
    goes_down(false);
    land_put(ledger, record_of("a", 2), LEDGER_NOW, NULL);
    ledger_unref(ledger);
    ledger = NULL;
    EXPECT_INT(open_at(&us, 1, &ledger, &error), ERR_UNAVAILABLE, error.message);
    EXPECT(str_has_prefix(error.message, "saving State: "), error.message);
    atomic_store(&is_down, false);
    ledger = opened(&us, 1);
    EXPECT_INT(number_of(ledger, "a"), 2, "as it landed");
    EXPECT_INT(stored_number(&stage, "a"), 2, "stored by the opening");
    land_put(ledger, record_of("b", 1), LEDGER_NOW, NULL);
    land_put(ledger, record_of("b", 2), LEDGER_SOON, NULL);
    ledger_unref(ledger);
    EXPECT_INT(stored_number(&stage, "b"), 1, "waits");
    EXPECT_INT((long long)ledgers_retry(us.ledgers), 0, "stored and closed");
    EXPECT_INT(stored_number(&stage, "b"), 2, "stored");
    ledger = opened(&us, 1);
    land_put(ledger, record_of("b", 3), LEDGER_NOW, NULL);
    land_put(ledger, record_of("b", 4), LEDGER_SOON, NULL);
    ledger_unref(ledger);
    process_done(&us);
    EXPECT_INT(stored_number(&stage, "b"), 4, "with the end of the table");
    stage_done(&stage);
}

/* ---- The journal ---- */

static size_t appended(void)
{
    return memory_count(stage.medium, MEMORY_APPEND);
}

static void a_large_state_is_appended_to(void)
{
    char id[16];

    set_up(NULL);
    land_put(ledger, large_record("big", 200000), LEDGER_NOW, NULL);
    EXPECT_INT((long long)writes(&stage), 1, "the snapshot");
    for (int i = 0; i < 40; i++) {
        snprintf(id, sizeof(id), "r%d", i);
        EXPECT_INT(land_put(ledger, record_of(id, i), LEDGER_NOW, NULL), 0, id);
        EXPECT_INT(stored_number(&stage, id), i, id);
    }
    EXPECT_INT((long long)appended(), 40, "an entry each");
    EXPECT_INT((long long)writes(&stage), 1, "no snapshot");
    ledger_unref(ledger);
    ledger = opened(&us, 1);
    EXPECT_INT(number_of(ledger, "r39"), 39, "read again");
    land_put(ledger, record_of("last", 1), LEDGER_NOW, NULL);
    EXPECT_INT((long long)appended(), 41, "it goes on");
    EXPECT_INT(stored_number(&stage, "last"), 1, "stored");
    tear_down();
}

/* Also what another process appended counts. */
static void entries_as_large_as_the_snapshot_are_folded(void)
{
    set_up(NULL);
    land_put(ledger, large_record("big", 200000), LEDGER_NOW, NULL);
    land_put(ledger, large_record("large", 100000), LEDGER_NOW, NULL);
    ledger_unref(ledger);
    ledger = opened(&us, 1);
    land_put(ledger, large_record("larger", 150000), LEDGER_NOW, NULL);
    EXPECT_INT((long long)appended(), 2, "less than the snapshot before each");
    EXPECT_INT((long long)writes(&stage), 1, "no snapshot");
    land_put(ledger, record_of("a", 1), LEDGER_NOW, NULL);
    EXPECT_INT((long long)writes(&stage), 2, "a snapshot");
    land_put(ledger, record_of("b", 1), LEDGER_NOW, NULL);
    EXPECT_INT((long long)appended(), 3, "and entries again");
    tear_down();
}

/* Of a State of medium size, an entry is written for a few changes, not for many. */
static void a_few_changes_are_appended_to_a_medium_state(void)
{
    struct ledger_change changes[20] = {0};
    char id[16];

    set_up(NULL);
    for (int i = 0; i < (int)ARRAY_SIZE(changes); i++) {
        snprintf(id, sizeof(id), "r%d", i);
        changes[i].put = i ? record_of(id, i) : large_record(id, 30000);
    }
    EXPECT_INT(ledger_land(ledger, changes, ARRAY_SIZE(changes), LEDGER_NOW, NULL), 0, "all");
    EXPECT_INT(ledger_land(ledger, changes, 5, LEDGER_NOW, NULL), 0, "a quarter");
    EXPECT_INT((long long)writes(&stage), 2, "snapshots");
    EXPECT_INT(ledger_land(ledger, changes, 4, LEDGER_NOW, NULL), 0, "fewer");
    EXPECT_INT((long long)writes(&stage), 2, "no snapshot");
    EXPECT_INT((long long)appended(), 1, "an entry");
    for (size_t i = 0; i < ARRAY_SIZE(changes); i++)
        record_unref(changes[i].put);
    tear_down();
}

static void small_ones_and_other_stores_are_written_whole(void)
{
    static const struct {
        size_t size;
        bool cannot_append;
    } rows[] = {{10, false}, {200000, true}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        set_up(&(struct memory_medium_config){.cannot_append = rows[i].cannot_append});
        land_put(ledger, large_record("big", rows[i].size), LEDGER_NOW, NULL);
        land_put(ledger, record_of("a", 1), LEDGER_NOW, NULL);
        EXPECT_INT((long long)writes(&stage), 2, "written");
        EXPECT_INT((long long)memory_count(stage.medium, MEMORY_APPEND), 0, "not appended");
        tear_down();
    }
}

static void a_full_journal_is_folded(void)
{
    char id[16];

    set_up(&(struct memory_medium_config){.max_entries = 3});
    land_put(ledger, large_record("big", 200000), LEDGER_NOW, NULL);
    for (int i = 0; i < 8; i++) {
        snprintf(id, sizeof(id), "r%d", i);
        EXPECT_INT(i % 2 ? land_put(ledger, record_of(id, i), LEDGER_NOW, NULL)
                         : begin_put(ledger, record_of(id, i), NULL),
                   0, id);
        EXPECT_INT(stored_number(&stage, id), i, id);
    }
    EXPECT_INT((long long)writes(&stage), 3, "each time that it is full");
    tear_down();
}

/* ---- Group commit ---- */

static enum store_fault slow(void *arg, const struct faulty_event *event)
{
    (void)arg;
    if (!event->is_done)
        usleep(5000);
    return FAULT_NONE;
}

static void *land_ten(void *arg)
{
    char id[16];

    for (int i = 0; i < 10; i++) {
        snprintf(id, sizeof(id), "%s%d", (const char *)arg, i);
        EXPECT_INT(land_put(ledger, record_of(id, i), LEDGER_NOW, NULL), 0, id);
    }
    return NULL;
}

static void many_share_a_write(void)
{
    static char names[10][2];
    pthread_t threads[10];

    set_up(NULL);
    store_faults_watch(stage.faults, slow, NULL);
    for (size_t i = 0; i < 10; i++) {
        names[i][0] = (char)('a' + i);
        pthread_create(&threads[i], NULL, land_ten, names[i]);
    }
    for (size_t i = 0; i < 10; i++)
        pthread_join(threads[i], NULL);
    store_faults_watch(stage.faults, NULL, NULL);
    EXPECT(writes(&stage) <= 40, "far fewer writes than landings");
    EXPECT(writes(&stage) >= 10, "each thread waits for its own");
    for (size_t i = 0; i < 10; i++) {
        char id[16];

        snprintf(id, sizeof(id), "%s9", names[i]);
        EXPECT_INT(stored_number(&stage, id), 9, id);
    }
    tear_down();
}

static unsigned n_waits;

/* While a save waits for it, a call ends. */
static void end_call(const struct clock_source *clock, pthread_cond_t *condition,
                     pthread_mutex_t *mutex, int64_t until)
{
    (void)clock, (void)condition;
    atomic_store(&stage.clock.now, until);
    n_waits++;
    pthread_mutex_unlock(mutex);
    land_put(ledger, record_of("b", 2), LEDGER_SOON, NULL);
    pthread_mutex_lock(mutex);
}

/* What begins shares its write with the outcome of a call that is about to end. Alone, it does not
 * wait. */
static void calls_under_way_are_waited_for(void)
{
    static const struct {
        const char *note, *calls[2];
        unsigned n_waits;
    } rows[] = {
        {"its own call alone", {"a"}, 0},
        {"another", {"a", "b"}, 1},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct calls *calls;
        size_t before;

        set_up(NULL);
        begin_put(ledger, record_of("b", 1), NULL);
        calls = ledger_calls(ledger);
        before = writes(&stage);
        stage.clock.source.wait = end_call;
        n_waits = 0;
        for (size_t k = 0; k < 2 && rows[i].calls[k]; k++)
            calls_begin(calls, rows[i].calls[k], 1);
        EXPECT_INT(begin_put(ledger, record_of("a", 1), NULL), 0, rows[i].note);
        EXPECT_INT(n_waits, rows[i].n_waits, rows[i].note);
        EXPECT_INT((long long)(writes(&stage) - before), 1, rows[i].note);
        EXPECT_INT(stored_number(&stage, "a"), 1, rows[i].note);
        EXPECT_INT(stored_number(&stage, "b"), 1 + n_waits, rows[i].note);
        for (size_t k = 0; k < 2 && rows[i].calls[k]; k++)
            calls_end(calls, rows[i].calls[k]);
        tear_down();
    }
}

SUITE(ledger_save, TEST(one_lost_answer_fails_nothing), TEST(an_outage_loses_nothing),
      TEST(nothing_is_late_where_nothing_waits), TEST(a_short_outage_is_waited_for),
      TEST(anothers_secret_part_is_no_save_of_ours), TEST(a_begin_in_doubt_leaves_no_trace),
      TEST(a_begin_that_fails_undoes_no_outcome), TEST(what_is_not_stored_outlives_the_operation),
      TEST(a_large_state_is_appended_to), TEST(entries_as_large_as_the_snapshot_are_folded),
      TEST(a_few_changes_are_appended_to_a_medium_state),
      TEST(small_ones_and_other_stores_are_written_whole), TEST(a_full_journal_is_folded),
      TEST(many_share_a_write), TEST(calls_under_way_are_waited_for))
