/* Waiting for the world costs no thread. */
#include <unistd.h>

#include "engine/operation/operation.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

#define MANY 1000

static void a_thousand_wait_without_a_thread(void)
{
    _cleanup_stage_ struct stage stage;
    struct executor_stats stats;
    struct buf spec = BUF_INIT;
    struct run run;

    stage_init(&stage);
    stage_use_threads(&stage, 4);
    stage.world.pace = FAKE_CLOCK_STANDS;
    stage.world.after_step = NULL; /* it reads all of State each time */
    fake_fault(&stage.objects, "*", FAKE_UNHEALTHY);
    for (int i = 0; i < MANY; i++)
        buf_printf(&spec, "%sr%d=1", i ? " " : "", i);
    stage_begin_process(&stage);
    run_begin(&run, &stage);
    run_plan(&run, spec.data);
    run_apply(&run);
    EXPECT(run_await(&run, OPERATION_PARKED), "parked");
    EXPECT_INT(run_count_waiting(&run), MANY, "all wait");
    EXPECT(stage_await_idle(&stage), "and nothing runs");
    executor_stats(stage.executor, &stats);
    EXPECT_INT(stats.running, 0, "no piece of work");
    EXPECT(stats.threads <= 5, "no threads but for work, and one that looks at the clock");
    fake_fault(&stage.objects, "*", 0);
    stage.world.pace = FAKE_CLOCK_PACES;
    EXPECT_INT(run_wait(&run), OPERATION_ENDED, "they come round");
    EXPECT_INT(run_end(&run), 0, stage.error.message);
    buf_done(&spec);
}

/* An operation that is parked is ended by whoever owns it, and at once. */
static void a_parked_operation_can_be_cancelled(void)
{
    _cleanup_stage_ struct stage stage;
    struct run run;

    stage_init(&stage);
    stage_use_threads(&stage, 4);
    stage.world.pace = FAKE_CLOCK_STANDS;
    fake_fault(&stage.objects, "a", FAKE_UNHEALTHY);
    stage_begin_process(&stage);
    run_begin(&run, &stage);
    run_plan(&run, "a=1 b=1:a");
    run_apply(&run);
    EXPECT(run_await(&run, OPERATION_PARKED), "parked");
    run_cancel(&run, "Superseded");
    EXPECT_INT(operation_phase(run.operation), OPERATION_ENDED, "at once");
    EXPECT_INT(run_end(&run), ERR_CANCELLED, "cancelled");
    EXPECT_STR(stage.results.data, "a cancelled; b cancelled", "results");
    fake_fault(&stage.objects, "a", 0);
    stage.world.pace = FAKE_CLOCK_PACES;
    EXPECT_INT(stage_apply(&stage, "a=1 b=1:a"), 0, stage.error.message);
    EXPECT_INT(stage.objects.creates, 2, "none twice");
}

/* Freed while it runs, planned, or new: nothing is leaked (the fakes count), and nothing hangs. */
static void an_operation_can_be_freed_at_any_time(void)
{
    for (int when = 0; when < 5; when++) {
        _cleanup_stage_ struct stage stage;
        struct run run;

        stage_init(&stage);
        stage_use_threads(&stage, 4);
        fake_fault(&stage.objects, "a", FAKE_UNHEALTHY);
        stage_begin_process(&stage);
        run_begin(&run, &stage);
        if (when == 1)
            operation_plan(run.operation, stage_spec("a=1 Cloud/d=1 b=1:a"));
        if (when > 1)
            run_plan(&run, "a=1 Cloud/d=1 b=1:a");
        if (when > 2)
            run_apply(&run);
        if (when > 3)
            usleep(2000);
        stage.running = NULL;
        operation_free(run.operation);
        EXPECT(stage_await_idle(&stage), "it ends");
        fake_fault(&stage.objects, "a", 0);
        EXPECT_INT(stage_apply(&stage, "a=1 Cloud/d=1 b=1:a"), 0, stage.error.message);
        EXPECT_STR(stage_cloud(&stage), "d=1", "none twice");
    }
}

