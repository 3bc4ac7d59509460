#include "engine/operation/operation.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

static void applies_in_order(void)
{
    static const struct {
        const char *note, *spec, *log;
    } rows[] = {
        {"as written, where nothing is said", "a=1 b=1",
         "save a? b?; create a; create b; save a b"},
        {"dependencies first", "a=1:b b=1:c c=1",
         "save a? b? c?; create c; create b; create a; save a b c"},
        {"a diamond", "d=1:b,c c=1:a b=1:a a=1",
         "save d? c? b? a?; create a; create c; create b; create d; save d c b a"},
        {"what is referred to first", "b@a a=1", "save b? a?; create a; create b; save b a"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        EXPECT_INT(stage_apply(&stage, rows[i].spec), 0, rows[i].note);
        EXPECT_STR(stage_log(&stage), rows[i].log, rows[i].note);
    }
}

static void gives_references_live_values(void)
{
    static const struct {
        const char *note, *before, *spec, *objects;
    } rows[] = {
        {"of what the server fills in", "", "b@a a=1", "a=1 b@addr-a"},
        {"of what is as it was", "a=1", "a=1 b@a", "a=1 b@addr-a"},
        {"of what changes", "a=1 b@a.data.x", "a=2 b@a.data.x", "a=2 b@2"},
        {"of what has a reference itself", "", "c@b.data.ref b@a a=1", "a=1 b@addr-a c@addr-a"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        if (*rows[i].before)
            EXPECT_INT(stage_apply(&stage, rows[i].before), 0, rows[i].note);
        EXPECT_INT(stage_apply(&stage, rows[i].spec), 0, rows[i].note);
        EXPECT_STR(stage_objects(&stage), rows[i].objects, rows[i].note);
        EXPECT_INT(stage_apply(&stage, rows[i].spec), 0, rows[i].note);
        EXPECT(!strstr(stage.planned.data, "update"), stage.planned.data);
    }
}

static const struct record *record_of(const struct state *state, const char *id)
{
    const struct record *record = state ? state_find(state, id, NULL) : NULL;

    CU_ASSERT_PTR_NOT_NULL_FATAL(record);
    return record;
}

static void records_what_was_applied(void)
{
    _cleanup_stage_ struct stage stage;
    _cleanup_(state_free_p) struct state *state = NULL;
    const struct state_head *head;
    const struct record *b;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "a=1 b@a:a"), 0, "applied");
    state = fake_store_state(&stage.store);
    CU_ASSERT_PTR_NOT_NULL_FATAL(state);
    head = state_head(state);
    b = record_of(state, "v1:ConfigMap:team:b");
    EXPECT_INT(b->status, RECORD_APPLIED, "status");
    EXPECT_STR(b->uid, fake_find(&stage.objects, "b")->uid, "uid");
    EXPECT_STR(value_string(value_path(b->attributes, "data", "ref", NULL)), "addr-a",
               "as sent, the reference resolved");
    EXPECT_INT(value_count(b->dependencies), 1, "by dependsOn and by reference: once");
    EXPECT_STR(value_string(value_at(b->dependencies, 0)), "v1:ConfigMap:team:a", "dependency");
    EXPECT(b->fields_digest, "digest");
    EXPECT(!b->result && !b->memory, "the world is the authority");
    EXPECT_INT(b->revision, 1, "the record's revision");
    EXPECT_INT(b->action, PLAN_CREATE, "what that did");
    EXPECT_INT(head->revision, 1, "revision");
    EXPECT_INT(head->applied_revision, 1, "applied revision");
    EXPECT_INT(head->generation, 4, "generation");
    EXPECT_INT(head->epoch, 1, "epoch");
    EXPECT_STR(head->spec_uid, "spec-1", "Spec's uid");
}

static void changes_nothing_the_second_time(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "a=1 b@a c=2:b"), 0, "applied");
    EXPECT_INT(stage_apply(&stage, "a=1 b@a c=2:b"), 0, "again");
    EXPECT_STR(stage.planned.data, "unchanged a; unchanged b; unchanged c", "plan");
    EXPECT_STR(stage_deeds(&stage), "", "nothing but State");
}

static void saves_state_while_results_come(void)
{
    _cleanup_stage_ struct stage stage;
    const char *begun, *saved;

    stage_init(&stage);
    stage.world.step_takes = 600;
    EXPECT_INT(stage_apply(&stage, "a=1 b=1 c=1 d=1"), 0, "applied");
    begun = strstr(stage_log(&stage), "create a");
    saved = begun ? strstr(begun, "save ") : NULL;
    EXPECT(saved && strstr(saved, "create d"), stage_log(&stage));
    EXPECT_STR(stage_state(&stage), "a b c d", "State");
}

