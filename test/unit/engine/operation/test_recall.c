/* State that is gone, or older than the Spec: nothing is made twice, and nothing is left behind. */
#include "engine/operation/operation.h"
#include "engine/state/state.h"
#include "test/unit/engine/operation/doubt.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

/* What a status said of it: "Cloud/d a" names the thing d and the ConfigMap a. */
static const struct value *inventory(const char *names)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_(spec_free_p) struct spec *spec = stage_spec(names);
    const struct value *list = NULL;

    value_begin_array(b);
    for (size_t i = 0; i < spec->n_resources; i++) {
        value_begin_object(b);
        value_key(b, "id");
        value_add_string(b, spec->resources[i].id);
        value_key(b, "type");
        value_add_string(b, spec->resources[i].type);
        value_end_object(b);
    }
    value_end_array(b);
    value_builder_finish(b, &list, NULL);
    return list;
}

static void begin(struct stage *stage, const char *spec)
{
    stage_init(stage);
    stage->may_forget = true; /* that is what it is about */
    EXPECT_INT(stage_apply(stage, spec), 0, stage->error.message);
}

static void lose(struct stage *stage)
{
    EXPECT_INT(stage_orphan(stage), 0, "State is gone");
}

/* Once; what follows finds State as it was brought up to date. */
static int apply_behind(struct stage *stage, const char *spec, const char *names, bool is_whole)
{
    _cleanup_value_ const struct value *list = inventory(names);
    const struct operation_recall recall = {.revision = 7, .inventory = list, .is_whole = is_whole};
    int r;

    stage->recall = &recall;
    r = spec ? stage_apply(stage, spec) : stage_destroy(stage);
    stage->recall = NULL;
    return r;
}

static void what_state_alone_knew_is_held(void)
{
    _cleanup_stage_ struct stage stage;

    begin(&stage, "Cloud/d=1 a@d c=1");
    lose(&stage);
    EXPECT(apply_behind(&stage, "Cloud/d=1 a@d c=2", "Cloud/d a c", true) < 0, "held");
    for (int i = 0; i < 3; i++) {
        EXPECT(strstr(stage.planned.data, "d!StateLost"), stage.planned.data);
        EXPECT(strstr(stage.causes.data, "extensions[kusionstack.io/not-created] to 7"),
               stage.causes.data);
        EXPECT_STR(stage_cloud(&stage), "d=1", "as it was");
        EXPECT_INT(stage.cloud.creates, 1, "not made twice");
        EXPECT_STR(fake_find(&stage.objects, "c") ? "there" : "gone", "there", "the rest goes on");
        EXPECT(stage_apply(&stage, "Cloud/d=1 a@d c=2") < 0, "held on");
    }
}

/* The ways out. */
static void a_person_settles_it(void)
{
    static const struct {
        const char *note, *spec;
        unsigned faults, creates;
        int code;
    } rows[] = {
        {"an import id", "Cloud/d=1", CLOUD_IMPORTS, 1, 0},
        {"it is not there", "Cloud/d=1!7", 0, 2, 0},
        {"another revision", "Cloud/d=1!6", 0, 1, ERR_CONFLICT},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;

        begin(&stage, "Cloud/d=1");
        lose(&stage);
        EXPECT_INT(apply_behind(&stage, "Cloud/d=1", "Cloud/d", true), ERR_CONFLICT, rows[i].note);
        fake_cloud_fault(&stage.cloud, "d", rows[i].faults);
        EXPECT_INT(stage_apply(&stage, rows[i].spec), rows[i].code, rows[i].note);
        EXPECT_INT(stage.cloud.creates, rows[i].creates, rows[i].note);
        if (rows[i].code == 0) {
            EXPECT_INT(stage_apply(&stage, "Cloud/d=1"), 0, "settled for good");
            EXPECT_STR(stage.planned.data, "unchanged d", rows[i].note);
        }
    }
}

static void state_that_is_restored_goes_on(void)
{
    _cleanup_(state_free_p) struct state *backup = NULL;
    _cleanup_stage_ struct stage stage;

    begin(&stage, "Cloud/d=1");
    backup = fake_store_state(&stage.store);
    lose(&stage);
    EXPECT_INT(apply_behind(&stage, "Cloud/d=1", "Cloud/d", true), ERR_CONFLICT, "held");
    fake_store_put(&stage.store, backup);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=2"), 0, stage.error.message);
    EXPECT_STR(stage_cloud(&stage), "d=2", "the same thing");
    EXPECT_INT(stage.cloud.creates, 1, "once");
}

/* What no status has named was never there, if the status has named all. */
static void what_is_new_is_made(void)
{
    for (int is_whole = 0; is_whole < 2; is_whole++) {
        _cleanup_stage_ struct stage stage;

        begin(&stage, "Cloud/d=1");
        lose(&stage);
        EXPECT_INT(apply_behind(&stage, "Cloud/d=1 Cloud/e=1",
                                is_whole ? "Cloud/d" : "Cloud/d Cloud/e", is_whole),
                   ERR_CONFLICT, "d is held");
        EXPECT_STR(stage_cloud(&stage), is_whole ? "d=1 e=1" : "d=1", "e");
    }
}

