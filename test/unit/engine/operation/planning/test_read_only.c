/* Resources that are only read. */
#include "engine/base/str.h"
#include "engine/operation/operation.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

/* d, e and f are only read. */
static void set_up(struct stage *stage)
{
    static const char *const names[] = {"d", "e", "f"};

    stage_init(stage);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        fake_cloud_fault(&stage->cloud, names[i], CLOUD_READS);
    stage->cloud.reading = "near";
}

/* It is read for the plan, and never again by the operation; those that refer to it are planned
 * with the values. */
static void read_for_the_plan(void)
{
    _cleanup_stage_ struct stage stage;

    set_up(&stage);
    stage.thorough = true;
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1 a@d Cloud/y@d"), 0, stage.causes.data);
    EXPECT_STR(stage.planned.data, "unchanged d; create a; create y", "planned");
    EXPECT(strstr(stage.diffs.data, "data.ref:  -> \"near\""), stage.diffs.data);
    EXPECT_STR(stage_deeds(&stage), "create a; create y", "nothing is done to it");
    EXPECT_STR(stage_objects(&stage), "a@near", "its value");
    EXPECT_STR(stage_state(&stage), "a d y", "State knows of it");
    EXPECT_INT(stage.cloud.readings, 1, "once");
    stage.verify = true;
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1 a@d Cloud/y@d"), 0, stage.causes.data);
    EXPECT_STR(stage.planned.data, "unchanged d; unchanged a; unchanged y", "again");
    EXPECT_INT(stage.cloud.readings, 2, "once more");
}

/* What it reads changes: only its dependents do. */
static void it_reads_differently(void)
{
    _cleanup_stage_ struct stage stage;
    struct run run;

    set_up(&stage);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1 Cloud/e@d a=1 b@d"), 0, stage.causes.data);
    stage.cloud.reading = "far";
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1 Cloud/e@d a=1 b@d"), 0, stage.causes.data);
    EXPECT_STR(stage.planned.data, "unchanged d; unchanged e; unchanged a; update b", "planned");
    EXPECT_STR(stage_objects(&stage), "a=1 b@far", "changed");
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1 Cloud/e@d a=1"), 0, stage.causes.data);
    stage.cloud.reading = "farther";
    stage_begin_process(&stage);
    run_begin(&run, &stage);
    run_plan(&run, "Cloud/d=1 Cloud/e@d a=1");
    EXPECT(plan_is_empty(operation_get_plan(run.operation)), "nobody has the value");
    run_end(&run);
    stage_end_process(&stage);
}

