/* A Spec's life, by what is there at the end and how often it was written. */
#include <unistd.h>

#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "test/unit/controller/scene.h"

#define WEB SPECS "/web"

/* The Spec is Ready: it has made the ConfigMap "a". */
static void begin_ready(struct scene *scene)
{
    scene_begin(scene);
    scene_spec(scene, "web", "", CONFIGMAP("a", "1"));
    scene_expect_ready(scene, "web", "True", "ReconciliationSucceeded");
    scene_expect_quiet(scene);
}

static void makes_what_is_new(void)
{
    struct scene scene = {0};
    int64_t begun, took;

    scene_begin(&scene);
    api_server_mark(scene.server);
    begun = system_clock.monotonic(&system_clock);
    scene_spec(&scene, "web", "", CONFIGMAP("a", "1"));
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    took = system_clock.monotonic(&system_clock) - begun;
    scene_expect_quiet(&scene);
    EXPECT_DATA(&scene, "a", "1");
    EXPECT_PHASE(&scene, "web", 1, "succeeded");
    EXPECT_INT(api_server_size(scene.server, RELEASES), 1, "one Release");
    if (took < 500) /* ms; on a busy machine State and the status are written in between, too */
        EXPECT_WRITES(&scene, "apply configmaps, apply specs, create configmaps, create releases, "
                              "update configmaps, update releases/status, update specs/status");
    EXPECT_INT(api_server_count(scene.server, "get", "/apis/api.kusion.io/*"), 1, "the Spec alone");
    EXPECT_INT(api_server_count(scene.server, "list", RELEASES), 0, "it has none");
    EXPECT_INT(api_server_count(scene.server, "get", "/api/v1/*"), 3, "account, State and object");
    scene_end(&scene);
}

/* There was another Spec of that name, or a Release that a person made has the name of the first.
 */
static void the_first_release_takes_no_name_that_is_taken(void)
{
    struct scene scene = {0};

    begin_ready(&scene);
    api_server_delete(scene.server, WEB);
    scene_expect_gone(&scene, WEB);
    scene_spec(&scene, "web", "", CONFIGMAP("b", "1"));
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    scene_expect_quiet(&scene);
    EXPECT_DATA(&scene, "b", "1");
    EXPECT_PHASE(&scene, "web", 1, "succeeded");
    EXPECT_PHASE(&scene, "web", 2, "succeeded");
    EXPECT_PHASE(&scene, "web", 3, "succeeded");
    EXPECT_INT(api_server_size(scene.server, RELEASES), 3, "apply, destroy, apply");
    scene_end(&scene);
}

/* The first Release is made unseen: killed then, the next process finds it, though Releases of an
 * earlier Spec of the name are newer. */
static void a_first_release_is_taken_up_again(void)
{
    struct scene scene = {0};

    begin_ready(&scene);
    api_server_delete(scene.server, WEB);
    scene_expect_gone(&scene, WEB);
    scene_expect_quiet(&scene);
    api_server_delete(scene.server, RELEASES "/web-1");
    api_server_mark(scene.server);
    api_server_cut_after(scene.server, 4);
    scene_spec(&scene, "web", "", CONFIGMAP("b", "1"));
    scene_expect_cut(&scene);
    scene_kill(&scene);
    api_server_mend(scene.server);
    scene_start(&scene);
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    scene_expect_quiet(&scene);
    EXPECT_PHASE(&scene, "web", 1, "succeeded");
    EXPECT_INT(api_server_size(scene.server, RELEASES), 2, "an earlier destroy, and this apply");
    scene_end(&scene);
}

/* What the watch brought is not there any more: another API server, or a Spec that was made anew.
 */
static void a_spec_that_cannot_be_read_as_it_came_is_read_as_it_is(void)
{
    struct scene scene = {0};

    scene_begin(&scene);
    api_server_rule(
        scene.server,
        &(struct api_rule){
            .verb = "get", .path = WEB, .times = 1, .fault = API_ANSWER, .status = 410});
    scene_spec(&scene, "web", "", CONFIGMAP("a", "1"));
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    EXPECT_DATA(&scene, "a", "1");
    EXPECT_INT(api_server_count(scene.server, "get", WEB), 2, "once more");
    scene_end(&scene);
}

