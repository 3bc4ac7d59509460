/* After the first save of State that failed, nothing is changed any more. */
#include "engine/operation/operation.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

static void changes_nothing_after_a_save_that_failed(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    stage.world.step_takes = 1200;
    stage.store.conflict_at = 2;
    EXPECT_INT(stage_apply(&stage, "a=1 b=1:a c=1:b"), ERR_CONFLICT, "another saved State");
    EXPECT(strstr(stage_log(&stage), "create a"), "begun");
    EXPECT(!strstr(stage_log(&stage), "create c"), "somebody else is at work");
}

static void deletes_nothing_after_a_save_that_failed(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    stage.world.step_takes = 1200;
    EXPECT_INT(stage_apply(&stage, "a=1 b=1:a c=1:b"), 0, "applied");
    stage.store.conflict_at = 2;
    EXPECT_INT(stage_destroy(&stage), ERR_CONFLICT, "another saved State");
    EXPECT(strstr(stage_log(&stage), "delete c"), "begun");
    EXPECT(!strstr(stage_log(&stage), "delete a"), "somebody else is at work");
}

/* The message says what was tried, once. */
static void says_what_was_tried(void)
{
    for (unsigned n = 1; n <= 3; n++) {
        _cleanup_stage_ struct stage stage;
        const char *said;

        stage_init(&stage);
        stage.world.step_takes = 1200;
        stage.store.conflict_at = n;
        EXPECT_INT(stage_apply(&stage, "a=1 b=1:a c=1:b"), ERR_CONFLICT, "another saved State");
        said = strstr(stage.error.message, "saving State: ");
        EXPECT(said, stage.error.message);
        EXPECT(said && !strstr(said + 1, "saving State"), stage.error.message);
    }
}

SUITE(operation_save_failure, TEST(changes_nothing_after_a_save_that_failed),
      TEST(deletes_nothing_after_a_save_that_failed), TEST(says_what_was_tried))
