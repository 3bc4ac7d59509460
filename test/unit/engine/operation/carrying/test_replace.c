/* What cannot become as it is wanted is made anew, in either order, and what depends on it goes
 * along. */
#include <stdlib.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "engine/operation/operation.h"
#include "test/unit/engine/operation/doubt.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

static void replaces_in_the_order_that_is_asked_for(void)
{
    static const struct {
        const char *note, *before, *now, *planned, *deeds, *cloud;
    } rows[] = {
        {"deleted first", "Cloud/d=1*k", "Cloud/d=1*l", "replace d", "delete d; create d", "d=1*l"},
        {"created first", "Cloud/d=1~k", "Cloud/d=1~l", "replace d", "create d; delete d", "d=1~l"},
        {"what refers to it is moved, deleted first", "Cloud/d=1*k b@d.id", "Cloud/d=1*l b@d.id",
         "replace d; update b", "delete d; create d; patch b", "d=1*l"},
        {"what refers to it is moved, created first", "Cloud/d=1~k b@d.id", "Cloud/d=1~l b@d.id",
         "replace d; update b", "create d; patch b; delete d", "d=1~l"},
        {"a chain, deleted first", "Cloud/d=1*k Cloud/e*@d Cloud/f*@e",
         "Cloud/d=1*l Cloud/e*@d Cloud/f*@e", "replace d; replace e; replace f",
         "delete f; delete e; delete d; create d; create e; create f", "d=1*l e*#d f*#e"},
        {"a chain, created first", "Cloud/d=1~k Cloud/e~@d Cloud/f~@e",
         "Cloud/d=1~l Cloud/e~@d Cloud/f~@e", "replace d; replace e; replace f",
         "create d; create e; create f; delete f; delete e; delete d", "d=1~l e~#d f~#e"},
        {"the last of a chain asks for it: all are created first",
         "Cloud/d=1*k Cloud/e*@d Cloud/f~@e", "Cloud/d=1*l Cloud/e*@d Cloud/f~@e",
         "replace d; replace e; replace f",
         "create d; create e; create f; delete f; delete e; delete d", "d=1*l e*#d f~#e"},
        {"what is pruned and in the way goes first", "Cloud/d=1*k Cloud/y@d Cloud/x=1",
         "Cloud/d=1*l", "replace d; delete x; delete y", "delete y; delete d; create d; delete x",
         "d=1*l"},
        {"drift of what cannot be changed", "Cloud/d=1*k", "Cloud/d=2*l", "replace d",
         "delete d; create d", "d=2*l"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        EXPECT_INT(stage_apply(&stage, rows[i].before), 0, rows[i].note);
        EXPECT_INT(stage_apply(&stage, rows[i].now), 0, stage.error.message);
        EXPECT_STR(stage.planned.data, rows[i].planned, rows[i].note);
        EXPECT_STR(stage_deeds(&stage), rows[i].deeds, rows[i].note);
        EXPECT_STR(stage_cloud(&stage), rows[i].cloud, rows[i].note);
        EXPECT(!strchr(stage_state(&stage), '\''), "nothing is deposed any more");
        EXPECT_INT(stage_plan(&stage, rows[i].now), 0, rows[i].note);
        EXPECT(!strstr(stage.planned.data, "replace") && !strstr(stage.planned.data, "update"),
               stage.planned.data);
        EXPECT_INT(stage_destroy(&stage), 0, rows[i].note);
        EXPECT_STR(stage_cloud(&stage), "", rows[i].note);
    }
}

static void says_why_it_is_replaced(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1*k"), 0, "applied");
    EXPECT_INT(stage_plan(&stage, "Cloud/d=1*l"), 0, "planned");
    EXPECT(strstr(stage.diffs.data, "fixed: \"k\" -> \"l\""), stage.diffs.data);
    EXPECT_STR(stage.reasons.data, "d: fixed cannot be changed", "reason");
}

/* The reference's value is another thing's address, which is unknown while planning, and turns out
 * to be what it was: the other one is created first, so that this is known before e is deleted. */
static void what_turns_out_as_it_was_stays(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1~k Cloud/e*@d.address"), 0, "applied");
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1~l Cloud/e*@d.address"), 0, stage.error.message);
    EXPECT_STR(stage.planned.data, "replace d; replace e", "planned");
    EXPECT_STR(stage_deeds(&stage), "create d; delete d", "deeds");
    EXPECT_STR(stage_cloud(&stage), "d=1~l e*addr-d", "things");
    EXPECT_INT(stage.cloud.creates, 3, "e stays");
}

/* There is no room for two: it is deleted first, whoever else asks. */
static void what_is_single_is_deleted_first(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    fake_cloud_fault(&stage.cloud, "d", CLOUD_SINGLE);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1~k"), 0, "applied");
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1~l"), 0, stage.error.message);
    EXPECT_STR(stage_deeds(&stage), "delete d; create d", "in this order");
}

/* Created first, and the create fails: with nothing made the old one is in force again. */
static void a_failed_create_leaves_the_old_one_in_force(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1~k a@d.id"), 0, "applied");
    fake_cloud_fault(&stage.cloud, "d", CLOUD_REFUSED);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1~l a@d.id"), ERR_FORBIDDEN, "refused");
    EXPECT_STR(stage.results.data, "d failed; a skipped", "results");
    EXPECT_STR(stage_cloud(&stage), "d=1~k", "the old one");
    EXPECT_STR(stage_state(&stage), "a d", "is not deposed");
    EXPECT_INT(stage_plan(&stage, "Cloud/d=1~k a@d.id"), 0, "as before");
    EXPECT_STR(stage.planned.data, "unchanged d; unchanged a", "and taken for what it is");
    fake_cloud_fault(&stage.cloud, "d", 0);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1~l a@d.id"), 0, stage.error.message);
    EXPECT_STR(stage_cloud(&stage), "d=1~l", "the next time");
    EXPECT_STR(stage_state(&stage), "a d", "the next time");
}

/* What depends on the new one goes on before that is ready. The old one stays until it is. */
static void the_old_one_stays_until_the_new_one_is_ready(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1~k b@d.id"), 0, "applied");
    fake_cloud_fault(&stage.cloud, "d", CLOUD_UNBOUND);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1~l b@d.id"), ERR_TIMEOUT, "not ready");
    EXPECT_STR(stage.results.data, "d timed out; b succeeded", "results");
    EXPECT_STR(stage_cloud(&stage), "d=1~k d=1~l", "both");
    fake_cloud_fault(&stage.cloud, "d", 0);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1~l b@d.id"), 0, stage.error.message);
    EXPECT_STR(stage_cloud(&stage), "d=1~l", "the new one");
}

/* f depended on c, and c on g; now g depends on f, and c leaves. f is created first, for e's sake.
 */
static void dependencies_that_turn_round_are_no_circle(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "Cloud/g=0*0 c=0@g Cloud/f=1*0:c Cloud/e=1~0:f"), 0, "applied");
    EXPECT_INT(stage_apply(&stage, "Cloud/f=1*1 Cloud/g=0*1@f Cloud/e=1~1:f"), 0,
               stage.error.message);
    EXPECT_STR(stage_cloud(&stage), "e=1~1 f=1*1 g=0*1@addr-f", "all of it");
    EXPECT_STR(stage_objects(&stage), "", "and nothing else");
}

