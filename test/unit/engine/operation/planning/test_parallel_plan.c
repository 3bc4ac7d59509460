/* Visits of a plan's walk run on several threads, and share nothing that is not guarded: shown by
 * the tsan preset. */
#include "engine/operation/operation.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

static void several_workers_plan_what_is_there(void)
{
    _cleanup_stage_ struct stage stage;
    struct buf spec;

    stage_init(&stage);
    buf_init(&spec, 0);
    for (unsigned i = 0; i < 60; i++)
        buf_printf(&spec, "%sr%u=1", i ? " " : "", i);
    EXPECT_INT(stage_apply(&stage, spec.data), 0, "applied");
    stage_use_threads(&stage, 8);
    for (unsigned i = 0; i < 20; i++)
        EXPECT_INT(stage_plan(&stage, spec.data), 0, "planned");
    buf_done(&spec);
}

SUITE(operation_parallel_plan, TEST(several_workers_plan_what_is_there))