static void a_look_at_what_is_well_writes_nothing(void)
{
    struct scene scene = {0};

    begin_ready(&scene);
    scene_kill(&scene);
    api_server_mark(scene.server);
    scene_start(&scene);
    scene_expect_quiet(&scene);
    EXPECT(api_server_count(scene.server, "get", CONFIGMAPS "/a") > 0, "it looked");
    EXPECT_WRITES(&scene, STARTED);
    scene_end(&scene);
}

/* One write for each request, though the Spec stays as it is. */
static void says_that_a_request_is_handled(void)
{
    struct scene scene = {0};

    begin_ready(&scene);
    for (int n = 0; n < 2; n++) {
        api_server_mark(scene.server);
        scene_ask(&scene, "web");
        scene_expect_handled(&scene, "web");
        scene_expect_quiet(&scene);
        EXPECT(api_server_count(scene.server, "get", CONFIGMAPS "/a") > 0, "it looked");
        EXPECT_WRITES(&scene, "update specs/status");
    }
    scene_end(&scene);
}

static void changes_what_changed_alone(void)
{
    struct scene scene = {0};

    scene_begin(&scene);
    scene_spec(&scene, "web", "", CONFIGMAP("a", "1") "," CONFIGMAP("b", "1"));
    scene_expect_ready(&scene, "web", "True", NULL);
    api_server_mark(scene.server);
    scene_spec(&scene, "web", "", CONFIGMAP("a", "2") "," CONFIGMAP("b", "1"));
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    scene_expect_quiet(&scene);
    EXPECT_DATA(&scene, "a", "2");
    EXPECT_INT(api_server_count(scene.server, "write", CONFIGMAPS "/a"), 1, "once");
    EXPECT_INT(api_server_count(scene.server, "write", CONFIGMAPS "/b"), 0, "not at all");
    EXPECT_PHASE(&scene, "web", 1, "succeeded");
    EXPECT_PHASE(&scene, "web", 2, "succeeded");
    scene_end(&scene);
}

static void mends_what_others_changed(void)
{
    struct scene scene = {0};

    begin_ready(&scene);
    api_server_edit(scene.server, CONFIGMAPS "/a", "{\"data\":{\"x\":\"theirs\"}}");
    scene_ask(&scene, "web");
    scene_expect_quiet(&scene);
    EXPECT_DATA(&scene, "a", "1");
    EXPECT_PHASE(&scene, "web", 2, "succeeded");
    scene_end(&scene);
}

static void prunes_what_left_the_spec(void)
{
    static const struct {
        const char *fields;
        bool goes;
    } rows[] = {{"", true}, {"\"prune\":false,", false}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct scene scene = {0};

        scene_begin(&scene);
        scene_spec(&scene, "web", rows[i].fields, CONFIGMAP("a", "1") "," CONFIGMAP("b", "1"));
        scene_expect_ready(&scene, "web", "True", NULL);
        scene_spec(&scene, "web", rows[i].fields, CONFIGMAP("a", "1"));
        scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
        scene_expect_quiet(&scene);
        EXPECT_DATA(&scene, "a", "1");
        EXPECT_DATA(&scene, "b", rows[i].goes ? NULL : "1");
        scene_end(&scene);
    }
}

