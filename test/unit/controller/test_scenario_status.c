/* What is said of an operation, how often, and that it is said although a write was lost. */
#include "engine/base/buf.h"
#include "engine/base/str.h"
#include "test/unit/controller/scene.h"

#include <unistd.h>

#define WEB SPECS "/web"

/* Statuses of the Spec that are written meanwhile. */
static unsigned statuses(struct scene *scene)
{
    return api_server_count(scene->server, "write", WEB "/status");
}

/* The last write is refused, or its answer lost: it is written again, and no second Release comes
 * of it. */
static void a_lost_status_makes_no_release(void)
{
    static const struct {
        const char *note, *path;
        enum api_fault fault;
        int status;
    } rows[] = {
        {"the Spec's is refused", WEB "/status", API_ANSWER, 500},
        {"the Spec's is not allowed", WEB "/status", API_ANSWER, 403},
        {"the Spec's answer is lost", WEB "/status", API_DROP_AFTER, 0},
        {"the Spec's conflicts", WEB "/status", API_ANSWER, 409},
        {"the Release's is refused", RELEASES "/*/status", API_ANSWER, 500},
        {"the Release's answer is lost", RELEASES "/*/status", API_DROP_AFTER, 0},
        {"the Release's conflicts", RELEASES "/*/status", API_ANSWER, 409},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct scene scene = {0};
        unsigned rule;

        scene_begin(&scene);
        rule = api_server_rule(scene.server, &(struct api_rule){.verb = "update",
                                                                .path = rows[i].path,
                                                                .times = 1,
                                                                .fault = rows[i].fault,
                                                                .status = rows[i].status});
        scene_spec(&scene, "web", "\"retryInterval\":\"1s\",", CONFIGMAP("a", "1"));
        EXPECT(api_server_wait_hits(scene.server, rule, 1), rows[i].note);
        scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
        scene_expect_quiet(&scene);
        EXPECT_INT(api_server_size(scene.server, RELEASES), 1, rows[i].note);
        EXPECT_PHASE(&scene, "web", 1, "succeeded");
        EXPECT_INT(api_server_count(scene.server, "write", CONFIGMAPS "/a"), 1, rows[i].note);
        scene_end(&scene);
    }
}

/* Something between us and the API server answers 200 and knows nothing: that is no object, and is
 * asked again. */
