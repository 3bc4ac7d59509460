/* Values of a secret store: they are in the world, and nowhere else. */
#include "engine/base/str.h"
#include "engine/operation/operation.h"
#include "engine/value/redaction.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

#define DB                        \
    {                             \
        "db", "canary-first", "1" \
    }

static void expect_nowhere(struct stage *stage, const char *note)
{
    _cleanup_free_ char *whole = fake_store_whole_text(&stage->store);
    const char *const seen[] = {whole, stage->diffs.data, stage->causes.data, stage->reasons.data,
                                stage->error.message};

    EXPECT(strstr(whole, "resources"), "State is there to be seen");
    for (size_t k = 0; k < ARRAY_SIZE(seen); k++) {
        EXPECT(!strstr(seen[k], "canary"), seen[k]);
        EXPECT(!strstr(seen[k], "Y2FuYXJ5"), note); /* in Base64 */
    }
}

static void values_are_in_the_world_alone(void)
{
    static const struct {
        const char *spec, *objects, *mark;
    } rows[] = {
        {"a=&db", "a=canary-first", "secret:"},
        {"Secret/s=&db", "s=Y2FuYXJ5LWZpcnN0", "secret64:"},
        {"Secret/s=&db a@s.data.x b@a.data.ref",
         "a@Y2FuYXJ5LWZpcnN0 b@Y2FuYXJ5LWZpcnN0 s=Y2FuYXJ5LWZpcnN0", "secret64:"},
        {"Cloud/d=&db Cloud/e@d.x c@e.ref", "c@canary-first", "secret:"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct fake_secrets secrets = {.items = {DB}};
        _cleanup_free_ char *whole = NULL;
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        stage.secrets = &secrets;
        stage.thorough = true;
        EXPECT_INT(stage_apply(&stage, rows[i].spec), 0, stage.error.message);
        EXPECT_STR(stage_objects(&stage), rows[i].objects, rows[i].spec);
        EXPECT_INT(secrets.asked, 1, "asked once");
        expect_nowhere(&stage, rows[i].spec);
        whole = fake_store_whole_text(&stage.store);
        EXPECT(strstr(whole, rows[i].mark) && strstr(whole, " 1 ref://db/x"), whole);
        EXPECT_INT(stage_apply(&stage, rows[i].spec), 0, stage.error.message);
        EXPECT(!strstr(stage.planned.data, "update"), stage.planned.data);
        EXPECT_STR(stage_deeds(&stage), "", "nothing to do");
        expect_nowhere(&stage, rows[i].spec);
        secrets.is_down = true;
        secrets.asked = 0;
        EXPECT_INT(stage_destroy(&stage), 0, stage.error.message);
        EXPECT_INT(secrets.asked, 0, "a deletion needs none");
        EXPECT_STR(stage_objects(&stage), "", "gone");
    }
}

static void rotation_changes_the_resource_and_its_dependents(void)
{
    static const struct {
        const char *spec, *planned, *reason, *objects;
    } rows[] = {
        {"Secret/s=&db a@s.data.x b=1", "update s; update a; unchanged b",
         "s: ref://db/x has version 2, and was applied in version 1",
         "a@Y2FuYXJ5LXNlY29uZA== b=1 s=Y2FuYXJ5LXNlY29uZA=="},
        {"Cloud/d=&db b=1", "update d; unchanged b",
         "d: ref://db/x has version 2, and was applied in version 1", "b=1"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct fake_secrets secrets = {.items = {DB}};
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        stage.secrets = &secrets;
        EXPECT_INT(stage_apply(&stage, rows[i].spec), 0, stage.error.message);
        secrets.items[0].value = "canary-second";
        secrets.items[0].version = "2";
        EXPECT_INT(stage_apply(&stage, rows[i].spec), 0, stage.error.message);
        EXPECT_STR(stage.planned.data, rows[i].planned, "planned");
        EXPECT(strstr(stage.reasons.data, rows[i].reason), stage.reasons.data);
        EXPECT_STR(stage_objects(&stage), rows[i].objects, "done");
        expect_nowhere(&stage, "rotated");
    }
}

/* The version alone is no change of the world; State has it, where the resource is applied. */
static void the_same_value_in_another_version_is_no_change(void)
{
    struct fake_secrets secrets = {.items = {DB}};
    _cleanup_free_ char *whole = NULL;
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    stage.secrets = &secrets;
    EXPECT_INT(stage_apply(&stage, "a=&db"), 0, stage.error.message);
    secrets.items[0].version = "2";
    EXPECT_INT(stage_apply(&stage, "a=&db"), 0, stage.error.message);
    EXPECT_STR(stage.planned.data, "unchanged a", "planned");
    whole = fake_store_whole_text(&stage.store);
    EXPECT(strstr(whole, " 2 ref://db/x"), whole);
}

/* What was a reference is written out, or the other way round. */
static void a_reference_goes(void)
{
    struct fake_secrets secrets = {.items = {DB}};
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    stage.secrets = &secrets;
    EXPECT_INT(stage_apply(&stage, "a=&db"), 0, stage.error.message);
    stage.secrets = NULL;
    EXPECT_INT(stage_apply(&stage, "a=1"), 0, stage.error.message);
    EXPECT_STR(stage_objects(&stage), "a=1", "plain");
    expect_nowhere(&stage, "plain");
}

static void a_store_that_is_down_holds_what_needs_it(void)
{
    struct fake_secrets secrets = {.items = {DB}};
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    stage.secrets = &secrets;
    secrets.is_down = true;
    EXPECT(stage_apply(&stage, "a=&db b=1 c@a.data.x") < 0, "it failed");
    EXPECT_STR(stage_objects(&stage), "b=1", "the others are done");
    EXPECT(strstr(stage.causes.data, "the store is down"), stage.causes.data);
    secrets.is_down = false;
    secrets.down_for = 3; /* within one operation */
    EXPECT_INT(stage_apply(&stage, "a=&db b=1 c@a.data.x"), 0, stage.error.message);
    EXPECT_STR(stage_objects(&stage), "a=canary-first b=1 c@canary-first", "all");
    expect_nowhere(&stage, "it came back");
}

static void a_missing_secret_is_an_error(void)
{
    struct fake_secrets secrets = {.items = {DB}};
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    stage.secrets = &secrets;
    EXPECT_INT(stage_apply(&stage, "a=&other b=1"), ERR_INVALID, "not there");
    EXPECT_STR(stage.error.reason, "SecretNotFound", "reason");
    EXPECT_STR(stage_objects(&stage), "b=1", "no empty value");
}

static void a_preview_knows_none(void)
{
    struct fake_secrets secrets = {.items = {DB}};
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    stage.thorough = true;
    EXPECT_INT(stage_plan(&stage, "Secret/s=&db a@s.data.x"), 0, stage.error.message);
    EXPECT_STR(stage.planned.data, "create s; create a", "planned");
    EXPECT_INT(secrets.asked, 0, "nothing is asked");
    EXPECT(!strstr(stage.diffs.data, "ref://"), stage.diffs.data);
}

/* What a platform says of the value that it got, or that it has still. */
static void what_runtimes_repeat_is_hidden(void)
{
    struct fake_secrets secrets = {.items = {DB}};
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    stage.secrets = &secrets;
    EXPECT_INT(stage_apply(&stage, "a=&db"), 0, stage.error.message);
    secrets.items[0].value = "canary-second";
    secrets.items[0].version = "2";
    fake_fault(&stage.objects, "a", FAKE_REFUSED);
    stage.objects.words = "not canary-second after canary-first, see ref://db/x";
    EXPECT(stage_apply(&stage, "a=&db") < 0, "refused");
    EXPECT(strstr(stage.causes.data, "see ref://db/x"), stage.causes.data);
    EXPECT(!strstr(stage.causes.data, "canary-second"), stage.causes.data);
    EXPECT(!strstr(stage.causes.data, "canary-first"), stage.causes.data);
}

static void a_rotation_voids_an_approval(void)
{
    struct fake_secrets secrets = {.items = {DB}};
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    stage.secrets = &secrets;
    stage_approve(&stage, "Secret/s=&db a@s.data.x");
    secrets.items[0].value = "canary-second";
    secrets.items[0].version = "2";
    EXPECT_INT(stage_apply(&stage, "Secret/s=&db a@s.data.x"), ERR_CONFLICT, "stale");
    EXPECT_STR(stage.error.reason, PLAN_STALE, "reason");
    EXPECT(strstr(stage.error.message, "a secret that it refers to has another version by now"),
           stage.error.message);
    EXPECT(strstr(stage.error.message, "ref://db/x version 2"), stage.error.message);
    EXPECT_STR(stage_objects(&stage), "", "nothing is made");
    secrets.items[0].value = "canary-first";
    secrets.items[0].version = "1";
    EXPECT_INT(stage_apply(&stage, "Secret/s=&db a@s.data.x"), 0, stage.error.message);
}

/* A value that looks like a reference, or like a mark, is a value. */
static void what_a_store_has_is_no_reference(void)
{
    static const char *const values[] = {"ref://other/x",
                                         "secret:00000000000000000000000000000000 1 ref://db/x"};

    for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
        struct fake_secrets secrets = {.items = {{"db", values[i], "1"}}};
        _cleanup_free_ char *objects = str_printf("a=%s b=1", values[i]);
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        stage.secrets = &secrets;
        EXPECT_INT(stage_apply(&stage, "a=&db b=1"), 0, stage.error.message);
        EXPECT_STR(stage_objects(&stage), objects, values[i]);
        EXPECT_INT(stage_apply(&stage, "a=&db b=1"), 0, stage.error.message);
        EXPECT_STR(stage.planned.data, "unchanged a; unchanged b", values[i]);
    }
}

static void many_threads_ask_once(void)
{
    struct fake_secrets secrets = {.items = {DB}};
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    stage_use_threads(&stage, 8);
    stage.secrets = &secrets;
    EXPECT_INT(stage_apply(&stage, "a=&db b=&db c=&db d=&db e=&db f=&db g=&db h=&db i=&db"), 0,
               stage.error.message);
    EXPECT_INT(secrets.asked, 1, "once");
    expect_nowhere(&stage, "threads");
}

SUITE(store_secret, TEST(values_are_in_the_world_alone),
      TEST(rotation_changes_the_resource_and_its_dependents),
      TEST(the_same_value_in_another_version_is_no_change), TEST(a_reference_goes),
      TEST(a_store_that_is_down_holds_what_needs_it), TEST(a_missing_secret_is_an_error),
      TEST(a_preview_knows_none), TEST(what_runtimes_repeat_is_hidden),
      TEST(a_rotation_voids_an_approval), TEST(what_a_store_has_is_no_reference),
      TEST(many_threads_ask_once))
