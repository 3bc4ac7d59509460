/* Creates of earlier terms, as State has them when it is opened. */
#include "test/unit/engine/state/stage.h"
#include "test/unit/suite.h"

#define EFFECT 20000 /* ms */
#define TERM   1000500

static struct ledgers *begin_term(const struct stage *stage, struct store *store, int64_t term)
{
    return ledgers_new(&(struct ledgers_config){
        .store = store, .clock = &stage->clock.source, .term = term, .effect_time = EFFECT});
}

static struct ledger *open_in(struct ledgers *ledgers)
{
    struct ledger_opening opening = {.key = stage_key, .spec_uid = "uid-1", .epoch = 1};
    struct ledger *ledger = NULL;

    CU_ASSERT_EQUAL_FATAL(ledger_open(ledgers, &opening, &ledger, NULL), 0);
    return ledger;
}

static void store_record(const struct stage *stage, struct store *store, enum record_status status,
                         struct record_call call)
{
    struct ledgers *ledgers = begin_term(stage, store, call.term ? call.term : TERM);
    struct ledger *ledger = open_in(ledgers);
    const struct record *plain = record_of("a", 1);
    struct record record = *plain;

    record.status = status;
    record.call = call;
    EXPECT_INT(land_put(ledger, record_new(&record), LEDGER_NOW, NULL), 0, "stored");
    record_unref(plain);
    ledger_unref(ledger);
    ledgers_free(ledgers);
}

/* In a term that began at TERM. */
static void expect_until(const struct stage *stage, struct store *store, int64_t expected,
                         const char *note)
{
    struct ledgers *ledgers = begin_term(stage, store, TERM);
    struct ledger *ledger = open_in(ledgers);
    const struct record *record = ledger_get(ledger, "a", NULL);

    EXPECT_INT(record->call.until, expected, note);
    record_unref(record);
    ledger_unref(ledger);
    ledgers_free(ledgers);
}

/* It is 5 s later now. */
static void creates_of_earlier_terms_end(void)
{
    static const int64_t now = TERM + 5000;
    static const struct {
        const char *note;
        enum record_status status;
        struct record_call call;
        int64_t until;
    } rows[] = {
        {"an earlier term's may have been sent", RECORD_INTENT, {.term = 7}, TERM + EFFECT},
        {"this term's has not", RECORD_INTENT, {.term = TERM}, 0},
        {"this term's was", RECORD_INTENT, {.term = TERM, .until = now + 3}, now + 3},
        {"the clock of an earlier process was ahead",
         RECORD_INTENT,
         {.term = 7, .until = now + 3600000},
         TERM + EFFECT},
        {"this clock was set back",
         RECORD_INTENT,
         {.term = TERM, .until = now + 3600000},
         now + EFFECT},
        {"it exists", RECORD_APPLIED, {.until = now + 3}, now + 3},
        {"it exists, and a clock was ahead",
         RECORD_APPLIED,
         {.until = now + 3600000},
         now + EFFECT},
        {"a begin mark has a time of its own",
         RECORD_CREATING,
         {.id = "x", .term = 7, .until = now + 3600000},
         now + 3600000},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct stage stage;
        struct store *store;

        stage_init(&stage, NULL);
        store = memory_store_new(stage.medium);
        stage.clock.now = now;
        store_record(&stage, store, rows[i].status, rows[i].call);
        expect_until(&stage, store, rows[i].until, rows[i].note);
        store->ops->free(store);
        stage_done(&stage);
    }
}

/* A process of an earlier term may have sent the request that creates State, right before it ended:
 * nothing is removed before that cannot come any more. */
static void state_of_earlier_terms_is_waited_for(void)
{
    static const struct {
        const char *note;
        int64_t created_at;
        bool is_stored, is_reopened;
        int64_t left; /* ms; 0: it is removed at once */
    } rows[] = {
        {"an older Spec without State", TERM - 1000, false, false, EFFECT - 5000},
        {"it has State now", TERM - 1000, false, true, EFFECT - 5000},
        {"a Spec of this term", TERM, false, false, 0},
        {"of the same second", TERM - TERM % 1000, false, false, 0},
        {"an older Spec with State", TERM - 1000, true, false, 0},
        {"not known", 0, false, false, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct ledger_opening opening = {.key = stage_key,
                                         .spec_uid = "uid-1",
                                         .spec_created_at = rows[i].created_at,
                                         .epoch = 1};
        struct ledgers *ledgers;
        struct ledger *ledger = NULL;
        struct error error = {0};
        struct store *store;
        struct stage stage;

        stage_init(&stage, NULL);
        store = memory_store_new(stage.medium);
        stage.clock.now = TERM + 5000;
        if (rows[i].is_stored)
            store_record(&stage, store, RECORD_APPLIED, (struct record_call){0});
        ledgers = begin_term(&stage, store, TERM);
        EXPECT_INT(ledger_open(ledgers, &opening, &ledger, NULL), 0, rows[i].note);
        if (rows[i].is_reopened) {
            land_put(ledger, record_of("a", 1), LEDGER_NOW, NULL);
            ledger_unref(ledger);
            EXPECT_INT(ledger_open(ledgers, &opening, &ledger, NULL), 0, rows[i].note);
            EXPECT(ledger_is_stored(ledger), rows[i].note);
        }
        if (rows[i].left) {
            EXPECT_INT(ledger_remove(ledger, &error), ERR_UNAVAILABLE, rows[i].note);
            EXPECT_STR(error.reason, STORE_OUTCOME_UNKNOWN, rows[i].note);
            EXPECT(strstr(error.message, "in the first 20 s of this one"), error.message);
            if (rows[i].is_reopened)
                atomic_fetch_add(&stage.clock.now, rows[i].left);
            else
                ledger_was_removed(ledger);
        }
        EXPECT_INT(ledger_remove(ledger, NULL), 0, rows[i].note);
        EXPECT_INT((long long)memory_documents(stage.medium), 0, rows[i].note);
        ledger_unref(ledger);
        ledgers_free(ledgers);
        store->ops->free(store);
        stage_done(&stage);
    }
}

SUITE(ledger_terms, TEST(creates_of_earlier_terms_end), TEST(state_of_earlier_terms_is_waited_for))
