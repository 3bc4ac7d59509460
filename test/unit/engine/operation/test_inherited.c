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

SUITE(operation_inherited, TEST(stays_inherited_until_its_leavers_are_dealt_with),
      TEST(stays_inherited_when_killed))
