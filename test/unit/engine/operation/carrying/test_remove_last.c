/* What may not be deleted yet: what holds others' things, and the branch that we sit on. */
#include "engine/operation/operation.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

/* ---- The guard ---- */

static void a_guarded_one_is_kept_with_what_it_depends_on(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "base=1 Namespace/space:base +x=1 other=1"), 0, "applied");
    fake_fault(&stage.objects, "space", FAKE_GUARDED);
    EXPECT_INT(stage_destroy(&stage), ERR_INVALID, "tripped");
    EXPECT_STR(stage.error.reason, "DeletionGuardTripped", "reason");
    EXPECT_STR(stage.error.message,
               "destroy: 1 of 4 failed, 1 skipped: v1:Namespace:space: the fake says so",
               "message");
    EXPECT_STR(stage.results.data, "base skipped; space failed; x succeeded; other succeeded",
               "the rest goes");
    EXPECT_STR(stage_objects(&stage), "base=1 space", "objects");
    EXPECT_STR(stage_state(&stage), "base space", "State");
    EXPECT_INT(stage_destroy(&stage), ERR_INVALID, "still");
    EXPECT_STR(stage_objects(&stage), "base=1 space", "objects");
    fake_fault(&stage.objects, "space", 0);
    EXPECT_INT(stage_destroy(&stage), 0, "its content went");
    EXPECT_STR(stage_objects(&stage), "", "objects");
    EXPECT_STR(stage_state(&stage), "none", "State");
}

static void guards_what_leaves_the_spec(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "Namespace/space +x=1 y=1 a=1"), 0, "applied");
    fake_fault(&stage.objects, "space", FAKE_GUARDED);
    EXPECT_INT(stage_apply(&stage, "a=2"), ERR_INVALID, "tripped");
    EXPECT_STR(stage.error.reason, "DeletionGuardTripped", "reason");
    EXPECT_STR(stage.results.data, "a succeeded; space failed; x succeeded; y succeeded",
               "results");
    EXPECT_STR(stage_objects(&stage), "a=2 space", "objects");
    EXPECT_STR(stage_state(&stage), "space a", "State");
    fake_fault(&stage.objects, "space", 0);
    EXPECT_INT(stage_apply(&stage, "a=2"), 0, "its content went");
    EXPECT_STR(stage_objects(&stage), "a=2", "objects");
}

/* Of an object, with a fault: how often destroying asks the guard. */
static void asks_the_guard_once(void)
{
    static const struct {
        const char *note;
        unsigned faults, guards;
        enum owner_kind owner;
    } rows[] = {
        {"goes at once", 0, 1, OWNER_SELF},
        {"goes slowly", FAKE_SLOW, 1, OWNER_SELF},
        {"never goes", FAKE_STUCK, 1, OWNER_SELF},
        {"another Spec's: it is not deleted", 0, 0, OWNER_SPEC},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        stage.may_forget = true;
        EXPECT_INT(stage_apply(&stage, "Namespace/space"), 0, rows[i].note);
        fake_find(&stage.objects, "space")->owner = rows[i].owner;
        fake_fault(&stage.objects, "space", rows[i].faults);
        stage_destroy(&stage);
        EXPECT_INT(stage.objects.guards, rows[i].guards, rows[i].note);
        stage_destroy(&stage);
        EXPECT_INT(stage.objects.guards, rows[i].guards, "what is going is asked no more");
    }
}

