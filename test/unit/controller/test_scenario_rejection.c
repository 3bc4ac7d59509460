/* Plans that a person rejected are not carried out without a later approval. A request that has
 * ended is not taken for one that was withdrawn. */
#include <unistd.h>

#include "engine/base/str.h"
#include "test/unit/controller/approval_scene.h"

/* ---- Rejected ---- */

static void reject(struct scene *scene, unsigned revision)
{
    _cleanup_free_ char *path = str_printf(RELEASE "%u", revision);

    EXPECT(approval_is_waiting(scene, revision), path);
    api_server_edit(scene->server, path, "{\"spec\":{\"rejected\":true}}");
}

/* The plan that revision 1 shows is approved in the Spec, by somebody else than its author. */
static void approve_in_spec(struct scene *scene)
{
    _cleanup_value_ const struct value *release = api_server_get(scene->server, RELEASE "1");
    _cleanup_free_ char *patch = str_printf(
        "{\"apiVersion\":\"api.kusion.io/v1\",\"kind\":\"Spec\",\"metadata\":{\"name\":\"web\","
        "\"namespace\":\"team\"},\"spec\":{\"approval\":{\"approvedPlan\":\"%s\"}}}",
        value_string(value_path(release, "status", "plan", "digest", NULL)));

    EXPECT_INT(
        api_server_do(scene->server, "APPLY", WEB "?fieldManager=approver&force=true", patch, NULL),
        200, "approved");
}

/* The operator is killed after n writes, when the plan that the Spec approves is shown, and not yet
 * carried out. False: it was not. */
static bool show_what_the_spec_approves(struct scene *scene, unsigned n)
{
    *scene = (struct scene){0};
    scene_begin(scene);
    scene_spec(scene, "web", MANUAL, CONFIGMAP("a", "1"));
    scene_expect_ready(scene, "web", "Unknown", "AwaitingApproval");
    scene_expect_quiet(scene);
    api_server_cut_after(scene->server, n);
    approve_in_spec(scene);
    scene_expect_quiet(scene);
    scene_kill(scene);
    api_server_mend(scene->server);
    return approval_is_waiting(scene, 2);
}

static void begin_with_what_the_spec_approves(struct scene *scene)
{
    unsigned n = 1;

    while (!show_what_the_spec_approves(scene, n) && n++ < 12)
        scene_end(scene);
    EXPECT(n <= 12, "the plan is shown");
}

static void a_rejection_outdoes_the_approval_in_the_spec(void)
{
    struct scene scene;

    begin_with_what_the_spec_approves(&scene);
    reject(&scene, 2);
    scene_start(&scene);
    for (unsigned looks = 0; looks < 2; looks++) {
        scene_expect_ready(&scene, "web", "False", "Rejected");
        scene_ask(&scene, "web");
        scene_expect_handled(&scene, "web");
    }
    EXPECT_DATA(&scene, "a", NULL);
    EXPECT_PHASE(&scene, "web", 2, "cancelled");
    scene_expect_logged(&scene, "\"summary\":\"rejected by test\"");
    scene_end(&scene);
}

/* The plan that was rejected comes again, after another one: it waits anew. */
static void a_rejected_plan_that_comes_again_waits_anew(void)
{
    struct scene scene;

    approval_begin(&scene, MANUAL);
    scene_spec(&scene, "web", MANUAL, CONFIGMAP("a", "2"));
    scene_expect_ready(&scene, "web", "Unknown", "AwaitingApproval");
    reject(&scene, 2);
    scene_expect_ready(&scene, "web", "False", "Rejected");
    scene_spec(&scene, "web", MANUAL, CONFIGMAP("a", "3"));
    scene_expect_ready(&scene, "web", "Unknown", "AwaitingApproval");
    EXPECT(approval_is_waiting(&scene, 3), "another plan");
    scene_spec(&scene, "web", MANUAL, CONFIGMAP("a", "2"));
    scene_expect_ready(&scene, "web", "Unknown", "AwaitingApproval");
    scene_ask(&scene, "web");
    scene_expect_handled(&scene, "web");
    scene_expect_quiet(&scene);
    EXPECT(approval_is_waiting(&scene, 4), "the first again");
    EXPECT_DATA(&scene, "a", "1");
    approval_give(&scene, 4);
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    EXPECT_DATA(&scene, "a", "2");
    scene_end(&scene);
}

/* The approval was written before the rejection, and nobody has written it anew. */
static void a_rejection_outdoes_it_when_the_spec_changes_away_and_back(void)
{
    struct scene scene;

    begin_with_what_the_spec_approves(&scene);
    reject(&scene, 2);
    scene_start(&scene);
    scene_expect_ready(&scene, "web", "False", "Rejected");
    scene_spec(&scene, "web", MANUAL, CONFIGMAP("a", "3"));
    scene_expect_ready(&scene, "web", "Unknown", "AwaitingApproval");
    scene_expect_quiet(&scene);
    EXPECT(approval_is_waiting(&scene, 3), "another plan");
    scene_spec(&scene, "web", MANUAL, CONFIGMAP("a", "1"));
    scene_expect_ready(&scene, "web", "Unknown", "AwaitingApproval");
    scene_expect_quiet(&scene);
    EXPECT_DATA(&scene, "a", NULL);
    EXPECT(approval_is_waiting(&scene, 4), "the first again");
    approval_give(&scene, 4);
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    EXPECT_DATA(&scene, "a", "1");
    scene_end(&scene);
}

/* ---- Requests ---- */

#define UNDO RELEASES "/undo"