/* One fails; what depends on it is not tried, all else goes on; and it is tried again. */
static void tries_again_what_failed(void)
{
    struct scene scene = {0};
    unsigned rule;

    scene_begin(&scene);
    rule = api_server_rule(scene.server, &(struct api_rule){.verb = "apply",
                                                            .path = CONFIGMAPS "/b",
                                                            .fault = API_ANSWER,
                                                            .status = 422});
    scene_spec(&scene, "web", "\"retryInterval\":\"1s\",",
               CONFIGMAP("a", "1") "," CONFIGMAP("b", "1") "," CONFIGMAP_AFTER(
                   "c", "1", "\"" CONFIGMAP_ID("b") "\""));
    scene_expect_ready(&scene, "web", "False", NULL);
    EXPECT_DATA(&scene, "a", "1");
    EXPECT_DATA(&scene, "c", NULL);
    EXPECT_PHASE(&scene, "web", 1, "failed");
    EXPECT(api_server_wait_hits(scene.server, rule, 2), "it is tried again");
    EXPECT_INT(api_server_size(scene.server, RELEASES), 1, "a retry leaves no record of its own");
    api_server_release(scene.server, rule);
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    scene_expect_quiet(&scene);
    EXPECT_DATA(&scene, "c", "1");
    EXPECT_PHASE(&scene, "web", 1, "failed");
    EXPECT_PHASE(&scene, "web", 2, "succeeded");
    EXPECT_INT(api_server_size(scene.server, RELEASES), 2, "but the one that succeeds");
    EXPECT_INT(api_server_count(scene.server, "write", CONFIGMAPS "/a"), 1, "nothing made twice");
    scene_end(&scene);
}

/* Without the finalizer nothing is made that nobody would take away again. The Spec says why. */
static void makes_nothing_without_the_finalizer(void)
{
    static const struct {
        int status;
        const char *reason;
    } rows[] = {{403, "Forbidden"}, {422, "Invalid"}, {408, "Timeout"}, {501, "InternalError"}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct scene scene = {0};
        unsigned rule;

        scene_begin(&scene);
        rule = api_server_rule(scene.server, &(struct api_rule){.verb = "apply",
                                                                .path = WEB,
                                                                .fault = API_ANSWER,
                                                                .status = rows[i].status,
                                                                .reason = rows[i].reason});
        scene_spec(&scene, "web", "\"retryInterval\":\"1s\",", CONFIGMAP("a", "1"));
        scene_expect_ready(&scene, "web", "False", rows[i].reason);
        EXPECT(api_server_wait_hits(scene.server, rule, 2), "it is tried again");
        EXPECT_DATA(&scene, "a", NULL);
        EXPECT_INT(api_server_size(scene.server, KEPT), 0, "nor recorded");
        api_server_release(scene.server, rule);
        scene_expect_ready(&scene, "web", "True", NULL);
        EXPECT_DATA(&scene, "a", "1");
        scene_end(&scene);
    }
}

static void does_nothing_while_suspended(void)
{
    struct scene scene = {0};

    scene_begin(&scene);
    scene_spec(&scene, "web", "\"suspend\":true,", CONFIGMAP("a", "1"));
    scene_expect_ready(&scene, "web", "Unknown", "Suspended");
    scene_expect_quiet(&scene);
    EXPECT_WRITES(&scene, "update specs/status");
    api_server_mark(scene.server);
    scene_ask(&scene, "web");
    scene_expect_handled(&scene, "web");
    scene_expect_quiet(&scene);
    EXPECT_WRITES(&scene, "update specs/status");
    scene_spec(&scene, "web", "\"suspend\":false,", CONFIGMAP("a", "1"));
    scene_expect_ready(&scene, "web", "True", NULL);
    EXPECT_DATA(&scene, "a", "1");
    scene_spec(&scene, "web", "\"suspend\":true,", CONFIGMAP("a", "2"));
    scene_expect_ready(&scene, "web", "True", "Suspended");
    scene_expect_quiet(&scene);
    EXPECT_DATA(&scene, "a", "1");
    scene_end(&scene);
}

/* The one that has it keeps it, and the other says whose it is. */
static void two_specs_do_not_share(void)
{
    struct scene scene = {0};

    begin_ready(&scene);
    scene_spec(&scene, "other", "", CONFIGMAP("a", "2"));
    scene_expect_ready(&scene, "other", "False", "ConflictDetected");
    scene_expect_quiet(&scene);
    EXPECT_DATA(&scene, "a", "1");
    api_server_delete(scene.server, SPECS "/other");
    scene_expect_gone(&scene, SPECS "/other");
    EXPECT_DATA(&scene, "a", "1");
    scene_end(&scene);
}

