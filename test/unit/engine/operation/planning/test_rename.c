/* Resources that got another id. */
#include "engine/base/str.h"
#include "engine/operation/operation.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

/* State has it before anything else is done; nothing is made, and nothing deleted. */
static void keeps_its_object(void)
{
    static const struct {
        const char *note, *spec, *planned, *deeds, *cloud;
    } rows[] = {
        {"as it is", "Cloud/e=1*k<d b@e.id", "unchanged e; unchanged b", "", "d=1*k"},
        {"and changes", "Cloud/e=2*k<d b@e.id", "update e; unchanged b", "update e", "d=2*k"},
        {"and is replaced", "Cloud/e=1*l<d b@e.id", "replace e; update b",
         "delete e; create e; patch b", "e=1*l"},
        {"among others", "Cloud/f=1 Cloud/e=1*k<d a=1 b@e.id",
         "create f; unchanged e; create a; unchanged b", "create f; create a", "d=1*k f=1"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        EXPECT_INT(stage_apply(&stage, "Cloud/d=1*k b@d.id"), 0, stage.causes.data);
        EXPECT_INT(stage_plan(&stage, rows[i].spec), 0, stage.causes.data);
        EXPECT_STR(stage.planned.data, rows[i].planned, rows[i].note);
        EXPECT(strstr(stage.reasons.data, "e: moved from cloud:d"), stage.reasons.data);
        EXPECT_STR(stage_state(&stage), "b d", "a plan moves nothing");
        EXPECT_INT(stage_apply(&stage, rows[i].spec), 0, stage.causes.data);
        EXPECT(str_has_prefix(stage_log(&stage), "save b e"), stage_log(&stage));
        EXPECT_STR(stage_deeds(&stage), rows[i].deeds, rows[i].note);
        EXPECT_STR(stage_cloud(&stage), rows[i].cloud, rows[i].note);
        EXPECT_INT(stage_apply(&stage, rows[i].spec), 0, "it may stay");
        EXPECT_STR(stage_deeds(&stage), "", "and means nothing any more");
        EXPECT_STR(stage.reasons.data, "", "nothing to tell");
        EXPECT_INT(stage_destroy(&stage), 0, stage.causes.data);
        EXPECT_STR(stage_cloud(&stage), "", "it goes as others do");
    }
}

/* What depends on it still goes before it does. */
static void order_is_kept(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1*k Cloud/y@d Cloud/z=1:d"), 0, stage.causes.data);
    EXPECT_INT(stage_apply(&stage, "Cloud/e=1*l<d"), 0, stage.causes.data);
    EXPECT_STR(stage_deeds(&stage), "delete y; delete z; delete e; create e", "replaced");

    EXPECT_INT(stage_apply(&stage, "Cloud/e=1*l Cloud/y@e"), 0, stage.causes.data);
    fake_cloud_fault(&stage.cloud, "y", CLOUD_UNSEEN); /* its record stays as it is */
    EXPECT(stage_apply(&stage, "Cloud/f=1*l<e Cloud/y@f") < 0, "y cannot be looked at");
    fake_cloud_fault(&stage.cloud, "y", 0);
    EXPECT_INT(stage_destroy(&stage), 0, stage.causes.data);
    EXPECT_STR(stage_deeds(&stage), "delete y; delete f", "destroyed");
}

static void when_it_means_nothing(void)
{
    static const struct {
        const char *note, *before, *spec, *planned;
    } rows[] = {
        {"no record of the old id", "Cloud/x=1", "Cloud/x=1 Cloud/e=1<d", "unchanged x; create e"},
        {"a record of the new one", "Cloud/d=1 Cloud/e=1", "Cloud/e=1<d", "unchanged e; delete d"},
        {"the old one is in the Spec", "Cloud/d=1", "Cloud/d=1 Cloud/e=1<d",
         "unchanged d; create e"},
        {"two that change places", "Cloud/d=1 Cloud/e=2", "Cloud/d=1<e Cloud/e=2<d",
         "unchanged d; unchanged e"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        EXPECT_INT(stage_apply(&stage, rows[i].before), 0, rows[i].note);
        EXPECT_INT(stage_apply(&stage, rows[i].spec), 0, stage.causes.data);
        EXPECT_STR(stage.planned.data, rows[i].planned, rows[i].note);
    }
}

/* Under the old id, and not deleted, until it can be planned. */
static void what_cannot_be_planned_stays(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1 Cloud/y@d"), 0, stage.causes.data);
    fake_cloud_fault(&stage.cloud, "e", CLOUD_UNSEEN);
    EXPECT(stage_apply(&stage, "Cloud/e=1<d a=1") < 0, "it fails");
    EXPECT_STR(stage_state(&stage), "d y a", "as it was");
    fake_cloud_fault(&stage.cloud, "e", CLOUD_DEFERS);
    EXPECT(stage_apply(&stage, "Cloud/e=1<d a=1") < 0, "it is deferred");
    EXPECT_STR(stage_state(&stage), "d y a", "as it was");
    fake_cloud_fault(&stage.cloud, "e", 0);
    EXPECT_INT(stage_apply(&stage, "Cloud/e=1<d a=1"), 0, stage.causes.data);
    EXPECT_STR(stage_state(&stage), "a e", "moved");
    EXPECT_STR(stage_cloud(&stage), "d=1", "the same");
}

/* A call under the old id would be recorded under it when it lands. */
static void a_call_is_under_way(void)
{
    _cleanup_stage_ struct stage stage;
    struct run first, second;

    stage_init(&stage);
    stage_use_threads(&stage, 2);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1"), 0, stage.causes.data);
    fake_cloud_fault(&stage.cloud, "d", CLOUD_BLOCKS);
    stage_begin_process(&stage);
    run_begin(&first, &stage);
    run_plan(&first, "Cloud/d=2");
    run_apply(&first);
    EXPECT(fake_cloud_await_blocked(&stage.cloud), "sent");
    run_cancel(&first, "a new generation");
    run_wait(&first);
    run_begin(&second, &stage);
    run_plan(&second, "Cloud/e=2<d");
    run_apply(&second);
    run_wait(&second);
    EXPECT(run_end(&second) < 0, "it is deferred");
    EXPECT_STR(stage.planned.data, "deferred e", "planned");
    EXPECT_STR(stage_state(&stage), "d", "not moved");
    fake_cloud_fault(&stage.cloud, "d", 0);
    run_end(&first);
    stage_end_process(&stage);
    EXPECT_INT(stage_apply(&stage, "Cloud/e=2<d"), 0, stage.causes.data);
    EXPECT_STR(stage_state(&stage), "e", "one of both");
    EXPECT_STR(stage_cloud(&stage), "d=2", "one object");
    EXPECT_INT(stage.cloud.creates, 1, "made once");
}

/* What was not made to its end is replaced under the new id. */
static void a_tainted_one(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    fake_cloud_fault(&stage.cloud, "d", CLOUD_PARTIAL);
    EXPECT(stage_apply(&stage, "Cloud/d=1") < 0, "made in part");
    EXPECT_INT(stage_apply(&stage, "Cloud/e=1<d"), 0, stage.causes.data);
    EXPECT_STR(stage.planned.data, "replace e", "planned");
    EXPECT_STR(stage_deeds(&stage), "delete e; create e", "replaced");
    EXPECT_STR(stage_state(&stage), "e", "moved");
}

static void what_is_approved(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1*k"), 0, stage.causes.data);
    stage_approve(&stage, "Cloud/e=2*k<d");
    EXPECT_INT(stage_apply(&stage, "Cloud/e=2*k<d"), 0, stage.error.message);
    EXPECT_STR(stage_deeds(&stage), "update e", "what was approved");
    EXPECT_STR(stage_state(&stage), "e", "moved");
    stage_approve(&stage, "Cloud/f=2*k<e");
    EXPECT_INT(stage_apply(&stage, "Cloud/f=2*k<e"), 0, stage.error.message);
    EXPECT_STR(stage_state(&stage), "f", "moved alone");
}

SUITE(operation_rename, TEST(keeps_its_object), TEST(order_is_kept), TEST(when_it_means_nothing),
      TEST(what_cannot_be_planned_stays), TEST(a_call_is_under_way), TEST(a_tainted_one),
      TEST(what_is_approved))
