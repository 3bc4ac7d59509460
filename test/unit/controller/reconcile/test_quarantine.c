/* Lives of a process, one after the other, against an API server in memory: one that is freed
 * without its end has died. */
#include "controller/reconcile/quarantine.h"

#include <stdatomic.h>
#include <string.h>

#include "engine/base/str.h"
#include "test/unit/api_server/api_server.h"
#include "test/unit/runtimes/kubernetes/client/harness.h"
#include "test/unit/suite.h"

#define LEASE "/apis/coordination.k8s.io/v1/namespaces/default/leases/under-way"

struct stage {
    struct api_server *server;
    struct harness harness;
    struct fake_clock clock;
    struct quarantine *quarantine;
};

static void stage_init(struct stage *stage)
{
    struct kube_config config = {0};

    *stage = (struct stage){.server = api_server_new()};
    config.server = (char *)(uintptr_t)api_server_url(stage->server);
    harness_connect(&stage->harness, &(struct kube_client_config){.config = &config});
    fake_clock_init(&stage->clock);
}

static void stage_done(struct stage *stage)
{
    quarantine_free(stage->quarantine);
    harness_stop(&stage->harness, true);
    api_server_free(stage->server);
}

static void pass(struct stage *stage, int64_t ms)
{
    atomic_fetch_add(&stage->clock.monotonic, ms);
}

static void live(struct stage *stage)
{
    stage->quarantine = quarantine_new(&(struct quarantine_config){.client = stage->harness.client,
                                                                   .clock = &stage->clock.source,
                                                                   .namespace_name = "default",
                                                                   .name = "under-way",
                                                                   .identity = "me"});
}

static void die(struct stage *stage)
{
    quarantine_free(stage->quarantine);
    live(stage);
}

static void end(struct stage *stage)
{
    quarantine_end(stage->quarantine);
    quarantine_free(stage->quarantine);
    stage->quarantine = NULL;
}

static void expect_holder(struct stage *stage, const char *holder)
{
    _cleanup_value_ const struct value *lease = api_server_get(stage->server, LEASE);

    EXPECT_STR(value_string(value_path(lease, "spec", "holderIdentity", NULL)), holder, "holder");
}

static void expect_record(struct stage *stage, const char *part, bool is_there, const char *note)
{
    _cleanup_value_ const struct value *lease = api_server_get(stage->server, LEASE);
    const char *text =
        value_string(value_path(lease, "metadata", "annotations", "api.kusion.io/under-way", NULL));

    EXPECT(!!(text && strstr(text, part)) == is_there, note);
}

/* All others have begun. */
static void settle(struct stage *stage)
{
    pass(stage, 3000);
    quarantine_tick(stage->quarantine, 0);
}

static bool begins(struct stage *stage, const char *key)
{
    return !quarantine_wait(stage->quarantine, key) &&
           quarantine_enter(stage->quarantine, key, false);
}

static void as_long_as_all_goes_well_nothing_is_recorded(void)
{
    struct stage stage;

    stage_init(&stage);
    live(&stage);
    EXPECT(begins(&stage, "team/web"), "at once");
    expect_record(&stage, "team/web", false, "it is not recorded");
    expect_holder(&stage, "me");
    end(&stage);
    expect_holder(&stage, NULL);
    live(&stage);
    EXPECT(begins(&stage, "team/web"), "as if nothing had been");
    expect_record(&stage, "team/web", false, "not recorded, either");
    stage_done(&stage);
}