/* The answer to the deletion of the old one is lost: it is looked at, and planned again, before it
 * is deleted again. (The stage checks that no step is applied twice.) */
static void a_removal_without_an_answer_is_planned_again(void)
{
    static const struct {
        const char *note, *before, *now;
        unsigned fault;
        int code; /* of what follows: the create's outcome is not known either */
        const char *cloud;
    } rows[] = {
        {"not done", "Cloud/d=1*k", "Cloud/d=1*l", CLOUD_UNMADE, ERR_TIMEOUT, "d=1*k"},
        {"done", "Cloud/d=1*k", "Cloud/d=1*l", CLOUD_LOST, ERR_CONFLICT, "d=1*l"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        EXPECT_INT(stage_apply(&stage, rows[i].before), 0, rows[i].note);
        fake_cloud_fault(&stage.cloud, "d", rows[i].fault);
        EXPECT_INT(stage_apply(&stage, rows[i].now), rows[i].code, rows[i].note);
        EXPECT_STR(stage_cloud(&stage), rows[i].cloud, rows[i].note);
        fake_cloud_fault(&stage.cloud, "d", 0);
        doubt_clear(&stage);
        EXPECT_INT(stage_apply(&stage, rows[i].now), 0, rows[i].note);
        EXPECT_STR(stage_cloud(&stage), "d=1*l", rows[i].note);
    }
}

/* Created first, and made in part: both are there, and named, until one is as it should be. */
static void a_create_that_fails_half_way_keeps_both(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1~k"), 0, "applied");
    fake_cloud_fault(&stage.cloud, "d", CLOUD_PARTIAL);
    EXPECT(stage_apply(&stage, "Cloud/d=1~l") < 0, "failed");
    EXPECT_STR(stage_cloud(&stage), "d=1~k d=1~l", "both");
    EXPECT(strstr(stage_state(&stage), "d'") && strstr(stage_state(&stage), "d!"),
           stage_state(&stage));
    fake_cloud_fault(&stage.cloud, "d", 0);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1~l"), 0, stage.error.message);
    EXPECT_STR(stage_cloud(&stage), "d=1~l", "one");
    EXPECT_STR(stage_state(&stage), "d", "one");
}

/* The delete of the old one fails: it stays deposed, goes the next time, and by a destroy. */
static void a_deposed_one_is_not_forgotten(void)
{
    for (int destroys = 0; destroys < 2; destroys++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        EXPECT_INT(stage_apply(&stage, "Cloud/d=1~k"), 0, "applied");
        fake_cloud_fault(&stage.cloud, "d", CLOUD_KEPT);
        EXPECT_INT(stage_apply(&stage, "Cloud/d=1~l"), ERR_FORBIDDEN, "kept");
        EXPECT_STR(stage_cloud(&stage), "d=1~k d=1~l", "both");
        EXPECT(strstr(stage_state(&stage), "d'"), stage_state(&stage));
        fake_cloud_fault(&stage.cloud, "d", 0);
        if (destroys) {
            EXPECT_INT(stage_destroy(&stage), 0, stage.error.message);
        } else {
            EXPECT_INT(stage_apply(&stage, "Cloud/d=1~l"), 0, stage.error.message);
            EXPECT_STR(stage.planned.data, "unchanged d; delete d'", "planned");
        }
        EXPECT_STR(stage_cloud(&stage), destroys ? "" : "d=1~l", "in the end");
        EXPECT_STR(stage_state(&stage), destroys ? "none" : "d", "in the end");
    }
}

/* Even where what leaves stays. */
static void a_deposed_one_goes_without_prune_too(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1~k -prune"), 0, "applied");
    fake_cloud_fault(&stage.cloud, "d", CLOUD_KEPT);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1~l -prune"), ERR_FORBIDDEN, "kept");
    fake_cloud_fault(&stage.cloud, "d", 0);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1~l -prune"), 0, stage.error.message);
    EXPECT_STR(stage_cloud(&stage), "d=1~l", "one");
}

/* ---- Things that are not whole ---- */

static void what_was_not_made_to_its_end_is_replaced(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    fake_cloud_fault(&stage.cloud, "d", CLOUD_PARTIAL);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1 a@d"), ERR_INVALID, "half way");
    EXPECT_STR(stage.results.data, "d failed; a skipped", "results");
    EXPECT_STR(stage_state(&stage), "a? d!", "tainted");
    fake_cloud_fault(&stage.cloud, "d", 0);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1 a@d"), 0, stage.error.message);
    EXPECT_STR(stage.planned.data, "replace d; create a", "planned");
    EXPECT(str_has_prefix(stage_deeds(&stage), "delete d; create d"), stage_log(&stage));
    EXPECT_STR(stage_cloud(&stage), "d=1", "one");
    EXPECT_STR(stage_state(&stage), "a d", "whole");
}

static void a_tainted_one_can_leave(void)
{
    for (int destroys = 0; destroys < 2; destroys++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        fake_cloud_fault(&stage.cloud, "d", CLOUD_PARTIAL);
        EXPECT_INT(stage_apply(&stage, "Cloud/d=1"), ERR_INVALID, "half way");
        EXPECT_INT(destroys ? stage_destroy(&stage) : stage_apply(&stage, ""), 0,
                   stage.error.message);
        EXPECT_STR(stage_cloud(&stage), "", "gone");
    }
}

/* What is recorded is what it has become, not what was wanted. */
static void an_update_that_ends_half_way_goes_on_the_next_time(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "a=1 Cloud/d=1@a.data.x"), 0, "applied");
    fake_cloud_fault(&stage.cloud, "d", CLOUD_HALF);
    EXPECT_INT(stage_apply(&stage, "a=2 Cloud/d=2@a.data.x"), ERR_INVALID, "half way");
    EXPECT_STR(stage_cloud(&stage), "d=2@1", "half");
    EXPECT_STR(stage_state(&stage), "a d", "it is not to be replaced");
    fake_cloud_fault(&stage.cloud, "d", 0);
    EXPECT_INT(stage_apply(&stage, "a=2 Cloud/d=2@a.data.x"), 0, stage.error.message);
    EXPECT_STR(stage.planned.data, "unchanged a; update d", "the rest");
    EXPECT_STR(stage_cloud(&stage), "d=2@2", "whole");
    EXPECT_INT(stage.cloud.creates, 1, "the same");
}

