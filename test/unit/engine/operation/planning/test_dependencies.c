/* Destroy goes by the dependencies that records hold: these follow the Spec, also where nothing
 * else of a resource changes. */
#include "engine/operation/operation.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

static void destroys_by_the_dependencies_of_the_last_apply(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "a=1 b=1"), 0, "applied");
    EXPECT_INT(stage_apply(&stage, "a=1 b=1:a"), 0, "b depends on a now");
    EXPECT_INT(stage_destroy(&stage), 0, "destroyed");
    EXPECT_STR(stage_deeds(&stage), "delete b; delete a", "b first");
}

/* Dependencies of old and of new together would be a cycle. */
static void turning_a_dependency_round_makes_no_cycle(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "a=1:b b=1"), 0, "applied");
    EXPECT_INT(stage_apply(&stage, "a=1 b=2:a"), 0, "turned round");
    EXPECT_INT(stage_destroy(&stage), 0, stage.error.message);
    EXPECT_STR(stage_objects(&stage), "", "destroyed");
}

/* The same by a first apply that ended in the middle: a's record is new, b's is of old. */
static void turning_round_and_failing_makes_no_cycle(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "a=1 b=1:a"), 0, "applied");
    fake_fault(&stage.objects, "a", FAKE_REFUSED);
    EXPECT_INT(stage_apply(&stage, "a=2:b b=2"), ERR_FORBIDDEN, "turned round, a refused");
    EXPECT_INT(stage_destroy(&stage), 0, stage.error.message);
    EXPECT_STR(stage_objects(&stage), "", "destroyed");
}

static void turning_round_and_failing_makes_no_cycle_twice(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "a=1:c b=1:a c=1"), 0, "applied");
    fake_fault(&stage.objects, "a", FAKE_REFUSED);
    EXPECT_INT(stage_apply(&stage, "a=2 b=1 c=2:b"), ERR_FORBIDDEN, "c depends on b now");
    EXPECT_INT(stage_destroy(&stage), 0, stage.error.message);
    EXPECT_STR(stage_objects(&stage), "", "destroyed");
}

/* Another edits b when it was planned, and before it is read. b's record is written, because its
 * dependencies changed; what the other wrote is drift all the same. */
static void an_edit_while_dependencies_change_is_drift(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "a=1 b=1"), 0, "applied");
    fake_fault(&stage.objects, "b", FAKE_EDITED);
    EXPECT_INT(stage_apply(&stage, "a=1 b=1:a"), 0, "b depends on a now");
    EXPECT_STR(stage_objects(&stage), "a=1 b=edited", "by another");
    fake_fault(&stage.objects, "b", 0);
    EXPECT_INT(stage_apply(&stage, "a=1 b=1:a"), 0, "again");
    EXPECT_STR(stage_objects(&stage), "a=1 b=1", "put back");
}

SUITE(operation_dependencies, TEST(destroys_by_the_dependencies_of_the_last_apply),
      TEST(turning_a_dependency_round_makes_no_cycle),
      TEST(turning_round_and_failing_makes_no_cycle),
      TEST(turning_round_and_failing_makes_no_cycle_twice),
      TEST(an_edit_while_dependencies_change_is_drift))
