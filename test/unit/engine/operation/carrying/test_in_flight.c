/* A call that takes its time, while its operation, its Spec, its store or its process does not wait
 * for it: it comes to its end by itself, what it did is recorded, and nothing is made twice. */
#include <unistd.h>

#include "engine/base/str.h"
#include "engine/operation/operation.h"
#include "test/unit/engine/operation/doubt.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

#define MINUTES (60 * (int64_t)1000)

/* A process in which the create of d does not answer. */
static void begin_slowly(struct stage *stage, struct run *run)
{
    stage_init(stage);
    stage_use_threads(stage, 4);
    fake_cloud_fault(&stage->cloud, "d", CLOUD_BLOCKS);
    stage_begin_process(stage);
    run_begin(run, stage);
    run_plan(run, "Cloud/d=1");
    run_apply(run);
    EXPECT(fake_cloud_await_blocked(&stage->cloud), "under way");
    EXPECT_STR(stage_state(stage), "d*", "marked");
}

static void supersede(struct run *run)
{
    run_cancel(run, "Superseded");
    EXPECT_INT(operation_phase(run->operation), OPERATION_ENDED, "at once");
    EXPECT_INT(run_end(run), ERR_CANCELLED, "cancelled");
    EXPECT_STR(run->stage->results.data, "d cancelled", "not done");
}

static void answer(struct stage *stage)
{
    fake_cloud_fault(&stage->cloud, "d", 0);
    EXPECT(stage_await_idle(stage), "it ends");
}

static void a_new_generation_does_the_rest(void)
{
    struct stage stage;
    struct run run;

    begin_slowly(&stage, &run);
    supersede(&run);
    EXPECT(stage_apply(&stage, "Cloud/d=1 a=1 b@d") < 0, "not all");
    EXPECT_STR(stage.planned.data, "deferred d; create a; create b", "planned");
    EXPECT_STR(stage.results.data, "d deferred; a succeeded; b skipped", "results");
    EXPECT(strstr(stage.reasons.data, "under way"), stage.reasons.data);
    EXPECT_STR(stage_objects(&stage), "a=1", "objects");
    EXPECT_INT(stage.landed, 0, "not yet");
    answer(&stage);
    EXPECT_INT(stage.landed, 1, "the Spec is worth a look");
    EXPECT(!doubt_is_left(&stage), stage_state(&stage));
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1 a=1 b@d"), 0, stage.error.message);
    EXPECT_STR(stage.planned.data, "unchanged d; unchanged a; create b", "planned");
    EXPECT_INT(stage.cloud.creates, 1, "none twice");
    stage_done(&stage);
}

static void a_deletion_deletes_what_it_made(void)
{
    struct stage stage;
    struct run run;

    begin_slowly(&stage, &run);
    supersede(&run);
    EXPECT(stage_destroy(&stage) < 0, "not yet");
    EXPECT_STR(stage.results.data, "d deferred", "results");
    EXPECT_STR(stage_state(&stage), "d*", "State stays");
    answer(&stage);
    EXPECT_INT(stage_destroy(&stage), 0, stage.error.message);
    EXPECT_STR(stage_cloud(&stage), "", "gone");
    EXPECT_STR(stage_state(&stage), "none", "State");
    stage_done(&stage);
}

/* Nothing comes after the cancellation but the end of the process. */
static void what_landed_after_the_end_is_recorded(void)
{
    struct stage stage;
    struct run run;

    begin_slowly(&stage, &run);
    supersede(&run);
    answer(&stage);
    stage_end_process(&stage);
    EXPECT_STR(stage_state(&stage), "d", "recorded");
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1"), 0, stage.error.message);
    EXPECT_STR(stage.planned.data, "unchanged d", "known");
    stage_done(&stage);
}

/* One that fails lands as well. */
static void what_failed_after_the_end_is_recorded(void)
{
    struct stage stage;
    struct run run;

    begin_slowly(&stage, &run);
    supersede(&run);
    fake_cloud_fault(&stage.cloud, "d", CLOUD_PARTIAL);
    EXPECT(stage_await_idle(&stage), "it ends");
    stage_end_process(&stage);
    EXPECT(strstr(stage_state(&stage), "d") && !doubt_is_left(&stage), stage_state(&stage));
    fake_cloud_fault(&stage.cloud, "d", 0);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1"), 0, stage.error.message);
    EXPECT_STR(stage_cloud(&stage), "d=1", "one");
    stage_done(&stage);
}