static void what_drifted_is_put_right(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1 a@d.rev"), 0, "applied");
    fake_cloud_drift(&stage.cloud, "d", "9");
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1 a@d.rev"), 0, stage.error.message);
    EXPECT_STR(stage.planned.data, "update d; update a", "found by a look");
    EXPECT_STR(stage_cloud(&stage), "d=1", "as wanted");
    fake_cloud_drop(&stage.cloud, "d");
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1 a@d.rev"), 0, stage.error.message);
    EXPECT(str_has_prefix(stage.planned.data, "create d"), stage.planned.data);
    EXPECT_STR(stage_cloud(&stage), "d=1", "made again");
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1 a@d.rev"), 0, stage.error.message);
    EXPECT_STR(stage.planned.data, "unchanged d; unchanged a", "recorded");
}

/* The world is as wanted, and State is not: it is made to say so, with nothing done. */
static void what_drifted_to_what_is_wanted_is_recorded(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1"), 0, "applied");
    fake_cloud_drift(&stage.cloud, "d", "2");
    EXPECT_INT(stage_apply(&stage, "Cloud/d=2"), 0, stage.error.message);
    EXPECT_STR(stage.planned.data, "unchanged d", "it is as wanted");
    EXPECT_STR(stage_deeds(&stage), "", "nothing is done");
    EXPECT(strstr(stage_log(&stage), "save d"), "but recorded");
}

