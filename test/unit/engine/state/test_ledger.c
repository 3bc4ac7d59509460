/* Records and head; what begins and lands; when it is stored. */
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

static void a_new_one_is_empty(void)
{
    struct arena arena = ARENA_INIT;
    struct ledger_records records;
    struct state_head head;

    set_up(NULL);
    records = ledger_records(ledger);
    ledger_head(ledger, &arena, &head);
    EXPECT_INT((long long)records.count, 0, "no records");
    EXPECT(!ledger_is_stored(ledger) && !ledger_is_inherited(ledger), "nothing stored");
    EXPECT_STR(head.spec_name, "web", "its name");
    EXPECT_STR(head.spec_uid, "uid-1", "its uid");
    EXPECT_INT((long long)head.serial, 0, "no save");
    EXPECT_INT(ledger_check(ledger, NULL), 0, "all may begin");
    EXPECT_INT(ledger_flush(ledger, NULL), 0, "nothing to store");
    EXPECT_INT((long long)writes(&stage), 0, "so nothing is written");
    ledger_records_done(&records);
    arena_done(&arena);
    tear_down();
}

static void what_was_begun_is_durable(void)
{
    set_up(NULL);
    EXPECT_INT(begin_put(ledger, record_of("a", 1), NULL), 0, "begun");
    EXPECT_INT(stored_number(&stage, "a"), 1, "stored");
    EXPECT_INT(number_of(ledger, "a"), 1, "in the records");
    EXPECT(ledger_is_stored(ledger), "there is one now");
    EXPECT_INT(ledger_begin(ledger, NULL, 0, NULL), 0, "nothing begun");
    EXPECT_INT((long long)writes(&stage), 2, "written all the same");
    tear_down();
}

static void what_landed_now_is_durable(void)
{
    set_up(NULL);
    land_put(ledger, record_of("a", 1), LEDGER_NOW, NULL);
    land_put(ledger, record_of("b", 2), LEDGER_NOW, NULL);
    EXPECT_INT(land_drop(ledger, "a", LEDGER_NOW, NULL), 0, "landed");
    EXPECT_INT(stored_number(&stage, "a"), -1, "dropped");
    EXPECT_INT(stored_number(&stage, "b"), 2, "there");
    EXPECT_INT((long long)writes(&stage), 3, "one write each");
    tear_down();
}

static void what_lands_soon_is_stored_together(void)
{
    set_up(NULL);
    land_put(ledger, record_of("a", 1), LEDGER_SOON, NULL);
    EXPECT_INT((long long)writes(&stage), 1, "nothing was saved for long: at once");
    for (int i = 2; i < 6; i++)
        EXPECT_INT(land_put(ledger, record_of("b", i), LEDGER_SOON, NULL), 0, "waits");
    atomic_fetch_add(&stage.clock.now, 999);
    land_put(ledger, record_of("c", 1), LEDGER_SOON, NULL);
    EXPECT_INT((long long)writes(&stage), 1, "within a second: not yet");
    EXPECT_INT(number_of(ledger, "b"), 5, "in the records");
    atomic_fetch_add(&stage.clock.now, 1);
    land_put(ledger, record_of("d", 1), LEDGER_SOON, NULL);
    EXPECT_INT((long long)writes(&stage), 2, "after it, all in one");
    EXPECT_INT(stored_number(&stage, "b"), 5, "b");
    EXPECT_INT(stored_number(&stage, "d"), 1, "d");
    land_put(ledger, record_of("e", 1), LEDGER_SOON, NULL);
    EXPECT_INT(ledger_flush(ledger, NULL), 0, "flushed");
    EXPECT_INT(stored_number(&stage, "e"), 1, "by the flush");
    EXPECT_INT((long long)writes(&stage), 3, "one more");
    land_put(ledger, record_of("f", 1), LEDGER_SOON, NULL);
    begin_put(ledger, record_of("g", 1), NULL);
    EXPECT_INT(stored_number(&stage, "f"), 1, "goes with what begins");
    EXPECT_INT((long long)writes(&stage), 4, "in the same write");
    tear_down();
}

static void the_head_goes_with_the_next_change(void)
{
    _cleanup_value_ const struct value *policy = json("{\"prune\":true}");
    _cleanup_(state_free_p) struct state *state = NULL;
    struct arena arena = ARENA_INIT;
    struct state_head head;

    set_up(NULL);
    ledger_head(ledger, &arena, &head);
    head.revision = 4;
    head.applied_revision = 3;
    head.generation = 9;
    head.policy = policy;
    head.serial = 77;
    head.epoch = 88;
    head.spec_name = "another";
    ledger_set_head(ledger, &head);
    EXPECT_INT((long long)writes(&stage), 0, "not by itself");
    begin_put(ledger, record_of("a", 1), NULL);
    ledger_head(ledger, &arena, &head);
    EXPECT_INT((long long)head.serial, 1, "the ledger's own");
    EXPECT_INT(head.epoch, 1, "the ledger's own");
    head.revision = 5;
    ledger_set_head(ledger, &head);
    EXPECT_INT(ledger_flush(ledger, NULL), 0, "flushed");
    state = stored_state(&stage);
    EXPECT_INT(state_head(state)->revision, 5, "revision");
    EXPECT_INT(state_head(state)->applied_revision, 3, "appliedRevision");
    EXPECT_INT(state_head(state)->generation, 9, "generation");
    EXPECT_INT(state_head(state)->epoch, 1, "epoch");
    EXPECT_INT((long long)state_head(state)->serial, 2, "serial");
    EXPECT_STR(state_head(state)->spec_name, "web", "the key's name");
    EXPECT(value_equal(state_head(state)->policy, policy), "policy");
    arena_done(&arena);
    tear_down();
}

