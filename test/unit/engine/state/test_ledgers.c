/* The table: opening, sharing, closing, and what a State must be to be opened. */
#include <pthread.h>
#include <unistd.h>

#include "test/unit/engine/state/stage.h"
#include "test/unit/suite.h"

static struct stage stage;
static struct process us;

static void set_up(const struct memory_medium_config *config)
{
    stage_init(&stage, config);
    process_init(&us, &stage);
}

static void tear_down(void)
{
    process_done(&us);
    stage_done(&stage);
}

static void two_share_one(void)
{
    struct ledger *a, *b;

    set_up(&(struct memory_medium_config){.has_locks = true});
    a = opened(&us, 1);
    b = opened(&us, 1);
    EXPECT(a == b, "the same");
    EXPECT_INT((long long)memory_count(stage.medium, MEMORY_READ), 1, "read once");
    ledger_unref(a);
    EXPECT_INT(begin_put(b, record_of("a", 1), NULL), 0, "still open");
    ledger_unref(ledger_ref(b));
    ledger_unref(b);
    ledger_unref(NULL);
    b = opened(&us, 1);
    EXPECT_INT((long long)memory_count(stage.medium, MEMORY_READ), 2, "closed between");
    EXPECT_INT(number_of(b, "a"), 1, "read again");
    ledger_unref(b);
    tear_down();
}

static void a_locked_state_says_so(void)
{
    struct process other;
    struct ledger *ledger, *theirs = NULL;
    struct error error = {0};

    set_up(&(struct memory_medium_config){.has_locks = true});
    process_init(&other, &stage);
    ledger = opened(&us, 1);
    EXPECT_INT(open_at(&other, 1, &theirs, &error), ERR_CONFLICT, error.message);
    EXPECT_STR(error.reason, "StateLocked", error.message);
    ledger_unref(ledger);
    theirs = opened(&other, 1);
    ledger_unref(theirs);
    process_done(&other);
    tear_down();
}

/* A lost one gives its lock back: it is opened anew while others still hold the old one. */
static void a_lost_one_is_opened_anew(void)
{
    struct ledger *old, *new;
    struct error error = {0};

    set_up(&(struct memory_medium_config){.has_locks = true});
    old = opened(&us, 1);
    begin_put(old, record_of("a", 1), NULL);
    store_faults_fail(stage.faults, 1, FAULT_CONFLICT);
    EXPECT_INT(land_put(old, record_of("a", 2), LEDGER_NOW, &error), ERR_CONFLICT, error.message);
    EXPECT_INT(ledger_check(old, NULL), ERR_CONFLICT, "nothing may begin");
    EXPECT_INT(begin_put(old, record_of("b", 1), NULL), ERR_CONFLICT, "nor does it");
    EXPECT_INT(land_put(old, record_of("c", 2), LEDGER_SOON, NULL), ERR_CONFLICT, "nor lands");
    EXPECT_INT(ledger_flush(old, NULL), ERR_CONFLICT, "nor is stored");
    EXPECT_INT(ledger_remove(old, NULL), ERR_CONFLICT, "nor removed");
    new = opened(&us, 1);
    EXPECT(new != old, "another");
    EXPECT_INT(number_of(new, "a"), 1, "what is stored");
    EXPECT_INT(begin_put(new, record_of("b", 1), NULL), 0, "and it works");
    ledger_unref(old);
    ledger_unref(new);
    EXPECT_INT((long long)ledgers_retry(us.ledgers), 0, "nothing is held");
    tear_down();
}

static int64_t until_of(struct ledger *ledger, const char *id)
{
    const struct record *record = ledger_get(ledger, id, NULL);
    int64_t until = record ? record->call.until : -1;

    record_unref(record);
    return until;
}

static const struct record *intent_of(const char *id)
{
    const struct record *plain = record_of(id, 1), *intent;
    struct record record = *plain;

    record.status = RECORD_INTENT;
    intent = record_new(&record);
    record_unref(plain);
    return intent;
}

/* What a lost one has in flight ends before it is opened anew, and may have an effect after that.
 */