/* An operation is ended by a newer generation, at once; what was made stays. */
static void a_new_generation_ends_the_old_one(void)
{
    struct scene scene = {0};

    scene_begin(&scene);
    scene_spec(&scene, "web", "", DEPLOYMENT("slow", "1"));
    scene_expect_there(&scene, DEPLOYMENTS "/slow");
    scene_expect_quiet(&scene);
    scene_spec(&scene, "web", "", CONFIGMAP("a", "1") "," DEPLOYMENT("slow", "1"));
    for (int ms = 0; ms < 60000 && !api_server_size(scene.server, CONFIGMAPS); ms += 20)
        scene_expect_quiet(&scene);
    EXPECT_DATA(&scene, "a", "1");
    EXPECT_PHASE(&scene, "web", 1, "cancelled");
    scene_roll_out(&scene, "slow");
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    EXPECT_PHASE(&scene, "web", 1, "cancelled");
    EXPECT_PHASE(&scene, "web", 2, "succeeded");
    EXPECT_INT(api_server_count(scene.server, "write", DEPLOYMENTS "/slow"), 1, "made once");
    scene_end(&scene);
}

/* A call of the first generation takes so long that the second leaves its resource out, and lands
 * while the second still waits for something: then that round is followed by another at once. */
static void what_landed_meanwhile_is_looked_at_at_once(void)
{
    struct scene scene = {0};
    unsigned rule;

    scene_begin(&scene);
    rule = api_server_rule(scene.server, &(struct api_rule){.verb = "apply",
                                                            .path = CONFIGMAPS "/a",
                                                            .times = 1,
                                                            .fault = API_HOLD_AFTER});
    scene_spec(&scene, "web", "\"retryInterval\":\"10m\",", CONFIGMAP("a", "1"));
    EXPECT(api_server_wait_hits(scene.server, rule, 1), "it hangs");
    sleep(6); /* longer than a plan waits for a call */
    scene_spec(&scene, "web", "\"retryInterval\":\"10m\",",
               CONFIGMAP("a", "2") "," DEPLOYMENT("slow", "1"));
    scene_expect_there(&scene, DEPLOYMENTS "/slow");
    api_server_release(scene.server, rule);
    scene_expect_quiet(&scene);
    scene_roll_out(&scene, "slow");
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    EXPECT_DATA(&scene, "a", "2");
    scene_end(&scene);
}

/* What was sent when the newer generation came goes on by itself: the old Release names it. */
static void the_old_one_names_the_calls_that_go_on(void)
{
    struct scene scene = {0};
    _cleanup_value_ const struct value *old = NULL;
    const struct value *status, *ready;
    unsigned rule;

    scene_begin(&scene);
    rule = api_server_rule(
        scene.server,
        &(struct api_rule){.verb = "apply", .path = CONFIGMAPS "/a", .fault = API_HOLD});
    scene_spec(&scene, "web", "\"retryInterval\":\"1s\",", CONFIGMAP("a", "1"));
    EXPECT(api_server_wait_hits(scene.server, rule, 1), "it is sent");
    scene_spec(&scene, "web", "\"retryInterval\":\"1s\",",
               CONFIGMAP("a", "2") "," CONFIGMAP("b", "1"));
    scene_expect_there(&scene, RELEASES "/web-2");
    old = api_server_get(scene.server, RELEASES "/web-1");
    status = value_get(old, "status");
    ready = value_at(value_get(status, "conditions"), 0);
    EXPECT_STR(value_get_string(status, "phase"), "cancelled", "the old one");
    EXPECT_STR(value_get_string(ready, "message"),
               "superseded by generation 2 of the Spec; still under way: " CONFIGMAP_ID("a"),
               "what goes on");
    EXPECT_STR(value_get_string(value_at(value_get(status, "results"), 0), "message"),
               "under way when it was cancelled: Superseded", "what became of it");
    api_server_release(scene.server, rule);
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    EXPECT_DATA(&scene, "a", "2");
    EXPECT_DATA(&scene, "b", "1");
    EXPECT_PHASE(&scene, "web", 1, "cancelled");
    scene_end(&scene);
}

