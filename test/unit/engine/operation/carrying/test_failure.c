#include "engine/operation/operation.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

/* An apply of `spec` over what an apply of `before` left, with a fault of "a". */
struct failure {
    const char *note, *before, *spec;
    unsigned faults;
    int code;
    const char *results, *objects, *state;
};

static void goes_wrong(const struct failure *row)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    if (*row->before)
        EXPECT_INT(stage_apply(&stage, row->before), 0, row->note);
    fake_fault(&stage.objects, "a", row->faults);
    EXPECT_INT(stage_apply(&stage, row->spec), row->code, row->note);
    EXPECT_STR(stage.results.data, row->results, row->note);
    EXPECT_STR(stage_objects(&stage), row->objects, row->note);
    EXPECT_STR(stage_state(&stage), row->state, row->note);
}

static void a_failure_is_its_dependents_alone(void)
{
    static const struct failure rows[] = {
        {"independent branches go on", "", "a=1 b=1:a c=1 d=1:c e=1:b,d", FAKE_REFUSED,
         ERR_FORBIDDEN, "a failed; b skipped; c succeeded; d succeeded; e skipped", "c=1 d=1",
         "b? c d e?"},
        {"what it depends on stands", "", "b=1 a=1:b c=1:a", FAKE_REFUSED, ERR_FORBIDDEN,
         "b succeeded; a failed; c skipped", "b=1", "b c?"},
        {"what refers to it", "", "a=1 b@a", FAKE_REFUSED, ERR_FORBIDDEN, "a failed; b skipped", "",
         "b?"},
        {"an update", "a=1 b=1:a", "a=2 b=2:a", FAKE_REFUSED, ERR_FORBIDDEN, "a failed; b skipped",
         "a=1 b=1", "a b"},
        {"found by the plan", "a=1 b=1:a", "a=2 b=2:a c=3", FAKE_REFUSED_DRY, ERR_FORBIDDEN,
         "a failed; b skipped; c succeeded", "a=1 b=1 c=3", "a b c"},
        {"not seen", "a=1", "a=2 b=2:a c=3", FAKE_UNSEEN, ERR_FORBIDDEN,
         "a failed; b skipped; c succeeded", "a=1 c=3", "a b? c"},
        {"it is there, and sick", "", "a=1 b=1:a", FAKE_SICK, ERR_INVALID, "a failed; b skipped",
         "a=1", "a b?"},
        {"its answer is lost: it is looked at again", "", "a=1 b=1:a c=1", FAKE_LOST, 0,
         "a succeeded; b succeeded; c succeeded", "a=1 b=1 c=1", "a b c"},
        {"no answer at first: it is tried again", "", "a=1 b=1:a c=1", FAKE_BUSY_ONCE, 0,
         "a succeeded; b succeeded; c succeeded", "a=1 b=1 c=1", "b c a"},
        {"no answer until the time is up", "", "a=1 b=1:a c=1", FAKE_BUSY, ERR_UNAVAILABLE,
         "a timed out; b skipped; c succeeded", "c=1", "b? c"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        goes_wrong(&rows[i]);
}

static void prunes_only_when_all_is_well(void)
{
    static const struct failure rows[] = {
        {"all is well", "a=1 x=1 y=1:x", "a=2", 0, 0, "a succeeded; x succeeded; y succeeded",
         "a=2", "a"},
        {"an apply fails", "a=1 x=1", "a=2", FAKE_REFUSED, ERR_FORBIDDEN, "a failed; x skipped",
         "a=1 x=1", "a x"},
        {"a dry-run fails", "a=1 x=1", "a=2", FAKE_REFUSED_DRY, ERR_FORBIDDEN,
         "a failed; x skipped", "a=1 x=1", "a x"},
        {"one is sick", "a=1 x=1", "a=2", FAKE_SICK, ERR_INVALID, "a failed; x skipped", "a=2 x=1",
         "a x"},
        {"one is never ready", "a=1 x=1", "a=2", FAKE_UNHEALTHY, ERR_TIMEOUT,
         "a timed out; x skipped", "a=2 x=1", "a x"},
        {"what leaves cannot be seen", "a=1 x=1", "x=1", FAKE_UNSEEN, ERR_FORBIDDEN,
         "x succeeded; a failed", "a=1 x=1", "a x"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        goes_wrong(&rows[i]);
}

/* Each edit names another object that is never begun: State keeps the last one's intents alone. */
static void edits_that_fail_do_not_add_up(void)
{
    static const char *const edits[][2] = {{"a=1 b=1:a", "b?"},
                                           {"a=1 c=1:a d=1:c", "c? d?"},
                                           {"a=1 e=1:a", "e?"},
                                           {"a=1 b=1:a", "b?"}};
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    stage_begin_process(&stage);
    fake_fault(&stage.objects, "a", FAKE_REFUSED);
    for (size_t i = 0; i < ARRAY_SIZE(edits); i++) {
        EXPECT_INT(stage_apply(&stage, edits[i][0]), ERR_FORBIDDEN, edits[i][0]);
        EXPECT_STR(stage_state(&stage), edits[i][1], edits[i][0]);
    }
    stage_end_process(&stage);
}

static void tells_how_it_goes(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    fake_fault(&stage.objects, "a", FAKE_REFUSED);
    fake_fault(&stage.objects, "c", FAKE_SLOW);
    EXPECT_INT(stage_apply(&stage, "a=1 b=1:a c=1"), ERR_FORBIDDEN, "refused");
    EXPECT_STR(stage.results.data, "a failed; b skipped; c succeeded", "results");
    EXPECT(stage.changes >= 2, "planned, and ended");
}

static void names_the_cause(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "a=1 x=1"), 0, "applied");
    fake_fault(&stage.objects, "a", FAKE_REFUSED);
    EXPECT_INT(stage_apply(&stage, "a=2 b=1:a c=1:b"), ERR_FORBIDDEN, "refused");
    EXPECT_STR(stage.causes.data,
               "a: the fake says so; b: skipped: it depends on v1:ConfigMap:team:a; "
               "c: skipped: it depends on v1:ConfigMap:team:a; "
               "x: skipped: nothing is deleted while something else fails",
               "causes");
    EXPECT_STR(stage.error.reason, "Forbidden", "reason");
    EXPECT_STR(stage.error.message,
               "apply: 1 of 4 failed, 3 skipped: v1:ConfigMap:team:a: the fake says so", "message");
}

static void what_does_not_heal_stands_for_the_whole(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    fake_fault(&stage.objects, "a", FAKE_BUSY);
    fake_fault(&stage.objects, "b", FAKE_REFUSED);
    EXPECT_INT(stage_apply(&stage, "a=1 b=1"), ERR_FORBIDDEN, "b's");
}

static void tells_what_it_waited_for(void)
{
    _cleanup_stage_ struct stage stage;
    int64_t begun;

    stage_init(&stage);
    begun = stage.world.now;
    fake_fault(&stage.objects, "a", FAKE_UNHEALTHY);
    EXPECT_INT(stage_apply(&stage, "a=1 b=1:a c=1"), ERR_TIMEOUT, "timed out");
    EXPECT_INT(stage.world.now - begun, STAGE_TIMEOUT, "after all of its time, no more");
    EXPECT_STR(stage.results.data, "a timed out; b skipped; c succeeded", "results");
    EXPECT_STR(stage.causes.data,
               "a: not healthy within 60 s (timeout): phase pending; "
               "b: skipped: it waits for v1:ConfigMap:team:a",
               "causes");
    EXPECT_STR(stage.error.message,
               "apply: 1 of 3 failed, 1 skipped: v1:ConfigMap:team:a: not healthy within 60 s "
               "(timeout): phase pending",
               "message");
    EXPECT_STR(stage_state(&stage), "a b? c", "State");
    fake_fault(&stage.objects, "a", 0);
    EXPECT_INT(stage_apply(&stage, "a=1 b=1:a c=1"), 0, "goes on the next time");
    EXPECT_STR(stage_objects(&stage), "a=1 b=1 c=1", "objects");
    EXPECT_INT(stage.objects.creates, 3, "none twice");
}

static void heals_the_next_time(void)
{
    static const unsigned faults[] = {FAKE_REFUSED, FAKE_REFUSED_DRY, FAKE_UNHEALTHY,
                                      FAKE_SICK,    FAKE_LOST,        FAKE_UNSEEN,
                                      FAKE_SLOW,    FAKE_VANISHES,    FAKE_BUSY};

    for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        fake_fault(&stage.objects, "a", faults[i]);
        stage_apply(&stage, "x=1 a=1:x b@a c=1");
        stage_apply(&stage, "x=1 a=2:x b@a d=1");
        fake_fault(&stage.objects, "a", 0);
        EXPECT_INT(stage_apply(&stage, "x=1 a=2:x b@a d=1"), 0, stage.error.message);
        EXPECT_STR(stage_objects(&stage), "a=2 b@addr-a d=1 x=1", "objects");
        stage_apply(&stage, "x=1 a=2:x b@a d=1");
        EXPECT_STR(stage.planned.data, "unchanged x; unchanged a; unchanged b; unchanged d",
                   "State says so");
    }
}

/* ---- Interrupted ---- */

static void stops_when_cancelled(void)
{
    static const struct {
        const char *note;
        unsigned after;
        const char *results, *deeds;
    } rows[] = {
        {"before the first", 1, "a cancelled; b cancelled; x cancelled", ""},
        {"while the first is under way", 2, "a cancelled; b cancelled; x cancelled", "patch a"},
        {"while the second is", 3, "a succeeded; b cancelled; x cancelled", "patch a; create b"},
        {"while the last is", 4, "a succeeded; b succeeded; x cancelled",
         "patch a; create b; delete x"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        EXPECT_INT(stage_apply(&stage, "a=1 x=1"), 0, rows[i].note);
        stage.world.cancel_at = rows[i].after;
        EXPECT_INT(stage_apply(&stage, "a=2 b=2"), ERR_CANCELLED, rows[i].note);
        EXPECT_STR(stage.results.data, rows[i].results, rows[i].note);
        EXPECT_STR(stage_deeds(&stage), rows[i].deeds, rows[i].note);
        EXPECT(strstr(stage.causes.data, "Superseded"), stage.causes.data);
        EXPECT_STR(stage_state(&stage), i < 2 ? "a x b?" : "a x b", "what was under way lands");
    }
}

/* ---- The store ---- */

static void touches_nothing_when_intents_cannot_be_saved(void)
{
    static const struct {
        const char *note;
        unsigned conflict_at, fail_at;
        int code;
        const char *objects;
    } rows[] = {{"another saved", 1, 0, ERR_CONFLICT, ""},
                {"no answer at first", 0, 1, 0, "a=1 b=1"}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        stage.store.conflict_at = rows[i].conflict_at;
        stage.store.fail_at = rows[i].fail_at;
        EXPECT_INT(stage_apply(&stage, "a=1 b=1"), rows[i].code, rows[i].note);
        EXPECT_STR(stage_objects(&stage), rows[i].objects, rows[i].note);
        stage_calm(&stage);
        EXPECT_INT(stage_apply(&stage, "a=1 b=1"), 0, "the next time");
        EXPECT_STR(stage_objects(&stage), "a=1 b=1", "the next time");
    }
}

static void deletes_nothing_when_state_cannot_be_saved(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "a=1 x=1"), 0, "applied");
    stage.store.conflict_at = 1;
    EXPECT_INT(stage_apply(&stage, "a=1"), ERR_CONFLICT, "another saved");
    EXPECT_STR(stage_objects(&stage), "a=1 x=1", "nothing is deleted");
}