static void calls_of_a_lost_one_are_not_forgotten(void)
{
    for (int is_closed = 0; is_closed < 2; is_closed++) {
        struct ledger *old, *new;
        struct error error = {0};

        set_up(NULL);
        old = opened(&us, 1);
        begin_put(old, intent_of("a"), NULL);
        EXPECT_INT(until_of(old, "a"), 0, "it is sent only now");
        calls_begin(ledger_calls(old), "a", 1);
        store_faults_fail(stage.faults, 1, FAULT_CONFLICT);
        EXPECT_INT(land_put(old, record_of("b", 1), LEDGER_NOW, NULL), ERR_CONFLICT, "lost");
        EXPECT_INT(open_at(&us, 1, &new, &error), ERR_UNAVAILABLE, "a call is in flight");
        EXPECT(strstr(error.message, "have ended (left: 1)"), error.message);
        land_put(old, record_of("a", 1), LEDGER_NOW, NULL);
        calls_end(ledger_calls(old), "a");
        if (is_closed) {
            ledger_unref(TAKE(old));
            atomic_fetch_add(&stage.clock.now, 5000);
        }
        new = opened(&us, 1);
        EXPECT_INT(until_of(new, "a"), stage.clock.now + EFFECT_TIME - 5000 * is_closed,
                   "it may have an effect yet");
        ledger_unref(old);
        ledger_unref(new);
        tear_down();
    }
}

/* Where none was lost, an intent of this term was not sent, or State has its time. */
static void what_was_closed_has_no_calls(void)
{
    struct ledger *ledger;

    set_up(NULL);
    ledger = opened(&us, 1);
    begin_put(ledger, intent_of("a"), NULL);
    ledger_unref(ledger);
    ledger = opened(&us, 1);
    EXPECT_INT(until_of(ledger, "a"), 0, "as it was");
    ledger_unref(ledger);
    tear_down();
}

static void a_later_leaders_state_is_left_alone(void)
{
    struct ledger *ledger;
    struct error error = {0};

    set_up(NULL);
    ledger = opened(&us, 91316358);
    begin_put(ledger, record_of("a", 1), NULL);
    ledger_unref(ledger);
    EXPECT_INT(open_at(&us, 91229958, &ledger, &error), ERR_CONFLICT, "an earlier leader");
    EXPECT_STR(error.reason, "StateOfLaterLeader", error.message);
    EXPECT(strstr(error.message, "set spec.leaseTransitions of this operator's Lease to 91316358"),
           error.message);
    ledger = opened(&us, 91316358); /* as the message says */
    ledger_unref(ledger);
    ledger = opened(&us, 0);
    EXPECT_INT(begin_put(ledger, record_of("b", 1), NULL), 0, "without leaders all may");
    ledger_unref(ledger);
    EXPECT_INT(open_at(&us, 1, &ledger, NULL), ERR_CONFLICT, "the epoch does not go back");
    tear_down();
}

/* A State that somebody copied by hand would have the objects of another Spec deleted. */
static void another_specs_state_is_not_taken(void)
{
    const struct document_name from = {DOCUMENT_STATE, stage_key, NULL},
                               to = {DOCUMENT_STATE, {"team", "copy"}, NULL};
    struct ledger_opening opening = {.key = to.spec, .spec_uid = "uid-1", .epoch = 1};
    const struct store_call call = {0};
    struct document document = DOCUMENT_INIT;
    struct store_file *file = NULL;
    struct ledger *ledger;
    struct error error = {0};

    set_up(NULL);
    ledger = opened(&us, 1);
    begin_put(ledger, record_of("a", 1), NULL);
    ledger_unref(ledger);
    us.store->ops->open(us.store, &from, STORE_READ, &call, &file, NULL);
    EXPECT_INT(us.store->ops->read(file, &call, &document, NULL), 0, "read");
    us.store->ops->close(file);
    us.store->ops->open(us.store, &to, STORE_WRITE, &call, &file, NULL);
    EXPECT_INT(us.store->ops->write(file, &call, &document, NULL), 0, "copied");
    us.store->ops->close(file);
    document_done(&document);
    EXPECT_INT(ledger_open(us.ledgers, &opening, &ledger, &error), ERR_CORRUPT, error.message);
    EXPECT(strstr(error.message, "team/web"), error.message);
    tear_down();
}

static void another_uid_is_inherited(void)
{
    struct ledger_opening opening = {.key = stage_key, .spec_uid = "uid-2", .epoch = 1};
    struct arena arena = ARENA_INIT;
    struct ledger *ledger;
    struct state_head head;

    set_up(NULL);
    ledger = opened(&us, 1);
    begin_put(ledger, record_of("a", 1), NULL);
    EXPECT(!ledger_is_inherited(ledger), "our own");
    ledger_unref(ledger);
    CU_ASSERT_EQUAL_FATAL(ledger_open(us.ledgers, &opening, &ledger, NULL), 0);
    EXPECT(ledger_is_inherited(ledger), "of a Spec before");
    ledger_head(ledger, &arena, &head);
    head.spec_uid = "uid-2";
    ledger_set_head(ledger, &head);
    EXPECT(!ledger_is_inherited(ledger), "taken over");
    arena_done(&arena);
    ledger_unref(ledger);
    tear_down();
}

