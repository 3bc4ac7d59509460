#include <stdio.h>

#include "engine/base/str.h"
#include "engine/operation/operation.h"
#include "engine/value/json.h"
#include "engine/value/redaction.h"
#include "test/unit/engine/operation/doubt.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

/* Pending is no result. */
static void results_tell_of_each(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "a=1 x=1"), 0, "applied");
    stage.store.conflict_at = 2;
    EXPECT_INT(stage_apply(&stage, "a=2"), ERR_CONFLICT, "the save before prune");
    EXPECT(!strstr(stage.results.data, "pending"), stage.results.data);
}

static const char *warnings_of(const struct value *warnings, char *ret, size_t size)
{
    _cleanup_free_ char *text = json_to_str(warnings);

    str_copy(ret, size, text);
    return ret;
}

/* When it was planned, and when it was made, each once, and no secrets. */
static void warnings_are_told(void)
{
    _cleanup_stage_ struct stage stage;
    struct operation_results results;
    struct run run;
    char text[256];

    stage_init(&stage);
    fake_cloud_fault(&stage.cloud, "d", CLOUD_WARNS);
    stage_begin_process(&stage);
    run_begin(&run, &stage);
    run_plan(&run, "Cloud/d=1 Cloud/e=1");
    EXPECT_STR(
        warnings_of(operation_get_plan(run.operation)->changes[0].warnings, text, sizeof(text)),
        "[\"old\"]", "of the plan");
    run_apply(&run);
    run_wait(&run);
    operation_results(run.operation, &results);
    EXPECT_STR(warnings_of(results.items[0].warnings, text, sizeof(text)),
               "[\"old\",\"it is " REDACTED "\"]", "and of the creation");
    EXPECT(!results.items[1].warnings, "the other");
    operation_results_done(&results);
    EXPECT_INT(run_end(&run), 0, "nothing is wrong");
    stage_end_process(&stage);
}

/* Of a deletion, too: of the plan, and of the call. */
static void warnings_of_deletions_are_told(void)
{
    _cleanup_stage_ struct stage stage;
    struct operation_results results;
    struct run run;
    char text[256];

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1"), 0, stage.error.message);
    fake_cloud_fault(&stage.cloud, "d", CLOUD_WARNS);
    stage_begin_process(&stage);
    run_begin(&run, &stage);
    run_plan(&run, NULL);
    run_apply(&run);
    run_wait(&run);
    operation_results(run.operation, &results);
    EXPECT_STR(warnings_of(results.items[0].warnings, text, sizeof(text)),
               "[\"old\",\"it is " REDACTED "\"]", "of the deletion");
    operation_results_done(&results);
    EXPECT_INT(run_end(&run), 0, "nothing is wrong");
    stage_end_process(&stage);
}

/* Before it is applied there is nothing to tell; while it waits, what for; then all. */
static void tells_what_it_waits_for(void)
{
    _cleanup_stage_ struct stage stage;
    struct operation_results results;
    struct run run;
    char waits_for[256];

    stage_init(&stage);
    stage.world.pace = FAKE_CLOCK_STANDS;
    fake_fault(&stage.objects, "a", FAKE_UNHEALTHY);
    stage_begin_process(&stage);
    run_begin(&run, &stage);
    run_plan(&run, "a=1 b=1:a c=1");
    operation_results(run.operation, &results);
    EXPECT_INT(results.count, 0, "not begun");
    operation_results_done(&results);
    run_apply(&run);
    EXPECT(run_await(&run, OPERATION_PARKED), "parked");
    EXPECT_INT(run_count_ended(&run), 1, "c");
    EXPECT_INT(run_count_waiting(&run), 1, "a");
    EXPECT(operation_waits_for(run.operation, waits_for, sizeof(waits_for), NULL), "for a");
    EXPECT_STR(waits_for, "v1:ConfigMap:team:a: phase pending", "as people read it");
    EXPECT(operation_waits_for(run.operation, waits_for, 8, NULL), "cut");
    EXPECT_STR(waits_for, "v1:C…", "cut, and said so");
    EXPECT_INT(operation_longest_visit(run.operation, waits_for, sizeof(waits_for)), 0,
               "no call is under way");
    operation_results(run.operation, &results);
    EXPECT_INT(results.count, 3, "of each");
    EXPECT(results.items[0].status == RESULT_PENDING && results.items[0].is_waiting &&
               results.items[0].error && results.items[0].started && !results.items[0].ended,
           "a waits");
    EXPECT(results.items[1].status == RESULT_PENDING && !results.items[1].is_waiting &&
               !results.items[1].started,
           "b is not begun");
    EXPECT_STR(results.items[1].waits_for, "v1:ConfigMap:team:a", "but waits for a");
    EXPECT(!results.items[0].waits_for && !results.items[2].waits_for, "as no other does");
    EXPECT_INT(results.items[2].status, RESULT_SUCCEEDED, "c");
    operation_results_done(&results);
    stage.world.pace = FAKE_CLOCK_JUMPS;
    EXPECT_INT(run_wait(&run), OPERATION_ENDED, "out of time");
    EXPECT_INT(run_count_ended(&run), 3, "all");
    EXPECT(!operation_waits_for(run.operation, waits_for, sizeof(waits_for), NULL), "for nothing");
    EXPECT_INT(run_end(&run), ERR_TIMEOUT, "timed out");
}