static void a_short_call_is_waited_for(void)
{
    struct stage stage;
    struct run first, second;

    begin_slowly(&stage, &first);
    stage.world.pace = FAKE_CLOCK_STANDS;
    supersede(&first);
    run_begin(&second, &stage);
    operation_plan(second.operation, stage_spec("Cloud/d=1 a=1"));
    usleep(20000);
    EXPECT_INT(operation_phase(second.operation), OPERATION_PLANNING, "it may end soon");
    fake_cloud_fault(&stage.cloud, "d", 0);
    stage.world.pace = FAKE_CLOCK_PACES;
    EXPECT_INT(run_wait(&second), OPERATION_PLANNED, "planned");
    EXPECT_INT(operation_get_plan(second.operation)->changes[0].action, PLAN_UNCHANGED, "as made");
    EXPECT_INT(run_end(&second), 0, "planned");
    stage_done(&stage);
}

/* Not counting calls in flight: the time is up when nothing is under way for so long. */
static void a_call_of_minutes_is_not_out_of_time(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    stage.cloud.takes = 20 * MINUTES;
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1 a@d Cloud/e=1:a"), 0, stage.error.message);
    EXPECT_STR(stage_cloud(&stage), "d=1 e=1", "made");
}

static void others_go_on_meanwhile(void)
{
    struct stage stage;
    struct run run;

    stage_init(&stage);
    stage_use_threads(&stage, 4);
    fake_cloud_fault(&stage.cloud, "d", CLOUD_BLOCKS);
    fake_cloud_fault(&stage.cloud, "e", CLOUD_BLOCKS);
    stage_begin_process(&stage);
    run_begin(&run, &stage);
    run_plan(&run, "Cloud/d=1 Cloud/e=1 a=1 b=1:a c=1:b");
    run_apply(&run);
    while (run_count_ended(&run) < 3)
        usleep(1000);
    EXPECT(fake_cloud_await_blocked(&stage.cloud), "still under way");
    fake_cloud_fault(&stage.cloud, "d", 0);
    fake_cloud_fault(&stage.cloud, "e", 0);
    EXPECT_INT(run_wait(&run), OPERATION_ENDED, "all");
    EXPECT_INT(run_end(&run), 0, stage.error.message);
    stage_done(&stage);
}

/* ---- The store and the leader ---- */

/* It comes back after a while: what landed meanwhile was kept. */
static void a_store_that_is_down_loses_nothing(void)
{
    struct stage stage;
    struct run run;

    begin_slowly(&stage, &run);
    fake_store_cut(&stage.store, true);
    answer(&stage);
    EXPECT_STR(stage_state(&stage), "d*", "not stored yet");
    fake_world_pass(&stage.world, MINUTES);
    EXPECT(ledgers_retry(stage.ledgers) == 1, "still down");
    run_cancel(&run, "Superseded");
    run_end(&run);
    EXPECT(stage_apply(&stage, "Cloud/d=1 a=1") < 0, "nothing new begins");
    EXPECT_STR(stage_objects(&stage), "", "nothing");
    fake_store_cut(&stage.store, false);
    EXPECT_INT(ledgers_retry(stage.ledgers), 0, "stored");
    EXPECT_STR(stage_state(&stage), "d", "as it is");
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1 a=1"), 0, stage.error.message);
    EXPECT_INT(stage.cloud.creates, 1, "none twice");
    stage_done(&stage);
}

/* Whoever leads no more begins nothing, and tells what it began. */
static void a_leader_that_was_tells(void)
{
    struct stage stage;
    struct run run;

    begin_slowly(&stage, &run);
    fake_world_fence(&stage.world, true);
    answer(&stage);
    run_cancel(&run, "LeaseLost");
    run_end(&run);
    EXPECT(strstr(stage_log(&stage), "tell"), stage_log(&stage));
    EXPECT(stage_apply(&stage, "Cloud/d=1 a=1") < 0, "nothing new begins");
    EXPECT_STR(stage_objects(&stage), "", "nothing");
    stage_end_process(&stage);
    EXPECT_STR(stage_state(&stage), "d*", "State is the new leader's to write");

    fake_world_fence(&stage.world, false);
    stage.epoch = 2;
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1 a=1"), 0, stage.error.message);
    EXPECT_STR(stage.planned.data, "unchanged d; create a", "it was told");
    EXPECT_STR(stage_state(&stage), "d a", "and recorded");
    EXPECT_INT(stage.cloud.creates, 1, "none twice");
    stage_done(&stage);
}

