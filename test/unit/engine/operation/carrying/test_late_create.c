/* A create that nobody waits for any more is carried out after all: the object is deleted if nobody
 * wants it, and State has it until that is certain. */
#include <unistd.h>

#include "engine/operation/operation.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

/* An object leaves the Spec, or everything goes. */
static const struct end {
    const char *note, *spec, *objects, *state;
} ends[] = {{"prune", "b=1", "b=1", "b"}, {"destroy", NULL, "", "none"}};

/* Until it is parked; a, if it was there, is deleted, and still in State. Then the clock stands. */
static void begin_end_here(struct stage *stage, struct run *run, const struct end *end)
{
    stage_use_threads(stage, 4);
    stage->world.pace = FAKE_CLOCK_STANDS;
    run_begin(run, stage);
    run_plan(run, end->spec);
    run_apply(run);
    for (int looks = 0; looks < 50; looks++) {
        fake_world_pass(&stage->world, 50);
        usleep(1000);
    }
    EXPECT(run_await(run, OPERATION_PARKED), end->note);
    EXPECT(strstr(stage_state(stage), "a"), stage_state(stage));
}

/* The same, in a new process. */
static void begin_end(struct stage *stage, struct run *run, const struct end *end)
{
    stage_use_threads(stage, 4);
    stage_begin_process(stage);
    begin_end_here(stage, run, end);
}

static void expect_end(struct stage *stage, struct run *run, const struct end *end)
{
    stage->world.pace = FAKE_CLOCK_PACES;
    fake_world_pass(&stage->world, FAKE_EFFECT_TIME);
    EXPECT_INT(run_wait(run), OPERATION_ENDED, end->note);
    EXPECT_INT(run_end(run), 0, stage->error.message);
    stage_end_process(stage);
    EXPECT_STR(stage_objects(stage), end->objects, end->note);
    EXPECT_STR(stage_state(stage), end->state, end->note);
}

/* ---- Creates of an earlier process ---- */

/* A process is killed while it creates a. */
static void be_killed(struct stage *stage)
{
    stage_init(stage);
    stage->objects.late_after = FAKE_EFFECT_TIME - 1;
    fake_fault(&stage->objects, "a", FAKE_HELD);
    EXPECT(stage_apply(stage, "a=1 b=1") < 0, "killed");
    EXPECT_STR(stage_objects(stage), "", "not carried out yet");
    EXPECT_STR(stage_state(stage), "a? b?", "both are intended");
    fake_fault(&stage->objects, "a", 0);
}

static void a_create_of_a_killed_process_is_waited_for(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
        for (int comes = 0; comes < 2; comes++) {
            struct stage stage;
            struct run run;

            be_killed(&stage);
            if (!comes)
                fake_lose_late(&stage.objects);
            begin_end(&stage, &run, &ends[i]);
            fake_land_late(&stage.objects);
            expect_end(&stage, &run, &ends[i]);
            EXPECT_INT(stage.cloud.creates, 0, "nothing else");
            stage_done(&stage);
        }
}

/* The next process makes it itself, and it goes soon after. */
static void a_create_of_a_killed_process_may_come_after_ours(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        struct stage stage;
        struct run run;

        be_killed(&stage);
        EXPECT_INT(stage_apply(&stage, "a=1 b=1"), 0, stage.error.message);
        EXPECT_STR(stage_state(&stage), "a b", "made");
        begin_end(&stage, &run, &ends[i]);
        EXPECT(!fake_find(&stage.objects, "a"), "deleted");
        fake_land_late(&stage.objects);
        EXPECT(fake_find(&stage.objects, "a"), "made again");
        expect_end(&stage, &run, &ends[i]);
        stage_done(&stage);
    }
}

/* Two processes are killed one after another. What the third finds is from one of their creates;
 * the other one comes when it is deleted. */
