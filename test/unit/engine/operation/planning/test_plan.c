#include "engine/operation/operation.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

/* What happens between the apply of `before` and the plan. */
static void nothing(struct stage *stage)
{
    (void)stage;
}

static void drifts(struct stage *stage)
{
    fake_drift(&stage->objects, "a", "9");
}

static void is_lost(struct stage *stage)
{
    fake_drop(&stage->objects, "a");
}

static void is_nobodys(struct stage *stage)
{
    fake_put(&stage->objects, "a", "1", OWNER_NONE);
}

static void is_another_specs(struct stage *stage)
{
    fake_put(&stage->objects, "a", "1", OWNER_SPEC);
}

static void is_another_tools(struct stage *stage)
{
    fake_put(&stage->objects, "a", "1", OWNER_OTHER);
}

static void is_taken_by_another_tool(struct stage *stage)
{
    fake_find(&stage->objects, "a")->owner = OWNER_OTHER;
}

static void is_taken_by_another_spec(struct stage *stage)
{
    fake_find(&stage->objects, "a")->owner = OWNER_SPEC;
}

static void loses_its_label(struct stage *stage)
{
    fake_find(&stage->objects, "a")->owner = OWNER_NONE;
}

static void is_made_again_with_our_label(struct stage *stage)
{
    fake_put(&stage->objects, "a", "1", OWNER_SELF);
}

static void is_going(struct stage *stage)
{
    fake_find(&stage->objects, "a")->terminating = true;
}

static void cannot_be_seen(struct stage *stage)
{
    fake_fault(&stage->objects, "a", FAKE_UNSEEN);
}

static void refuses_dry_runs(struct stage *stage)
{
    fake_fault(&stage->objects, "a", FAKE_REFUSED_DRY);
}

static const struct {
    const char *note, *before;
    void (*happens)(struct stage *stage);
    const char *now, *planned;
} rows[] = {
    {"new", "", nothing, "a=1", "create a"},
    {"the same", "a=1", nothing, "a=1", "unchanged a"},
    {"another value", "a=1", nothing, "a=2", "update a"},
    {"drift", "a=1", drifts, "a=1", "update a"},
    {"drift to what is wanted now", "a=1", drifts, "a=9", "unchanged a"},
    {"lost in the world", "a=1", is_lost, "a=1", "create a"},
    {"nobody's", "", is_nobodys, "a=1", "adopt a"},
    {"another Spec's", "", is_another_specs, "a=1", "a!ConflictDetected"},
    {"another tool's", "", is_another_tools, "a=1", "a!ConflictDetected"},
    {"ours, and another tool labels it", "a=1", is_taken_by_another_tool, "a=2", "update a"},
    {"ours, and another Spec takes it", "a=1", is_taken_by_another_spec, "a=2",
     "a!ConflictDetected"},
    {"ours, and made again by another tool", "a=1", is_another_tools, "a=1", "a!ConflictDetected"},
    {"ours, and its label is lost", "a=1", loses_its_label, "a=2", "update a"},
    {"going", "a=1", is_going, "a=1", "a!Terminating"},
    {"not seen", "a=1", cannot_be_seen, "a=1", "a!Forbidden"},
    {"not seen, and new", "", cannot_be_seen, "a=1", "a!Forbidden"},
    {"a dry-run is refused", "a=1", refuses_dry_runs, "a=2", "a!Forbidden"},
    {"a refusal is its own", "a=1 b=1", refuses_dry_runs, "a=2 b=2 c=3",
     "a!Forbidden; update b; create c"},

    {"leaves", "a=1 b=1", nothing, "b=1", "unchanged b; delete a"},
    {"leaves, and is gone", "a=1 b=1", is_lost, "b=1", "unchanged b; forget a"},
    {"leaves, and drifted", "a=1 b=1", drifts, "b=1", "unchanged b; delete a"},
    {"leaves, and lost its label", "a=1 b=1", loses_its_label, "b=1", "unchanged b; delete a"},
    {"leaves, and is another Spec's", "a=1 b=1", is_taken_by_another_spec, "b=1",
     "unchanged b; forget a"},
    {"leaves, and its name is nobody's now", "a=1 b=1", is_nobodys, "b=1", "unchanged b; forget a"},
    {"leaves, and its name is another tool's now", "a=1 b=1", is_another_tools, "b=1",
     "unchanged b; forget a"},
    {"leaves, and was made again as ours", "a=1 b=1", is_made_again_with_our_label, "b=1",
     "unchanged b; delete a"},
    {"leaves, not seen", "a=1 b=1", cannot_be_seen, "b=1", "unchanged b; a!Forbidden"},
    {"leaves without prune", "a=1 b=1", nothing, "b=1 -prune", "unchanged b; forget a"},
    {"goes on under another id", "a=1", nothing, "%a=1", "adopt a; forget a"},
    {"all leave", "a=1 b=1:a", nothing, "", "delete a; delete b"},
};