static void an_answer_that_is_no_object_passes(void)
{
    static const struct {
        const char *note, *verb, *path, *body;
    } rows[] = {
        {"a Spec of no fields", "get", WEB, "{}"},
        {"an empty Spec", "get", WEB, ""},
        {"a finalizer's", "apply", WEB, "{}"},
        {"a Release that was not made", "create", RELEASES, "{}"},
        {"an empty one", "create", RELEASES, ""},
        {"another one", "create", RELEASES, "{\"kind\":\"Release\",\"metadata\":{}}"},
        {"a Release's status", "update", RELEASES "/*/status", "{}"},
        {"a Spec's status", "update", WEB "/status", "{}"},
        {"an account", "get", "/api/v1/namespaces/team/serviceaccounts/default", "{}"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct scene scene = {0};
        unsigned rule;

        scene_begin(&scene);
        rule = api_server_rule(scene.server, &(struct api_rule){.verb = rows[i].verb,
                                                                .path = rows[i].path,
                                                                .times = 1,
                                                                .fault = API_BODY,
                                                                .body = rows[i].body});
        scene_spec(&scene, "web", "\"retryInterval\":\"1s\",", CONFIGMAP("a", "1"));
        EXPECT(api_server_wait_hits(scene.server, rule, 1), rows[i].note);
        scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
        scene_expect_quiet(&scene);
        EXPECT_INT(api_server_count(scene.server, "write", CONFIGMAPS "/a"), 1, rows[i].note);
        scene_end(&scene);
    }
}

/* A policy that takes no status of a Release: the Spec says what came of it all the same. */
static void a_refused_release_does_not_hide_the_end(void)
{
    struct scene scene = {0};
    unsigned rule;

    scene_begin(&scene);
    rule = api_server_forbid(scene.server, NULL, "update", RELEASES "/*/status");
    scene_spec(&scene, "web", "", CONFIGMAP("a", "1"));
    EXPECT(api_server_wait_hits(scene.server, rule, 1), "refused");
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    EXPECT_DATA(&scene, "a", "1");
    scene_end(&scene);
}

/* A person made a Release whose name a revision would have: the next is taken. */
static void a_name_that_is_taken_is_passed_over(void)
{
    struct scene scene = {0};

    scene_begin(&scene);
    api_server_create(scene.server,
                      "{\"apiVersion\":\"api.kusion.io/v1\",\"kind\":\"Release\",\"metadata\":{"
                      "\"namespace\":\"team\",\"name\":\"web-1\"},\"spec\":{\"specRef\":{\"name\":"
                      "\"other\"},\"operation\":\"Preview\"}}");
    scene_spec(&scene, "web", "", CONFIGMAP("a", "1"));
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    scene_expect_quiet(&scene);
    EXPECT_PHASE(&scene, "web", 2, "succeeded");
    EXPECT_PHASE(&scene, "web", 1, "failed");
    scene_end(&scene);
}

/* Killed between the two last writes: the Spec is told by the next process. */
static void the_next_process_tells(void)
{
    struct scene scene = {0};
    unsigned rule;

    scene_begin(&scene);
    rule = api_server_rule(
        scene.server,
        &(struct api_rule){.verb = "update", .path = WEB "/status", .fault = API_HOLD});
    scene_spec(&scene, "web", "", CONFIGMAP("a", "1"));
    EXPECT(api_server_wait_hits(scene.server, rule, 1), "it was about to");
    scene_kill(&scene);
    api_server_cut_after(scene.server, 0); /* what it had sent is lost as well */
    api_server_mend(scene.server);
    api_server_release(scene.server, rule);
    api_server_mark(scene.server);
    scene_start(&scene);
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    scene_expect_quiet(&scene);
    EXPECT_WRITES(&scene, STARTED ", update specs/status");
    EXPECT_INT(api_server_size(scene.server, RELEASES), 1, "no second one");
    scene_end(&scene);
}

/* Somebody ended the Release meanwhile: that stands. */
static void a_terminal_phase_stays(void)
{
    struct scene scene = {0};

    scene_begin(&scene);
    scene_spec(&scene, "web", "", DEPLOYMENT("slow", "1"));
    scene_expect_there(&scene, DEPLOYMENTS "/slow");
    scene_expect_quiet(&scene);
    api_server_edit(scene.server, RELEASES "/web-1/status",
                    "{\"status\":{\"phase\":\"cancelled\"}}");
    scene_roll_out(&scene, "slow");
    scene_expect_ready(&scene, "web", "True", NULL);
    scene_expect_quiet(&scene);
    EXPECT_PHASE(&scene, "web", 1, "cancelled");
    scene_end(&scene);
}

/* Over within a second: told once, at its end. */
static void a_short_operation_is_told_once(void)
{
    struct scene scene = {0};

    scene_begin(&scene);
    scene_spec(&scene, "web", "", CONFIGMAP("a", "1") "," CONFIGMAP("b", "1"));
    scene_expect_ready(&scene, "web", "True", NULL);
    scene_expect_quiet(&scene);
    EXPECT_INT(statuses(&scene), 1, "once");
    EXPECT_INT(api_server_count(scene.server, "write", RELEASES "/*/status"), 1, "once");
    scene_end(&scene);
}

/* One that takes longer says so, and not more than once a second. */
static void a_long_operation_is_told_now_and_then(void)
{
    enum { SECONDS = 4 };
    struct scene scene = {0};

    scene_begin(&scene);
    scene_spec(&scene, "web", "", DEPLOYMENT("slow", "1"));
    scene_expect_there(&scene, DEPLOYMENTS "/slow");
    usleep(500000);
    EXPECT_INT(statuses(&scene), 0, "nothing yet");
    scene_expect_ready(&scene, "web", "Unknown", NULL);
    for (int n = 0; n < 40; n++) { /* which wakes it, and is nothing new */
        api_server_edit(scene.server, DEPLOYMENTS "/slow/status",
                        n % 2 ? "{\"status\":{\"replicas\":1}}" : "{\"status\":{\"replicas\":0}}");
        usleep(SECONDS * 1000000 / 40);
    }
    EXPECT(statuses(&scene) <= SECONDS + 1, "once a second at most");
    scene_roll_out(&scene, "slow");
    scene_expect_ready(&scene, "web", "True", NULL);
    scene_end(&scene);
}

static void takes_no_spec_that_is_too_large(void)
{
    enum { FIELDS = 1100000 };
    struct scene scene = {0};
    char *filler = malloc(FIELDS + 1);
    char *resource;

    memset(filler, 'x', FIELDS);
    filler[FIELDS] = '\0';
    resource =
        str_printf("{\"id\":\"v1:ConfigMap:team:a\",\"type\":\"Kubernetes\",\"attributes\":{"
                   "\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\","
                   "\"namespace\":\"team\"},\"data\":{\"x\":\"%s\"}}}",
                   filler);
    scene_begin(&scene);
    scene_spec(&scene, "web", "", resource);
    scene_expect_ready(&scene, "web", "False", "InvalidSpec");
    EXPECT_DATA(&scene, "a", NULL);
    scene_spec(&scene, "web", "", CONFIGMAP("a", "1"));
    scene_expect_ready(&scene, "web", "True", NULL);
    scene_end(&scene);
    free(resource);
    free(filler);
}

/* Nested deeper than is read, its metadata are all there is of it: it is told so, and can be
 * deleted. */
static void takes_no_spec_that_cannot_be_read(void)
{
    enum { DEPTH = 1000 };
    _cleanup_buf_ struct buf deep = BUF_INIT;
    struct scene scene = {0};

    for (int i = 0; i < DEPTH; i++)
        buf_add_char(&deep, '[');
    for (int i = 0; i < DEPTH; i++)
        buf_add_char(&deep, ']');
    scene_begin(&scene);
    api_server_rule(scene.server, &(struct api_rule){.verb = "get",
                                                     .path = WEB,
                                                     .accept = "application/json",
                                                     .fault = API_BODY,
                                                     .body = deep.data});
    scene_spec(&scene, "web", "", CONFIGMAP("a", "1"));
    scene_expect_ready(&scene, "web", "False", "InvalidSpec");
    EXPECT_DATA(&scene, "a", NULL);
    api_server_delete(scene.server, WEB);
    scene_expect_gone(&scene, WEB);
    scene_end(&scene);
}

/* A refusal of the read says nothing of the Spec: it stays Ready, and is read again. */
static void a_read_that_is_refused_passes(void)
{
    static const int refusals[] = {400, 403, 404, 405, 406, 408, 410, 413, 415, 418, 422};
    struct scene scene = {0};

    scene_begin(&scene);
    scene_spec(&scene, "web", "", CONFIGMAP("a", "1"));
    scene_expect_ready(&scene, "web", "True", NULL);
    scene_expect_quiet(&scene);
    for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
        _cleanup_free_ char *note = str_printf("%d", refusals[i]);
        unsigned rule;

        api_server_mark(scene.server);
        rule = api_server_rule(scene.server, &(struct api_rule){.verb = "get",
                                                                .path = WEB,
                                                                .accept = "application/json",
                                                                .times = 1,
                                                                .fault = API_ANSWER,
                                                                .status = refusals[i]});
        scene_ask(&scene, "web");
        EXPECT(api_server_wait_hits(scene.server, rule, 1), note);
        scene_expect_quiet(&scene);
        EXPECT_INT(statuses(&scene), 0, note);
    }
    scene_end(&scene);
}

