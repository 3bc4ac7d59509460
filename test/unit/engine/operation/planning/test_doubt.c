/* Creates whose outcome is not known, where the world cannot be asked: nothing is ever made twice.
 */
#include "engine/operation/operation.h"
#include "test/unit/engine/operation/doubt.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

#define A_DAY (24 * 3600 * (int64_t)1000)

/* A create is begun in State, durably, before it is sent. */
static void marks_what_it_creates(void)
{
    _cleanup_stage_ struct stage stage;
    const char *marked, *made, *recorded;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1"), 0, "applied");
    marked = strstr(stage_log(&stage), "save d*");
    made = marked ? strstr(marked, "create d") : NULL;
    recorded = made ? strstr(made, "save d") : NULL;
    EXPECT(marked && made && recorded, stage_log(&stage));
    EXPECT_STR(stage_state(&stage), "d", "in the end");
}

static void makes_nothing_that_it_could_not_mark(void)
{
    static const struct {
        const char *note;
        unsigned conflict_at, fail_at, lose_at;
    } rows[] = {{"another saved", 1, 0, 0}, {"no answer", 0, 1, 0}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        stage.store.conflict_at = rows[i].conflict_at;
        stage.store.fail_at = rows[i].fail_at;
        stage_apply(&stage, "Cloud/d=1");
        EXPECT(stage.store.fail_at || stage.cloud.creates == 0, rows[i].note);
        EXPECT(stage.cloud.n_things <= 1, rows[i].note);
        stage_calm(&stage);
        EXPECT_INT(stage_apply(&stage, "Cloud/d=1"), 0, stage.error.message);
        EXPECT_STR(stage_cloud(&stage), "d=1", "the next time");
    }
}

/* How a create ends up in doubt. */
static void lose_answer(struct stage *stage)
{
    fake_cloud_fault(&stage->cloud, "d", CLOUD_LOST);
    EXPECT(stage_apply(stage, "Cloud/d=1 a@d c=1") < 0, "in doubt");
}

static void be_killed_after(struct stage *stage)
{
    stage->world.kill_at = 0;
    for (unsigned n = 1; n < 10 && !stage->cloud.n_things; n++) {
        stage->world.kill_at = n;
        stage_apply(stage, "Cloud/d=1 a@d c=1");
    }
    stage_calm(stage);
}

static void not_be_made(struct stage *stage)
{
    fake_cloud_fault(&stage->cloud, "d", CLOUD_UNMADE);
    EXPECT(stage_apply(stage, "Cloud/d=1 a@d c=1") < 0, "in doubt");
}

static const struct way {
    const char *note;
    void (*go)(struct stage *stage);
    size_t things;
} ways[] = {{"its answer is lost", lose_answer, 1}, {"it never happened", not_be_made, 0}};

/* Not again while it may be under way, not again later; the rest goes on; and it says what to do.
 */
static void creates_nothing_twice(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        ways[i].go(&stage);
        fake_cloud_fault(&stage.cloud, "d", 0);
        EXPECT(doubt_is_left(&stage), ways[i].note);
        EXPECT_INT(stage.cloud.creates, ways[i].things, ways[i].note);
        EXPECT(fake_find(&stage.objects, "c"), "the rest goes on");
        EXPECT(stage_apply(&stage, "Cloud/d=1 a@d c=2") < 0, "still under way, perhaps");
        EXPECT(strstr(stage.planned.data, "deferred d"), stage.planned.data);
        EXPECT(strstr(stage.causes.data, "it is left alone until "), stage.causes.data);
        EXPECT(strstr(stage.results.data, "a skipped; c succeeded"), stage.results.data);
        fake_world_pass(&stage.world, A_DAY);
        EXPECT(stage_apply(&stage, "Cloud/d=1 a@d c=3") < 0, "nobody knows");
        EXPECT(strstr(stage.planned.data, "d!OutcomeUnknown"), stage.planned.data);
        EXPECT(strstr(stage.causes.data, "not known"), "it says what to do");
        EXPECT(strstr(stage.results.data, "d failed; a skipped; c succeeded"), stage.results.data);
        EXPECT_INT(stage.cloud.n_things, ways[i].things, "none twice");
        doubt_clear(&stage);
        EXPECT_INT(stage_apply(&stage, "Cloud/d=1 a@d c=3"), 0, "cleared up");
        EXPECT_STR(stage_cloud(&stage), "d=1", "one");
    }
}

static void a_killed_process_leaves_a_mark(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    be_killed_after(&stage);
    EXPECT_INT(stage.cloud.n_things, 1, "it was made");
    EXPECT(doubt_is_left(&stage), stage_state(&stage));
    stage_apply(&stage, "Cloud/d=1 a@d c=1");
    fake_world_pass(&stage.world, A_DAY);
    EXPECT(stage_apply(&stage, "Cloud/d=1 a@d c=1") < 0, "nobody knows");
    EXPECT_INT(stage.cloud.n_things, 1, "none twice");
    EXPECT(doubt_is_left(&stage), "the mark stays");
}