static void read_when_it_is_due(void)
{
    static const struct {
        const char *note, *before, *spec, *planned, *deeds, *objects;
    } rows[] = {
        {"an attribute is unknown", "", "Cloud/y=1 Cloud/d@y.rev a@d", "create y; read d; create a",
         "create y; create a", "a@near"},
        {"one that refers to one", "", "Cloud/y=1 Cloud/d@y Cloud/e@d a@e",
         "create y; read d; read e; create a", "create y; create a", "a@near"},
        {"an explicit dependency changes", "Cloud/y=1", "Cloud/y=2 Cloud/d=1:y a@d",
         "update y; read d; create a", "update y; create a", "a@near"},
        {"what that depends on changes", "Cloud/y=1 b=1:y", "Cloud/y=2 b=1:y Cloud/d=1:b a@d",
         "update y; unchanged b; read d; create a", "update y; create a", "a@near b=1"},
        {"by way of another that is only read", "Cloud/y=1",
         "Cloud/y=2 Cloud/e=1:y Cloud/d=1:e a@d", "update y; read e; read d; create a",
         "update y; create a", "a@near"},
        {"what it refers to changes, and is known", "Cloud/y=1", "Cloud/y=2 Cloud/d@y a@d",
         "update y; read d; create a", "update y; create a", "a@near"},
        {"what that depends on changes, and is only referred to", "Cloud/y=1 b@y",
         "Cloud/y=2 b@y Cloud/d@b.data.ref a@d", "update y; unchanged b; unchanged d; create a",
         "update y; create a", "a@near b@addr-y"},
        {"the explicit dependency stays", "Cloud/y=1", "Cloud/y=1 Cloud/e=1 Cloud/d=1:y,e a@d",
         "unchanged y; unchanged e; unchanged d; create a", "create a", "a@near"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;

        set_up(&stage);
        EXPECT_INT(stage_apply(&stage, rows[i].before), 0, rows[i].note);
        EXPECT_INT(stage_apply(&stage, rows[i].spec), 0, stage.causes.data);
        EXPECT_STR(stage.planned.data, rows[i].planned, rows[i].note);
        EXPECT_STR(stage.actions.data, rows[i].planned, "done as planned");
        EXPECT_STR(stage_deeds(&stage), rows[i].deeds, rows[i].note);
        EXPECT_STR(stage_objects(&stage), rows[i].objects, rows[i].note);
        EXPECT_INT(stage_apply(&stage, rows[i].spec), 0, stage.causes.data);
        EXPECT_STR(stage_deeds(&stage), "", "and that is all");
    }
}

/* What it reads is shown as unknown; why, too. */
static void a_preview_of_it(void)
{
    _cleanup_stage_ struct stage stage;

    set_up(&stage);
    stage.thorough = true;
    EXPECT_INT(stage_plan(&stage, "Cloud/y=1 Cloud/d=1:y"), 0, stage.causes.data);
    EXPECT(strstr(stage.diffs.data, "address:  -> (known after apply)"), stage.diffs.data);
    EXPECT_STR(stage.reasons.data, "d: too early", "why");
    EXPECT_INT(stage.cloud.readings, 0, "not read");
}

static void it_cannot_be_read(void)
{
    _cleanup_stage_ struct stage stage;

    set_up(&stage);
    stage.cloud.reading = NULL;
    EXPECT(stage_apply(&stage, "Cloud/d=1 a@d b=1") < 0, "for the plan");
    EXPECT_STR(stage.planned.data, "d!Unreadable; create a; create b", "planned");
    EXPECT_STR(stage.results.data, "d failed; a skipped; b succeeded", "the rest is done");
    EXPECT(stage_apply(&stage, "Cloud/y=1 Cloud/d@y.rev a@d b=1") < 0, "when it is due");
    EXPECT_STR(stage.results.data, "y succeeded; d failed; a skipped; b succeeded", "the rest");
}

/* It is forgotten, without a call: between what depended on it and what it depended on. */
static void it_leaves(void)
{
    _cleanup_stage_ struct stage stage;

    set_up(&stage);
    EXPECT_INT(stage_apply(&stage, "Cloud/y=1 Cloud/d@y.rev Cloud/z@d"), 0, stage.causes.data);
    EXPECT_INT(stage_destroy(&stage), 0, stage.causes.data);
    EXPECT_STR(stage.actions.data, "delete y; forget d; delete z", "forgotten");
    EXPECT_STR(stage_deeds(&stage), "delete z; delete y", "in order");
    EXPECT_STR(stage_state(&stage), "none", "nothing is left");

    EXPECT_INT(stage_apply(&stage, "Cloud/d=1 a=1"), 0, stage.causes.data);
    EXPECT_INT(stage_apply(&stage, "-prune a=1"), 0, stage.causes.data);
    EXPECT_STR(stage.actions.data, "unchanged a; forget d", "also if nothing is pruned");
    EXPECT_STR(stage.reasons.data, "", "it is nobody's to be left in place");
    EXPECT_STR(stage_state(&stage), "a", "forgotten");
}

/* An id is of one or of the other. */
static void it_takes_the_id_of_another(void)
{
    _cleanup_stage_ struct stage stage;

    set_up(&stage);
    fake_cloud_fault(&stage.cloud, "d", 0);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1"), 0, stage.causes.data);
    fake_cloud_fault(&stage.cloud, "d", CLOUD_READS);
    EXPECT(stage_apply(&stage, "Cloud/d=1") < 0, "the thing would be lost");
    EXPECT_STR(stage_cloud(&stage), "d=1", "it stays");
    EXPECT_STR(stage_state(&stage), "d", "and is known");
    fake_cloud_fault(&stage.cloud, "d", 0);
    EXPECT_INT(stage_destroy(&stage), 0, stage.causes.data);

    fake_cloud_fault(&stage.cloud, "d", CLOUD_READS);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1"), 0, stage.causes.data);
    fake_cloud_fault(&stage.cloud, "d", 0);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1"), 0, stage.causes.data);
    EXPECT_STR(stage.planned.data, "create d", "there was nothing of ours");
    EXPECT_INT(stage_destroy(&stage), 0, stage.causes.data);
    EXPECT_STR(stage_cloud(&stage), "", "it was");
}

/* Known values were approved as they were read; unknown ones, as such. */
static void what_is_approved(void)
{
    static const struct {
        const char *note, *approved, *spec;
        bool is_stale;
    } rows[] = {
        {"read for the plan", "Cloud/d=1 a@d", "Cloud/d=1 a@d", true},
        {"read when it is due", "Cloud/y=1 Cloud/d@y.rev a@d", "Cloud/y=1 Cloud/d@y.rev a@d",
         false},
        {"without a dependent", "Cloud/d=1 a=1", "Cloud/d=1 a=1", false},
        {"asked for something else", "Cloud/y=1 Cloud/d=1:y a@d", "Cloud/y=1 Cloud/d=2:y a@d",
         true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;

        set_up(&stage);
        stage_approve(&stage, rows[i].approved);
        stage.cloud.reading = "far";
        EXPECT_INT(stage_apply(&stage, rows[i].spec) < 0, rows[i].is_stale, rows[i].note);
        if (rows[i].is_stale)
            EXPECT_STR(stage.error.reason, PLAN_STALE, rows[i].note);
    }
}

SUITE(operation_read_only, TEST(read_for_the_plan), TEST(it_reads_differently),
      TEST(read_when_it_is_due), TEST(a_preview_of_it), TEST(it_cannot_be_read), TEST(it_leaves),
      TEST(it_takes_the_id_of_another), TEST(what_is_approved))