static void a_slow_delete_is_waited_for(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1*k a=1 Cloud/e=1"), 0, "applied");
    fake_cloud_fault(&stage.cloud, "d", CLOUD_LINGERS);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1*l a=1 Cloud/e=1"), 0, stage.error.message);
    EXPECT_STR(stage_deeds(&stage), "delete d; create d", "asked for once");
    EXPECT_INT(stage_destroy(&stage), 0, stage.error.message);
    EXPECT_STR(stage_cloud(&stage), "", "gone");
}

/* The stage tells what was leaked. */
static void a_half_that_cannot_be_planned_leaks_nothing(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1*k"), 0, "applied");
    fake_cloud_fault(&stage.cloud, "d", CLOUD_OLD_FAILS);
    stage_plan(&stage, "Cloud/d=1*l");
    EXPECT_STR(stage.planned.data, "d!503", "planned");
    EXPECT_INT(stage.cloud.steps, 0, "steps are freed");
    EXPECT_INT(stage.cloud.sessions, 0, "sessions, too");
}

/* e is created first, as d may get another address; it does not. */
static void one_that_is_created_first_and_turns_out_as_it_was_stays(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1 Cloud/e~@d.address"), 0, "applied");
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1*k Cloud/e~@d.address"), 0, stage.error.message);
    EXPECT_STR(stage.planned.data, "replace d; replace e", "planned");
    EXPECT_STR(stage_cloud(&stage), "d=1*k e~addr-d", "both are there");
    EXPECT_STR(stage_state(&stage), "d e", "and recorded");
}

/* Until it is parked, with d deposed in State. Then the clock stands. */
static void expect_deposed(struct stage *stage, struct run *run)
{
    for (int looks = 0; looks < 50; looks++) {
        fake_world_pass(&stage->world, 50);
        usleep(1000);
    }
    EXPECT(run_await(run, OPERATION_PARKED), "it waits");
    EXPECT(strstr(stage_state(stage), "d'"), stage_state(stage));
}