/* What is in doubt is not forgotten by what leaves, nor by a destroy. */
static void does_not_forget_it(void)
{
    for (int destroys = 0; destroys < 2; destroys++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        lose_answer(&stage);
        fake_cloud_fault(&stage.cloud, "d", 0);
        EXPECT((destroys ? stage_destroy(&stage) : stage_apply(&stage, "c=1")) < 0, "in doubt");
        EXPECT(doubt_is_left(&stage), stage_state(&stage));
        fake_world_pass(&stage.world, A_DAY);
        EXPECT((destroys ? stage_destroy(&stage) : stage_apply(&stage, "c=1")) < 0, "held");
        EXPECT(doubt_is_left(&stage), stage_state(&stage));
        doubt_clear(&stage);
        EXPECT_INT(destroys ? stage_destroy(&stage) : stage_apply(&stage, "c=1"), 0,
                   stage.error.message);
    }
}

/* Where it can be found after all, it is, and is one of ours. */
static void finds_what_can_be_found(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        ways[i].go(&stage);
        fake_cloud_fault(&stage.cloud, "d", CLOUD_FINDABLE);
        fake_world_pass(&stage.world, A_DAY);
        EXPECT_INT(stage_apply(&stage, "Cloud/d=1 a@d c=1"), 0, stage.error.message);
        EXPECT_STR(stage_cloud(&stage), "d=1", "one");
        EXPECT(!doubt_is_left(&stage), stage_state(&stage));
    }
}

/* What is there is named by the resource, and taken over: nothing is made, and nothing replaced. */
static void what_is_named_is_taken_over(void)
{
    static const struct {
        const char *note, *spec, *planned, *cloud;
        int code;
    } rows[] = {
        {"as it was to be", "Cloud/d=1 a@d c=1", "adopt d", "d=1", 0},
        {"changed since", "Cloud/d=2 a@d c=1", "adopt d", "d=2", 0},
        {"what cannot be changed", "Cloud/d=1*k a@d c=1", "d!ImportFailed", "d=1", ERR_INVALID},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        lose_answer(&stage);
        fake_cloud_fault(&stage.cloud, "d", CLOUD_IMPORTS);
        EXPECT(stage_apply(&stage, rows[i].spec) < 0, "still under way, perhaps");
        fake_world_pass(&stage.world, A_DAY);
        EXPECT_INT(stage_apply(&stage, rows[i].spec), rows[i].code, rows[i].note);
        EXPECT(strstr(stage.planned.data, rows[i].planned), stage.planned.data);
        EXPECT_STR(stage_cloud(&stage), rows[i].cloud, rows[i].note);
        EXPECT_INT(stage.cloud.creates, 1, rows[i].note);
        EXPECT(doubt_is_left(&stage) == (rows[i].code < 0), stage_state(&stage));
        if (rows[i].code < 0)
            doubt_clear(&stage);
        EXPECT_INT(stage_destroy(&stage), 0, stage.error.message);
        EXPECT_STR(stage_cloud(&stage), "", "nothing is forgotten");
    }
}

/* Nobody has to wait until it cannot take effect any more. */
static void what_is_named_is_taken_over_at_once(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    lose_answer(&stage);
    fake_cloud_fault(&stage.cloud, "d", CLOUD_IMPORTS);
    EXPECT(stage_apply(&stage, "Cloud/d=1 a@d c=1") < 0, "nobody has named it");
    EXPECT(strstr(stage.planned.data, "deferred d"), stage.planned.data);
    EXPECT(strstr(stage.causes.data, "at once: by extensions[kusionstack.io/import-id]"),
           stage.causes.data);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1?i1 a@d c=1"), 0, stage.error.message);
    EXPECT(strstr(stage.planned.data, "adopt d"), stage.planned.data);
    EXPECT_INT(stage.cloud.creates, 1, "not made twice");
    EXPECT(!doubt_is_left(&stage), stage_state(&stage));
}