static void one_of_two_creates_may_come_later(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        struct stage stage;
        struct run run;

        be_killed(&stage);
        stage.objects.late_after = 0;
        fake_fault(&stage.objects, "a", FAKE_HELD);
        EXPECT(stage_apply(&stage, "a=1 b=1") < 0, "killed, too");
        fake_fault(&stage.objects, "a", 0);
        EXPECT_INT(stage_apply(&stage, "a=1 b=1"), 0, stage.error.message);
        EXPECT_STR(stage.planned.data, "unchanged a; create b", "found");
        begin_end(&stage, &run, &ends[i]);
        EXPECT(!fake_find(&stage.objects, "a"), "deleted");
        fake_land_late(&stage.objects);
        expect_end(&stage, &run, &ends[i]);
        stage_done(&stage);
    }
}

/* It never began the create of b. */
static void an_intent_of_this_process_goes_at_once(void)
{
    struct stage stage;
    int64_t begun;

    stage_init(&stage);
    stage_begin_process(&stage);
    fake_fault(&stage.objects, "a", FAKE_REFUSED);
    EXPECT_INT(stage_apply(&stage, "a=1 b=1:a"), ERR_FORBIDDEN, "refused");
    EXPECT_STR(stage_state(&stage), "b?", "intended");
    begun = stage.world.now;
    EXPECT_INT(stage_apply(&stage, "c=1"), 0, stage.error.message);
    EXPECT(stage.world.now - begun < FAKE_EFFECT_TIME, "at once");
    EXPECT_STR(stage_state(&stage), "c", "State");
    stage_end_process(&stage);
    stage_done(&stage);
}

/* Its namespace is being deleted: nothing is made in it any more. */
static void what_goes_with_its_namespace_is_not_waited_for(void)
{
    struct stage stage;
    int64_t begun;

    be_killed(&stage);
    fake_lose_late(&stage.objects);
    stage.namespace_terminating = true;
    begun = stage.world.now;
    EXPECT_INT(stage_destroy(&stage), 0, stage.error.message);
    EXPECT(stage.world.now - begun < FAKE_EFFECT_TIME, "at once");
    EXPECT_STR(stage_state(&stage), "none", "State");
    stage_done(&stage);
}

/* ---- Another object has the name ---- */

/* While the create of a killed process is on its way, somebody makes an object of the name, and
 * deletes it again. */
static void another_object_of_the_name_does_not_end_the_wait(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
        for (int comes = 0; comes < 2; comes++) {
            struct stage stage;
            struct run run;

            be_killed(&stage);
            fake_put(&stage.objects, "a", "9", OWNER_OTHER);
            begin_end(&stage, &run, &ends[i]);
            EXPECT(strstr(stage_objects(&stage), "a=9!"), "left alone");
            fake_drop(&stage.objects, "a");
            if (comes)
                fake_land_late(&stage.objects);
            else
                fake_lose_late(&stage.objects);
            EXPECT_INT(fake_find(&stage.objects, "a") != NULL, comes, "made");
            expect_end(&stage, &run, &ends[i]);
            stage_done(&stage);
        }
}

static void another_object_of_the_name_is_left(void)
{
    struct stage stage;
    struct run run;

    be_killed(&stage);
    fake_put(&stage.objects, "a", "9", OWNER_OTHER);
    begin_end(&stage, &run, &ends[0]);
    stage.world.pace = FAKE_CLOCK_PACES;
    fake_world_pass(&stage.world, FAKE_EFFECT_TIME);
    EXPECT_INT(run_wait(&run), OPERATION_ENDED, "ended");
    EXPECT_INT(run_end(&run), 0, stage.error.message);
    stage_end_process(&stage);
    EXPECT_STR(stage_objects(&stage), "a=9! b=1", "left");
    EXPECT_STR(stage_state(&stage), "b", "State");
    stage_done(&stage);
}

/* Our object goes on under another id, whose record knows nothing of the create: it is not deleted
 * before nothing can make it again. */
