#include "engine/operation/operation.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

/* Out of time before the first visit: that is a time-out, not a cancellation. */
static void out_of_time_is_no_cancellation(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    stage.world.step_takes = 2 * STAGE_TIMEOUT;
    EXPECT_INT(stage_apply(&stage, "a=1 b=1"), ERR_TIMEOUT, stage.error.reason);
}

/* Pending is no result. */
static void results_tell_of_each(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "a=1 x=1"), 0, "applied");
    stage.store.conflict_at = 2;
    EXPECT_INT(stage_apply(&stage, "a=1"), ERR_CONFLICT, "the save before prune");
    EXPECT(!strstr(stage.results.data, "pending"), stage.results.data);
}

SUITE(operation_results, TEST(out_of_time_is_no_cancellation), TEST(results_tell_of_each))