static void damage_is_named(void)
{
    struct document_name name = {DOCUMENT_STATE, stage_key, NULL};
    struct ledger *ledger;
    struct error error = {0};

    set_up(NULL);
    ledger = opened(&us, 1);
    begin_put(ledger, record_of("a", 1), NULL);
    ledger_unref(ledger);
    memory_damage(stage.medium, &name, "chunk 1");
    EXPECT_INT(open_at(&us, 1, &ledger, &error), ERR_CORRUPT, error.message);
    EXPECT(strstr(error.message, "chunk 1"), error.message);
    EXPECT_INT(open_at(&us, 1, &ledger, &error), ERR_CORRUPT, "again");
    tear_down();
}

static void opening_is_cancelled(void)
{
    struct cancel *cancel = cancel_new(NULL);
    struct ledger_opening opening = {.key = stage_key, .spec_uid = "u", .cancel = cancel};
    struct ledger *ledger = NULL;

    set_up(NULL);
    cancel_fire(cancel, "Superseded");
    EXPECT_INT(ledger_open(us.ledgers, &opening, &ledger, NULL), ERR_CANCELLED, "cancelled");
    EXPECT(!ledger, "nothing");
    tear_down();
    cancel_free(cancel);
}

/* ---- Threads ---- */

static enum store_fault slow_reads(void *arg, const struct faulty_event *event)
{
    (void)arg;
    if (event->call == FAULTY_READ && !event->is_done)
        usleep(20000);
    return FAULT_NONE;
}

static void *open_one(void *arg)
{
    pthread_barrier_t *barrier = arg;
    struct ledger *ledger;

    pthread_barrier_wait(barrier);
    ledger = opened(&us, 1);
    pthread_barrier_wait(barrier); /* all have it open now */
    return ledger;
}

static void threads_open_it_once(void)
{
    pthread_t threads[8];
    pthread_barrier_t barrier;
    void *first = NULL;

    set_up(&(struct memory_medium_config){.has_locks = true});
    store_faults_watch(stage.faults, slow_reads, NULL);
    pthread_barrier_init(&barrier, NULL, 8);
    for (size_t i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, open_one, &barrier);
    for (size_t i = 0; i < 8; i++) {
        void *ledger;

        pthread_join(threads[i], &ledger);
        first = first ? first : ledger;
        EXPECT(ledger == first, "the same");
    }
    for (size_t i = 0; i < 8; i++)
        ledger_unref(first);
    EXPECT_INT((long long)memory_count(stage.medium, MEMORY_READ), 1, "read once");
    pthread_barrier_destroy(&barrier);
    tear_down();
}

static void *open_and_close(void *arg)
{
    for (int i = 0; i < 50; i++) {
        struct ledger *ledger = opened(&us, 1);

        if (i % 5 == 0)
            land_put(ledger, record_of(arg, i), i % 2 ? LEDGER_NOW : LEDGER_SOON, NULL);
        ledger_unref(ledger);
    }
    return NULL;
}

/* With a store that locks: one that closes is never in the way of one that opens. */
static void threads_open_and_close(void)
{
    static char ids[][2] = {"a", "b", "c", "d"};
    pthread_t threads[4];

    set_up(&(struct memory_medium_config){.has_locks = true});
    for (size_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, open_and_close, ids[i]);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    EXPECT_INT((long long)ledgers_retry(us.ledgers), 0, "all is stored");
    for (size_t i = 0; i < 4; i++)
        EXPECT_INT(stored_number(&stage, ids[i]), 45, ids[i]);
    tear_down();
}

SUITE(ledgers, TEST(two_share_one), TEST(a_locked_state_says_so), TEST(a_lost_one_is_opened_anew),
      TEST(calls_of_a_lost_one_are_not_forgotten), TEST(what_was_closed_has_no_calls),
      TEST(a_later_leaders_state_is_left_alone), TEST(another_specs_state_is_not_taken),
      TEST(another_uid_is_inherited), TEST(damage_is_named), TEST(opening_is_cancelled),
      TEST(threads_open_it_once), TEST(threads_open_and_close))
