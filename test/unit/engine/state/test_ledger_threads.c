/* Many at once, with faults: for the sanitizers, and that nothing is lost. */
#include <pthread.h>
#include <sched.h>

#include "test/unit/engine/state/stage.h"
#include "test/unit/suite.h"

#define THREADS 6
#define ROUNDS  40

static struct stage stage;
static struct process us;
static struct ledger *ledger;
static atomic_uint random_state;

/* Every ninth change fails, in one way or the other. */
static enum store_fault faults(void *arg, const struct faulty_event *event)
{
    unsigned n = atomic_fetch_add(&random_state, 1);

    (void)arg;
    if (event->is_done || event->call == FAULTY_READ || n % 9)
        return FAULT_NONE;
    return n % 2 ? FAULT_BEFORE : FAULT_AFTER;
}

static void look_around(void)
{
    struct ledger_records records = ledger_records(ledger);
    struct arena arena = ARENA_INIT;
    struct state_head head;

    ledger_head(ledger, &arena, &head);
    head.generation++;
    head.policy = NULL;
    ledger_set_head(ledger, &head);
    arena_done(&arena);
    ledger_records_done(&records);
    ledger_check(ledger, NULL);
    ledger_is_stored(ledger);
    ledger_is_inherited(ledger);
}

/* One that is to be stored soon may tell that the last save failed: it is tried again. */
static int land(const char *id, int i)
{
    enum ledger_when when = i % 3 ? LEDGER_NOW : LEDGER_SOON;
    int r = land_put(ledger, record_of(id, i), when, NULL);

    return r == ERR_UNAVAILABLE && when == LEDGER_SOON ? 0 : r;
}

static void *live(void *arg)
{
    const char *name = arg;
    char id[32];

    for (int i = 0; i < ROUNDS; i++) {
        snprintf(id, sizeof(id), "%s%d", name, i % 8);
        EXPECT_INT(begin_put(ledger, mark_of(id, id), NULL), 0, "begun");
        EXPECT_INT(land(id, i), 0, "landed");
        EXPECT_INT(number_of(ledger, id), i, "in the records");
        if (i % 5 == 0)
            look_around();
        if (i % 7 == 0)
            ledger_unref(opened(&us, 1));
        if (i % 11 == 0)
            ledgers_retry(us.ledgers);
    }
    return NULL;
}

static void expect_all_stored(char names[][2])
{
    char id[32];

    for (size_t i = 0; i < THREADS; i++)
        for (int n = ROUNDS - 8; n < ROUNDS; n++) {
            snprintf(id, sizeof(id), "%s%d", names[i], n % 8);
            EXPECT_INT(stored_number(&stage, id), n, id);
        }
}

static void threads_land_and_begin(void)
{
    for (int is_large = 0; is_large < 2; is_large++) {
        char names[THREADS][2] = {"a", "b", "c", "d", "e", "f"};
        pthread_t threads[THREADS];

        stage_init(&stage, &(struct memory_medium_config){.max_entries = 20});
        process_init(&us, &stage);
        ledger = opened(&us, 1);
        land_put(ledger, large_record("big", is_large ? 100000 : 10), LEDGER_NOW, NULL);
        store_faults_watch(stage.faults, faults, NULL);
        for (size_t i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, live, names[i]);
        for (size_t i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        store_faults_watch(stage.faults, NULL, NULL);
        EXPECT_INT(ledger_flush(ledger, NULL), 0, "flushed");
        expect_all_stored(names);
        ledger_unref(ledger);
        EXPECT_INT((long long)ledgers_retry(us.ledgers), 0, "nothing is left");
        process_done(&us);
        stage_done(&stage);
    }
}

/* The Lease is lost in the middle: each call that was begun is in State or in an outcome document.
 */
static void *land_marks(void *arg)
{
    char id[32];

    for (int i = 0; i < ROUNDS; i++) {
        snprintf(id, sizeof(id), "%s%d", (const char *)arg, i);
        if (begin_put(ledger, mark_of(id, id), NULL) < 0)
            break;
        land_put(ledger, record_of(id, i), LEDGER_NOW, NULL);
    }
    return NULL;
}

static void expect_no_marks(struct ledger *of)
{
    struct ledger_records records = ledger_records(of);

    for (size_t i = 0; i < records.count; i++)
        EXPECT(records.items[i]->status != RECORD_CREATING, records.items[i]->id);
    EXPECT(records.count >= 5, "there are some");
    ledger_records_done(&records);
}

/* Another leader writes State, or the Lease is lost, while they are at it. */
static void overtake(struct process *other, bool is_fenced)
{
    struct ledger *theirs;

    while (writes(&stage) < 20)
        sched_yield();
    if (is_fenced)
        atomic_store(&us.is_fenced, true);
    for (int r = -1; r < 0;) {
        theirs = opened(other, 2);
        r = begin_put(theirs, record_of("theirs", 1), NULL);
        ledger_unref(theirs);
    }
}

static void threads_are_overtaken(void)
{
    for (int is_fenced = 0; is_fenced < 2; is_fenced++) {
        char names[THREADS][2] = {"a", "b", "c", "d", "e", "f"};
        pthread_t threads[THREADS];
        struct process other;
        struct ledger *after;

        stage_init(&stage, NULL);
        process_init(&us, &stage);
        process_init(&other, &stage);
        ledger = opened(&us, 1);
        for (size_t i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, land_marks, names[i]);
        overtake(&other, is_fenced);
        for (size_t i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        ledger_unref(ledger);
        after = opened(&other, 3);
        expect_no_marks(after);
        ledger_unref(after);
        EXPECT_INT((long long)memory_documents(stage.medium), 1, "State alone");
        process_done(&us);
        process_done(&other);
        stage_done(&stage);
    }
}

SUITE(ledger_threads, TEST(threads_land_and_begin), TEST(threads_are_overtaken))