/* Two revisions, and State as it was after the first. */
static void go_back(struct stage *stage, const char *first, const char *second)
{
    _cleanup_(state_free_p) struct state *backup = NULL;

    begin(stage, first);
    backup = fake_store_state(&stage->store);
    EXPECT_INT(stage_apply(stage, second), 0, stage->error.message);
    fake_store_put(&stage->store, backup);
}

static void older_state_makes_nothing_twice(void)
{
    static const struct {
        const char *note, *first, *second, *now, *cloud, *planned;
        unsigned creates;
    } rows[] = {
        {"made since", "c=1", "Cloud/e=1 c=1", "Cloud/e=1 c=1", "e=1", "e!StateLost", 1},
        {"replaced since", "Cloud/d=1*red", "Cloud/d=1*blue", "Cloud/d=1*blue", "d=1*blue",
         "d!StateLost", 2},
        {"as it was", "Cloud/d=1", "Cloud/d=1 c=1", "Cloud/d=2 c=1", "d=2", "update d", 1},
        {"changed since", "Cloud/d=1", "Cloud/d=2", "Cloud/d=2", "d=2", "unchanged d", 1},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;

        go_back(&stage, rows[i].first, rows[i].second);
        apply_behind(&stage, rows[i].now, rows[i].now, true);
        EXPECT(strstr(stage.planned.data, rows[i].planned), stage.planned.data);
        EXPECT_STR(stage_cloud(&stage), rows[i].cloud, rows[i].note);
        EXPECT_INT(stage.cloud.creates, rows[i].creates, rows[i].note);
        stage_apply(&stage, rows[i].now);
        EXPECT_STR(stage_cloud(&stage), rows[i].cloud, rows[i].note);
        EXPECT_INT(stage.cloud.creates, rows[i].creates, rows[i].note);
    }
}

/* It was left to another Spec, say: its record is out of date, and is not acted upon. */
static void older_state_deletes_nothing_that_was_left(void)
{
    _cleanup_stage_ struct stage stage;

    go_back(&stage, "Cloud/d=1 c=1", "-prune c=1");
    EXPECT_INT(apply_behind(&stage, "c=1", "c", true), 0, stage.error.message);
    EXPECT_STR(stage_cloud(&stage), "d=1", "it is not this Spec's any more");
}

/* Objects with a mark are found by it, whatever State says. */
static void what_left_the_spec_is_pruned(void)
{
    static const char *const named[] = {"a b", "b"}; /* not all that there was */

    for (size_t i = 0; i < ARRAY_SIZE(named); i++) {
        _cleanup_stage_ struct stage stage;

        begin(&stage, "a=1 b=1");
        lose(&stage);
        EXPECT_INT(apply_behind(&stage, "a=1", named[i], i == 0), 0, stage.error.message);
        EXPECT(!fake_find(&stage.objects, "b"), "pruned");
        EXPECT(fake_find(&stage.objects, "a"), "wanted");
        EXPECT_STR(stage_state(&stage), "a", "State is whole again");
    }
}

/* The mark stays on what was left where it is: an inventory that is whole does not have it. */
static void what_was_left_stays(void)
{
    for (int destroys = 0; destroys < 2; destroys++) {
        _cleanup_stage_ struct stage stage;

        begin(&stage, "a=1 b=1");
        EXPECT_INT(stage_apply(&stage, "-prune a=1"), 0, stage.error.message);
        lose(&stage);
        EXPECT_INT(apply_behind(&stage, destroys ? NULL : "a=1", "a", true), 0,
                   stage.error.message);
        EXPECT(fake_find(&stage.objects, "b"), "it is not this Spec's any more");
    }
}

/* It was never an object of the Spec's: a status that does not name all may name it. */
static void what_is_only_read_is_not_held(void)
{
    _cleanup_stage_ struct stage stage;

    begin(&stage, "c=1");
    lose(&stage);
    fake_cloud_fault(&stage.cloud, "d", CLOUD_READS);
    stage.cloud.reading = "near";
    EXPECT_INT(apply_behind(&stage, "Cloud/d=1 c=1", "Cloud/d c", false), 0, stage.error.message);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1 c=1"), 0, stage.error.message);
}

static void a_recall_that_cannot_be_saved_is_made_again(void)
{
    _cleanup_stage_ struct stage stage;

    begin(&stage, "Cloud/d=1");
    lose(&stage);
    stage.store.saves = 0;
    stage.store.fail_at = 1;
    apply_behind(&stage, "Cloud/d=1", "Cloud/d", true);
    stage_calm(&stage);
    EXPECT_INT(apply_behind(&stage, "Cloud/d=1", "Cloud/d", true), ERR_CONFLICT, "held");
    EXPECT_INT(stage.cloud.creates, 1, "not made twice");
}

