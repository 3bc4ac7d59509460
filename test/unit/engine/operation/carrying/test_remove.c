#include "engine/base/str.h"
#include "engine/operation/operation.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

/* ---- Destroy ---- */

static void destroys_dependents_first(void)
{
    static const struct {
        const char *note, *spec, *deeds;
    } rows[] = {
        {"a chain", "a=1 b=1:a c=1:b", "delete c; delete b; delete a"},
        {"a diamond", "a=1 b=1:a c=1:a d=1:b,c", "delete d; delete b; delete c; delete a"},
        {"a reference", "a=1 b@a", "delete b; delete a"},
        {"nothing", "", ""},
        {"things of the cloud among them", "a=1 Cloud/d=1@a b@d", "delete b; delete d; delete a"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        EXPECT_INT(stage_apply(&stage, rows[i].spec), 0, rows[i].note);
        EXPECT_INT(stage_destroy(&stage), 0, rows[i].note);
        EXPECT_STR(stage_deeds(&stage), rows[i].deeds, rows[i].note);
        EXPECT(str_has_suffix(stage_log(&stage), "remove State"), "in the end");
        EXPECT_STR(stage_objects(&stage), "", rows[i].note);
        EXPECT_STR(stage_cloud(&stage), "", rows[i].note);
        EXPECT_STR(stage_state(&stage), "none", rows[i].note);
    }
}

static void destroys_without_a_state(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    fake_put(&stage.objects, "a", "1", OWNER_SELF);
    EXPECT_INT(stage_destroy(&stage), 0, "nothing to do");
    EXPECT_STR(stage_log(&stage), "remove State", "what a killed save may have left");
    EXPECT_STR(stage_objects(&stage), "a=1", "only State says what to delete");
}

/* Of "a=1 b=1:a c=1:b", with a fault of b. */
static void waits_for_dependents_to_be_gone(void)
{
    static const struct {
        const char *note;
        unsigned faults;
        int code;
        const char *results, *objects, *state;
    } rows[] = {
        {"slow", FAKE_SLOW, 0, "a succeeded; b succeeded; c succeeded", "", "none"},
        {"stuck", FAKE_STUCK, ERR_TIMEOUT, "a skipped; b timed out; c succeeded", "a=1 b=1-",
         "a b"},
        {"refused", FAKE_KEPT, ERR_FORBIDDEN, "a skipped; b failed; c succeeded", "a=1 b=1", "a b"},
        {"not seen", FAKE_UNSEEN, ERR_FORBIDDEN, "a skipped; b failed; c succeeded", "a=1 b=1",
         "a b"},
        {"no answer at first", FAKE_BUSY_ONCE, 0, "a succeeded; b succeeded; c succeeded", "",
         "none"},
        {"another takes its name: it is gone", FAKE_REPLACED, 0,
         "a succeeded; b succeeded; c succeeded", "b=1~", "none"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        EXPECT_INT(stage_apply(&stage, "a=1 b=1:a c=1:b"), 0, rows[i].note);
        fake_fault(&stage.objects, "b", rows[i].faults);
        EXPECT_INT(stage_destroy(&stage), rows[i].code, rows[i].note);
        EXPECT_STR(stage.results.data, rows[i].results, rows[i].note);
        EXPECT_STR(stage_objects(&stage), rows[i].objects, rows[i].note);
        EXPECT_STR(stage_state(&stage), rows[i].state, rows[i].note);
        if (!rows[i].code)
            continue;
        fake_fault(&stage.objects, "b", 0);
        if (rows[i].faults == FAKE_STUCK)
            fake_drop(&stage.objects, "b");
        EXPECT_INT(stage_destroy(&stage), 0, rows[i].note);
        EXPECT_STR(stage_state(&stage), "none", rows[i].note);
        EXPECT_STR(stage_objects(&stage), "", rows[i].note);
    }
}

static void skips_what_others_depend_on(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "a=1 b=1:a"), 0, "applied");
    fake_fault(&stage.objects, "b", FAKE_KEPT);
    EXPECT_INT(stage_destroy(&stage), ERR_FORBIDDEN, "refused");
    EXPECT(strstr(stage.causes.data,
                  "a: skipped: it is deleted after v1:ConfigMap:team:b, which is still there"),
           stage.causes.data);
}