/* The old one was created by two requests, and somebody deletes it while it is replaced: the
 * request that was not answered may make it again. */
static void an_old_one_that_may_come_back_is_not_forgotten(void)
{
    for (int comes = 0; comes < 2; comes++) {
        _cleanup_stage_ struct stage stage;
        _cleanup_free_ char *id = NULL;
        struct fake_thing *again;
        struct run run;

        stage_init(&stage);
        fake_cloud_fault(&stage.cloud, "d", CLOUD_TWICE);
        EXPECT_INT(stage_apply(&stage, "Cloud/d=1~k"), 0, "applied");
        stage_use_threads(&stage, 4);
        stage.world.pace = FAKE_CLOCK_STANDS;
        fake_cloud_fault(&stage.cloud, "d", CLOUD_BLOCKS | CLOUD_DELETE_CONFLICTS);
        stage_begin_process(&stage);
        run_begin(&run, &stage);
        run_plan(&run, "Cloud/d=1~l");
        run_apply(&run);
        EXPECT(fake_cloud_await_blocked(&stage.cloud), "the new one is being created");
        pthread_mutex_lock(&stage.world.lock);
        id = str_new(fake_cloud_find(&stage.cloud, "d")->id);
        fake_cloud_drop(&stage.cloud, "d");
        pthread_mutex_unlock(&stage.world.lock);
        fake_cloud_fault(&stage.cloud, "d", CLOUD_DELETE_CONFLICTS);
        expect_deposed(&stage, &run);
        pthread_mutex_lock(&stage.world.lock);
        if (comes) {
            _cleanup_value_ const struct value *old = value_pack("{s:s}", "swapped", "k");

            again = fake_cloud_add(&stage.cloud, "d", old);
            free(again->id);
            again->id = TAKE(id);
        }
        pthread_mutex_unlock(&stage.world.lock);
        fake_cloud_fault(&stage.cloud, "d", 0);
        stage.world.pace = FAKE_CLOCK_PACES;
        fake_world_pass(&stage.world, FAKE_EFFECT_TIME);
        EXPECT_INT(run_wait(&run), OPERATION_ENDED, "ended");
        EXPECT_INT(run_end(&run), 0, stage.error.message);
        stage_end_process(&stage);
        EXPECT_STR(stage_cloud(&stage), "d=1~l", "the new one");
        EXPECT_STR(stage_state(&stage), "d", "the new one");
    }
}

static void what_is_only_to_be_recorded_is_a_plan(void)
{
    struct stage stage;
    struct run run;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1"), 0, "applied");
    fake_cloud_drift(&stage.cloud, "d", "2");
    stage_begin_process(&stage);
    run_begin(&run, &stage);
    run_plan(&run, "Cloud/d=2");
    EXPECT_STR(stage.planned.data, "unchanged d", "it is as wanted");
    EXPECT(!plan_is_empty(operation_get_plan(run.operation)), "and State is not");
    run_end(&run);
    stage_end_process(&stage);
    stage_done(&stage);
}

SUITE(operation_replace, TEST(replaces_in_the_order_that_is_asked_for),
      TEST(says_why_it_is_replaced), TEST(what_turns_out_as_it_was_stays),
      TEST(what_is_single_is_deleted_first), TEST(a_failed_create_leaves_the_old_one_in_force),
      TEST(the_old_one_stays_until_the_new_one_is_ready),
      TEST(dependencies_that_turn_round_are_no_circle),
      TEST(a_removal_without_an_answer_is_planned_again),
      TEST(a_create_that_fails_half_way_keeps_both), TEST(a_deposed_one_is_not_forgotten),
      TEST(a_deposed_one_goes_without_prune_too), TEST(what_was_not_made_to_its_end_is_replaced),
      TEST(a_tainted_one_can_leave), TEST(an_update_that_ends_half_way_goes_on_the_next_time),
      TEST(what_drifted_is_put_right), TEST(what_drifted_to_what_is_wanted_is_recorded),
      TEST(a_slow_delete_is_waited_for), TEST(a_half_that_cannot_be_planned_leaks_nothing),
      TEST(one_that_is_created_first_and_turns_out_as_it_was_stays),
      TEST(an_old_one_that_may_come_back_is_not_forgotten),
      TEST(what_is_only_to_be_recorded_is_a_plan))