/* Whichever save fails, and however: the next run finds all, and makes nothing twice. */
static void heals_after_any_save_that_fails(void)
{
    for (unsigned n = 1; n <= 12; n++)
        for (unsigned kind = 0; kind < 3; kind++) {
            _cleanup_stage_ struct stage stage;

            stage_init(&stage);
            stage.world.step_takes = 1200;
            EXPECT_INT(stage_apply(&stage, "x=1 y=1:x"), 0, "applied");
            stage.store.conflict_at = kind == 0 ? n : 0;
            stage.store.fail_at = kind == 1 ? n : 0;
            stage.store.lose_at = kind == 2 ? n : 0;
            stage_apply(&stage, "a=1 b@a c=1:a");
            stage_calm(&stage);
            EXPECT_INT(stage_apply(&stage, "a=1 b@a c=1:a"), 0, stage.error.message);
            EXPECT_STR(stage_objects(&stage), "a=1 b@addr-a c=1", "objects");
            EXPECT_STR(stage_state(&stage), "a b c", "State");
            EXPECT_INT(stage.objects.creates, 5, "none twice");
        }
}

/* It failed, and what it is planned by is not there when it is planned anew: it may be soon. */
static void what_is_deferred_when_planned_anew_is_planned_again(void)
{
    static const struct {
        const char *note, *before, *objects;
    } rows[] = {{"a create", NULL, "d=2"}, {"an update", "Cloud/d=1", "d=2"}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        if (rows[i].before)
            EXPECT_INT(stage_apply(&stage, rows[i].before), 0, rows[i].note);
        fake_cloud_fault(&stage.cloud, "d", CLOUD_BUSY_ONCE | CLOUD_DEFERS_ANEW);
        EXPECT_INT(stage_apply(&stage, "Cloud/d=2"), 0, stage.error.message);
        EXPECT_STR(stage.results.data, "d succeeded", rows[i].note);
        EXPECT_STR(stage_cloud(&stage), rows[i].objects, rows[i].note);
    }
}

SUITE(operation_failure, TEST(what_is_deferred_when_planned_anew_is_planned_again),
      TEST(a_failure_is_its_dependents_alone), TEST(prunes_only_when_all_is_well),
      TEST(edits_that_fail_do_not_add_up), TEST(tells_how_it_goes), TEST(names_the_cause),
      TEST(what_does_not_heal_stands_for_the_whole), TEST(tells_what_it_waited_for),
      TEST(heals_the_next_time), TEST(stops_when_cancelled),
      TEST(touches_nothing_when_intents_cannot_be_saved),
      TEST(deletes_nothing_when_state_cannot_be_saved), TEST(heals_after_any_save_that_fails))