/* A call holds all that it needs. */
static void what_is_freed_in_flight_lands(void)
{
    _cleanup_stage_ struct stage stage;
    struct run run;

    stage_init(&stage);
    stage_use_threads(&stage, 4);
    fake_cloud_fault(&stage.cloud, "d", CLOUD_BLOCKS);
    stage_begin_process(&stage);
    run_begin(&run, &stage);
    run_plan(&run, "Cloud/d=1");
    run_apply(&run);
    EXPECT(fake_cloud_await_blocked(&stage.cloud), "under way");
    stage.running = NULL;
    operation_free(run.operation);
    fake_cloud_fault(&stage.cloud, "d", 0);
    EXPECT(stage_await_idle(&stage), "it ends");
    EXPECT_STR(stage_state(&stage), "d", "recorded, though its operation is gone");
}

/* Each call takes 10 s, and fails. */
static void calls_that_fail_slowly_run_out_of_time(void)
{
    _cleanup_stage_ struct stage stage;
    int64_t begun;

    stage_init(&stage);
    fake_cloud_fault(&stage.cloud, "d", CLOUD_HANGS);
    begun = stage.world.now;
    EXPECT(stage_apply(&stage, "Cloud/d=1") < 0, "out of time");
    EXPECT(stage.world.now - begun >= STAGE_TIMEOUT, "not before it is");
    EXPECT(stage.world.now - begun < 2 * STAGE_TIMEOUT, "nor long after");
    EXPECT(stage.cloud.hung > 1, "it was tried again");
}

/* Its plan had all the time that there is: it ends with that, and not with as much once more. */
static void what_timed_out_in_the_plan_is_not_tried_again(void)
{
    _cleanup_stage_ struct stage stage;
    int64_t begun;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1 Cloud/e=1"), 0, stage.error.message);
    fake_cloud_fault(&stage.cloud, "d", CLOUD_PLAN_HANGS);
    begun = stage.world.now;
    EXPECT(stage_apply(&stage, "Cloud/d=2 Cloud/e=2") < 0, "it fails");
    EXPECT_STR(stage.results.data, "d timed out; e succeeded", "and the other is changed");
    EXPECT_INT(stage.cloud.hung, 1, "once");
    EXPECT(stage.world.now - begun < STAGE_TIMEOUT + STAGE_TIMEOUT / 2, "in one timeout");
    begun = stage.world.now;
    EXPECT(stage_destroy(&stage) < 0, "nor can it be deleted");
    EXPECT_INT(stage.cloud.hung, 2, "once");
    EXPECT(stage.world.now - begun < STAGE_TIMEOUT + STAGE_TIMEOUT / 2, "in one timeout");
    fake_cloud_fault(&stage.cloud, "d", 0);
    EXPECT_INT(stage_destroy(&stage), 0, stage.error.message);
}

/* A call has limits of its own, too. */
static void what_was_given_up_earlier_is_tried_again(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    fake_cloud_fault(&stage.cloud, "d", CLOUD_PLAN_HANGS);
    stage.cloud.plan_hangs = STAGE_TIMEOUT / 4;
    EXPECT(stage_apply(&stage, "Cloud/d=1") < 0, "it fails");
    EXPECT(stage.cloud.hung > 1, "it was tried again");
    EXPECT_STR(stage.results.data, "d timed out", "until there was no time left");
}

SUITE(operation_waiting, TEST(a_thousand_wait_without_a_thread),
      TEST(a_parked_operation_can_be_cancelled), TEST(an_operation_can_be_freed_at_any_time),
      TEST(what_is_freed_in_flight_lands), TEST(calls_that_fail_slowly_run_out_of_time),
      TEST(what_timed_out_in_the_plan_is_not_tried_again),
      TEST(what_was_given_up_earlier_is_tried_again))
