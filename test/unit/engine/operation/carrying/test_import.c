/* Objects that others made, and that a Spec takes over, where they are found by what State has of
 * them alone. */
#include "engine/operation/operation.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

static void set_up(struct stage *stage)
{
    stage_init(stage);
    fake_cloud_put(&stage->cloud, "d", "0", "k");
    fake_cloud_fault(&stage->cloud, "d", CLOUD_IMPORTS);
}

/* State has it, durably, before it is changed. */
static void recorded_before_it_is_changed(void)
{
    _cleanup_stage_ struct stage stage;
    set_up(&stage);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1*k a@d.id"), 0, stage.error.message);
    EXPECT_STR(stage.planned.data, "adopt d; create a", "planned");
    EXPECT(strstr(stage_log(&stage), "save a? d; update d"), stage_log(&stage));
    EXPECT_STR(stage_cloud(&stage), "d=1*k", "changed");
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1*k a@d.id"), 0, stage.error.message);
    EXPECT_STR(stage.planned.data, "unchanged d; unchanged a", "ours from now on");
    EXPECT_INT(stage_destroy(&stage), 0, stage.error.message);
    EXPECT_STR(stage_cloud(&stage), "", "it goes with the others");
}

static void what_is_not_there_is_not_created(void)
{
    _cleanup_stage_ struct stage stage;

    set_up(&stage);
    fake_cloud_drop(&stage.cloud, "d");
    EXPECT(stage_apply(&stage, "Cloud/d=1*k a=1") < 0, "not there");
    EXPECT_STR(stage.results.data, "d failed; a succeeded", "the rest is done");
    EXPECT_INT(stage.cloud.creates, 0, "nothing is created instead");
}

/* A change that fails leaves it ours: the next one is an update. */
static void a_change_that_fails(void)
{
    _cleanup_stage_ struct stage stage;

    set_up(&stage);
    fake_cloud_fault(&stage.cloud, "d", CLOUD_IMPORTS | CLOUD_REFUSED);
    EXPECT(stage_apply(&stage, "Cloud/d=1*k") < 0, "refused");
    EXPECT_STR(stage_cloud(&stage), "d=0*k", "as it was");
    EXPECT_STR(stage_state(&stage), "d", "recorded");
    fake_cloud_fault(&stage.cloud, "d", CLOUD_IMPORTS);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1*k"), 0, stage.error.message);
    EXPECT_STR(stage.planned.data, "update d", "it is ours");
    EXPECT_STR(stage_cloud(&stage), "d=1*k", "changed");
}

/* It is replaced as others are. */
static void replaced_later(void)
{
    _cleanup_stage_ struct stage stage;

    set_up(&stage);
    EXPECT_INT(stage_apply(&stage, "Cloud/e=1*k Cloud/d=1*k"), 0, stage.error.message);
    EXPECT_INT(stage_apply(&stage, "Cloud/e=1*l Cloud/d=1*@e"), 0, stage.error.message);
    EXPECT_STR(stage.planned.data, "replace e; replace d", "planned");
    EXPECT_STR(stage.results.data, "e succeeded; d succeeded", stage.causes.data);
}

/* It is created again, and the first try fails, so that State has no record and it is planned anew:
 * nothing else is looked for then. */
static void created_again(void)
{
    _cleanup_stage_ struct stage stage;

    set_up(&stage);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1*k"), 0, stage.error.message);
    fake_cloud_drop(&stage.cloud, "d");
    fake_cloud_fault(&stage.cloud, "d", CLOUD_IMPORTS | CLOUD_BUSY_ONCE);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1*k"), 0, stage.causes.data);
    EXPECT_STR(stage.planned.data, "create d", "planned");
    EXPECT_STR(stage_cloud(&stage), "d=1*k", "it is there");
}

SUITE(operation_import, TEST(recorded_before_it_is_changed), TEST(what_is_not_there_is_not_created),
      TEST(a_change_that_fails), TEST(replaced_later), TEST(created_again))
