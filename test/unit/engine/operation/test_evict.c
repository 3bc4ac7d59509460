/* An operation that is parked can be freed for its memory, and begun again: its time counts on. */
#include <unistd.h>

#include "engine/operation/operation.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

/* The revision is begun; "a" never gets ready. The clock stands. */
static void begin(struct run *run, struct stage *stage, const char *spec)
{
    run_begin(run, stage);
    run_plan(run, spec);
    run_apply(run);
    EXPECT(run_await(run, OPERATION_PARKED), "parked");
}

static void set_up(struct stage *stage)
{
    stage_init(stage);
    stage_use_threads(stage, 4);
    stage->world.pace = FAKE_CLOCK_STANDS;
    stage->verify = true; /* as for every Release: what landed may not be ready yet */
    fake_fault(&stage->objects, "a", FAKE_UNHEALTHY);
    stage_begin_process(stage);
}

static void restart_if(struct stage *stage, bool is_restart)
{
    if (!is_restart)
        return;
    stage_end_process(stage);
    stage_begin_process(stage);
}

/* Evicted, or restarted, as often as may be: it ends when it would have ended. */
static void its_time_counts_on(void)
{
    for (int is_restart = 0; is_restart < 2; is_restart++) {
        _cleanup_stage_ struct stage stage;
        struct run run;

        set_up(&stage);
        begin(&run, &stage, "a=1 b=1:a");
        for (int i = 0; i < 3; i++) {
            fake_world_pass(&stage.world, STAGE_TIMEOUT / 4);
            run_evict(&run);
            restart_if(&stage, is_restart);
            begin(&run, &stage, "a=1 b=1:a");
            EXPECT_INT(stage.revision, 1, "the same");
        }
        fake_world_pass(&stage.world, STAGE_TIMEOUT / 4 + 1);
        EXPECT_INT(run_wait(&run), OPERATION_ENDED, "in the end");
        EXPECT_INT(run_end(&run), ERR_TIMEOUT, "timed out");
        EXPECT_STR(stage.results.data, "a timed out; b skipped", "results");
        stage_end_process(&stage);
    }
}

/* Longer away than it may take: what can be done is done, and only then the time is up. */
static void late_is_not_too_late_for_what_goes_on(void)
{
    _cleanup_stage_ struct stage stage;
    struct run run;

    set_up(&stage);
    begin(&run, &stage, "a=1 b=1:a");
    run_evict(&run);
    restart_if(&stage, true);
    fake_world_pass(&stage.world, 10 * STAGE_TIMEOUT);
    fake_fault(&stage.objects, "a", 0);
    fake_fault(&stage.objects, "b", FAKE_UNHEALTHY);
    begin(&run, &stage, "a=1 b=1:a");
    fake_world_pass(&stage.world, STAGE_TIMEOUT / 2);
    EXPECT(stage_await_idle(&stage), "idle");
    EXPECT_INT(operation_phase(run.operation), OPERATION_PARKED, "b has its own time");
    EXPECT_STR(stage_objects(&stage), "a=1 b=1", "made");
    fake_fault(&stage.objects, "b", 0);
    stage.world.pace = FAKE_CLOCK_PACES;
    EXPECT_INT(run_wait(&run), OPERATION_ENDED, "in the end");
    EXPECT_INT(run_end(&run), 0, stage.error.message);
    stage_end_process(&stage);
}

/* What landed last before the eviction is where the time counts from, not the beginning. */
static void its_time_counts_from_the_last_landing(void)
{
    _cleanup_stage_ struct stage stage;
    struct run run;

    set_up(&stage);
    begin(&run, &stage, "a=1 b=1:a");
    fake_world_pass(&stage.world, STAGE_TIMEOUT / 2);
    fake_fault(&stage.objects, "a", 0);
    fake_fault(&stage.objects, "b", FAKE_UNHEALTHY);
    run_evict(&run);
    begin(&run, &stage, "a=1 b=1:a");
    run_evict(&run);
    fake_world_pass(&stage.world, STAGE_TIMEOUT - 1000);
    begin(&run, &stage, "a=1 b=1:a");
    fake_world_pass(&stage.world, 2000);
    EXPECT_INT(run_wait(&run), OPERATION_ENDED, "in the end");
    EXPECT_INT(run_end(&run), ERR_TIMEOUT, "timed out");
    EXPECT_STR(stage.results.data, "a succeeded; b timed out", "results");
    stage_end_process(&stage);
}

