/* What is secret by its kind, what a thing of the cloud says is, and what is taken from either,
 * stay out of all that may be seen: diffs, messages, the open part of the store. */
#include "engine/base/str.h"
#include "engine/operation/operation.h"
#include "engine/value/redaction.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

static void expect_hidden(struct stage *stage, const char *const *secrets, size_t n)
{
    _cleanup_free_ char *open = fake_store_open_text(&stage->store);
    const char *const seen[] = {open, stage->diffs.data, stage->causes.data, stage->reasons.data,
                                stage->error.message};

    EXPECT(strstr(open, "resources"), "State is there to be seen");
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < ARRAY_SIZE(seen); k++)
            EXPECT(!strstr(seen[k], secrets[i]), seen[k]);
}

static void what_is_secret_is_not_seen(void)
{
    static const char *const secrets[] = {"hunter", "s3cr3t"};
    static const char *const specs[] = {
        "Secret/t=hunter1 Secret/s=hunter2@t.data.x",
        "Secret/t=hunter1 a@t.data.x b@a.data.ref",
        "Secret/t=hunter1 Cloud/d@t.data.x Cloud/e@d.ref a@e.ref",
        "Cloud/d=1 a@d.secret Cloud/e@d.secret Cloud/f=1*@d.secret b@f.fixed",
        "Secret/t=s3cr3t Cloud/d^t.data.x",
    };

    for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        stage.thorough = true;
        EXPECT_INT(stage_plan(&stage, specs[i]), 0, specs[i]);
        EXPECT(!strstr(stage.diffs.data, "hunter"), stage.diffs.data);
        EXPECT_INT(stage_apply(&stage, specs[i]), 0, stage.error.message);
        expect_hidden(&stage, secrets, ARRAY_SIZE(secrets));
        stage_apply(&stage, specs[i]);
        expect_hidden(&stage, secrets, ARRAY_SIZE(secrets));
        EXPECT(!strstr(stage.planned.data, "update"), stage.planned.data);
        EXPECT_INT(stage_destroy(&stage), 0, specs[i]);
    }
}

/* Inside of a longer text or as a key, of its own and of what refers to that. */
static void what_a_platform_quotes_is_not_seen(void)
{
    static const char *const secrets[] = {"hunter2"};
    static const struct {
        const char *spec;
        unsigned fault;
        const char *object; /* that has it in clear; or NULL */
    } rows[] = {
        {"Secret/t=hunter2 Cloud/d=@t.data.x", CLOUD_QUOTES, NULL},
        {"Secret/t=hunter2 Cloud/d=@t.data.x a@d", CLOUD_QUOTES, "a@https://me:hunter2@d"},
        {"Cloud/d=&db a@d b@a.data.ref", CLOUD_QUOTES, "a@https://me:hunter2@d"},
        {"Secret/t=hunter2 Cloud/d=@t.data.x a@d", CLOUD_QUOTES_AS_KEY, "a@addr-d"},
    };
    struct fake_secrets store = {.items = {{"db", "hunter2", "1"}}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        stage.secrets = &store;
        fake_cloud_fault(&stage.cloud, "d", rows[i].fault);
        EXPECT_INT(stage_apply(&stage, rows[i].spec), 0, stage.error.message);
        EXPECT(!rows[i].object || strstr(stage_objects(&stage), rows[i].object),
               stage_objects(&stage));
        expect_hidden(&stage, secrets, ARRAY_SIZE(secrets));
        EXPECT_INT(stage_apply(&stage, rows[i].spec), 0, stage.error.message);
        EXPECT(!strstr(stage.planned.data, "update"), stage.planned.data);
        expect_hidden(&stage, secrets, ARRAY_SIZE(secrets));
    }
}

/* An address that a secret has in it is no secret. */
static void a_piece_of_a_secret_is_seen(void)
{
    static const char *const secrets[] = {"hunter2"};
    _cleanup_stage_ struct stage stage;
    _cleanup_free_ char *open = NULL;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "Secret/t=hunter2-addr-database Cloud/database=@t.data.x"), 0,
               stage.error.message);
    expect_hidden(&stage, secrets, ARRAY_SIZE(secrets));
    open = fake_store_open_text(&stage.store);
    EXPECT(strstr(open, "addr-database"), open);
}