static void a_new_id_of_the_object_does_not_end_the_wait(void)
{
    struct stage stage;
    int64_t begun;

    stage_init(&stage);
    stage.objects.late_after = FAKE_EFFECT_TIME - 1;
    fake_fault(&stage.objects, "a", FAKE_TWICE);
    EXPECT_INT(stage_apply(&stage, "a=1 b=1"), 0, stage.error.message);
    fake_fault(&stage.objects, "a", 0);
    begun = stage.world.now;
    EXPECT_INT(stage_apply(&stage, "%a=1 b=1"), 0, stage.error.message);
    EXPECT(stage.world.now - begun >= FAKE_EFFECT_TIME - 1000, "it was waited for");
    EXPECT_INT(stage_destroy(&stage), 0, stage.error.message);
    fake_land_late(&stage.objects);
    EXPECT_STR(stage_objects(&stage), "", "objects");
    EXPECT_STR(stage_state(&stage), "none", "State");
    stage_done(&stage);
}

/* ---- Creates that were sent twice ---- */

static void the_first_of_two_creates_comes_after_the_deletion(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
        for (int comes = 0; comes < 2; comes++) {
            struct stage stage;
            struct run run;

            stage_init(&stage);
            stage.objects.late_after = FAKE_EFFECT_TIME - 1;
            fake_fault(&stage.objects, "a", FAKE_TWICE);
            EXPECT_INT(stage_apply(&stage, "a=1 b=1"), 0, stage.error.message);
            if (!comes)
                fake_lose_late(&stage.objects);
            begin_end(&stage, &run, &ends[i]);
            EXPECT(!fake_find(&stage.objects, "a"), "deleted at once");
            fake_land_late(&stage.objects);
            EXPECT_INT(fake_find(&stage.objects, "a") != NULL, comes, "made again");
            expect_end(&stage, &run, &ends[i]);
            stage_done(&stage);
        }
}

/* An update in the meantime does not forget it. */
static void an_update_keeps_it_in_mind(void)
{
    struct stage stage;
    struct run run;

    stage_init(&stage);
    stage.objects.late_after = FAKE_EFFECT_TIME - 1;
    fake_fault(&stage.objects, "a", FAKE_TWICE);
    EXPECT_INT(stage_apply(&stage, "a=1 b=1"), 0, stage.error.message);
    EXPECT_INT(stage_apply(&stage, "a=2 b=1"), 0, stage.error.message);
    begin_end(&stage, &run, &ends[0]);
    fake_land_late(&stage.objects);
    expect_end(&stage, &run, &ends[0]);
    stage_done(&stage);
}

/* Somebody changed State meanwhile: what became of the creates is not recorded. */
static void a_lost_ledger_forgets_no_create(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        struct stage stage;
        struct run run;

        stage_init(&stage);
        stage_use_threads(&stage, 4);
        stage_begin_process(&stage);
        stage.objects.late_after = FAKE_EFFECT_TIME - 1;
        fake_fault(&stage.objects, "a", FAKE_TWICE);
        stage.store.conflict_at = 2;
        EXPECT_INT(stage_apply(&stage, "a=1 b=1"), ERR_CONFLICT, "State was changed");
        EXPECT_STR(stage_state(&stage), "a? b?", "both are intended");
        stage_calm(&stage);
        begin_end_here(&stage, &run, &ends[i]);
        EXPECT(!fake_find(&stage.objects, "a"), "deleted");
        fake_land_late(&stage.objects);
        EXPECT(fake_find(&stage.objects, "a"), "made again");
        expect_end(&stage, &run, &ends[i]);
        stage_done(&stage);
    }
}

/* ---- While it goes ---- */

/* Its end takes longer than the late create: the look that finds it gone finds the new object. */
static void a_late_object_is_there_when_the_deleted_one_is_gone(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        struct stage stage;
        struct run run;

        stage_init(&stage);
        stage.objects.late_after = FAKE_EFFECT_TIME - 1;
        fake_fault(&stage.objects, "a", FAKE_TWICE);
        EXPECT_INT(stage_apply(&stage, "a=1 b=1"), 0, stage.error.message);
        fake_fault(&stage.objects, "a", FAKE_STUCK);
        begin_end(&stage, &run, &ends[i]);
        EXPECT(fake_find(&stage.objects, "a"), "still going");
        fake_fault(&stage.objects, "a", 0);
        fake_drop(&stage.objects, "a");
        fake_land_late(&stage.objects);
        expect_end(&stage, &run, &ends[i]);
        stage_done(&stage);
    }
}