static void a_destroy_leaves_nothing_behind(void)
{
    _cleanup_value_ const struct value *denied =
        value_pack("{s:{s:i}}", "cloud:d", "kusionstack.io/not-created", 7);
    _cleanup_stage_ struct stage stage;

    begin(&stage, "a=1 b=1 Cloud/d=1");
    lose(&stage);
    EXPECT_INT(apply_behind(&stage, NULL, "a b Cloud/d", true), ERR_CONFLICT, "d is held");
    EXPECT(!fake_find(&stage.objects, "a") && !fake_find(&stage.objects, "b"), "deleted");
    EXPECT_STR(stage_cloud(&stage), "d=1", "nobody knows it");
    EXPECT_INT(stage_destroy(&stage), ERR_CONFLICT, "held on");
    stage.extensions = denied;
    EXPECT_INT(stage_destroy(&stage), 0, "a person says that it is not there");
    EXPECT_STR(stage_state(&stage), "none", "the end");
}

/* What is not found by an older State may have been replaced. */
static void a_destroy_does_not_forget_what_was_replaced(void)
{
    _cleanup_value_ const struct value *named =
        value_pack("{s:{s:s}}", "cloud:d", "kusionstack.io/import-id", "d#2");
    _cleanup_stage_ struct stage stage;

    go_back(&stage, "Cloud/d=1*red", "Cloud/d=1*blue");
    EXPECT_INT(apply_behind(&stage, NULL, "Cloud/d", true), ERR_CONFLICT, "held");
    EXPECT(strstr(stage.planned.data, "d!StateLost"), stage.planned.data);
    EXPECT_STR(stage_cloud(&stage), "d=1*blue", "nobody knows it");
    stage.extensions = named;
    fake_cloud_fault(&stage.cloud, "d", CLOUD_FINDABLE);
    EXPECT_INT(stage_destroy(&stage), 0, stage.error.message);
    EXPECT_STR(stage_cloud(&stage), "", "a person has named it");
}

/* Killed at any point: the same comes of it. */
static void killed_at_any_point(void)
{
    for (unsigned n = 1; n < 12; n++) {
        _cleanup_stage_ struct stage stage;

        begin(&stage, "Cloud/d=1 a=1 b=1");
        lose(&stage);
        stage.world.kill_at = n;
        apply_behind(&stage, "Cloud/d=1 a=1", "Cloud/d a b", true);
        stage_calm(&stage);
        if (!strchr(stage_state(&stage), '*')) /* State still says nothing: the status does */
            apply_behind(&stage, "Cloud/d=1 a=1", "Cloud/d a b", true);
        stage_apply(&stage, "Cloud/d=1 a=1");
        EXPECT_INT(stage.cloud.creates, 1, "not made twice");
        EXPECT(strstr(stage.planned.data, "d!StateLost"), stage.planned.data);
    }
}

static bool is_recalled(struct stage *stage)
{
    _cleanup_(state_free_p) struct state *state = fake_store_state(&stage->store);

    return state && state_head(state)->recalled_revision;
}

/* The apply that recalled State is killed before it takes over what the Spec names. */
static void a_destroy_after_a_kill_leaves_nothing_behind(void)
{
    unsigned interrupted = 0;

    for (unsigned n = 1; n < 12; n++) {
        _cleanup_stage_ struct stage stage;

        begin(&stage, "a=1 b=1");
        lose(&stage);
        stage.world.kill_at = n;
        apply_behind(&stage, "a=1 b=1", "a b", true);
        stage_calm(&stage);
        if (is_recalled(&stage)) {
            EXPECT_INT(stage_destroy(&stage), 0, stage.error.message);
            interrupted++;
        } else {
            EXPECT_INT(apply_behind(&stage, NULL, "a b", true), 0, stage.error.message);
        }
        EXPECT(!fake_find(&stage.objects, "a") && !fake_find(&stage.objects, "b"), "deleted");
    }
    EXPECT(interrupted > 0, "State was recalled, and nothing taken over yet");
}

SUITE(operation_recall, TEST(what_state_alone_knew_is_held), TEST(a_person_settles_it),
      TEST(state_that_is_restored_goes_on), TEST(what_is_new_is_made),
      TEST(older_state_makes_nothing_twice), TEST(older_state_deletes_nothing_that_was_left),
      TEST(what_left_the_spec_is_pruned), TEST(what_was_left_stays),
      TEST(what_is_only_read_is_not_held), TEST(a_recall_that_cannot_be_saved_is_made_again),
      TEST(a_destroy_leaves_nothing_behind), TEST(a_destroy_does_not_forget_what_was_replaced),
      TEST(killed_at_any_point), TEST(a_destroy_after_a_kill_leaves_nothing_behind))