static struct operation_result result_of(const struct operation_results *results, const char *id)
{
    for (size_t i = 0; i < results->count; i++)
        if (str_equal(results->items[i].change->id, id))
            return results->items[i];
    return (struct operation_result){0};
}

/* Why one comes after another, while the first of them is not healthy, or not gone. */
static void tells_why_it_waits(void)
{
    static const struct {
        const char *note, *applied, *spec; /* NULL: all goes */
        const char *slow, *id, *waits_for;
        enum operation_wait by;
    } cases[] = {
        {"written", NULL, "a=1 b=1:a", "a", "v1:ConfigMap:team:b", "v1:ConfigMap:team:a",
         WAIT_DEPENDS_ON},
        {"both", NULL, "a=1 b@a:a", "a", "v1:ConfigMap:team:b", "v1:ConfigMap:team:a",
         WAIT_DEPENDS_ON},
        {"reference", NULL, "a=1 b@a", "a", "v1:ConfigMap:team:b", "v1:ConfigMap:team:a",
         WAIT_REFERENCE},
        {"kind", NULL, "+b=1 Namespace/space", "space", "v1:ConfigMap:space:b",
         "v1:Namespace:space", WAIT_KIND},
        {"deletion", "a=1 b=1:a", NULL, "b", "v1:ConfigMap:team:a", "v1:ConfigMap:team:b",
         WAIT_DELETION},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_stage_ struct stage stage;
        struct operation_results results;
        struct operation_result result;
        struct run run;

        stage_init(&stage);
        if (cases[i].applied)
            EXPECT_INT(stage_apply(&stage, cases[i].applied), 0, stage.error.message);
        stage.world.pace = FAKE_CLOCK_STANDS;
        fake_fault(&stage.objects, cases[i].slow, cases[i].spec ? FAKE_UNHEALTHY : FAKE_STUCK);
        stage_begin_process(&stage);
        run_begin(&run, &stage);
        run_plan(&run, cases[i].spec);
        run_apply(&run);
        EXPECT(run_await(&run, OPERATION_PARKED), cases[i].note);
        operation_results(run.operation, &results);
        result = result_of(&results, cases[i].id);
        EXPECT_STR(result.waits_for, cases[i].waits_for, cases[i].note);
        EXPECT_INT(result.waits_by, cases[i].by, cases[i].note);
        operation_results_done(&results);
        run_cancel(&run, "enough");
        run_end(&run);
        stage_end_process(&stage);
    }
}

