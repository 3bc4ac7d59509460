#include <pthread.h>
#include <unistd.h>

#include "test/unit/engine/state/stage.h"
#include "test/unit/suite.h"

static struct stage stage;
static struct process us;
static struct ledger *ledger;

static void set_up(void)
{
    stage_init(&stage, NULL);
    process_init(&us, &stage);
    ledger = opened(&us, 1);
}

/* A ledger whose State was removed is over: the Spec is opened anew. */
static void reopen(void)
{
    ledger_unref(ledger);
    ledger = opened(&us, 1);
}

static void tear_down(void)
{
    ledger_unref(ledger);
    process_done(&us);
    stage_done(&stage);
}

static void all_of_it_goes(void)
{
    set_up();
    begin_put(ledger, mark_of("db", "call-1"), NULL);
    atomic_store(&us.is_fenced, true);
    land_put(ledger, record_of("db", 5), LEDGER_NOW, NULL);
    EXPECT_INT((long long)memory_documents(stage.medium), 2, "State and an outcome document");
    EXPECT_INT(ledger_remove(ledger, NULL), ERR_FENCED, "not without the Lease");
    EXPECT_INT(number_of(ledger, "db"), 5, "nothing changed");
    atomic_store(&us.is_fenced, false);
    EXPECT_INT(ledger_remove(ledger, NULL), 0, "removed");
    EXPECT_INT((long long)memory_documents(stage.medium), 0, "nothing is left");
    EXPECT(!ledger_is_stored(ledger), "nothing is stored");
    EXPECT_INT(number_of(ledger, "db"), -1, "no record");
    EXPECT_INT((long long)ledgers_retry(us.ledgers), 0, "nothing to store");
    EXPECT_INT(ledger_remove(ledger, NULL), 0, "also where there is none");
    reopen();
    EXPECT_INT(begin_put(ledger, record_of("a", 1), NULL), 0, "it can begin anew");
    EXPECT_INT(stored_number(&stage, "a"), 1, "stored");
    tear_down();
}

static atomic_bool is_down, answers_are_lost;

static enum store_fault outage(void *arg, const struct faulty_event *event)
{
    (void)arg;
    if (!atomic_load(&is_down))
        return FAULT_NONE;
    return atomic_load(&answers_are_lost) && event->call != FAULTY_READ ? FAULT_AFTER
                                                                        : FAULT_BEFORE;
}

static void one_lost_answer_fails_nothing(void)
{
    static const enum store_fault faults[] = {FAULT_BEFORE, FAULT_AFTER};

    for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
        set_up();
        begin_put(ledger, record_of("a", 1), NULL);
        store_faults_fail(stage.faults, 1, faults[i]);
        EXPECT_INT(ledger_remove(ledger, NULL), 0, "removed");
        EXPECT_INT((long long)memory_documents(stage.medium), 0, "nothing is left");
        reopen();
        EXPECT_INT(begin_put(ledger, record_of("b", 1), NULL), 0, "and it goes on");
        tear_down();
    }
}

/* Also where a save before it is in doubt. */
static void is_asked_for_again_after_an_outage(void)
{
    for (int row = 0; row < 4; row++) {
        set_up();
        begin_put(ledger, record_of("a", 1), NULL);
        atomic_store(&answers_are_lost, row & 1);
        atomic_store(&is_down, true);
        store_faults_watch(stage.faults, outage, NULL);
        if (row & 2)
            land_put(ledger, record_of("a", 2), LEDGER_NOW, NULL);
        EXPECT_INT(ledger_remove(ledger, NULL), ERR_UNAVAILABLE, "the store is down");
        atomic_store(&is_down, false);
        EXPECT_INT(ledger_remove(ledger, NULL), 0, "removed");
        EXPECT_INT((long long)memory_documents(stage.medium), 0, "nothing is left");
        EXPECT_INT((long long)ledgers_retry(us.ledgers), 0, "nothing comes back");
        EXPECT_INT((long long)memory_documents(stage.medium), 0, "nothing is left");
        tear_down();
    }
}

static void *land_late(void *arg)
{
    (void)arg;
    EXPECT_INT(land_put(ledger, record_of("late", 1), LEDGER_NOW, NULL), 0, "landed");
    return NULL;
}

/* Lets an outcome land while the removal is under way: it waits for its end. */
static enum store_fault land_meanwhile(void *arg, const struct faulty_event *event)
{
    if (event->call != FAULTY_REMOVE || event->is_done)
        return FAULT_NONE;
    CU_ASSERT_FATAL(pthread_create(arg, NULL, land_late, NULL) == 0);
    while (number_of(ledger, "late") < 0)
        usleep(1000);
    return FAULT_NONE;
}