/* No create was left when it was deleted: somebody else makes it again, and marks it as ours. */
static void what_others_make_again_is_left(void)
{
    struct stage stage;
    struct run run;

    stage_init(&stage);
    fake_fault(&stage.objects, "a", FAKE_TWICE);
    EXPECT_INT(stage_apply(&stage, "a=1 b=1"), 0, stage.error.message);
    fake_lose_late(&stage.objects);
    fake_world_pass(&stage.world, FAKE_EFFECT_TIME);
    fake_fault(&stage.objects, "a", FAKE_STUCK);
    begin_end(&stage, &run, &ends[0]);
    fake_fault(&stage.objects, "a", 0);
    fake_put(&stage.objects, "a", "1", OWNER_SELF);
    stage.world.pace = FAKE_CLOCK_PACES;
    EXPECT_INT(run_wait(&run), OPERATION_ENDED, "ended");
    EXPECT_INT(run_end(&run), 0, stage.error.message);
    stage_end_process(&stage);
    EXPECT_STR(stage_objects(&stage), "a=1 b=1", "left");
    EXPECT_STR(stage_state(&stage), "b", "State");
    stage_done(&stage);
}

/* When a binding is gone, nobody may look whether it came back: it is deleted once nothing can make
 * it again. */
static void what_gives_the_rights_is_deleted_when_no_create_is_left(void)
{
    for (int comes = 0; comes < 2; comes++) {
        struct stage stage;

        stage_init(&stage);
        stage.objects.late_after = FAKE_EFFECT_TIME - 1;
        fake_fault(&stage.objects, "b", FAKE_TWICE);
        EXPECT_INT(stage_apply(&stage, "RoleBinding/b ServiceAccount/robot a=1"), 0,
                   stage.error.message);
        if (!comes)
            fake_lose_late(&stage.objects);
        stage.objects.rights_are_bound = true;
        EXPECT_INT(stage_destroy(&stage), 0, stage.error.message);
        EXPECT_STR(stage_objects(&stage), "", "objects");
        EXPECT_STR(stage_state(&stage), "none", "State");
        stage_done(&stage);
    }
}

/* ---- What somebody else deleted ---- */

/* It is created again, and intended again before that. */
static void what_is_made_again_is_intended_again(void)
{
    struct stage stage;
    struct run run;
    const char *intended;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "a=1 b=1"), 0, stage.error.message);
    fake_drop(&stage.objects, "a");
    buf_reset(&stage.world.log);
    fake_fault(&stage.objects, "a", FAKE_HELD);
    stage.objects.late_after = FAKE_EFFECT_TIME - 1;
    EXPECT(stage_apply(&stage, "a=1 b=1") < 0, "killed");
    intended = strstr(stage_log(&stage), "save a?");
    EXPECT(intended != NULL, stage_log(&stage));
    fake_fault(&stage.objects, "a", 0);
    begin_end(&stage, &run, &ends[0]);
    fake_land_late(&stage.objects);
    expect_end(&stage, &run, &ends[0]);
    stage_done(&stage);
}

SUITE(operation_late_create, TEST(a_create_of_a_killed_process_is_waited_for),
      TEST(a_create_of_a_killed_process_may_come_after_ours),
      TEST(one_of_two_creates_may_come_later), TEST(an_intent_of_this_process_goes_at_once),
      TEST(what_goes_with_its_namespace_is_not_waited_for),
      TEST(another_object_of_the_name_does_not_end_the_wait),
      TEST(another_object_of_the_name_is_left), TEST(a_new_id_of_the_object_does_not_end_the_wait),
      TEST(the_first_of_two_creates_comes_after_the_deletion),
      TEST(a_lost_ledger_forgets_no_create), TEST(an_update_keeps_it_in_mind),
      TEST(a_late_object_is_there_when_the_deleted_one_is_gone),
      TEST(what_others_make_again_is_left),
      TEST(what_gives_the_rights_is_deleted_when_no_create_is_left),
      TEST(what_is_made_again_is_intended_again))