/* Its content would go with it, and is wanted. */
static void keeps_what_holds_something_of_the_spec(void)
{
    static const struct {
        const char *note, *spec, *planned, *objects;
        int r;
    } rows[] = {
        {"its content stays", "+x=1", "unchanged x; space!DeletionGuardTripped", "space x=1",
         ERR_CONFLICT},
        {"its content leaves, too", "y=1", "create y; delete space; delete x", "y=1", 0},
        {"it stays, under another id", "%Namespace/space +x=1",
         "adopt space; unchanged x; forget space", "space x=1", 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        EXPECT_INT(stage_apply(&stage, "Namespace/space +x=1"), 0, "applied");
        EXPECT_INT(stage_apply(&stage, rows[i].spec), rows[i].r, rows[i].note);
        EXPECT_STR(stage.planned.data, rows[i].planned, rows[i].note);
        EXPECT_STR(stage_objects(&stage), rows[i].objects, rows[i].note);
        EXPECT_INT(strstr(stage.error.message, "which still names \"v1:ConfigMap:space:x\"") !=
                       NULL,
                   rows[i].r != 0, stage.error.message);
    }
}

/* ---- The branch ---- */

static void rights_go_last(void)
{
    static const struct {
        const char *note, *spec, *deeds;
    } rows[] = {
        {"a binding", "RoleBinding/b a=1", "delete a; delete b"},
        {"the account is needed no more", "ServiceAccount/robot RoleBinding/b a=1",
         "delete a; delete robot; delete b"},
        {"a role gives nothing by itself", "Role/rule RoleBinding/b ServiceAccount/robot a=1",
         "delete a; delete robot; delete b; delete rule"},
        {"whatever depends on them", "ServiceAccount/robot RoleBinding/b:robot a=1:b",
         "delete a; delete robot; delete b"},
        {"whatever they depend on", "a=1 RoleBinding/b:a ServiceAccount/robot:a",
         "delete a; delete robot; delete b"},
        {"an account that we do not act as", "a=1:other ServiceAccount/other RoleBinding/b:a",
         "delete a; delete other; delete b"},
        {"a Namespace, too", "Namespace/space +x=1 RoleBinding/b",
         "delete x; delete space; delete b"},
        {"what waits, too", "slow=1 RoleBinding/b", "delete slow; delete b"},
        {"with their Namespace", "Namespace/space +Role/rule +RoleBinding/b +x=1",
         "delete x; delete space"},
    };

    for (size_t n = 0; n < 2 * ARRAY_SIZE(rows); n++) {
        size_t i = n / 2;
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        stage_use_threads(&stage, n % 2 ? 4 : 1);
        EXPECT_INT(stage_apply(&stage, rows[i].spec), 0, rows[i].note);
        fake_fault(&stage.objects, "slow", FAKE_SLOW);
        buf_reset(&stage.world.log);
        EXPECT_INT(stage_destroy(&stage), 0, rows[i].note);
        EXPECT_STR(stage_objects(&stage), "", rows[i].note);
        EXPECT_STR(stage_state(&stage), "none", rows[i].note);
        EXPECT(strstr(stage_deeds(&stage), rows[i].deeds), stage_log(&stage));
    }
}

/* All rights are by one binding of the Spec itself. */
static void saws_off_no_branch_that_it_sits_on(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "ServiceAccount/robot RoleBinding/b:robot a=1 slow=1:a"), 0,
               "applied");
    stage.objects.rights_are_bound = true;
    fake_fault(&stage.objects, "slow", FAKE_SLOW);
    EXPECT_INT(stage_destroy(&stage), 0, stage.error.message);
    EXPECT_STR(stage_objects(&stage), "", "objects");
    EXPECT_STR(stage_state(&stage), "none", "State");
}

static void keeps_its_rights_while_something_is_in_the_way(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "RoleBinding/b ServiceAccount/robot a=1 c=1"), 0, "applied");
    stage.objects.rights_are_bound = true;
    fake_fault(&stage.objects, "a", FAKE_GUARDED);
    EXPECT_INT(stage_destroy(&stage), ERR_INVALID, "tripped");
    EXPECT_STR(stage.results.data, "b skipped; robot skipped; a failed; c succeeded", "results");
    EXPECT_STR(stage_objects(&stage), "a=1 b robot", "kept for the next time");
    fake_fault(&stage.objects, "a", 0);
    EXPECT_INT(stage_destroy(&stage), 0, "the next time");
    EXPECT_STR(stage_objects(&stage), "", "objects");
}

/* Killed after each step of it, the next process ends what is left: with the account gone, with a
 * Namespace gone and the rights that were in it. */
static void ends_after_being_killed(void)
{
    static const char *const specs[] = {"RoleBinding/b ServiceAccount/robot a=1",
                                        "Namespace/space +Role/rule +RoleBinding/b +x=1 a=1"};

    for (unsigned i = 0; i < 2 * 8; i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        stage.world.step_takes = 2000; /* State is saved after each */
        EXPECT_INT(stage_apply(&stage, specs[i % 2]), 0, "applied");
        stage.objects.account_must_exist = i % 2 == 0;
        stage.world.kill_at = i / 2 + 1;
        stage_destroy(&stage);
        stage_calm(&stage);
        if (i % 2 && !fake_find(&stage.objects, "space")) {
            fake_fault(&stage.objects, "b", FAKE_UNSEEN);
            fake_fault(&stage.objects, "rule", FAKE_UNSEEN);
        }
        EXPECT_INT(stage_destroy(&stage), 0, stage.error.message);
        EXPECT_STR(stage_objects(&stage), "", "objects");
        EXPECT_STR(stage_state(&stage), "none", "State");
    }
}