/* A message may end in a command: failures are named whole, or not at all. */
static void names_failures_whole(void)
{
    _cleanup_stage_ struct stage stage;
    struct buf spec = BUF_INIT;

    stage_init(&stage);
    for (char name = 'a'; name <= 'z'; name++)
        buf_printf(&spec, "%s%c-%s=1", spec.length ? " " : "", name,
                   "a-name-that-is-so-long-that-a-few-of-them-fill-a-message");
    fake_fault(&stage.objects, "*", FAKE_REFUSED);
    EXPECT_INT(stage_apply(&stage, spec.data), ERR_FORBIDDEN, "refused");
    EXPECT(strstr(stage.error.message, "26 failed"), stage.error.message);
    EXPECT(strstr(stage.error.message, "the fake says so; and "), stage.error.message);
    EXPECT(strstr(stage.error.message, " more"), stage.error.message);
    EXPECT(!strstr(stage.error.message, "…"), stage.error.message);
    buf_done(&spec);
}

/* A tenant chooses ids. One that reads like a hint of ours is seen to be a name. */
static void an_id_that_reads_like_text_is_quoted(void)
{
    static const struct {
        const char *id, *message;
        enum result_status status;
    } rows[] = {
        {"apps/v1:Deployment:a:b-c.d_e", "apply: 1 of 1 failed: apps/v1:Deployment:a:b-c.d_e: no",
         RESULT_FAILED},
        {"v1:ConfigMap:a:x; to allow it: kubectl",
         "apply: 1 of 1 failed: \"v1:ConfigMap:a:x; to allow it: kubectl\": no", RESULT_FAILED},
        {"a\" b", "apply: 1 of 1 failed: \"a\\\" b\": no", RESULT_FAILED},
        {"a b", "apply: 1 not done yet: \"a b\": no", RESULT_DEFERRED},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct plan_change change = {.id = rows[i].id};
        struct error why = {0}, error = {0};
        struct operation_result item = {.change = &change, .status = rows[i].status, .error = &why};
        const struct operation_results results = {.items = &item, .count = 1};

        err_set(&why, ERR_FORBIDDEN, "Forbidden", "no");
        EXPECT(operation_results_error(&results, "apply", &error) < 0, rows[i].id);
        EXPECT_STR(error.message, rows[i].message, rows[i].id);
    }
}

/* Below all failures, each once: a line of a failure's own would be in the midst of the others. */
static void hints_are_below_all_failures(void)
{
    static const char *const hints[] = {"to do: x", "to do: y", "to do: x", "to do: z"};
    static const struct plan_change changes[] = {
        {.id = "a"}, {.id = "b"}, {.id = "c"}, {.id = "d"}};
    struct operation_result items[ARRAY_SIZE(hints)] = {0};
    const struct operation_results results = {.items = items, .count = ARRAY_SIZE(items)};
    struct error why[ARRAY_SIZE(hints)] = {0}, error = {0};

    for (size_t i = 0; i < ARRAY_SIZE(hints); i++) {
        err_set(&why[i], ERR_FORBIDDEN, "Forbidden", "no\nto do: forged");
        err_hint(&why[i], "%s", hints[i]);
        items[i] = (struct operation_result){
            .change = &changes[i], .status = RESULT_FAILED, .error = &why[i]};
    }
    EXPECT_INT(operation_results_error(&results, "apply", &error), ERR_FORBIDDEN, "failed");
    EXPECT_STR(error.message,
               "apply: 4 of 4 failed: a: no to do: forged; b: no to do: forged; c: no to do: "
               "forged; and 1 more\nto do: x\nto do: y",
               "those of the failures that are named");
}

/* What it was is told, where what was done is something else than what was planned. */
static void tells_what_was_done(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    fake_fault(&stage.objects, "a", FAKE_NOBODYS_APPEARS);
    EXPECT_INT(stage_apply(&stage, "a=1 b=1"), 0, "applied");
    EXPECT_STR(stage.planned.data, "create a; create b", "planned");
    EXPECT_STR(stage.actions.data, "adopt a; create b", "done");
}

/* The object is planned anew then, and found as it should be. */
static void tells_what_was_done_though_the_answer_is_lost(void)
{
    static const char *const rows[][2] = {
        {"a=1", "create a"}, {"a=2", "update a"}, {"a=2", "unchanged a"}};
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        fake_fault(&stage.objects, "a", FAKE_LOST);
        EXPECT_INT(stage_apply(&stage, rows[i][0]), 0, stage.error.message);
        EXPECT_STR(stage.actions.data, rows[i][1], "done");
    }
}