/* Nor while it is under way, nor where that ends badly. */
static void failures_do_not_tell_either(void)
{
    static const char *const secrets[] = {"hunter"};
    static const unsigned faults[] = {CLOUD_PARTIAL, CLOUD_HALF, CLOUD_LOST, CLOUD_REFUSED,
                                      CLOUD_UNMADE};

    for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        stage.may_forget = true;
        fake_cloud_fault(&stage.cloud, "d", faults[i]);
        stage_apply(&stage, "Secret/t=hunter1 Cloud/d=1@t.data.x");
        expect_hidden(&stage, secrets, 1);
        stage_apply(&stage, "Secret/t=hunter2 Cloud/d=2@t.data.x");
        expect_hidden(&stage, secrets, 1);
    }
}

/* A runtime repeats what its platform says, and that may be any value: the one that is sent, the
 * one that is there, and the one that was recorded. */
static void what_runtimes_repeat_is_hidden(void)
{
    static const struct {
        const char *note, *before, *now; /* now NULL: all is to go */
        unsigned faults;
        const char *words, *hidden;
    } rows[] = {
        {"created", "", "Secret/s=hunter2 a@s.data.x", FAKE_REFUSED, "not hunter2",
         "not " REDACTED},
        {"encoded", "", "Secret/s=hunter2 a@s.data.x", FAKE_REFUSED,
         "not aHVudGVyMg==", "not " REDACTED "=="},
        {"updated", "Secret/s=hunter1 a@s.data.x", "Secret/s=hunter2 a@s.data.x", FAKE_REFUSED,
         "-hunter1 +hunter2", "-" REDACTED " +" REDACTED},
        {"planned", "Secret/s=hunter2 a=1", "Secret/s=hunter2 a@s.data.x", FAKE_REFUSED_DRY,
         "not hunter2", "not " REDACTED},
        {"as recorded", "Secret/s=hunter2 a@s.data.x", "Secret/s=hunter2 a=1", FAKE_REFUSED_DRY,
         "not hunter2", "not " REDACTED},
        {"deleted", "Secret/s=hunter2 a@s.data.x", NULL, FAKE_KEPT, "it has hunter2",
         "it has " REDACTED},
        {"cannot be looked at", "Secret/s=hunter2 a@s.data.x", "Secret/s=hunter2 a@s.data.x b=1",
         FAKE_UNSEEN, "it has hunter2", "it has " REDACTED},
        {"waited for", "", "Secret/s=hunter2 a@s.data.x", FAKE_UNHEALTHY, "hunter2 is bad",
         ": " REDACTED " is bad"},
        {"never ready", "", "Secret/s=hunter2 a@s.data.x", FAKE_SICK, "hunter2 is bad",
         ": " REDACTED " is bad"},
        {"the secret itself", "", "Secret/s=hunter2", FAKE_REFUSED, "not hunter2", "not " REDACTED},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        stage.verify = true;
        if (*rows[i].before)
            EXPECT_INT(stage_apply(&stage, rows[i].before), 0, rows[i].note);
        fake_fault(&stage.objects, strstr(rows[i].note, "itself") ? "s" : "a", rows[i].faults);
        stage.objects.words = rows[i].words;
        if (rows[i].now)
            EXPECT(stage_apply(&stage, rows[i].now) < 0, rows[i].note);
        else
            EXPECT(stage_destroy(&stage) < 0, rows[i].note);
        EXPECT(strstr(stage.causes.data, rows[i].hidden), stage.causes.data);
        EXPECT(strstr(stage.error.message, rows[i].hidden), stage.error.message);
        EXPECT(!strstr(stage.causes.data, "hunter"), stage.causes.data);
        EXPECT(!strstr(stage.error.message, "hunter"), stage.error.message);
    }
}