/* Nothing is wanted any more, and a person says what became of it: at once, or when it is held. */
static void a_destroy_is_settled_by_a_person(void)
{
    _cleanup_value_ const struct value *named =
        value_pack("{s:{s:s}}", "cloud:d", "kusionstack.io/import-id", "i1");
    _cleanup_value_ const struct value *denied =
        value_pack("{s:{s:i}}", "cloud:d", "kusionstack.io/not-created", 1);
    const struct value *const words[] = {named, denied};

    for (size_t i = 0; i < 2 * ARRAY_SIZE(ways); i++) {
        const struct way *way = &ways[i % 2];
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        way->go(&stage);
        fake_cloud_fault(&stage.cloud, "d", way->things ? CLOUD_FINDABLE : 0);
        if (i >= ARRAY_SIZE(ways))
            fake_world_pass(&stage.world, A_DAY);
        if (!way->things)
            EXPECT(stage_destroy(&stage) < 0, "nobody has said anything");
        stage.extensions = words[i % 2];
        EXPECT_INT(stage_destroy(&stage), 0, stage.error.message);
        EXPECT_STR(stage_cloud(&stage), "", way->note);
        EXPECT_STR(stage_state(&stage), "none", way->note);
        EXPECT_INT(stage.cloud.deletes, way->things, way->note);
    }
}

/* What is not there is made when somebody says so, of just that creation: at once, or when it is
 * held. */
static void what_is_not_there_is_made(void)
{
    for (int waits = 0; waits < 2; waits++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        not_be_made(&stage);
        EXPECT(stage_apply(&stage, "Cloud/d=1!2 c=1") < 0, "of another creation");
        EXPECT(strstr(stage.planned.data, "deferred d"), stage.planned.data);
        EXPECT(strstr(stage.causes.data, "extensions[kusionstack.io/not-created]: 1"),
               stage.causes.data);
        if (waits)
            fake_world_pass(&stage.world, A_DAY);
        fake_cloud_fault(&stage.cloud, "d", 0);
        EXPECT_INT(stage_apply(&stage, "Cloud/d=1!1 c=1"), 0, stage.error.message);
        EXPECT_STR(stage_cloud(&stage), "d=1", "made");
        EXPECT_INT(stage.cloud.creates, 1, "once");
    }
}

static void a_word_counts_for_one_creation(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    not_be_made(&stage);
    EXPECT(stage_apply(&stage, "Cloud/d=1!1 c=1") < 0, "lost once more");
    EXPECT(strstr(stage.planned.data, "create d; unchanged c"), stage.planned.data);
    EXPECT(doubt_is_left(&stage), stage_state(&stage));
    fake_world_pass(&stage.world, A_DAY);
    EXPECT(stage_apply(&stage, "Cloud/d=1!1 c=1") < 0, "nobody has said so of this one");
    EXPECT(strstr(stage.planned.data, "d!OutcomeUnknown"), stage.planned.data);
    EXPECT_INT(stage.cloud.n_things, 0, "none yet");
}

/* Of an update or a delete a look tells. */
static void looks_at_what_is_there(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1"), 0, "applied");
    fake_cloud_fault(&stage.cloud, "d", CLOUD_LOST);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=2"), 0, stage.error.message);
    EXPECT_STR(stage_cloud(&stage), "d=2", "updated");
    EXPECT_INT(stage.cloud.updates, 1, "once");
    EXPECT_INT(stage_destroy(&stage), 0, stage.error.message);
    EXPECT_STR(stage_cloud(&stage), "", "deleted");
    EXPECT_INT(stage.cloud.deletes, 1, "once");
}