static void what_lands_meanwhile_goes_with_it(void)
{
    pthread_t thread;

    set_up();
    begin_put(ledger, record_of("a", 1), NULL);
    store_faults_watch(stage.faults, land_meanwhile, &thread);
    EXPECT_INT(ledger_remove(ledger, NULL), 0, "removed");
    pthread_join(thread, NULL);
    EXPECT_INT((long long)memory_documents(stage.medium), 0, "nothing comes back");
    EXPECT_INT(number_of(ledger, "late"), -1, "no record");
    tear_down();
}

static struct error late_error;

static void *begin_late(void *arg)
{
    (void)arg;
    EXPECT_INT(begin_put(ledger, record_of("late", 1), &late_error), ERR_CONFLICT, "refused");
    return NULL;
}

/* An operation that was superseded is about to record its intents. */
static enum store_fault begin_meanwhile(void *arg, const struct faulty_event *event)
{
    if (event->call != FAULTY_REMOVE || event->is_done)
        return FAULT_NONE;
    CU_ASSERT_FATAL(pthread_create(arg, NULL, begin_late, NULL) == 0);
    usleep(50000);
    return FAULT_NONE;
}

static void what_begins_meanwhile_is_refused(void)
{
    pthread_t thread;

    set_up();
    late_error = (struct error){0};
    store_faults_watch(stage.faults, begin_meanwhile, &thread);
    EXPECT_INT(ledger_remove(ledger, NULL), 0, "removed");
    pthread_join(thread, NULL);
    EXPECT_STR(late_error.reason, "StateRemoved", late_error.message);
    EXPECT_INT((long long)memory_documents(stage.medium), 0, "nothing comes back");
    tear_down();
}

static void what_comes_afterwards_brings_nothing_back(void)
{
    struct arena arena = ARENA_INIT;
    struct error error = {0};
    struct ledger *next;
    struct state_head head;

    set_up();
    begin_put(ledger, record_of("a", 1), NULL);
    EXPECT_INT(ledger_remove(ledger, NULL), 0, "removed");
    EXPECT_INT(begin_put(ledger, record_of("b", 1), &error), ERR_CONFLICT, "begin");
    EXPECT_STR(error.reason, "StateRemoved", error.message);
    EXPECT_INT(land_put(ledger, record_of("c", 1), LEDGER_NOW, NULL), ERR_CONFLICT, "land");
    ledger_head(ledger, &arena, &head);
    head.revision = 7;
    ledger_set_head(ledger, &head);
    EXPECT_INT(ledger_flush(ledger, NULL), 0, "the head is nobody's");
    EXPECT_INT((long long)ledgers_retry(us.ledgers), 0, "nothing to store");
    EXPECT_INT((long long)memory_documents(stage.medium), 0, "nothing comes back");
    next = opened(&us, 1);
    EXPECT_INT(begin_put(next, record_of("d", 1), NULL), 0, "a new life");
    EXPECT_INT(ledger_remove(ledger, NULL), 0, "of which the old one knows nothing");
    EXPECT_INT(stored_number(&stage, "d"), 1, "it stays");
    ledger_unref(next);
    arena_done(&arena);
    tear_down();
}

static void calls_end_before_it_goes(void)
{
    struct error error = {0};

    set_up();
    begin_put(ledger, record_of("a", 1), NULL);
    calls_begin(ledger_calls(ledger), "a", 1);
    EXPECT_INT(ledger_remove(ledger, &error), ERR_UNAVAILABLE, "not yet");
    EXPECT_STR(error.reason, "UnderWay", error.message);
    EXPECT_INT(land_put(ledger, record_of("a", 2), LEDGER_NOW, NULL), 0, "its outcome lands");
    calls_end(ledger_calls(ledger), "a");
    EXPECT_INT(ledger_remove(ledger, NULL), 0, "removed");
    EXPECT_INT((long long)memory_documents(stage.medium), 0, "nothing is left");
    tear_down();
}

static void what_another_wrote_stays(void)
{
    struct process other;
    struct ledger *theirs;

    set_up();
    begin_put(ledger, record_of("a", 1), NULL);
    process_init(&other, &stage);
    theirs = opened(&other, 2);
    begin_put(theirs, record_of("b", 1), NULL);
    EXPECT_INT(ledger_remove(ledger, NULL), ERR_CONFLICT, "theirs");
    EXPECT_INT(stored_number(&stage, "b"), 1, "stays");
    EXPECT_INT(ledger_check(ledger, NULL), ERR_CONFLICT, "and ours is lost");
    ledger_unref(theirs);
    process_done(&other);
    tear_down();
}

SUITE(ledger_remove, TEST(all_of_it_goes), TEST(one_lost_answer_fails_nothing),
      TEST(is_asked_for_again_after_an_outage), TEST(what_lands_meanwhile_goes_with_it),
      TEST(what_begins_meanwhile_is_refused), TEST(what_comes_afterwards_brings_nothing_back),
      TEST(calls_end_before_it_goes), TEST(what_another_wrote_stays))
