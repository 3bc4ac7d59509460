/* Sessions: one thread of an operation opens one, and no thread holds a lock meanwhile. */
#include <unistd.h>

#include "engine/base/str.h"
#include "engine/operation/operation.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

#define PATIENCE 10000 /* ms, real */
#define SPEC     "Cloud/d=1 Cloud/e=1 a=1"

/* Until so many visits are under way. */
static bool await_running(struct stage *stage, size_t running)
{
    struct executor_stats stats;

    for (unsigned waited = 0; waited < PATIENCE; waited++) {
        executor_stats(stage->executor, &stats);
        if (stats.running == running && !stats.ready)
            return true;
        usleep(1000);
    }
    return false;
}

/* Of the visits of d and e, one is in open(), which does not answer, and one waits for it. */
static void begin_opening(struct stage *stage, struct run *run)
{
    stage_init(stage);
    stage_use_threads(stage, 4);
    stage->world.pace = FAKE_CLOCK_STANDS;
    fake_cloud_block_open(&stage->cloud, 1);
    stage_begin_process(stage);
    run_begin(run, stage);
    operation_plan(run->operation, stage_spec(SPEC));
    EXPECT(fake_cloud_await_blocked(&stage->cloud), "open() is under way");
    EXPECT(await_running(stage, 2), "d and e; a is planned");
    EXPECT_INT(stage->cloud.opens, 1, "opened once");
}

static void end_opening(struct stage *stage)
{
    fake_cloud_block_open(&stage->cloud, 0);
    stage->world.pace = FAKE_CLOCK_PACES;
}

static void one_thread_opens_a_session(void)
{
    struct stage stage;
    struct run run;

    begin_opening(&stage, &run);
    end_opening(&stage);
    EXPECT_INT(run_wait(&run), OPERATION_PLANNED, "planned");
    for (size_t i = 0; i < 3; i++)
        EXPECT_INT(operation_get_plan(run.operation)->changes[i].action, PLAN_CREATE, "planned");
    EXPECT_INT(stage.cloud.opens, 1, "opened once");
    EXPECT_INT(stage.cloud.sessions, 1, "for both");
    run_end(&run);
    stage_done(&stage);
}

/* A second operation has sessions of its own. */
static void another_operation_opens_its_own(void)
{
    struct stage stage;
    struct run run, other;

    begin_opening(&stage, &run);
    run_begin(&other, &stage);
    run_plan(&other, "Cloud/f=1");
    EXPECT_STR(stage.planned.data, "create f", "not delayed");
    EXPECT_INT(run_end(&other), 0, stage.error.message);
    end_opening(&stage);
    run_wait(&run);
    run_end(&run);
    stage_done(&stage);
}

static void a_cancelled_operation_does_not_wait(void)
{
    struct stage stage;
    struct run run;

    begin_opening(&stage, &run);
    run_cancel(&run, "Superseded");
    EXPECT(await_running(&stage, 1), "only open() is still under way");
    EXPECT_INT(stage.cloud.blocked, 1, "and has not answered");
    end_opening(&stage);
    EXPECT(stage_await_idle(&stage), "all ended");
    EXPECT_INT(run_end(&run), ERR_CANCELLED, "cancelled");
    EXPECT_INT(stage.cloud.sessions, 0, "closed");
    stage_done(&stage);
}

static void the_deadline_of_a_call_ends_its_wait(void)
{
    struct stage stage;
    struct run run;
    size_t late = 0;

    begin_opening(&stage, &run);
    fake_world_pass(&stage.world, STAGE_TIMEOUT);
    EXPECT(await_running(&stage, 1), "only open() is still under way");
    end_opening(&stage);
    EXPECT_INT(run_wait(&run), OPERATION_PLANNED, "planned");
    for (size_t i = 0; i < 3; i++) {
        const struct error *error = operation_get_plan(run.operation)->changes[i].error;

        late += error && error->code == ERR_TIMEOUT;
    }
    EXPECT_INT(late, 1, "the one that waited");
    run_end(&run);
    stage_done(&stage);
}

/* Without that, everything would wait for this runtime until it is out of time. */
static void a_runtime_that_was_away_is_opened_later(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    stage.cloud.open_failures = 3;
    EXPECT_INT(stage_apply(&stage, SPEC), 0, stage.error.message);
    EXPECT_STR(stage.planned.data, "d!CloudBusy; e!CloudBusy; create a", "planned");
    EXPECT_STR(stage_cloud(&stage), "d=1 e=1", "made");
    EXPECT_INT(stage.cloud.opens, 4, "not once for each visit");
}

/* Of both types. */
static void a_session_is_given_what_state_has(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, SPEC), 0, stage.error.message);
    EXPECT_INT(stage.cloud.given, 0, "nothing is recorded yet");
    EXPECT_INT(stage_apply(&stage, SPEC " Cloud/f=1"), 0, stage.error.message);
    EXPECT_INT(stage.cloud.given, 3, "d, e and a");
}

SUITE(operation_session, TEST(one_thread_opens_a_session), TEST(another_operation_opens_its_own),
      TEST(a_cancelled_operation_does_not_wait), TEST(the_deadline_of_a_call_ends_its_wait),
      TEST(a_runtime_that_was_away_is_opened_later), TEST(a_session_is_given_what_state_has))