/* What was recorded is gone: what the Spec names is taken over again, and none of it made anew. */
static void takes_over_what_it_lost_the_record_of(void)
{
    _cleanup_value_ const struct value *before = NULL, *after = NULL;
    struct scene scene = {0};

    begin_ready(&scene);
    before = api_server_get(scene.server, CONFIGMAPS "/a");
    api_server_do(scene.server, "DELETE", KEPT, NULL, NULL);
    scene_ask(&scene, "web");
    scene_expect_quiet(&scene);
    after = api_server_get(scene.server, CONFIGMAPS "/a");
    EXPECT(value_equal(value_path(before, "metadata", "uid", NULL),
                       value_path(after, "metadata", "uid", NULL)),
           "the same object");
    EXPECT_INT(api_server_size(scene.server, KEPT), 1, "recorded again");
    EXPECT_INT(api_server_size(scene.server, "/api/v1/namespaces/team/events"), 3,
               "told: two Releases, and that State is gone");
    scene_end(&scene);
}

static void refuses_what_is_wrong(void)
{
    struct scene scene = {0};

    scene_begin(&scene);
    scene_spec(&scene, "web", "", "{\"id\":\"x\",\"type\":\"None\"}");
    scene_expect_ready(&scene, "web", "False", "InvalidSpec");
    scene_expect_quiet(&scene);
    EXPECT_WRITES(&scene, "update specs/status");
    scene_spec(&scene, "web", "", CONFIGMAP("a", "1"));
    scene_expect_ready(&scene, "web", "True", NULL);
    scene_end(&scene);
}

/* No object needs the context here. What may pass is waited for all the same, and what is refused
 * is not. */
static void a_context_that_cannot_be_read_for_a_while_is_read_later(void)
{
    static const char fields[] = "\"retryInterval\":\"1s\",\"contextFrom\":[{\"configMapRef\":"
                                 "{\"name\":\"cloud\"}}],";
    static const struct api_rule down = {
        .verb = "get", .path = CONFIGMAPS "/cloud", .fault = API_ANSWER, .status = 503};
    struct scene scene = {0};
    unsigned rule;

    scene_begin(&scene);
    rule = api_server_rule(scene.server, &down);
    scene_spec(&scene, "web", fields, CONFIGMAP("a", "1"));
    EXPECT(api_server_wait_hits(scene.server, rule, 3), "it is tried again");
    EXPECT_DATA(&scene, "a", NULL);
    api_server_release(scene.server, rule);
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded"); /* it is not there */
    EXPECT_DATA(&scene, "a", "1");
    api_server_forbid(scene.server, NULL, "get", CONFIGMAPS "/cloud");
    scene_spec(&scene, "web", fields, CONFIGMAP("a", "2"));
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    EXPECT_DATA(&scene, "a", "2");
    scene_end(&scene);
}

SUITE(scenario_apply, TEST(a_context_that_cannot_be_read_for_a_while_is_read_later),
      TEST(makes_what_is_new), TEST(the_first_release_takes_no_name_that_is_taken),
      TEST(a_first_release_is_taken_up_again),
      TEST(a_spec_that_cannot_be_read_as_it_came_is_read_as_it_is),
      TEST(a_look_at_what_is_well_writes_nothing), TEST(says_that_a_request_is_handled),
      TEST(changes_what_changed_alone), TEST(mends_what_others_changed),
      TEST(prunes_what_left_the_spec), TEST(tries_again_what_failed),
      TEST(makes_nothing_without_the_finalizer), TEST(does_nothing_while_suspended),
      TEST(two_specs_do_not_share), TEST(a_new_generation_ends_the_old_one),
      TEST(what_landed_meanwhile_is_looked_at_at_once),
      TEST(the_old_one_names_the_calls_that_go_on), TEST(takes_over_what_it_lost_the_record_of),
      TEST(refuses_what_is_wrong))