/* Killed wherever, and begun again under the same revision. Of creations State has an intent; an
 * update whose save was lost is not told. */
static void tells_what_was_done_before_a_kill(void)
{
    bool is_killed = true;

    for (unsigned n = 1; is_killed; n++) {
        _cleanup_stage_ struct stage stage;
        char note[32];

        snprintf(note, sizeof(note), "killed after step %u", n);
        stage_init(&stage);
        EXPECT_INT(stage_apply(&stage, "u=1"), 0, "applied");
        stage.world.kill_at = n;
        is_killed = stage_apply(&stage, "a=1 b=1 u=1") < 0;
        EXPECT(is_killed || n > 4, "each step was reached");
        stage_calm(&stage);
        stage.revision -= is_killed;
        EXPECT_INT(stage_apply(&stage, "a=1 b=1 u=1"), 0, stage.error.message);
        EXPECT_STR(stage.actions.data,
                   is_killed ? "create a; create b; unchanged u"
                             : "unchanged a; unchanged b; unchanged u",
                   note);
    }
}

/* A replacement that is created first: after a kill its old object is a change by itself. Once that
 * is gone, nothing tells of its deletion. State has nothing of a creation in doubt that a person
 * has cleared up. */
static void tells_of_a_replacement_before_a_kill(void)
{
    bool is_killed = true;

    for (unsigned n = 1; is_killed; n++) {
        _cleanup_stage_ struct stage stage;
        bool was_in_doubt;
        char note[32];

        snprintf(note, sizeof(note), "killed after step %u", n);
        stage_init(&stage);
        EXPECT_INT(stage_apply(&stage, "Cloud/d=1~k"), 0, "applied");
        stage.world.kill_at = n;
        is_killed = stage_apply(&stage, "Cloud/d=1~l") < 0;
        EXPECT(is_killed || n > 4, "each step was reached");
        if (!is_killed)
            break;
        stage_calm(&stage);
        was_in_doubt = doubt_is_left(&stage);
        doubt_clear(&stage);
        stage.revision--;
        EXPECT_INT(stage_apply(&stage, "Cloud/d=1~l"), 0, stage.error.message);
        EXPECT(str_has_prefix(stage.actions.data, was_in_doubt ? "create d" : "replace d"), note);
    }
}

/* A revision that failed is tried again under its number: that attempt has told what it did. So has
 * the Spec of this name that left its State behind. */
static void tells_nothing_of_what_was_told(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    fake_fault(&stage.objects, "b", FAKE_REFUSED);
    EXPECT_INT(stage_apply(&stage, "a=1 b=1:a"), ERR_FORBIDDEN, "b is refused");
    EXPECT_STR(stage.actions.data, "create a; create b", "told");
    stage.revision--;
    EXPECT_INT(stage_apply(&stage, "a=1 c=1"), 0, stage.error.message);
    EXPECT_STR(stage.actions.data, "unchanged a; create c", "another attempt");
    stage.spec_uid = "spec-2";
    stage.revision--;
    EXPECT_INT(stage_apply(&stage, "a=1 c=1"), 0, stage.error.message);
    EXPECT(stage.inherited, "State is another Spec's");
    EXPECT_STR(stage.actions.data, "unchanged a; unchanged c", "another Spec");
}

SUITE(operation_results, TEST(results_tell_of_each), TEST(warnings_are_told),
      TEST(warnings_of_deletions_are_told), TEST(tells_what_it_waits_for), TEST(tells_why_it_waits),
      TEST(names_failures_whole), TEST(an_id_that_reads_like_text_is_quoted),
      TEST(hints_are_below_all_failures), TEST(tells_what_was_done),
      TEST(tells_what_was_done_though_the_answer_is_lost), TEST(tells_what_was_done_before_a_kill),
      TEST(tells_of_a_replacement_before_a_kill), TEST(tells_nothing_of_what_was_told))