/* It came to its end: the next try of the same revision has its own time. So has another. */
static void what_is_tried_again_has_its_own_time(void)
{
    for (int is_other = 0; is_other < 2; is_other++) {
        _cleanup_stage_ struct stage stage;
        struct run run;

        set_up(&stage);
        begin(&run, &stage, "a=1");
        fake_world_pass(&stage.world, STAGE_TIMEOUT + 1);
        EXPECT_INT(run_wait(&run), OPERATION_ENDED, "in the end");
        EXPECT_INT(run_end(&run), ERR_TIMEOUT, "timed out");
        stage.revision -= !is_other;
        fake_world_pass(&stage.world, STAGE_TIMEOUT);
        begin(&run, &stage, "a=1");
        fake_world_pass(&stage.world, STAGE_TIMEOUT - 1);
        EXPECT(stage_await_idle(&stage), "idle");
        EXPECT_INT(operation_phase(run.operation), OPERATION_PARKED, "not yet");
        run_cancel(&run, "Superseded");
        run_end(&run);
        stage_end_process(&stage);
    }
}

static void expect_actions(struct run *run, enum plan_action a, enum plan_action b)
{
    struct operation_results results;

    EXPECT_INT(run_wait(run), OPERATION_ENDED, "ended");
    operation_results(run->operation, &results);
    EXPECT_INT(results.count, 2, "a and b");
    EXPECT_STR(plan_action_name(results.items[0].action), plan_action_name(a), "a");
    EXPECT_STR(plan_action_name(results.items[1].action), plan_action_name(b), "b");
    operation_results_done(&results);
    EXPECT_INT(run_end(run), 0, "succeeded");
}

/* What its revision did counts, whichever process did it. */
static void its_results_tell_what_was_done_before(void)
{
    for (int is_restart = 0; is_restart < 2; is_restart++) {
        _cleanup_stage_ struct stage stage;
        struct run run;

        set_up(&stage);
        begin(&run, &stage, "a=1 b=1");
        run_evict(&run);
        restart_if(&stage, is_restart);
        begin(&run, &stage, "a=1 b=1");
        fake_fault(&stage.objects, "a", 0);
        stage.world.pace = FAKE_CLOCK_PACES;
        expect_actions(&run, PLAN_CREATE, PLAN_CREATE);
        run_begin(&run, &stage);
        run_plan(&run, "a=1 b=2");
        run_apply(&run);
        EXPECT_INT(stage.revision, 2, "the next");
        expect_actions(&run, PLAN_UNCHANGED, PLAN_UPDATE);
        stage_end_process(&stage);
    }
}

static void says_what_it_holds(void)
{
    enum { MANY = 50 };
    _cleanup_stage_ struct stage stage;
    struct buf spec = BUF_INIT;
    struct run run;
    size_t whole;

    set_up(&stage);
    buf_add_str(&spec, "a=1");
    for (int i = 0; i < MANY; i++)
        buf_printf(&spec, " r%d=1", i);
    fake_fault(&stage.objects, "*", FAKE_UNHEALTHY);
    begin(&run, &stage, spec.data);
    whole = stage.memory;
    EXPECT(whole > MANY * 500 && whole < MANY * 50000, "something near the truth");
    fake_fault(&stage.objects, "*", 0);
    fake_fault(&stage.objects, "a", FAKE_UNHEALTHY);
    fake_world_pass(&stage.world, 10000);
    for (unsigned waited = 0; waited < 20000 && (!stage.memory || stage.memory == whole); waited++)
        usleep(1000);
    EXPECT(stage.memory && stage.memory < whole * 9 / 10, "what is done frees its steps");
    run_cancel(&run, "Superseded");
    EXPECT_INT((long long)stage.memory, 0, "it is not parked any more");
    run_end(&run);
    stage_end_process(&stage);
    buf_done(&spec);
}

SUITE(operation_evict, TEST(its_time_counts_on), TEST(late_is_not_too_late_for_what_goes_on),
      TEST(its_time_counts_from_the_last_landing), TEST(what_is_tried_again_has_its_own_time),
      TEST(its_results_tell_what_was_done_before), TEST(says_what_it_holds))
