/* State that was made for a Spec of another uid stays inherited until an apply succeeds in full:
 * until then, some of its records are not checked. */
#include "engine/operation/operation.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

static void stays_inherited_until_its_leavers_are_dealt_with(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    stage.may_forget = true;
    EXPECT_INT(stage_apply(&stage, "a=1 x=1"), 0, "applied");
    fake_put(&stage.objects, "x", "1", OWNER_SELF); /* another object, with our label */
    stage.spec_uid = "spec-2";
    fake_fault(&stage.objects, "a", FAKE_REFUSED);
    EXPECT_INT(stage_apply(&stage, "a=2"), ERR_FORBIDDEN, "the first try fails: no prune");
    EXPECT(stage.inherited, "inherited");
    fake_fault(&stage.objects, "a", 0);
    EXPECT_INT(stage_apply(&stage, "a=2"), 0, "the second succeeds");
    EXPECT_STR(stage_objects(&stage), "a=2 x=1", "x is left alone, as the first would have done");
}

static void stays_inherited_when_killed(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    stage.may_forget = true;
    EXPECT_INT(stage_apply(&stage, "a=1"), 0, "applied");
    fake_find(&stage.objects, "a")->owner = OWNER_NONE; /* its label is gone */
    stage.spec_uid = "spec-2";
    stage.world.kill_at = 1;
    stage_destroy(&stage);
    stage_calm(&stage);
    EXPECT_INT(stage_destroy(&stage), 0, "again");
    EXPECT_STR(stage_objects(&stage), "a=1~", "left alone, as the first would have done");
}

/* ---- Time ---- */

/* "a" is not ready. */
static void begin_waiting(struct run *run, struct stage *stage)
{
    run_begin(run, stage);
    run_plan(run, "a=1");
    run_apply(run);
    EXPECT(run_await(run, OPERATION_PARKED), "parked");
}

static void expect_parked_after(struct run *run, int64_t ms)
{
    fake_world_pass(&run->stage->world, ms);
    EXPECT(stage_await_idle(run->stage), "idle");
    EXPECT_INT(operation_phase(run->operation), OPERATION_PARKED, "not out of time");
}

/* The earlier Spec's operation did not end: it was killed. The new Spec has the same revision and
 * generation. */
static void has_its_own_time(void)
{
    _cleanup_stage_ struct stage stage;
    struct run run;

    stage_init(&stage);
    stage_use_threads(&stage, 4);
    stage.may_forget = true;
    stage.verify = true;
    stage.world.pace = FAKE_CLOCK_STANDS;
    fake_fault(&stage.objects, "a", FAKE_UNHEALTHY);
    stage_begin_process(&stage);
    begin_waiting(&run, &stage);
    run_evict(&run);
    fake_world_pass(&stage.world, 2 * STAGE_TIMEOUT);
    stage.spec_uid = "spec-2";
    begin_waiting(&run, &stage);
    EXPECT_INT(stage.revision, 1, "the same");
    EXPECT(stage.inherited, "inherited");
    expect_parked_after(&run, STAGE_TIMEOUT - 1000);
    run_evict(&run);
    stage_end_process(&stage);
    stage_begin_process(&stage);
    run_begin(&run, &stage);
    run_plan(&run, "a=1");
    run_apply(&run);
    fake_world_pass(&stage.world, 1001);
    EXPECT(run_await(&run, OPERATION_ENDED), "its own time counts on");
    EXPECT_INT(run_end(&run), ERR_TIMEOUT, "timed out");
    stage_end_process(&stage);
}

SUITE(operation_inherited, TEST(stays_inherited_until_its_leavers_are_dealt_with),
      TEST(stays_inherited_when_killed), TEST(has_its_own_time))