static void tells_what_is_in_the_way(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "a=1 b=1:a"), 0, "applied");
    fake_fault(&stage.objects, "b", FAKE_STUCK);
    EXPECT_INT(stage_destroy(&stage), ERR_TIMEOUT, "timed out");
    EXPECT_STR(stage.error.reason, "PruneFailed", "reason");
    EXPECT_STR(stage.causes.data,
               "a: skipped: it is deleted after v1:ConfigMap:team:b, which is still there; "
               "b: not done within 60 s (timeout): being deleted: it "
               "has the finalizer of a fake",
               "causes");
}

/* What is gone in the end was deleted, if it was by us. */
static void tells_deleted_from_forgotten(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "a=1 b=1 c=1"), 0, "applied");
    fake_fault(&stage.objects, "a", FAKE_SLOW);
    fake_drop(&stage.objects, "b");
    fake_put(&stage.objects, "c", "1", OWNER_NONE);
    EXPECT_INT(stage_destroy(&stage), 0, "destroyed");
    EXPECT_STR(stage.actions.data, "delete a; forget b; forget c", "actions");
}

static void asks_for_a_delete_once(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "a=1"), 0, "applied");
    fake_fault(&stage.objects, "a", FAKE_SLOW);
    EXPECT_INT(stage_destroy(&stage), 0, "destroyed");
    EXPECT_STR(stage_deeds(&stage), "delete a", "once");
}

static void asks_no_more_for_what_is_going(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "a=1"), 0, "applied");
    fake_fault(&stage.objects, "a", FAKE_STUCK);
    EXPECT_INT(stage_destroy(&stage), ERR_TIMEOUT, "stuck");
    EXPECT_INT(stage_destroy(&stage), ERR_TIMEOUT, "still stuck");
    EXPECT_STR(stage_deeds(&stage), "", "it was asked for by the first");
}

/* ---- Whose it is ---- */

/* By prune and by destroy, of an object that is not (quite) the one that was applied. */
static void deletes_only_what_is_ours(void)
{
    static const struct {
        const char *note;
        bool again; /* another object has the name */
        enum owner_kind owner;
        const char *objects;
    } rows[] = {
        {"ours", false, OWNER_SELF, ""},
        {"the label was taken off", false, OWNER_NONE, ""},
        {"another tool labels it", false, OWNER_OTHER, ""},
        {"another Spec took it", false, OWNER_SPEC, "a=1^"},
        {"made again, ours", true, OWNER_SELF, ""},
        {"made again by nobody", true, OWNER_NONE, "a=1~"},
        {"made again by another tool", true, OWNER_OTHER, "a=1!"},
        {"made again by another Spec", true, OWNER_SPEC, "a=1^"},
    };

    for (size_t i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
        size_t row = i / 2;
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        stage.may_forget = true;
        EXPECT_INT(stage_apply(&stage, "a=1"), 0, rows[row].note);
        if (rows[row].again)
            fake_put(&stage.objects, "a", "1", rows[row].owner);
        fake_find(&stage.objects, "a")->owner = rows[row].owner;
        EXPECT_INT(i % 2 ? stage_destroy(&stage) : stage_apply(&stage, ""), 0, rows[row].note);
        EXPECT_STR(stage.results.data, "a succeeded", rows[row].note);
        EXPECT_STR(stage_objects(&stage), rows[row].objects, rows[row].note);
        EXPECT_STR(stage_state(&stage), i % 2 ? "none" : "", rows[row].note);
    }
}