/* What was not sent is not in doubt: it is tried again in the same operation. */
static void tries_again_what_was_not_sent(void)
{
    static const struct {
        const char *note;
        unsigned faults;
        int code;
        const char *results, *cloud, *state;
    } rows[] = {
        {"busy at first", CLOUD_BUSY_ONCE, 0, "d succeeded; a succeeded", "d=1", "a d"},
        {"busy all the time", CLOUD_BUSY, ERR_UNAVAILABLE, "d timed out; a skipped", "", "a?"},
        {"refused", CLOUD_REFUSED, ERR_FORBIDDEN, "d failed; a skipped", "", "a?"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        fake_cloud_fault(&stage.cloud, "d", rows[i].faults);
        EXPECT_INT(stage_apply(&stage, "Cloud/d=1 a@d"), rows[i].code, rows[i].note);
        EXPECT_STR(stage.results.data, rows[i].results, rows[i].note);
        EXPECT_STR(stage_cloud(&stage), rows[i].cloud, rows[i].note);
        EXPECT(!doubt_is_left(&stage), stage_state(&stage));
        fake_cloud_fault(&stage.cloud, "d", 0);
        EXPECT_INT(stage_apply(&stage, "Cloud/d=1 a@d"), 0, stage.error.message);
        EXPECT_INT(stage.cloud.creates, 1, rows[i].note);
    }
}

/* Of a destroy the save of what was deleted is lost, or the State that is there is another's. */
static void a_landing_that_cannot_be_saved_stops_all_else(void)
{
    for (unsigned n = 1; n <= 8; n++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        stage.store.fail_at = n;
        stage_apply(&stage, "Cloud/d=1 Cloud/e=1:d Cloud/f=1:e");
        stage_calm(&stage);
        if (doubt_is_left(&stage))
            continue; /* the process ended with what it knew */
        EXPECT_INT(stage_apply(&stage, "Cloud/d=1 Cloud/e=1:d Cloud/f=1:e"), 0,
                   stage.error.message);
        EXPECT_STR(stage_cloud(&stage), "d=1 e=1 f=1", "things");
        EXPECT_INT(stage.cloud.creates, 3, "none twice");
    }
}

/* The first call's answer is lost, and the second is refused: the first may take effect still. */
static void what_is_in_doubt_keeps_its_intent(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    stage.may_forget = true;
    fake_fault(&stage.objects, "a", FAKE_LATE);
    EXPECT_INT(stage_apply(&stage, "a=1"), ERR_FORBIDDEN, "refused at the second try");
    EXPECT_STR(stage_state(&stage), "a?", "the intent stays");
    fake_fault(&stage.objects, "a", 0);
    fake_put(&stage.objects, "a", "1", OWNER_SELF); /* the first takes effect */
    stage_destroy(&stage);
    EXPECT_STR(stage_objects(&stage), "", "nothing is lost");
}

static void check_mark(struct stage *stage, struct run *run)
{
    const struct record *record = ledger_get(operation_ledger(run->operation), "cloud:d", NULL);

    EXPECT(record && record->call.until > stage->world.now, "the mark says until when");
    record_unref(record);
}

static void begin_without_a_limit(struct stage *stage)
{
    struct run run;

    stage->world.pace = FAKE_CLOCK_STANDS;
    stage->cloud.no_limit = true;
    fake_cloud_fault(&stage->cloud, "d", CLOUD_BLOCKS | CLOUD_FINDABLE);
    stage_begin_process(stage);
    run_begin(&run, stage);
    run_plan(&run, "Cloud/d=1");
    run_apply(&run);
    EXPECT(fake_cloud_await_blocked(&stage->cloud), "under way");
    check_mark(stage, &run);
    stage->world.pace = FAKE_CLOCK_PACES;
    fake_world_kill(&stage->world); /* the request goes on on the other side */
    run_wait(&run);
    run_end(&run);
    stage_end_process(stage);
    fake_cloud_fault(&stage->cloud, "d", CLOUD_FINDABLE);
    stage_calm(stage);
}

static void a_call_without_a_limit_is_waited_for(void)
{
    struct stage stage;

    stage_init(&stage);
    stage.may_forget = true;
    stage_use_threads(&stage, 4);
    begin_without_a_limit(&stage);
    stage.world.pace = FAKE_CLOCK_PACES;
    EXPECT(stage_apply(&stage, "Cloud/d=1") < 0, "it may still be made");
    EXPECT_STR(stage.planned.data, "deferred d", "planned by the next process, at once");
    EXPECT_INT(stage.cloud.creates, 0, "not made a second time meanwhile");
    stage_done(&stage);
}

static void what_is_found_is_secret_still(void)
{
    static const char spec[] = "Secret/t=hunter1 Cloud/d=1@t.data.x";
    _cleanup_stage_ struct stage stage;
    _cleanup_free_ char *text = NULL;

    stage_init(&stage);
    stage.may_forget = true;
    fake_cloud_fault(&stage.cloud, "d", CLOUD_LOST | CLOUD_FINDABLE);
    EXPECT(stage_apply(&stage, spec) < 0, "in doubt");
    fake_cloud_fault(&stage.cloud, "d", CLOUD_FINDABLE);
    fake_world_pass(&stage.world, A_DAY);
    EXPECT_INT(stage_apply(&stage, spec), 0, stage.error.message);
    text = fake_store_open_text(&stage.store);
    EXPECT(!strstr(text, "hunter1"), text);
    EXPECT_INT(stage.cloud.creates, 1, "found");
}

SUITE(operation_doubt, TEST(marks_what_it_creates), TEST(makes_nothing_that_it_could_not_mark),
      TEST(creates_nothing_twice), TEST(a_killed_process_leaves_a_mark), TEST(does_not_forget_it),
      TEST(finds_what_can_be_found), TEST(what_is_named_is_taken_over),
      TEST(what_is_named_is_taken_over_at_once), TEST(a_destroy_is_settled_by_a_person),
      TEST(what_is_not_there_is_made), TEST(a_word_counts_for_one_creation),
      TEST(looks_at_what_is_there), TEST(tries_again_what_was_not_sent),
      TEST(a_landing_that_cannot_be_saved_stops_all_else), TEST(what_is_in_doubt_keeps_its_intent),
      TEST(a_call_without_a_limit_is_waited_for), TEST(what_is_found_is_secret_still))