/* A Rollback that a person asks for. */
static void request_rollback(struct scene *scene)
{
    api_server_create(scene->server,
                      "{\"apiVersion\":\"api.kusion.io/v1\",\"kind\":\"Release\",\"metadata\":{"
                      "\"name\":\"undo\",\"namespace\":\"team\"},\"spec\":{\"specRef\":{\"name\":"
                      "\"web\"},\"operation\":\"Rollback\"}}");
}

static char *phase_of_request(struct scene *scene)
{
    _cleanup_value_ const struct value *undo = api_server_get(scene->server, UNDO);

    return str_new(value_string(value_path(undo, "status", "phase", NULL)));
}

/* Its first Release is cancelled, as something else would be done now: the next one carries it out.
 */
static void a_request_outlasts_a_plan_that_is_another_now(void)
{
    struct scene scene;
    char *phase;

    approval_begin(&scene, MANUAL);
    scene_spec(&scene, "web", MANUAL, CONFIGMAP("a", "2"));
    scene_expect_ready(&scene, "web", "Unknown", "AwaitingApproval");
    approval_give(&scene, 2);
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    scene_expect_quiet(&scene);
    request_rollback(&scene);
    scene_expect_there(&scene, RELEASE "3");
    scene_expect_ready(&scene, "web", "Unknown", "AwaitingApproval");
    scene_expect_quiet(&scene);
    approval_edit_a(&scene, "theirs");
    for (unsigned looks = 0; looks < 2; looks++) {
        scene_ask(&scene, "web");
        scene_expect_handled(&scene, "web");
        scene_expect_quiet(&scene);
    }
    EXPECT_PHASE(&scene, "web", 3, "cancelled");
    EXPECT(approval_is_waiting(&scene, 4), "the plan of now");
    phase = phase_of_request(&scene);
    EXPECT_STR(phase, "generating", "the request goes on");
    free(phase);
    approval_give(&scene, 4);
    scene_expect_ready(&scene, "web", "False", "RolledBack");
    scene_expect_quiet(&scene);
    EXPECT_DATA(&scene, "a", "1");
    phase = phase_of_request(&scene);
    EXPECT_STR(phase, "succeeded", "the request");
    free(phase);
    scene_end(&scene);
}

/* It has failed, and goes as its TTL removes it. */
static void remove_request(struct scene *scene)
{
    bool has_failed = false;

    for (int ms = 0; ms < 60000 && !has_failed; ms += 50) {
        _cleanup_value_ const struct value *undo = api_server_get(scene->server, UNDO);

        has_failed = str_equal(value_string(value_path(undo, "status", "phase", NULL)), "failed");
        usleep(50000);
    }
    EXPECT(has_failed, "the request");
    api_server_delete(scene->server, UNDO);
}

/* A request that has failed is over, and its TTL removes it. That withdraws nothing, whether the
 * operation had begun or not. */
static void a_request_that_its_ttl_removes_is_not_withdrawn(void)
{
    static const struct {
        const char *note;
        bool begins; /* a part of it is done, and the rest is another plan later */
    } rows[] = {{"a part of it is done", true}, {"it could not be planned", false}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct api_rule refuse = {.verb = "write",
                                        .path = rows[i].begins ? CONFIGMAPS "/a" : CONFIGMAPS "/*",
                                        .dry_runs = !rows[i].begins,
                                        .fault = API_ANSWER,
                                        .status = 403};
        struct scene scene;
        unsigned rule;

        approval_begin(&scene, MANUAL);
        scene_spec(&scene, "web", MANUAL, CONFIGMAP("a", "2") "," CONFIGMAP("b", "2"));
        scene_expect_ready(&scene, "web", "Unknown", "AwaitingApproval");
        approval_give(&scene, 2);
        scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
        scene_spec(&scene, "web", MANUAL, CONFIGMAP("a", "3") "," CONFIGMAP("b", "3"));
        scene_expect_ready(&scene, "web", "Unknown", "AwaitingApproval");
        approval_give(&scene, 3);
        scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
        scene_expect_quiet(&scene);
        rule = api_server_rule(scene.server, &refuse);
        request_rollback(&scene);
        scene_expect_there(&scene, RELEASE "4");
        if (rows[i].begins) {
            scene_expect_ready(&scene, "web", "Unknown", "AwaitingApproval");
            approval_give(&scene, 4);
        }
        remove_request(&scene);
        scene_expect_quiet(&scene);
        EXPECT_PHASE(&scene, "web", 4, "failed");
        EXPECT_DATA(&scene, "b", rows[i].begins ? "2" : "3");
        if (rows[i].begins)
            approval_edit_a(&scene, "theirs");
        api_server_release(scene.server, rule);
        for (unsigned looks = 0; looks < 3; looks++) {
            scene_ask(&scene, "web");
            scene_expect_handled(&scene, "web");
            scene_expect_quiet(&scene);
        }
        scene_expect_ready(&scene, "web", "Unknown", "AwaitingApproval");
        approval_give(&scene, rows[i].begins ? 6 : 5);
        scene_expect_ready(&scene, "web", "False", "RolledBack");
        EXPECT_DATA(&scene, "a", "2");
        EXPECT_DATA(&scene, "b", "2");
        scene_end(&scene);
    }
}

SUITE(scenario_rejection, TEST(a_rejection_outdoes_the_approval_in_the_spec),
      TEST(a_rejection_outdoes_it_when_the_spec_changes_away_and_back),
      TEST(a_request_outlasts_a_plan_that_is_another_now),
      TEST(a_rejected_plan_that_comes_again_waits_anew),
      TEST(a_request_that_its_ttl_removes_is_not_withdrawn))