/* State of a Spec that was made again: what it names may be anybody's by now. */
static void deletes_of_an_inherited_state_with_label_and_uid_alone(void)
{
    static const struct {
        const char *note;
        bool again;
        enum owner_kind owner;
        const char *objects;
    } rows[] = {
        {"the same, ours", false, OWNER_SELF, ""},
        {"the same, without our label", false, OWNER_NONE, "a=1~"},
        {"the same, another tool's", false, OWNER_OTHER, "a=1!"},
        {"made again, ours", true, OWNER_SELF, "a=1"},
        {"made again by nobody", true, OWNER_NONE, "a=1~"},
    };

    for (size_t i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
        size_t row = i / 2;
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        stage.may_forget = true;
        EXPECT_INT(stage_apply(&stage, "a=1"), 0, rows[row].note);
        EXPECT(!stage.inherited, rows[row].note);
        if (rows[row].again)
            fake_put(&stage.objects, "a", "1", rows[row].owner);
        fake_find(&stage.objects, "a")->owner = rows[row].owner;
        stage.spec_uid = "spec-2";
        EXPECT_INT(i % 2 ? stage_destroy(&stage) : stage_apply(&stage, ""), 0, rows[row].note);
        EXPECT(stage.inherited, rows[row].note);
        EXPECT_STR(stage_objects(&stage), rows[row].objects, rows[row].note);
        EXPECT_STR(stage_state(&stage), i % 2 ? "none" : "", rows[row].note);
    }
}

static void goes_with_its_namespace(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    stage.may_forget = true;
    EXPECT_INT(stage_apply(&stage, "a=1 b=1:a"), 0, "applied");
    fake_fault(&stage.objects, "b", FAKE_UNSEEN);
    stage.namespace_terminating = true;
    EXPECT_INT(stage_destroy(&stage), 0, "destroyed");
    EXPECT_STR(stage_deeds(&stage), "", "nothing needs to be deleted");
    EXPECT_STR(stage_state(&stage), "none", "State");
}

/* ---- Prune ---- */

static void prunes_dependents_first(void)
{
    _cleanup_stage_ struct stage stage;
    const char *saved;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "x=1 y=1:x z=1:y a=1:x"), 0, "applied");
    EXPECT_INT(stage_apply(&stage, "a=2"), 0, "applied again");
    EXPECT_STR(stage_deeds(&stage), "patch a; delete z; delete y; delete x", "deeds");
    saved = strstr(stage_log(&stage), "save x y z a; ");
    EXPECT(saved && strstr(saved, "delete z"), "State is written before deletes");
}

static void a_prune_that_fails_keeps_its_record(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "x=1 y=1:x z=1"), 0, "applied");
    fake_fault(&stage.objects, "y", FAKE_KEPT);
    EXPECT_INT(stage_apply(&stage, "a=1"), ERR_FORBIDDEN, "refused");
    EXPECT_STR(stage.results.data, "a succeeded; x skipped; y failed; z succeeded", "results");
    EXPECT_STR(stage_state(&stage), "x y a", "State");
    EXPECT_STR(stage_objects(&stage), "a=1 x=1 y=1", "objects");
    fake_fault(&stage.objects, "y", 0);
    EXPECT_INT(stage_apply(&stage, "a=1"), 0, "the next time");
    EXPECT_STR(stage_objects(&stage), "a=1", "the next time");
}

/* An intent whose object came to be, and whose resource left the Spec before that was known. */
static void prunes_what_a_killed_run_had_made(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    stage.world.kill_at = 2;
    stage_apply(&stage, "a=1 b=1");
    stage_calm(&stage);
    EXPECT_STR(stage_state(&stage), "a? b?", "intents");
    EXPECT_STR(stage_objects(&stage), "a=1", "one of them was made");
    EXPECT_INT(stage_apply(&stage, "c=1"), 0, "applied");
    EXPECT_STR(stage_objects(&stage), "c=1", "it is found and deleted");
    EXPECT_STR(stage_state(&stage), "c", "State");
}