/* Until then the create may be under way, in a process that nobody sees. */
static void a_new_leader_waits_to_be_told(void)
{
    struct stage stage;
    struct run run;

    begin_slowly(&stage, &run);
    fake_world_kill(&stage.world);
    run_end(&run);
    stage_end_process(&stage);
    stage.epoch = 2;
    fake_cloud_fault(&stage.cloud, "d", 0);
    EXPECT(stage_apply(&stage, "Cloud/d=1 a=1") < 0, "not all");
    EXPECT_STR(stage.planned.data, "deferred d; create a", "planned");
    EXPECT_STR(stage.results.data, "d deferred; a succeeded", "results");
    stage_done(&stage);
}

static void a_killed_process_makes_nothing_twice(void)
{
    for (int makes = 0; makes < 2; makes++) {
        struct stage stage;
        struct run run;

        begin_slowly(&stage, &run);
        stage.may_forget = true;
        stage.cloud.makes_when_killed = makes;
        fake_world_kill(&stage.world);
        run_end(&run);
        stage_end_process(&stage);
        fake_cloud_fault(&stage.cloud, "d", 0);
        stage_apply(&stage, "Cloud/d=1");
        fake_world_pass(&stage.world, 24 * 60 * MINUTES);
        EXPECT(stage_apply(&stage, "Cloud/d=1") < 0, "nobody knows");
        EXPECT_INT(stage.cloud.n_things, makes, "none twice");
        doubt_clear(&stage);
        EXPECT_INT(stage_apply(&stage, "Cloud/d=1"), 0, stage.error.message);
        EXPECT_STR(stage_cloud(&stage), "d=1", "one");
        stage_done(&stage);
    }
}

/* What is under way is not begun again, even where it is cancelled time and again. */
static void no_two_calls_about_one(void)
{
    struct stage stage;
    struct run run;

    begin_slowly(&stage, &run);
    supersede(&run);
    for (int i = 0; i < 5; i++)
        EXPECT(stage_apply(&stage, i % 2 ? "Cloud/d=2" : "Cloud/d=1*k a=1") < 0, "deferred");
    EXPECT(stage_destroy(&stage) < 0, "deferred");
    answer(&stage);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=2"), 0, stage.error.message);
    EXPECT_STR(stage_cloud(&stage), "d=2", "one");
    EXPECT_INT(stage.cloud.creates, 1, "none twice");
    stage_done(&stage);
}

/* ---- What an older operation's call did to State while a newer one plans ---- */

static bool await_state(struct stage *stage, const char *state)
{
    for (unsigned n = 0; n < 60000; n++) {
        if (str_equal(stage_state(stage), state))
            return true;
        usleep(1000);
    }
    return false;
}

/* Not run_plan(), which waits. */
static void begin_planning(struct run *run, struct stage *stage, const char *spec)
{
    run_begin(run, stage);
    operation_plan(run->operation, stage_spec(spec));
}

static void end_planning(struct run *run)
{
    run->stage->world.pace = FAKE_CLOCK_PACES;
    fake_world_pass(&run->stage->world, 100);
    run_wait(run);
}

static const char *action_of(struct run *run, size_t change)
{
    const struct plan *plan = operation_get_plan(run->operation);

    return plan ? plan_action_name(plan->changes[change].action) : "none";
}

/* It is refused while the newer operation waits for it: what is recorded is of no more use. */
static void a_mark_that_went_meanwhile_is_not_planned_with(void)
{
    struct stage stage;
    struct run run, newer;

    begin_slowly(&stage, &run);
    supersede(&run);
    stage.world.pace = FAKE_CLOCK_STANDS;
    begin_planning(&newer, &stage, "Cloud/d=1");
    usleep(50000); /* it waits */
    fake_cloud_fault(&stage.cloud, "d", CLOUD_REFUSED);
    EXPECT(await_state(&stage, ""), "nothing is recorded any more");
    end_planning(&newer);
    EXPECT_STR(action_of(&newer, 0), "create", "planned");
    run_end(&newer);
    stage_done(&stage);
}