static void records_come_in_order_and_by_name(void)
{
    static const char *const ids[] = {"c", "a", "b"};
    struct ledger_records records;

    set_up(NULL);
    for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
        land_put(ledger, record_of(ids[i], (int)i), LEDGER_NOW, NULL);
    land_put(ledger, full_record("a"), LEDGER_NOW, NULL);
    records = ledger_records(ledger);
    CU_ASSERT_EQUAL_FATAL(records.count, 4);
    for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
        EXPECT_STR(records.items[i]->id, ids[i], "in order");
    EXPECT_STR(records.items[3]->deposed, "d1", "beside the one in force");
    EXPECT_INT(number_of(ledger, "a"), 1, "in force");
    ledger_records_done(&records);
    tear_down();
}

/* A begin of which a part or all cannot be stored leaves no trace. */
static void what_could_not_begin_is_not_in_the_records(void)
{
    _cleanup_(record_unref_p) const struct record *a = record_of("a", 2), *b = record_of("b", 2),
                                                  *again = record_of("b", 3);
    const struct ledger_change changes[] = {{.put = a}, {.put = b}, {.id = "c"}, {.put = again}};
    struct error error = {0};

    set_up(NULL);
    land_put(ledger, record_of("a", 1), LEDGER_NOW, NULL);
    land_put(ledger, record_of("c", 1), LEDGER_NOW, NULL);
    atomic_store(&us.is_fenced, true);
    EXPECT_INT(ledger_begin(ledger, changes, 4, &error), ERR_FENCED, error.message);
    EXPECT_INT(ledger_check(ledger, NULL), ERR_FENCED, "nothing may begin");
    atomic_store(&us.is_fenced, false);
    store_faults_watch(stage.faults, NULL, NULL);
    store_faults_fail(stage.faults, 1, FAULT_CONFLICT);
    EXPECT_INT(ledger_begin(ledger, changes, 4, &error), ERR_CONFLICT, error.message);
    EXPECT_STR(error.reason, "StateConflict", "why");
    EXPECT_INT(number_of(ledger, "a"), 1, "as before");
    EXPECT_INT(number_of(ledger, "b"), -1, "not there");
    EXPECT_INT(number_of(ledger, "c"), 1, "still there");
    tear_down();
}

static void too_large_refuses_the_begin_and_keeps_what_landed(void)
{
    struct error error = {0};

    set_up(NULL);
    land_put(ledger, record_of("a", 1), LEDGER_NOW, NULL);
    land_put(ledger, record_of("b", 1), LEDGER_SOON, NULL);
    EXPECT_INT(begin_put(ledger, ({
                             _cleanup_value_ const struct value *unknown = value_pack("{s:u}", "x");

                             record_new(
                                 &(struct record){.id = "u", .type = "t", .attributes = unknown});
                         }),
                         &error),
               ERR_INTERNAL, error.message);
    EXPECT_INT(number_of(ledger, "u"), -1, "not in the records");
    EXPECT_INT(stored_number(&stage, "b"), 1, "what landed was stored without it");
    EXPECT_INT(ledger_check(ledger, NULL), 0, "nothing is left");
    tear_down();
}

static int64_t stored_progress(void)
{
    _cleanup_(state_free_p) struct state *state = NULL;

    EXPECT_INT(ledger_flush(ledger, NULL), 0, "flushed");
    state = stored_state(&stage);
    return state_head(state)->progressed_at;
}

/* Counted from each landing, while an operation is under way. */
static void knows_when_something_landed_last(void)
{
    struct arena arena = ARENA_INIT;
    struct state_head head;
    int64_t begun;

    set_up(NULL);
    begun = stage.clock.source.now(&stage.clock.source);
    land_put(ledger, record_of("a", 1), LEDGER_NOW, NULL);
    ledger_progress(ledger);
    EXPECT_INT(stored_progress(), 0, "none is under way");
    ledger_head(ledger, &arena, &head);
    head.progressed_at = begun;
    ledger_set_head(ledger, &head);
    EXPECT_INT(stored_progress(), begun, "as it was set");
    atomic_fetch_add(&stage.clock.now, 5000);
    land_put(ledger, record_of("a", 2), LEDGER_NOW, NULL);
    EXPECT_INT(stored_progress(), begun + 5000, "a landing");
    atomic_fetch_add(&stage.clock.now, 5000);
    begin_put(ledger, record_of("b", 1), NULL);
    EXPECT_INT(stored_progress(), begun + 5000, "what begins is none");
    ledger_progress(ledger);
    EXPECT_INT(stored_progress(), begun + 10000, "in the head");
    arena_done(&arena);
    tear_down();
}

SUITE(ledger, TEST(a_new_one_is_empty), TEST(what_was_begun_is_durable),
      TEST(what_landed_now_is_durable), TEST(what_lands_soon_is_stored_together),
      TEST(the_head_goes_with_the_next_change), TEST(records_come_in_order_and_by_name),
      TEST(what_could_not_begin_is_not_in_the_records),
      TEST(too_large_refuses_the_begin_and_keeps_what_landed),
      TEST(knows_when_something_landed_last))