/* Something in the world copies a secret to another field, which no reference leads to. */
static void the_diff_hides_copies(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "Secret/s=hunter2 a=1@s.data.x"), 0, stage.error.message);
    fake_drift(&stage.objects, "a", "copy of hunter2");
    EXPECT_INT(stage_plan(&stage, "Secret/s=hunter2 a=1@s.data.x"), 0, stage.error.message);
    EXPECT(strstr(stage.diffs.data, "copy of " REDACTED "\" -> \"1\" [redacted]"),
           stage.diffs.data);
    EXPECT(!strstr(stage.diffs.data, "hunter2"), stage.diffs.data);
}

/* It is approved unseen then: that has to be known. */
static void what_is_too_long_to_be_searched_is_hidden(void)
{
    _cleanup_free_ char *spec = str_printf("Secret/s=hunter2 a=%0*d@s.data.x", 33 << 10, 0);
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    stage.thorough = true;
    EXPECT_INT(stage_plan(&stage, spec), 0, stage.error.message);
    EXPECT(strstr(stage.diffs.data, "data.x:  -> " REDACTED " [redacted]"), stage.diffs.data);
    EXPECT(strstr(stage.diffs.data, "data.ref:  -> (sensitive)") &&
               !strstr(stage.diffs.data, "(sensitive) [redacted]"),
           "what is sensitive itself is no news");
}

/* A thing of the cloud that takes a secret passes it on as one. */
static void the_diff_says_that_there_is_something_secret(void)
{
    static const struct {
        const char *note, *before, *now;
        bool thorough;
    } rows[] = {
        {"all is new", "", "Secret/s=hunter2 a@s.data.x c@a.data.ref", true},
        {"it comes in", "Secret/s=hunter2 a=1 c=1", "Secret/s=hunter2 a@s.data.x c@a.data.ref",
         false},
        {"through the cloud", "Secret/s=hunter2 Cloud/a=1 c=1",
         "Secret/s=hunter2 Cloud/a@s.data.x c@a.ref", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        stage.thorough = rows[i].thorough;
        if (*rows[i].before)
            EXPECT_INT(stage_apply(&stage, rows[i].before), 0, rows[i].note);
        EXPECT_INT(stage_plan(&stage, rows[i].now), 0, rows[i].note);
        EXPECT(strstr(stage.diffs.data, "ref"), stage.diffs.data);
        EXPECT(!strstr(stage.diffs.data, "hunter2"), stage.diffs.data);
    }
}

/* A record is read again as it was written: its secrets are such, and where they were. */
static void what_was_recorded_is_secret_still(void)
{
    _cleanup_stage_ struct stage stage;
    _cleanup_(state_free_p) struct state *state = NULL;
    const struct record *record;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "Secret/t=hunter1 Cloud/d=1@t.data.x"), 0, "applied");
    state = fake_store_state(&stage.store);
    CU_ASSERT_PTR_NOT_NULL_FATAL(state);
    record = state_find(state, "cloud:d", NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(record);
    EXPECT_STR(value_get_string(record->attributes, "ref"), "hunter1", "as applied");
    EXPECT(value_is_sensitive(value_get(record->attributes, "ref")), "attributes");
    EXPECT(!value_is_sensitive(value_get(record->attributes, "x")), "no more than that");
    EXPECT(value_is_sensitive(value_get(record->result, "ref")), "result");
    EXPECT(value_is_sensitive(value_get(record->result, "secret")), "what the cloud says");
    EXPECT_STR(fake_cloud_id(record), fake_cloud_find(&stage.cloud, "d")->id, "memory");
}

/* The object in the world does not say what is secret: State does. */
static void what_was_recorded_is_secret_in_the_world(void)
{
    static const struct {
        const char *before, *planned, *shown;
    } rows[] = {
        {"Secret/s=hunter2 a@s.data.x", "Secret/s=hunter2 a=1", "data.ref: (sensitive) -> "},
        {"Secret/s=hunter2 a@s.data.x", "Secret/s=hunter2 a@s.data.x c@a.data.ref",
         "data.ref:  -> (sensitive)"},
        {"Secret/s=hunter2", "Secret/s=other", "data: (sensitive) -> (sensitive)"},
        {"Secret/s=hunter2 Cloud/a=1@s.data.x", "Secret/s=hunter2 Cloud/a=1",
         "ref: (sensitive) -> "},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        stage.thorough = true;
        EXPECT_INT(stage_apply(&stage, rows[i].before), 0, "applied");
        EXPECT_INT(stage_plan(&stage, rows[i].planned), 0, "planned");
        EXPECT(strstr(stage.diffs.data, rows[i].shown), stage.diffs.data);
        EXPECT(!strstr(stage.diffs.data, "hunter2"), stage.diffs.data);
    }
}

