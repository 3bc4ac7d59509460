/* References in extensions: what a runtime needs to know before it can be asked about a resource.
 */
#include "engine/operation/operation.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

static const struct record *record_of(struct state *state, const char *id)
{
    const struct record *record = state ? state_find(state, id, NULL) : NULL;

    CU_ASSERT_PTR_NOT_NULL_FATAL(record);
    return record;
}

static void they_make_edges(void)
{
    _cleanup_stage_ struct stage stage;
    _cleanup_(state_free_p) struct state *state = NULL;
    const struct record *d;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "a=1"), 0, "what is referred to is there");
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1^a a=1"), 0, stage.error.message);
    state = fake_store_state(&stage.store);
    d = record_of(state, "cloud:d");
    EXPECT_STR(value_get_string(d->extensions, "region"), "addr-a", "resolved, as recorded");
    EXPECT_INT(value_count(d->dependencies), 1, "an edge");
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1^a a=1"), 0, stage.error.message);
    EXPECT_STR(stage.planned.data, "unchanged d; unchanged a", "nothing more");
    EXPECT_INT(stage_destroy(&stage), 0, stage.error.message);
    EXPECT_STR(stage_deeds(&stage), "delete d; delete a", "a is needed to delete d");
}

static void what_leaves_goes_before_what_it_needs(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "a=1"), 0, "what is referred to is there");
    EXPECT_INT(stage_apply(&stage, "a=1 Cloud/d=1^a"), 0, stage.error.message);
    EXPECT_INT(stage_apply(&stage, "c=1"), 0, stage.error.message);
    EXPECT_STR(stage_deeds(&stage), "create c; delete d; delete a", "from the record");
}

/* What is not known cannot be planned before what it needs is made, and is planned then. */
static void what_is_not_known_yet_is_planned_when_it_is(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1^a a=1 Cloud/e=1:d c=1"), 0, stage.error.message);
    EXPECT_STR(stage.planned.data, "deferred d; create a; create e; create c", "planned");
    EXPECT_STR(stage.results.data, "d succeeded; a succeeded; e succeeded; c succeeded", "at once");
    EXPECT_STR(stage_cloud(&stage), "d=1 e=1", "in one round");
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1^a a=1 Cloud/e=1:d c=1"), 0, stage.error.message);
    EXPECT_STR(stage.planned.data, "unchanged d; unchanged a; unchanged e; unchanged c", "all");
}

/* What it needs cannot be made: it is not begun, and says so. */
static void what_stays_unknown_is_skipped(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    fake_fault(&stage.objects, "a", FAKE_REFUSED);
    EXPECT(stage_apply(&stage, "Cloud/d=1^a a=1") < 0, "a fails");
    EXPECT_STR(stage.planned.data, "deferred d; create a", "planned");
    EXPECT_STR(stage.results.data, "d skipped; a failed", "results");
    EXPECT_STR(stage_cloud(&stage), "", "nothing is made without");
}

/* Nothing is done to d, and yet it has to be deleted before b, and not before a, from now on. */
static void what_changes_of_them_is_recorded(void)
{
    _cleanup_stage_ struct stage stage;
    _cleanup_(state_free_p) struct state *state = NULL;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "a=1 b=1"), 0, "what is referred to is there");
    EXPECT_INT(stage_apply(&stage, "a=1 b=1 Cloud/d=1^a"), 0, stage.error.message);
    EXPECT_INT(stage_apply(&stage, "a=1 b=1 Cloud/d=1^b"), 0, stage.error.message);
    EXPECT_STR(stage_deeds(&stage), "", "nothing is done");
    state = fake_store_state(&stage.store);
    EXPECT_STR(value_get_string(record_of(state, "cloud:d")->extensions, "region"), "addr-b",
               "recorded");
    EXPECT_INT(stage_apply(&stage, "b=1 Cloud/d=1^b"), 0, stage.error.message);
    EXPECT_STR(stage_deeds(&stage), "delete a", "not needed any more");
}

static void a_cycle_through_them_is_one(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_plan(&stage, "a@d Cloud/d=1^a"), ERR_INVALID, "refused");
    EXPECT_STR(stage.error.reason, "CyclicDependency", stage.error.message);
}

static void a_look_has_them_resolved(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    stage.verify = true;
    EXPECT_INT(stage_apply(&stage, "b=1"), 0, "what is referred to is there");
    for (unsigned i = 0; i < 2; i++)
        EXPECT_INT(stage_apply(&stage, "b=1 Cloud/d=1^b"), 0, stage.error.message);
}

SUITE(operation_extensions, TEST(they_make_edges), TEST(what_leaves_goes_before_what_it_needs),
      TEST(what_is_not_known_yet_is_planned_when_it_is), TEST(what_stays_unknown_is_skipped),
      TEST(what_changes_of_them_is_recorded), TEST(a_cycle_through_them_is_one),
      TEST(a_look_has_them_resolved))