static void what_was_under_way_comes_last_and_is_held_after_the_third_death(void)
{
    struct stage stage;

    stage_init(&stage);
    live(&stage);
    die(&stage);
    EXPECT(begins(&stage, "team/bad") && begins(&stage, "team/done"), "nobody is suspected yet");
    expect_record(&stage, "team/bad", true, "it is recorded before it begins");
    quarantine_leave(stage.quarantine, "team/done", true);
    quarantine_tick(stage.quarantine, 0);
    expect_record(&stage, "team/done", false, "what has ended is recorded in time");
    for (unsigned i = 1; i < QUARANTINE_DEATHS; i++) {
        die(&stage);
        EXPECT(begins(&stage, "team/done"), "others come first");
        EXPECT(!begins(&stage, "team/bad"), "before the others");
        quarantine_tick(stage.quarantine, 5);
        pass(&stage, 3000);
        EXPECT(!begins(&stage, "team/bad"), "keys are ready");
        settle(&stage);
        EXPECT(!begins(&stage, "team/bad"), "another began a moment ago");
        quarantine_leave(stage.quarantine, "team/done", true);
        EXPECT(begins(&stage, "team/bad"), "its turn");
    }
    die(&stage);
    EXPECT_INT(quarantine_wait(stage.quarantine, "team/bad"), 0, "it need not wait to be told");
    EXPECT(!quarantine_enter(stage.quarantine, "team/bad", false), "it is held");
    EXPECT(!quarantine_enter(stage.quarantine, "team/bad", false), "until its status says so");
    quarantine_forget(stage.quarantine, "team/bad");
    end(&stage);
    expect_holder(&stage, NULL);
    expect_record(&stage, "\"objects\":[]", true, "nothing is left");
    stage_done(&stage);
}

/* A person lets it go: it is recorded though all went well since. */
static void what_was_held_is_held_again_after_one_more_death(void)
{
    struct stage stage;

    stage_init(&stage);
    live(&stage);
    EXPECT(quarantine_enter(stage.quarantine, "team/bad", true), "it begins at once");
    expect_record(&stage, "team/bad", true, "recorded");
    die(&stage);
    EXPECT(!quarantine_enter(stage.quarantine, "team/bad", true), "held again");
    quarantine_forget(stage.quarantine, "team/bad");
    EXPECT(quarantine_enter(stage.quarantine, "team/bad", true), "and let go again");
    quarantine_leave(stage.quarantine, "team/bad", true);
    quarantine_tick(stage.quarantine, 0);
    die(&stage);
    EXPECT(begins(&stage, "team/bad"), "its operation ended");
    stage_done(&stage);
}

/* Two wait for health, as they may for hours, while a third one ends the process. */
static void only_deaths_in_its_turn_count(void)
{
    static const char *const patient[] = {"team/a", "team/b"};
    struct stage stage;

    stage_init(&stage);
    live(&stage);
    die(&stage);
    EXPECT(begins(&stage, patient[0]) && begins(&stage, patient[1]), "all begin");
    EXPECT(begins(&stage, "team/bad"), "the bad one, too");
    for (unsigned life = 0; life < 5; life++) {
        die(&stage);
        for (size_t i = 0; i < ARRAY_SIZE(patient); i++) {
            settle(&stage);
            EXPECT_INT(quarantine_wait(stage.quarantine, patient[i]), 0, patient[i]);
            EXPECT(quarantine_enter(stage.quarantine, patient[i], false), patient[i]);
            EXPECT(quarantine_wait(stage.quarantine, "team/bad") > 0 || life > 1, "one at a time");
            pass(&stage, 64000); /* its turn is over, and it goes on */
        }
        if (!begins(&stage, "team/bad"))
            break;
    }
    EXPECT(!quarantine_enter(stage.quarantine, "team/bad", false), "the bad one alone is held");
    stage_done(&stage);
}

/* What ends only because it is put off was not tried: a suspect comes last again. */
static void what_is_put_off_stays_suspected(void)
{
    static const struct {
        const char *note;
        bool has_ended, is_there;
    } rows[] = {{"put off", false, true}, {"ended", true, false}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct stage stage;

        stage_init(&stage);
        live(&stage);
        die(&stage);
        EXPECT(begins(&stage, "team/web"), "it is no suspect yet");
        die(&stage);
        EXPECT(begins(&stage, "team/other"), "nor is this one");
        settle(&stage);
        pass(&stage, 10000);
        EXPECT(begins(&stage, "team/web"), "its turn");
        quarantine_leave(stage.quarantine, "team/web", rows[i].has_ended);
        quarantine_leave(stage.quarantine, "team/other", rows[i].has_ended);
        quarantine_tick(stage.quarantine, 0);
        expect_record(&stage, "team/other", false, "of others nothing is under way");
        expect_record(&stage, "team/web", rows[i].is_there, rows[i].note);
        expect_record(&stage, "Turn", false, "a death is none of its own");
        EXPECT(begins(&stage, "team/web"), "and again");
        expect_record(&stage, "Turn", rows[i].is_there, rows[i].note);
        stage_done(&stage);
    }
}