/* Whose uid counts: the next prune goes by it. */
static void records_the_object_that_is_there_now(void)
{
    _cleanup_stage_ struct stage stage;
    _cleanup_(state_free_p) struct state *state = NULL;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "a=1"), 0, "applied");
    fake_put(&stage.objects, "a", "1", OWNER_SELF);
    EXPECT_INT(stage_apply(&stage, "a=1"), 0, "applied again");
    EXPECT_STR(stage.planned.data, "unchanged a", "it is as it should be");
    state = fake_store_state(&stage.store);
    EXPECT_STR(record_of(state, "v1:ConfigMap:team:a")->uid, fake_find(&stage.objects, "a")->uid,
               "uid");
}

static void keeps_what_goes_on_under_another_id(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "a=1 b=1:a"), 0, "applied");
    EXPECT_INT(stage_apply(&stage, "%a=1 b=1:a"), 0, "in another API version");
    EXPECT_STR(stage_objects(&stage), "a=1 b=1", "there all the time");
    EXPECT_INT(stage.objects.creates, 2, "none made again");
    EXPECT_STR(stage_state(&stage), "b a", "one record");
    EXPECT_INT(stage_destroy(&stage), 0, stage.error.message);
}

/* ---- Objects that are there ---- */

static void takes_what_may_be_taken(void)
{
    static const struct {
        const char *note;
        unsigned faults;
        const char *results, *objects, *state;
    } rows[] = {
        {"ours, from a run that was killed", FAKE_OURS_APPEARS, "a succeeded", "a=1", "a"},
        {"nobody's", FAKE_NOBODYS_APPEARS, "a succeeded", "a=1", "a"},
        {"another tool's", FAKE_OTHERS_APPEARS, "a failed", "a=1!", ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;
        bool taken = strstr(rows[i].results, "succeeded");

        stage_init(&stage);
        fake_fault(&stage.objects, "a", rows[i].faults);
        EXPECT_INT(stage_apply(&stage, "a=1"), taken ? 0 : ERR_CONFLICT, rows[i].note);
        EXPECT_STR(stage.planned.data, "create a", rows[i].note);
        EXPECT_STR(stage.results.data, rows[i].results, rows[i].note);
        EXPECT_STR(stage_objects(&stage), rows[i].objects, rows[i].note);
        EXPECT_STR(stage_state(&stage), rows[i].state, rows[i].note);
    }
}

/* The intent that is left of it must not make another tool's object ours. */
static void an_object_refused_is_not_pruned(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    fake_fault(&stage.objects, "a", FAKE_OTHERS_APPEARS);
    EXPECT_INT(stage_apply(&stage, "a=1"), ERR_CONFLICT, "refused");
    EXPECT_INT(stage_apply(&stage, "b=1"), 0, "left out");
    EXPECT_STR(stage_objects(&stage), "a=1! b=1", "left alone");
    EXPECT_STR(stage_state(&stage), "b", "forgotten");
}

static void adopts_with_an_intent_first(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    fake_put(&stage.objects, "a", "7", OWNER_NONE);
    EXPECT_INT(stage_apply(&stage, "a=1"), 0, "applied");
    EXPECT_STR(stage_log(&stage), "save a?; patch a; save a", "log");
    EXPECT_STR(stage_objects(&stage), "a=1", "ours");
}

/* Of two Specs that plan to adopt an object at the same time one does. */
static void adopts_what_is_as_it_was_seen(void)
{
    static const struct {
        const char *note;
        unsigned faults;
        int r;
        const char *objects, *state;
    } rows[] = {
        {"changed meanwhile, and still nobody's", FAKE_CHANGES, 0, "a=1", "a"},
        {"changed again and again: it is tried later", FAKE_CHANGES_OFTEN, 0, "a=1", "a"},
        {"taken by another Spec meanwhile", FAKE_TAKEN, ERR_CONFLICT, "a=7^", "a?"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        fake_put(&stage.objects, "a", "7", OWNER_NONE);
        fake_fault(&stage.objects, "a", rows[i].faults);
        EXPECT_INT(stage_apply(&stage, "a=1"), rows[i].r, rows[i].note);
        EXPECT_STR(stage.planned.data, "adopt a", rows[i].note);
        EXPECT_STR(stage_objects(&stage), rows[i].objects, rows[i].note);
        EXPECT_STR(stage_state(&stage), rows[i].state, rows[i].note);
    }
}

/* An intent is no claim: whose the object is counts when it is applied. */
static void what_was_only_meant_to_be_made_is_taken_as_it_was_seen_too(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    stage.world.kill_at = 1;
    EXPECT(stage_apply(&stage, "a=1") < 0, "killed");
    stage_calm(&stage);
    EXPECT_STR(stage_state(&stage), "a?", "an intent is left");
    fake_put(&stage.objects, "a", "7", OWNER_NONE);
    fake_fault(&stage.objects, "a", FAKE_TAKEN);
    EXPECT_INT(stage_apply(&stage, "a=1"), ERR_CONFLICT, "taken by another Spec meanwhile");
    EXPECT_STR(stage.planned.data, "update a", "as planned");
    EXPECT_STR(stage_objects(&stage), "a=7^", "left alone");
}

/* ---- Waiting ---- */

static void waits_until_it_is_ready(void)
{
    static const struct {
        const char *note, *spec;
        unsigned faults;
        bool hints;
        int64_t at_least, at_most; /* ms */
    } rows[] = {
        {"by looking", "a=1 b=1:a", FAKE_SLOW, false, 1, 10000},
        {"woken by a subscription", "a=1 b=1:a", FAKE_SLOW, true, 0, 500},
        {"not at all", "a=1 b=1:a -wait", FAKE_SLOW, false, 0, 0},
        {"what depends on it cannot be made before", "a=1 b=1:a -wait", FAKE_SLOW | FAKE_HOLDS,
         false, 1, 10000},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;
        int64_t begun;

        stage_init(&stage);
        begun = stage.world.now;
        stage.objects.hints = rows[i].hints;
        fake_fault(&stage.objects, "a", rows[i].faults);
        EXPECT_INT(stage_apply(&stage, rows[i].spec), 0, rows[i].note);
        EXPECT(stage.world.now - begun >= rows[i].at_least, rows[i].note);
        EXPECT(stage.world.now - begun <= rows[i].at_most, rows[i].note);
        EXPECT_STR(stage_deeds(&stage), "create a; create b", rows[i].note);
        EXPECT_INT(stage_destroy(&stage), 0, rows[i].note);
        EXPECT_STR(stage_objects(&stage), "", rows[i].note);
    }
}

/* Each dependency comes round in time: the whole takes longer than `timeout`. */
static void time_counts_from_the_last_progress(void)
{
    _cleanup_stage_ struct stage stage;
    int64_t begun;

    stage_init(&stage);
    begun = stage.world.now;
    stage.world.step_takes = STAGE_TIMEOUT / 2;
    EXPECT_INT(stage_apply(&stage, "a=1 b=1:a c=1:b d=1:c e=1:d"), 0, stage.error.message);
    EXPECT(stage.world.now - begun > 2 * STAGE_TIMEOUT, "it took longer than that");
}

static void what_may_wait_for_its_consumer_lets_it_go(void)
{
    static const struct {
        const char *note, *spec;
        int r;
        const char *results;
    } rows[] = {
        {"the consumer depends on it", "a=1 b=1:a", 0, "a succeeded; b succeeded"},
        {"the consumer refers to it", "a=1 b@a", 0, "a succeeded; b succeeded"},
        {"the consumer needs a field that it has only then", "a=1 b=1 c@a.status.volume", 0,
         "a succeeded; b succeeded; c succeeded"},
        {"there is no consumer", "a=1", ERR_TIMEOUT, "a timed out"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        fake_fault(&stage.objects, "a", FAKE_CLAIM);
        EXPECT_INT(stage_apply(&stage, rows[i].spec), rows[i].r, rows[i].note);
        EXPECT_STR(stage.results.data, rows[i].results, rows[i].note);
    }
}

static void verifies_what_is_unchanged_only_when_asked(void)
{
    static const struct {
        const char *note;
        bool verify;
        unsigned faults;
        const char *results;
    } rows[] = {
        {"not asked", false, FAKE_SICK, "a succeeded; b succeeded"},
        {"well", true, 0, "a succeeded; b succeeded"},
        {"sick", true, FAKE_SICK, "a failed; b skipped"},
        {"gone", true, FAKE_VANISHES, "a failed; b skipped"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        EXPECT_INT(stage_apply(&stage, "a=1 b=1:a"), 0, rows[i].note);
        fake_fault(&stage.objects, "a", rows[i].faults);
        stage.verify = rows[i].verify;
        stage_apply(&stage, "a=1 b=1:a");
        EXPECT_STR(stage.results.data, rows[i].results, rows[i].note);
    }
}

/* A runtime's answer has to be whole. Where it is not, State can be saved all the same. */
static void what_is_not_known_of_what_was_made_is_null(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    fake_cloud_fault(&stage.cloud, "d", CLOUD_UNKNOWN);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1"), 0, stage.error.message);
    EXPECT_STR(stage_state(&stage), "d", "recorded");
    fake_cloud_fault(&stage.cloud, "d", 0);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=2"), 0, stage.error.message);
    EXPECT_STR(stage_cloud(&stage), "d=2", "it is found");
    EXPECT_INT(stage.cloud.creates, 1, "not made twice");
}

SUITE(operation_apply, TEST(applies_in_order), TEST(gives_references_live_values),
      TEST(records_what_was_applied), TEST(changes_nothing_the_second_time),
      TEST(saves_state_while_results_come), TEST(records_the_object_that_is_there_now),
      TEST(keeps_what_goes_on_under_another_id), TEST(takes_what_may_be_taken),
      TEST(an_object_refused_is_not_pruned), TEST(adopts_with_an_intent_first),
      TEST(adopts_what_is_as_it_was_seen),
      TEST(what_was_only_meant_to_be_made_is_taken_as_it_was_seen_too),
      TEST(waits_until_it_is_ready), TEST(time_counts_from_the_last_progress),
      TEST(what_may_wait_for_its_consumer_lets_it_go),
      TEST(verifies_what_is_unchanged_only_when_asked),
      TEST(what_is_not_known_of_what_was_made_is_null))
