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
    fake_drift(&stage->runtime, "a", "9");
}

static void is_lost(struct stage *stage)
{
    fake_drop(&stage->runtime, "a");
}

static void is_nobodys(struct stage *stage)
{
    fake_put(&stage->runtime, "a", "1", OWNER_NONE);
}

static void is_another_specs(struct stage *stage)
{
    fake_put(&stage->runtime, "a", "1", OWNER_SPEC);
}

static void is_another_tools(struct stage *stage)
{
    fake_put(&stage->runtime, "a", "1", OWNER_OTHER);
}

static void is_taken_by_another_tool(struct stage *stage)
{
    fake_find(&stage->runtime, "a")->owner = OWNER_OTHER;
}

static void is_taken_by_another_spec(struct stage *stage)
{
    fake_find(&stage->runtime, "a")->owner = OWNER_SPEC;
}

static void loses_its_label(struct stage *stage)
{
    fake_find(&stage->runtime, "a")->owner = OWNER_NONE;
}

static void is_made_again_with_our_label(struct stage *stage)
{
    fake_put(&stage->runtime, "a", "1", OWNER_SELF);
}

static void is_going(struct stage *stage)
{
    fake_find(&stage->runtime, "a")->terminating = true;
}

static void cannot_be_seen(struct stage *stage)
{
    fake_fault(&stage->runtime, "a", FAKE_UNSEEN);
}

static void refuses_dry_runs(struct stage *stage)
{
    fake_fault(&stage->runtime, "a", FAKE_REFUSED_DRY);
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
    {"another Spec's", "", is_another_specs, "a=1", "adopt a!ConflictDetected"},
    {"another tool's", "", is_another_tools, "a=1", "adopt a!ConflictDetected"},
    {"ours, and another tool labels it", "a=1", is_taken_by_another_tool, "a=2", "update a"},
    {"ours, and another Spec takes it", "a=1", is_taken_by_another_spec, "a=2",
     "update a!ConflictDetected"},
    {"ours, and made again by another tool", "a=1", is_another_tools, "a=1",
     "update a!ConflictDetected"},
    {"ours, and its label is lost", "a=1", loses_its_label, "a=2", "update a"},
    {"going", "a=1", is_going, "a=1", "update a!Terminating"},
    {"not seen", "a=1", cannot_be_seen, "a=1", "unknown a!Forbidden"},
    {"not seen, and new", "", cannot_be_seen, "a=1", "unknown a!Forbidden"},
    {"a dry-run is refused", "a=1", refuses_dry_runs, "a=2", "update a!Forbidden"},
    {"a refusal is its own", "a=1 b=1", refuses_dry_runs, "a=2 b=2 c=3",
     "update a!Forbidden; update b; create c"},

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
    {"leaves, not seen", "a=1 b=1", cannot_be_seen, "b=1", "unchanged b; unknown a!Forbidden"},
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
        EXPECT_INT(stage_plan(&stage, rows[i].now, PLAN_SHALLOW), 0, rows[i].note);
        EXPECT_STR(stage.planned.data, rows[i].planned, rows[i].note);
        EXPECT_STR(stage_log(&stage), "", "a plan changes nothing");
    }
}

static void dry_runs_creates_only_when_deep(void)
{
    static const struct {
        const char *note, *spec;
        enum plan_depth depth;
        unsigned previews;
        const char *planned;
    } of_depth[] = {
        {"shallow", "a=1 b=1", PLAN_SHALLOW, 0, "create a; create b"},
        {"deep", "a=1 b=1", PLAN_DEEP, 2, "create a!Forbidden; create b"},
        {"what waits for a create cannot be dry-run", "b=1 c=1:b", PLAN_DEEP, 1,
         "create b; create c"},
        {"nor what refers to one", "b=1 c@b", PLAN_DEEP, 1, "create b; create c"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(of_depth); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        fake_fault(&stage.runtime, "a", FAKE_REFUSED_DRY);
        EXPECT_INT(stage_plan(&stage, of_depth[i].spec, of_depth[i].depth), 0, of_depth[i].note);
        EXPECT_STR(stage.planned.data, of_depth[i].planned, of_depth[i].note);
        EXPECT_INT(stage.runtime.previews, of_depth[i].previews, of_depth[i].note);
    }
}

static void looks_no_closer_than_it_must(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "a=1 b=1 c=1"), 0, "applied");
    stage.runtime.reads = stage.runtime.previews = 0;
    EXPECT_INT(stage_plan(&stage, "a=1 b=2 c=1", PLAN_SHALLOW), 0, "planned");
    EXPECT_INT(stage.runtime.reads, 1, "only b is read");
    EXPECT_INT(stage.runtime.previews, 1, "only b is dry-run");
}

static void plans_references(void)
{
    static const struct {
        const char *note, *before, *now;
        enum plan_depth depth;
        const char *planned;
    } of_spec[] = {
        {"to what is to be made", "", "a=1 b@a", PLAN_DEEP, "create a; create b"},
        {"to what is there, for what is new", "a=1", "a=1 b@a", PLAN_DEEP, "unchanged a; create b"},
        {"the value is the same", "a=1 b@a", "a=1 b@a", PLAN_SHALLOW, "unchanged a; unchanged b"},
        {"to a field that changes", "a=1 b@a.data.x", "a=2 b@a.data.x", PLAN_SHALLOW,
         "update a; update b"},
        {"to a field that stays", "a=1 b@a.metadata.name", "a=2 b@a.metadata.name", PLAN_SHALLOW,
         "update a; unchanged b"},
        {"to a field that there is not", "a=1", "a=1 b@a.spec.y", PLAN_SHALLOW,
         "unchanged a; create b!InvalidReference"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(of_spec); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        if (*of_spec[i].before)
            EXPECT_INT(stage_apply(&stage, of_spec[i].before), 0, of_spec[i].note);
        EXPECT_INT(stage_plan(&stage, of_spec[i].now, of_spec[i].depth), 0, of_spec[i].note);
        EXPECT_STR(stage.planned.data, of_spec[i].planned, of_spec[i].note);
    }
}

static void stops_when_cancelled(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    stage.fired_before = true;
    EXPECT_INT(stage_plan(&stage, "a=1", PLAN_SHALLOW), ERR_CANCELLED, "cancelled");
    EXPECT_STR(stage.planned.data, "", "no plan");
}

SUITE(operation_plan, TEST(plans_what_is_to_be_done), TEST(dry_runs_creates_only_when_deep),
      TEST(looks_no_closer_than_it_must), TEST(plans_references), TEST(stops_when_cancelled))
