/* What is secret of a Secret by its kind, and what it takes from another, both stay out of the
 * open part of State. */
#include "engine/base/json.h"
#include "engine/operation/operation.h"
#include "engine/state/codec.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

static void a_secret_that_refers_to_one_is_secret_as_a_whole(void)
{
    _cleanup_stage_ struct stage stage;
    _cleanup_(state_free_p) struct state *state = NULL;
    _cleanup_value_ const struct value *value = NULL;
    _cleanup_free_ char *text = NULL;
    struct payload open, secret;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "Secret/t=hunter1 Secret/s=hunter2@t.data.x"), 0, "applied");
    state = fake_store_state(&stage.store);
    CU_ASSERT_EQUAL_FATAL(state_encode(state, &open, &secret, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(payload_decode(open.bytes.data, open.bytes.length, &value, NULL), 0);
    text = json_to_str(value);
    EXPECT(!strstr(text, "hunter1"), "t's value, here and there");
    EXPECT(!strstr(text, "hunter2"), "s's own value");
    payload_done(&open);
    payload_done(&secret);
}

/* Nothing but this plan knows yet that a, and so c, get what is secret. */
static void what_is_passed_on_stays_secret(void)
{
    static const struct {
        const char *before;
        enum plan_depth depth;
    } rows[] = {{"", PLAN_DEEP}, {"Secret/s=hunter2 a=1 c=1", PLAN_SHALLOW}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        if (*rows[i].before)
            EXPECT_INT(stage_apply(&stage, rows[i].before), 0, "applied");
        EXPECT_INT(stage_plan(&stage, "Secret/s=hunter2 a@s.data.x c@a.data.ref", rows[i].depth), 0,
                   "planned");
        EXPECT(strstr(stage.diffs.data, "data.ref"), stage.diffs.data);
        EXPECT(!strstr(stage.diffs.data, "hunter2"), stage.diffs.data);
    }
}

/* The object in the world does not say what is secret: State does. */
static void what_was_recorded_is_secret_in_the_world(void)
{
    static const struct {
        const char *before, *planned, *shown;
    } rows[] = {
        {"Secret/s=hunter2 a@s.data.x", "Secret/s=hunter2 a=1",
         "data.ref: (sensitive) -> "},
        {"Secret/s=hunter2 a@s.data.x", "Secret/s=hunter2 a@s.data.x c@a.data.ref",
         "data.ref:  -> (sensitive)"},
        {"Secret/s=hunter2", "Secret/s=other", "data: (sensitive) -> (sensitive)"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        EXPECT_INT(stage_apply(&stage, rows[i].before), 0, "applied");
        EXPECT_INT(stage_plan(&stage, rows[i].planned, PLAN_DEEP), 0, "planned");
        EXPECT(strstr(stage.diffs.data, rows[i].shown), stage.diffs.data);
        EXPECT(!strstr(stage.diffs.data, "hunter2"), stage.diffs.data);
    }
}

static void expect_no_secret_in_the_open(struct stage *stage, const char *note)
{
    _cleanup_(state_free_p) struct state *state = fake_store_state(&stage->store);
    _cleanup_value_ const struct value *value = NULL;
    _cleanup_free_ char *text = NULL;
    struct payload open, secret;

    CU_ASSERT_EQUAL_FATAL(state_encode(state, &open, &secret, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(payload_decode(open.bytes.data, open.bytes.length, &value, NULL), 0);
    text = json_to_str(value);
    EXPECT(!strstr(text, "hunter2"), note);
    payload_done(&open);
    payload_done(&secret);
}

/* Taken from the world, which does not say so, by way of one that is unchanged. */
static void what_is_taken_from_the_world_is_recorded_as_secret(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "Secret/s=hunter2 a@s.data.x"), 0, "applied");
    expect_no_secret_in_the_open(&stage, "at once");
    EXPECT_INT(stage_apply(&stage, "Secret/s=hunter2 a@s.data.x c@a.data.ref d@c.data"), 0,
               "applied");
    EXPECT(strstr(stage_objects(&stage), "hunter2"), "it arrived");
    expect_no_secret_in_the_open(&stage, "passed on, twice");
}

/* The same value, from somewhere else: nothing is sent, and c depends on what it did before. */
static void what_becomes_secret_leaves_the_open_part(void)
{
    static const struct {
        const char *spec;
        bool is_secret;
    } rows[] = {
        {"Secret/s=hunter2 b=hunter2 a@b.data.x c@a.data.ref", false},
        {"Secret/s=hunter2 b=hunter2 a@s.data.x c@a.data.ref", true},
    };
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(state_free_p) struct state *state = NULL;
        const struct record *record;

        EXPECT_INT(stage_apply(&stage, rows[i].spec), 0, stage.error.message);
        if (i > 0)
            EXPECT(strstr(stage.planned.data, "unchanged c"), stage.planned.data);
        state = fake_store_state(&stage.store);
        record = state_find(state, "v1:ConfigMap:team:c");
        EXPECT_INT(value_is_sensitive(value_path(record->attributes, "data", "ref", NULL)),
                   rows[i].is_secret, rows[i].spec);
    }
}

/* It is a string as any other, though it is what unknown values are shown as. */
static void the_text_of_unknown_values_is_no_unknown_value(void)
{
    static const char spec[] = "a=(known\\u0020after\\u0020apply) c@a.data.x";
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, spec), 0, stage.error.message);
    EXPECT_STR(stage.world.lies.data, "", "sent as it is");
    EXPECT_INT(stage_apply(&stage, spec), 0, stage.error.message);
    EXPECT_STR(stage.planned.data, "unchanged a; unchanged c", "and recorded as it is");
}

SUITE(operation_secret_reference, TEST(what_is_passed_on_stays_secret),
      TEST(what_was_recorded_is_secret_in_the_world),
      TEST(what_is_taken_from_the_world_is_recorded_as_secret),
      TEST(what_becomes_secret_leaves_the_open_part),
      TEST(the_text_of_unknown_values_is_no_unknown_value),
      TEST(a_secret_that_refers_to_one_is_secret_as_a_whole))