/* Only when nothing else is left may it be by our own doing that the account is gone. */
static void misses_an_account_that_is_needed(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "RoleBinding/b ServiceAccount/robot a=1"), 0, "applied");
    stage.objects.account_must_exist = true;
    fake_drop(&stage.objects, "robot");
    EXPECT_INT(stage_destroy(&stage), ERR_INVALID, "someone deleted it");
    EXPECT_STR(stage.error.reason, "ServiceAccountNotFound", "reason");
    EXPECT_STR(stage_objects(&stage), "a=1 b", "nothing is done");
    EXPECT_STR(stage_state(&stage), "b robot a", "State");
}

static void tells_what_it_may_delete_no_more(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "Role/rule RoleBinding/b a=1"), 0, "applied");
    stage.objects.rights_are_bound = true;
    EXPECT_INT(stage_destroy(&stage), ERR_FORBIDDEN, "a Role is left");
    EXPECT_STR(stage.results.data, "rule failed; b succeeded; a succeeded", "results");
    EXPECT_STR(stage_state(&stage), "rule", "State");
    EXPECT_INT(stage_destroy(&stage), ERR_FORBIDDEN, "it is not taken for gone");
    stage.objects.rights_are_bound = false;
    EXPECT_INT(stage_destroy(&stage), 0, "with rights again");
    EXPECT_STR(stage_objects(&stage), "", "objects");
}

static void rights_that_leave_the_spec_go_last(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "RoleBinding/b c=1 d=1:b a=1"), 0, "applied");
    buf_reset(&stage.world.log);
    EXPECT_INT(stage_apply(&stage, "a=1"), 0, "pruned");
    EXPECT(strstr(stage_deeds(&stage), "delete c; delete d; delete b") ||
               strstr(stage_deeds(&stage), "delete d; delete c; delete b"),
           stage_log(&stage));
}

/* That its new id has the same object is known only when that was applied. */
static void is_kept_under_another_id_that_could_not_be_planned_at_first(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "a=1 b=1"), 0, "applied");
    fake_fault(&stage.objects, "a", FAKE_PLAN_503_ONCE);
    EXPECT_INT(stage_apply(&stage, "%a=1 b=1"), 0, stage.error.message);
    EXPECT_STR(stage.planned.data, "a!503; unchanged b; delete a", "planned");
    EXPECT_STR(stage_objects(&stage), "a=1 b=1", "not deleted");
    EXPECT_INT(stage.objects.creates, 2, "nor made again");
    EXPECT_STR(stage_state(&stage), "b a", "state");
}

static void is_guarded_when_it_could_not_be_planned_at_first(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "Namespace/space +x=1 y=1"), 0, "applied");
    fake_fault(&stage.objects, "space", FAKE_PLAN_503_ONCE);
    EXPECT_INT(stage_apply(&stage, "+x=1 y=1"), ERR_CONFLICT, "guarded");
    EXPECT_STR(stage.planned.data, "unchanged x; unchanged y; space!503", "planned");
    EXPECT_STR(stage.error.reason, "DeletionGuardTripped", stage.error.message);
    EXPECT_STR(stage_objects(&stage), "space x=1 y=1", "objects");
    EXPECT_STR(stage_state(&stage), "space x y", "state");
}

SUITE(operation_remove_last, TEST(a_guarded_one_is_kept_with_what_it_depends_on),
      TEST(guards_what_leaves_the_spec), TEST(keeps_what_holds_something_of_the_spec),
      TEST(asks_the_guard_once), TEST(rights_go_last), TEST(saws_off_no_branch_that_it_sits_on),
      TEST(keeps_its_rights_while_something_is_in_the_way), TEST(ends_after_being_killed),
      TEST(misses_an_account_that_is_needed), TEST(tells_what_it_may_delete_no_more),
      TEST(rights_that_leave_the_spec_go_last),
      TEST(is_kept_under_another_id_that_could_not_be_planned_at_first),
      TEST(is_guarded_when_it_could_not_be_planned_at_first))
