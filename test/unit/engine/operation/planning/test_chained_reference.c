#include "engine/operation/operation.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

/* What c gets through b is known no sooner than what b gets from a. */
static void plans_references_to_references(void)
{
    static const struct {
        const char *note, *before;
        bool thorough;
    } rows_of_chain[] = {
        {"all is new, deep", "", true},
        {"c is there", "c@a:a a=1", false},
        {"c is there, deep", "c@a:a a=1", true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows_of_chain); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        if (*rows_of_chain[i].before)
            EXPECT_INT(stage_apply(&stage, rows_of_chain[i].before), 0, rows_of_chain[i].note);
        fake_drop(&stage.objects, "a");
        stage.thorough = rows_of_chain[i].thorough;
        EXPECT_INT(stage_plan(&stage, "a=1 b@a c@b.data.ref"), 0, rows_of_chain[i].note);
        EXPECT_STR(stage.world.lies.data, "", rows_of_chain[i].note);
        buf_reset(&stage.world.lies);
    }
}

SUITE(operation_chained_reference, TEST(plans_references_to_references))