static void plans_what_is_to_be_done(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        if (*rows[i].before)
            EXPECT_INT(stage_apply(&stage, rows[i].before), 0, rows[i].note);
        rows[i].happens(&stage);
        EXPECT_INT(stage_plan(&stage, rows[i].now), 0, rows[i].note);
        EXPECT_STR(stage.planned.data, rows[i].planned, rows[i].note);
        EXPECT_STR(stage_log(&stage), "", "a plan changes nothing");
    }
}

static void dry_runs_creates_only_when_thorough(void)
{
    static const struct {
        const char *note, *spec;
        bool thorough;
        unsigned previews;
        const char *planned;
    } rows_of_scope[] = {
        {"shallow", "a=1 b=1", false, 0, "create a; create b"},
        {"thorough", "a=1 b=1", true, 2, "a!Forbidden; create b"},
        {"what refers to what is to be made cannot be dry-run", "b=1 c@b", true, 1,
         "create b; create c"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows_of_scope); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        stage.thorough = rows_of_scope[i].thorough;
        fake_fault(&stage.objects, "a", FAKE_REFUSED_DRY);
        EXPECT_INT(stage_plan(&stage, rows_of_scope[i].spec), 0, rows_of_scope[i].note);
        EXPECT_STR(stage.planned.data, rows_of_scope[i].planned, rows_of_scope[i].note);
        EXPECT_INT(stage.objects.previews, rows_of_scope[i].previews, rows_of_scope[i].note);
    }
}

static void looks_no_closer_than_it_must(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "a=1 b=1 c=1"), 0, "applied");
    stage.objects.reads = stage.objects.previews = 0;
    EXPECT_INT(stage_plan(&stage, "a=1 b=2 c=1"), 0, "planned");
    EXPECT_INT(stage.objects.reads, 1, "only b is read");
    EXPECT_INT(stage.objects.previews, 1, "only b is dry-run");
}

static void plans_references(void)
{
    static const struct {
        const char *note, *before, *now;
        bool thorough;
        const char *planned;
    } of_spec[] = {
        {"to what is to be made", "", "a=1 b@a", true, "create a; create b"},
        {"to what is there, for what is new", "a=1", "a=1 b@a", true, "unchanged a; create b"},
        {"the value is the same", "a=1 b@a", "a=1 b@a", false, "unchanged a; unchanged b"},
        {"to a field that changes", "a=1 b@a.data.x", "a=2 b@a.data.x", false,
         "update a; update b"},
        {"to a field that stays", "a=1 b@a.metadata.name", "a=2 b@a.metadata.name", false,
         "update a; unchanged b"},
        {"to a field that there is not", "a=1", "a=1 b@a.spec.y", false,
         "unchanged a; b!InvalidReference"},
        {"to what a thing of the cloud will be", "", "Cloud/d=1 b@d", true, "create d; create b"},
        {"to a thing that stays", "Cloud/d=1 b@d", "Cloud/d=1 b@d", false,
         "unchanged d; unchanged b"},
        {"to a field that stays while a thing is updated", "Cloud/d=1 b@d", "Cloud/d=2 b@d", false,
         "update d; unchanged b"},
        {"to a field that an update makes anew", "Cloud/d=1 b@d.rev", "Cloud/d=2 b@d.rev", false,
         "update d; update b"},
        {"of a thing to an object", "a=1 Cloud/d@a", "a=1 Cloud/d@a", false,
         "unchanged a; unchanged d"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(of_spec); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        if (*of_spec[i].before)
            EXPECT_INT(stage_apply(&stage, of_spec[i].before), 0, of_spec[i].note);
        stage.thorough = of_spec[i].thorough;
        EXPECT_INT(stage_plan(&stage, of_spec[i].now), 0, of_spec[i].note);
        EXPECT_STR(stage.planned.data, of_spec[i].planned, of_spec[i].note);
    }
}

static void a_runtime_that_cannot_tell_the_order_stops_it(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    stage.objects.relate_fails = true;
    EXPECT_INT(stage_apply(&stage, "a=1"), ERR_INVALID, "as it says");
    EXPECT(strstr(stage.error.message, "the fake says so"), stage.error.message);
    EXPECT_STR(stage_log(&stage), "", "nothing is done");
}

static void stops_when_cancelled(void)
{
    _cleanup_stage_ struct stage stage;
    struct run run;

    stage_init(&stage);
    stage_begin_process(&stage);
    run_begin(&run, &stage);
    operation_plan(run.operation, stage_spec("a=1"));
    run_cancel(&run, "Superseded");
    EXPECT_INT(run_wait(&run), OPERATION_ENDED, "at once");
    EXPECT_INT(run_end(&run), ERR_CANCELLED, "cancelled");
    EXPECT(strstr(stage.error.message, "Superseded"), stage.error.message);
    EXPECT_STR(stage_deeds(&stage), "", "nothing is done");
}

SUITE(operation_plan, TEST(plans_what_is_to_be_done), TEST(dry_runs_creates_only_when_thorough),
      TEST(looks_no_closer_than_it_must), TEST(plans_references),
      TEST(a_runtime_that_cannot_tell_the_order_stops_it), TEST(stops_when_cancelled))