/* At most 20 s. */
static bool says_of(struct scene *scene, const char *words)
{
    for (int i = 0; i < 2000; i++) {
        _cleanup_value_ const struct value *web = api_server_get(scene->server, WEB);
        const struct value *conditions = value_path(web, "status", "conditions", NULL);

        for (size_t n = 0; n < value_count(conditions); n++) {
            const char *said = value_get_string(value_at(conditions, n), "message");

            if (said && strstr(said, words))
                return true;
        }
        usleep(10000);
    }
    return false;
}

/* Nothing can be recorded in the operator's namespace, in the middle of an apply. */
static void state_that_cannot_be_saved_is_told(void)
{
    struct scene scene = {0};
    unsigned slow, rule;

    scene_begin(&scene);
    slow = api_server_rule(
        scene.server,
        &(struct api_rule){.verb = "apply", .path = CONFIGMAPS "/a", .fault = API_HOLD});
    scene_spec(&scene, "web", "",
               CONFIGMAP("a", "1") "," CONFIGMAP_AFTER("b", "1", "\"" CONFIGMAP_ID("a") "\""));
    EXPECT(api_server_wait_hits(scene.server, slow, 1), "under way");
    rule = api_server_rule(scene.server,
                           &(struct api_rule){.verb = "write",
                                              .path = "/api/v1/namespaces/kusion-system/*",
                                              .fault = API_ANSWER,
                                              .status = 503,
                                              .message = "the disk is full"});
    api_server_release(scene.server, slow);
    EXPECT(says_of(&scene, "done, waiting for State to be saved: "), "what it waits for");
    scene_expect_logged(&scene, "\"level\":\"warn\",\"message\":\"an operation waits\"");
    api_server_release(scene.server, rule);
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    EXPECT_INT(api_server_count(scene.server, "write", CONFIGMAPS "/a"), 1, "once");
    scene_end(&scene);
}