/* Taken from the world, which does not say so, by way of one that is unchanged. */
/* State has forgotten that its value came from a Secret. */
static void what_an_object_without_a_record_had_is_hidden(void)
{
    static const struct {
        const char *note, *diff;
        enum owner_kind owner;
    } rows[] = {
        {"ours once", "data.x: " REDACTED " -> \"2\"", OWNER_SELF},
        {"nobody's", "data.x: \"hunter2\" -> \"2\"", OWNER_NONE},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        fake_put(&stage.objects, "a", "hunter2", rows[i].owner);
        EXPECT_INT(stage_plan(&stage, "a=2"), 0, rows[i].note);
        EXPECT_STR(stage.planned.data, "adopt a", rows[i].note);
        EXPECT(strstr(stage.diffs.data, rows[i].diff), stage.diffs.data);
    }
}

/* What it refers to cannot be planned, so nobody can say that it is secret. */
static void what_an_object_had_is_hidden_where_its_source_is_not_planned(void)
{
    static const unsigned faults[] = {CLOUD_UNSEEN, CLOUD_DEFERS};

    for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        stage.may_forget = true;
        EXPECT_INT(stage_apply(&stage, "Cloud/d=1 a@d.secret"), 0, stage.error.message);
        EXPECT(strstr(stage_objects(&stage), "hunter-d"), stage_objects(&stage));
        EXPECT_INT(stage_orphan(&stage), 0, "State is gone");
        fake_find(&stage.objects, "a")->owner = OWNER_NONE;
        fake_cloud_fault(&stage.cloud, "d", faults[i]);
        stage_plan(&stage, "Cloud/d=1 a@d.secret");
        EXPECT(strstr(stage.diffs.data, "data.ref"), stage.diffs.data);
        EXPECT(!strstr(stage.diffs.data, "hunter-d"), stage.diffs.data);
    }
}

static void what_is_taken_from_the_world_is_recorded_as_secret(void)
{
    static const char *const secrets[] = {"hunter2"};
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "Secret/s=hunter2 a@s.data.x"), 0, "applied");
    expect_hidden(&stage, secrets, 1);
    EXPECT_INT(stage_apply(&stage, "Secret/s=hunter2 a@s.data.x c@a.data.ref d@c.data"), 0,
               "applied");
    EXPECT(strstr(stage_objects(&stage), "hunter2"), "it arrived");
    expect_hidden(&stage, secrets, 1);
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
        CU_ASSERT_PTR_NOT_NULL_FATAL(state);
        record = state_find(state, "v1:ConfigMap:team:c", NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(record);
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

SUITE(operation_secret_reference, TEST(what_is_secret_is_not_seen),
      TEST(what_a_platform_quotes_is_not_seen), TEST(a_piece_of_a_secret_is_seen),
      TEST(failures_do_not_tell_either), TEST(what_runtimes_repeat_is_hidden),
      TEST(the_diff_hides_copies), TEST(what_is_too_long_to_be_searched_is_hidden),
      TEST(the_diff_says_that_there_is_something_secret), TEST(what_was_recorded_is_secret_still),
      TEST(what_was_recorded_is_secret_in_the_world),
      TEST(what_an_object_without_a_record_had_is_hidden),
      TEST(what_an_object_had_is_hidden_where_its_source_is_not_planned),
      TEST(what_is_taken_from_the_world_is_recorded_as_secret),
      TEST(what_becomes_secret_leaves_the_open_part),
      TEST(the_text_of_unknown_values_is_no_unknown_value))