/* SIGTERM, and a lost Lease: the process ends in order, with operations under way. */
static void an_end_in_order_counts_for_nobody(void)
{
    struct stage stage;

    stage_init(&stage);
    live(&stage);
    die(&stage);
    EXPECT(begins(&stage, "team/web"), "recorded");
    die(&stage);
    for (unsigned i = 0; i < 5; i++) {
        settle(&stage);
        EXPECT(begins(&stage, "team/web"), "its turn");
        end(&stage);
        live(&stage);
    }
    EXPECT(begins(&stage, "team/web"), "nobody is suspected any more");
    stage_done(&stage);
}

/* Half an hour without a death. */
static void in_the_end_all_is_as_before(void)
{
    struct stage stage;

    stage_init(&stage);
    live(&stage);
    die(&stage);
    EXPECT(begins(&stage, "team/web"), "recorded");
    pass(&stage, 1800001);
    quarantine_tick(stage.quarantine, 0);
    expect_record(&stage, "team/web", false, "it is forgotten");
    EXPECT(begins(&stage, "team/other"), "others");
    expect_record(&stage, "team/other", false, "are not recorded");
    stage_done(&stage);
}

static void what_cannot_be_recorded_begins_all_the_same(void)
{
    struct stage stage;

    stage_init(&stage);
    live(&stage);
    die(&stage);
    api_server_forbid(stage.server, NULL, "write", LEASE);
    EXPECT(begins(&stage, "team/web"), "it begins");
    quarantine_tick(stage.quarantine, 0);
    quarantine_leave(stage.quarantine, "team/web", true);
    stage_done(&stage);
}

/* It lets one go that was held, while the Lease cannot be read. */
static void what_begins_before_the_record_is_known_is_not_suspected(void)
{
    struct stage stage;
    unsigned rule;

    stage_init(&stage);
    live(&stage);
    EXPECT(quarantine_enter(stage.quarantine, "team/other", true), "of the process before");
    rule = api_server_forbid(stage.server, NULL, "get", LEASE);
    die(&stage);
    EXPECT(quarantine_enter(stage.quarantine, "team/bad", true), "it begins");
    expect_record(&stage, "team/bad", false, "nothing is written");
    expect_record(&stage, "team/other", true, "what was recorded stays");
    api_server_release(stage.server, rule);
    quarantine_tick(stage.quarantine, 0);
    EXPECT(quarantine_enter(stage.quarantine, "team/bad", false), "this process has not died");
    EXPECT(!quarantine_enter(stage.quarantine, "team/other", false), "the one before has");
    stage_done(&stage);
}

#define UNDER_WAY(json) "{\"metadata\":{\"annotations\":{\"api.kusion.io/under-way\":" json "}}}"

/* By a person, perhaps. */
static void a_record_that_another_wrote_is_replaced(void)
{
    static const char *const texts[] = {
        NULL, /* removed */
        UNDER_WAY("\"{\""),
        UNDER_WAY("\"{\\\"deaths\\\":-1,\\\"objects\\\":[1,{},{\\\"key\\\":1}]}\""),
        UNDER_WAY("null"),
    };

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        const char *note = texts[i] ? texts[i] : "removed";
        struct stage stage;

        stage_init(&stage);
        live(&stage);
        die(&stage);
        for (unsigned time = 0; time < 2; time++) {
            if (texts[i])
                api_server_edit(stage.server, LEASE, texts[i]);
            else
                api_server_delete(stage.server, LEASE);
            if (time)
                die(&stage);
            EXPECT(begins(&stage, "team/web"), note);
            expect_record(&stage, "team/web", !time || texts[i], note);
        }
        stage_done(&stage);
    }
}

SUITE(quarantine, TEST(as_long_as_all_goes_well_nothing_is_recorded),
      TEST(what_was_under_way_comes_last_and_is_held_after_the_third_death),
      TEST(what_was_held_is_held_again_after_one_more_death), TEST(only_deaths_in_its_turn_count),
      TEST(what_is_put_off_stays_suspected), TEST(an_end_in_order_counts_for_nobody),
      TEST(in_the_end_all_is_as_before), TEST(what_cannot_be_recorded_begins_all_the_same),
      TEST(what_begins_before_the_record_is_known_is_not_suspected),
      TEST(a_record_that_another_wrote_is_replaced))