/* ---- Orphan, and State that is damaged ---- */

static void orphans_without_a_touch(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    stage.may_forget = true;
    EXPECT_INT(stage_orphan(&stage), 0, "nothing is there");
    EXPECT_STR(stage_log(&stage), "remove State", "what a killed save may have left");
    EXPECT_INT(stage_apply(&stage, "a=1 b=1:a"), 0, "applied");
    EXPECT_INT(stage_orphan(&stage), 0, "forgotten");
    EXPECT_STR(stage_log(&stage), "remove State", "State alone");
    EXPECT_STR(stage_objects(&stage), "a=1 b=1", "left in the world");
}

static void does_nothing_by_a_damaged_state(void)
{
    int (*const destructions[])(struct stage * stage) = {stage_destroy, stage_orphan};

    for (size_t i = 0; i <= ARRAY_SIZE(destructions); i++) {
        _cleanup_stage_ struct stage stage;
        bool applies = i == ARRAY_SIZE(destructions);

        stage_init(&stage);
        EXPECT_INT(stage_apply(&stage, "a=1 b=1"), 0, "applied");
        fake_store_damage(&stage.store);
        EXPECT_INT(applies ? stage_apply(&stage, "b=2 c=1") : destructions[i](&stage), ERR_CORRUPT,
                   "refused");
        EXPECT_STR(stage.error.reason, "StateCorrupt", "reason");
        EXPECT_STR(stage_log(&stage), "", "nothing is done");
        EXPECT_STR(stage_objects(&stage), "a=1 b=1", "nothing is deleted");
    }
}

static void does_nothing_after_a_later_leader(void)
{
    _cleanup_stage_ struct stage stage;
    _cleanup_(state_free_p) struct state *state = NULL;
    struct state_head head;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "a=1"), 0, "applied");
    state = fake_store_state(&stage.store);
    CU_ASSERT_PTR_NOT_NULL_FATAL(state);
    head = *state_head(state);
    head.epoch = 2;
    state_set_head(state, &head);
    fake_store_put(&stage.store, state);
    EXPECT_INT(stage_destroy(&stage), ERR_CONFLICT, "refused");
    EXPECT_STR(stage.error.reason, "StateOfLaterLeader", stage.error.message);
    EXPECT_STR(stage_objects(&stage), "a=1", "nothing is deleted");
}

/* After a conflict it is planned anew, and that has to wait. */
static void a_removal_that_is_deferred_is_not_forgotten(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    stage.may_forget = true;
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1"), 0, "applied");
    fake_cloud_fault(&stage.cloud, "d", CLOUD_DEFERS_REMOVAL | CLOUD_DELETE_CONFLICTS);
    EXPECT(stage_destroy(&stage) < 0, "not done");
    EXPECT_STR(stage.results.data, "d failed", stage.error.message);
    EXPECT_STR(stage_cloud(&stage), "d=1", "it is there");
    EXPECT_STR(stage_state(&stage), "d", "and recorded");
}

SUITE(operation_remove, TEST(destroys_dependents_first), TEST(destroys_without_a_state),
      TEST(waits_for_dependents_to_be_gone), TEST(tells_what_is_in_the_way),
      TEST(skips_what_others_depend_on), TEST(tells_deleted_from_forgotten),
      TEST(asks_for_a_delete_once), TEST(asks_no_more_for_what_is_going),
      TEST(deletes_only_what_is_ours), TEST(deletes_of_an_inherited_state_with_label_and_uid_alone),
      TEST(goes_with_its_namespace), TEST(prunes_dependents_first),
      TEST(a_prune_that_fails_keeps_its_record), TEST(prunes_what_a_killed_run_had_made),
      TEST(orphans_without_a_touch), TEST(does_nothing_by_a_damaged_state),
      TEST(does_nothing_after_a_later_leader), TEST(a_removal_that_is_deferred_is_not_forgotten))