/* A deletion that takes longer says how much of it is done. */
static void a_long_deletion_counts(void)
{
    static const char *const held[] = {CONFIGMAPS "/b", CONFIGMAPS "/c"};
    struct scene scene = {0};

    scene_begin(&scene);
    scene_spec(&scene, "web", "",
               CONFIGMAP("a", "1") "," CONFIGMAP("b", "1") "," CONFIGMAP("c", "1"));
    scene_expect_ready(&scene, "web", "True", NULL);
    for (size_t i = 0; i < ARRAY_SIZE(held); i++)
        api_server_edit(scene.server, held[i], "{\"metadata\":{\"finalizers\":[\"x/y\"]}}");
    api_server_delete(scene.server, WEB);
    EXPECT(says_of(&scene, "1 of 3 done"), "one is gone");
    api_server_edit(scene.server, held[0], "{\"metadata\":{\"finalizers\":null}}");
    EXPECT(says_of(&scene, "2 of 3 done"), "two are gone");
    api_server_edit(scene.server, held[1], "{\"metadata\":{\"finalizers\":null}}");
    scene_expect_gone(&scene, WEB);
    scene_end(&scene);
}

SUITE(scenario_status, TEST(a_lost_status_makes_no_release),
      TEST(an_answer_that_is_no_object_passes), TEST(a_refused_release_does_not_hide_the_end),
      TEST(a_name_that_is_taken_is_passed_over), TEST(the_next_process_tells),
      TEST(a_terminal_phase_stays), TEST(a_short_operation_is_told_once),
      TEST(a_long_operation_is_told_now_and_then), TEST(takes_no_spec_that_is_too_large),
      TEST(takes_no_spec_that_cannot_be_read), TEST(a_read_that_is_refused_passes),
      TEST(state_that_cannot_be_saved_is_told), TEST(a_long_deletion_counts))