/* It lands between the newer operation's list of changes and its look at this one. */
static void a_call_that_landed_before_the_visit_is_known(void)
{
    struct stage stage;
    struct run run, newer;

    begin_slowly(&stage, &run);
    supersede(&run);
    stage.world.pace = FAKE_CLOCK_STANDS;
    fake_cloud_fault(&stage.cloud, "c", CLOUD_PLAN_BLOCKS);
    begin_planning(&newer, &stage, "Cloud/c=1 Cloud/d=1:c");
    usleep(50000); /* c is being planned */
    fake_cloud_fault(&stage.cloud, "d", 0);
    EXPECT(await_state(&stage, "d"), "landed");
    fake_cloud_fault(&stage.cloud, "c", 0);
    end_planning(&newer);
    EXPECT_STR(action_of(&newer, 1), "unchanged", "planned");
    run_end(&newer);
    stage_done(&stage);
}

/* Until State has the mark. */
static bool await_call(struct stage *stage, const char *mark)
{
    for (int i = 0; i < 60000 && !strstr(stage_state(stage), mark); i++)
        usleep(1000);
    return strstr(stage_state(stage), mark);
}

static bool await_calls(const struct run *run, size_t count)
{
    struct calls *calls = ledger_calls(operation_ledger(run->operation));

    for (int i = 0; i < 60000 && calls_count(calls) != count; i++)
        usleep(1000);
    return calls_count(calls) == count;
}

/* While a save is under way, other calls begin in place of those whose outcomes wait for it. What
 * depends on these does not: a value that State does not have yet is passed on to nobody. */
static void what_waits_for_a_save_makes_place(void)
{
    struct stage stage;
    struct run run;

    stage_init(&stage);
    stage_use_threads(&stage, 2);
    fake_cloud_fault(&stage.cloud, "d", CLOUD_BLOCKS);
    fake_cloud_fault(&stage.cloud, "e", CLOUD_BLOCKS);
    stage_begin_process(&stage);
    run_begin(&run, &stage);
    run_plan(&run, "Cloud/d=1 Cloud/e=1 Cloud/f=1 Cloud/g=1 Cloud/h=1 a@d");
    run_apply(&run);
    EXPECT(await_call(&stage, "d*") && await_call(&stage, "e*"), "two are under way");
    EXPECT(await_calls(&run, 2), "and no more");
    atomic_store(&stage.store.is_held, true);
    fake_cloud_fault(&stage.cloud, "d", 0);
    fake_cloud_fault(&stage.cloud, "e", 0);
    EXPECT(await_calls(&run, 4), "two more");
    usleep(20000);
    EXPECT(await_calls(&run, 4), "and no more");
    EXPECT_STR(stage_objects(&stage), "", "not what depends on one");
    atomic_store(&stage.store.is_held, false);
    EXPECT_INT(run_wait(&run), OPERATION_ENDED, "ended");
    EXPECT_INT(run_end(&run), 0, stage.error.message);
    stage_end_process(&stage);
    stage_done(&stage);
}

SUITE(operation_in_flight, TEST(a_new_generation_does_the_rest),
      TEST(a_deletion_deletes_what_it_made), TEST(what_landed_after_the_end_is_recorded),
      TEST(what_failed_after_the_end_is_recorded), TEST(a_short_call_is_waited_for),
      TEST(a_call_of_minutes_is_not_out_of_time), TEST(others_go_on_meanwhile),
      TEST(a_store_that_is_down_loses_nothing), TEST(a_leader_that_was_tells),
      TEST(a_new_leader_waits_to_be_told), TEST(a_killed_process_makes_nothing_twice),
      TEST(no_two_calls_about_one), TEST(a_mark_that_went_meanwhile_is_not_planned_with),
      TEST(a_call_that_landed_before_the_visit_is_known), TEST(what_waits_for_a_save_makes_place))
