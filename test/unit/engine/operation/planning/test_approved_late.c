/* Approved plans and creates that come late: no plan is offered that such a create makes stale, and
 * an approved deletion takes away what comes after it. */
#include <unistd.h>

#include "engine/operation/operation.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

/* ---- Before a plan is offered ---- */

/* A process is killed while it creates a. */
static void be_killed(struct stage *stage)
{
    stage_init(stage);
    stage->objects.late_after = FAKE_EFFECT_TIME - 1;
    fake_fault(&stage->objects, "a", FAKE_HELD);
    EXPECT(stage_apply(stage, "a=1 b=1") < 0, "killed");
    EXPECT_STR(stage_state(stage), "a? b?", "both are intended");
    fake_fault(&stage->objects, "a", 0);
}

static void waits_for_creates_before_a_plan_is_offered(void)
{
    static const struct {
        const char *note, *spec; /* NULL: destroy */
        bool comes;
        const char *planned, *objects, *state;
    } rows[] = {
        {"it leaves, and comes", "b=1", true, "create b; delete a", "b=1", "b"},
        {"it leaves, and does not come", "b=1", false, "create b; forget a", "b=1", "b"},
        {"all goes, and it comes", NULL, true, "delete a; forget b", "", "none"},
        {"all goes, and it does not come", NULL, false, "forget a; forget b", "", "none"},
        {"it is wanted otherwise, and comes", "a=2 b=1", true, "update a; create b", "a=2 b=1",
         "a b"},
        {"it is wanted, and does not come", "a=2 b=1", false, "create a; create b", "a=2 b=1",
         "a b"},
        {"it is wanted as it was, and comes", "a=1 b=1", true, "unchanged a; create b", "a=1 b=1",
         "a b"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct stage stage;
        int64_t begun;

        be_killed(&stage);
        begun = stage.world.now;
        if (!rows[i].comes)
            fake_lose_late(&stage.objects);
        stage_approve(&stage, rows[i].spec);
        EXPECT_STR(stage.planned.data, rows[i].planned, rows[i].note);
        EXPECT(stage.world.now - begun >= FAKE_EFFECT_TIME - 1, rows[i].note);
        EXPECT_INT(stage.objects.n_late, 0, "none can come any more");
        EXPECT_INT(rows[i].spec ? stage_apply(&stage, rows[i].spec) : stage_destroy(&stage), 0,
                   stage.error.message);
        EXPECT_STR(stage_objects(&stage), rows[i].objects, rows[i].note);
        EXPECT_STR(stage_state(&stage), rows[i].state, rows[i].note);
        stage_done(&stage);
    }
}

/* What cannot be found by its name: its create is waited for, and looked for afterwards. One
 * approval is enough. */
static void waits_for_creates_that_were_begun(void)
{
    for (int made = 0; made < 2; made++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        fake_cloud_fault(&stage.cloud, "d", made ? CLOUD_LOST : CLOUD_UNMADE);
        EXPECT(stage_apply(&stage, "Cloud/d=1 a@d") < 0, "in doubt");
        fake_cloud_fault(&stage.cloud, "d", CLOUD_FINDABLE);
        stage_approve(&stage, "Cloud/d=1 a@d");
        EXPECT_STR(stage.planned.data, made ? "unchanged d; create a" : "create d; create a",
                   "planned");
        EXPECT_INT(stage_apply(&stage, "Cloud/d=1 a@d"), 0, stage.error.message);
        EXPECT_STR(stage_cloud(&stage), "d=1", "one");
        EXPECT_STR(stage_objects(&stage), "a@addr-d", "and what depends on it");
    }
}

/* A create that takes longer than the operation's time without progress: there is no plan yet. */
static void offers_no_plan_out_of_time(void)
{
    _cleanup_stage_ struct stage stage;
    struct run run;

    stage_init(&stage);
    fake_cloud_fault(&stage.cloud, "d", CLOUD_UNMADE);
    EXPECT(stage_apply(&stage, "Cloud/d=1 a@d") < 0, "in doubt");
    fake_cloud_fault(&stage.cloud, "d", CLOUD_FINDABLE);
    stage.for_approval = true;
    stage.timeout = FAKE_CLOUD_DOUBT / 2;
    stage_begin_process(&stage);
    run_begin(&run, &stage);
    run_plan(&run, "Cloud/d=1 a@d");
    EXPECT_INT(run_end(&run), ERR_TIMEOUT, "no plan");
    EXPECT(strstr(stage.error.message, "a request to create cloud:d was not answered"),
           stage.error.message);
    stage_end_process(&stage);
    stage.timeout = STAGE_TIMEOUT;
    EXPECT_INT(stage_plan(&stage, "Cloud/d=1 a@d"), 0, stage.error.message);
    EXPECT_STR(stage.planned.data, "create d; create a", "the next one");
}

/* ---- What comes after an approved deletion ---- */

static void expect_deleted(struct stage *stage, struct run *run, const char *spec)
{
    run_begin(run, stage);
    run_plan(run, spec);
    EXPECT_INT(run->code, 0, stage->error.message);
    run_apply(run);
    for (int looks = 0; looks < 50; looks++) {
        fake_world_pass(&stage->world, 50);
        usleep(1000);
    }
    EXPECT(run_await(run, OPERATION_PARKED), "it waits for the create");
    EXPECT(!fake_find(&stage->objects, "a"), "deleted");
}

/* The object is deleted, as was approved, and made again by a create of ours. The same process
 * deletes it again, or another one. */
static void an_approved_deletion_covers_what_comes_late(void)
{
    static const struct {
        const char *note, *spec, *objects, *state;
        bool killed;
    } rows[] = {
        {"pruned", "b=1", "b=1", "b", false},
        {"pruned, by two processes", "b=1", "b=1", "b", true},
        {"all goes", NULL, "", "none", false},
        {"all goes, by two processes", NULL, "", "none", true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;
        struct run run;

        stage_init(&stage);
        stage.objects.late_after = FAKE_EFFECT_TIME - 1;
        fake_fault(&stage.objects, "a", FAKE_TWICE);
        EXPECT_INT(stage_apply(&stage, "a=1 b=1"), 0, stage.error.message);
        stage_approve(&stage, rows[i].spec);
        stage_use_threads(&stage, 4);
        stage.world.pace = FAKE_CLOCK_STANDS;
        stage_begin_process(&stage);
        expect_deleted(&stage, &run, rows[i].spec);
        fake_land_late(&stage.objects);
        EXPECT(fake_find(&stage.objects, "a"), "made again");
        stage.world.pace = FAKE_CLOCK_PACES;
        if (rows[i].killed) {
            run_cancel(&run, "Killed");
            run_end(&run);
            stage_end_process(&stage);
            fake_world_pass(&stage.world, FAKE_EFFECT_TIME);
            EXPECT_INT(rows[i].spec ? stage_apply(&stage, rows[i].spec) : stage_destroy(&stage), 0,
                       stage.error.message);
        } else {
            fake_world_pass(&stage.world, FAKE_EFFECT_TIME);
            EXPECT_INT(run_wait(&run), OPERATION_ENDED, rows[i].note);
            EXPECT_INT(run_end(&run), 0, stage.error.message);
            stage_end_process(&stage);
        }
        EXPECT_STR(stage_objects(&stage), rows[i].objects, rows[i].note);
        EXPECT_STR(stage_state(&stage), rows[i].state, rows[i].note);
    }
}

/* The create came, and somebody changed the object before the plan was made: what is deleted is
 * what was shown, or nothing. */
static void an_approved_deletion_does_not_cover_what_others_change(void)
{
    struct stage stage;

    be_killed(&stage);
    fake_land_late(&stage.objects);
    stage_approve(&stage, "b=1");
    EXPECT_STR(stage.planned.data, "create b; delete a", "planned");
    fake_put(&stage.objects, "a", "9", OWNER_SELF);
    EXPECT_INT(stage_apply(&stage, "b=1"), ERR_CONFLICT, "another object");
    EXPECT_STR(stage.error.reason, "PlanStale", stage.error.message);
    EXPECT_STR(stage_objects(&stage), "a=9", "stays");
    stage_done(&stage);
}

SUITE(operation_approved_late, TEST(waits_for_creates_before_a_plan_is_offered),
      TEST(waits_for_creates_that_were_begun), TEST(offers_no_plan_out_of_time),
      TEST(an_approved_deletion_covers_what_comes_late),
      TEST(an_approved_deletion_does_not_cover_what_others_change))
