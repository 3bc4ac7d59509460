/* Plans that wait for approval, while requests go wrong and the world changes. */
#include <string.h>
#include <unistd.h>

#include "controller/reconcile/status/conditions.h"
#include "engine/base/buf.h"
#include "engine/base/str.h"
#include "test/unit/controller/approval_scene.h"

/* The Release shows a correction, and the Spec's status could not be written: it still says that
 * the Spec is Ready. What is approved then is that correction, and no other. */
static void a_correction_that_the_status_does_not_have_is_held_to_its_plan(void)
{
    struct scene scene;
    unsigned rule;

    approval_begin(&scene, MANUAL);
    rule = api_server_forbid(scene.server, NULL, "update", WEB "/status");
    approval_edit_a(&scene, "one");
    scene_ask(&scene, "web");
    EXPECT(api_server_wait_hits(scene.server, rule, 1), "the status is refused");
    scene_kill(&scene);
    approval_edit_a(&scene, "two");
    approval_give(&scene, 2);
    api_server_release(scene.server, rule);
    scene_start(&scene);
    scene_expect_quiet(&scene);
    EXPECT_DATA(&scene, "a", "two");
    EXPECT_PHASE(&scene, "web", 2, "cancelled");
    scene_expect_ready(&scene, "web", "Unknown", "AwaitingApproval");
    approval_give(&scene, 3);
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    EXPECT_DATA(&scene, "a", "1");
    scene_end(&scene);
}

/* The same where nothing has changed: it is carried out under the Release that showed it. */
static void a_correction_that_the_status_does_not_have_can_be_approved(void)
{
    struct scene scene;
    unsigned rule;

    approval_begin(&scene, MANUAL);
    rule = api_server_forbid(scene.server, NULL, "update", WEB "/status");
    approval_edit_a(&scene, "one");
    scene_ask(&scene, "web");
    EXPECT(api_server_wait_hits(scene.server, rule, 1), "the status is refused");
    scene_kill(&scene);
    approval_give(&scene, 2);
    api_server_release(scene.server, rule);
    scene_start(&scene);
    scene_expect_quiet(&scene);
    EXPECT_DATA(&scene, "a", "1");
    EXPECT_PHASE(&scene, "web", 2, "succeeded");
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    EXPECT_INT(api_server_size(scene.server, RELEASES), 2, "no other Release");
    scene_end(&scene);
}

/* Neither the first plan nor a correction: the operator goes on, and says it later. */
static void a_status_that_is_refused_is_written_later(void)
{
    struct scene scene = {0};
    unsigned rule;

    scene_begin(&scene);
    rule = api_server_forbid(scene.server, NULL, "update", WEB "/status");
    scene_spec(&scene, "web", MANUAL, CONFIGMAP("a", "1"));
    EXPECT(api_server_wait_hits(scene.server, rule, 3), "tried again");
    api_server_release(scene.server, rule);
    scene_expect_ready(&scene, "web", "Unknown", "AwaitingApproval");
    scene_expect_quiet(&scene);
    EXPECT(approval_is_waiting(&scene, 1), "the Release");
    EXPECT_INT(api_server_size(scene.server, RELEASES), 1, "and no other");
    approval_give(&scene, 1);
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    rule = api_server_forbid(scene.server, NULL, "update", WEB "/status");
    approval_edit_a(&scene, "2");
    scene_ask(&scene, "web");
    EXPECT(api_server_wait_hits(scene.server, rule, 3), "tried again");
    approval_give(&scene, 2);
    api_server_release(scene.server, rule);
    scene_expect_quiet(&scene);
    EXPECT_DATA(&scene, "a", "1");
    EXPECT_INT(api_server_size(scene.server, RELEASES), 2, "the one that was approved");
    scene_end(&scene);
}

static void an_approval_while_the_plan_is_made_again_is_seen(void)
{
    const struct api_rule hold = {
        .verb = "write", .path = CONFIGMAPS "/a", .dry_runs = true, .times = 1, .fault = API_HOLD};
    struct scene scene = {0};
    unsigned rule;

    scene_begin(&scene);
    scene_spec(&scene, "web", MANUAL, CONFIGMAP("a", "1"));
    scene_expect_ready(&scene, "web", "Unknown", "AwaitingApproval");
    scene_expect_quiet(&scene);
    rule = api_server_rule(scene.server, &hold);
    scene_ask(&scene, "web");
    EXPECT(api_server_wait_hits(scene.server, rule, 1), "it is planned again");
    approval_give(&scene, 1);
    scene_expect_quiet(&scene);
    api_server_release(scene.server, rule);
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    EXPECT_INT(api_server_size(scene.server, RELEASES), 1, "one Release");
    scene_end(&scene);
}

/* What was shown can still be approved when the plan can be made again. */
static void a_release_waits_on_while_nothing_can_be_planned(void)
{
    const struct api_rule refuse = {.verb = "write",
                                    .path = CONFIGMAPS "/a",
                                    .dry_runs = true,
                                    .fault = API_ANSWER,
                                    .status = 403,
                                    .message = "not now"};
    struct scene scene = {0};
    unsigned rule;

    scene_begin(&scene);
    scene_spec(&scene, "web", MANUAL, CONFIGMAP("a", "1"));
    scene_expect_ready(&scene, "web", "Unknown", "AwaitingApproval");
    scene_expect_quiet(&scene);
    rule = api_server_rule(scene.server, &refuse);
    scene_ask(&scene, "web");
    scene_expect_ready(&scene, "web", "False", NULL);
    EXPECT(approval_is_waiting(&scene, 1), "it is still to be approved");
    api_server_release(scene.server, rule);
    approval_give(&scene, 1);
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    EXPECT_PHASE(&scene, "web", 1, "succeeded");
    EXPECT_INT(api_server_size(scene.server, RELEASES), 1, "no other Release");
    scene_end(&scene);
}

static unsigned refuse_plans(struct scene *scene, const char *path)
{
    const struct api_rule refuse = {.verb = "write",
                                    .path = path,
                                    .dry_runs = true,
                                    .fault = API_ANSWER,
                                    .status = 403,
                                    .message = "not now"};

    return api_server_rule(scene->server, &refuse);
}

/* A look at the Spec: this Release waits after it, and there are no more than that. */
static void look(struct scene *scene, unsigned revision, const char *note)
{
    scene_ask(scene, "web");
    scene_expect_handled(scene, "web");
    scene_expect_ready(scene, "web", "Unknown", "AwaitingApproval");
    EXPECT(approval_is_waiting(scene, revision), note);
    EXPECT_INT(api_server_size(scene->server, RELEASES), revision, note);
}

/* One webhook or the other is down, at each look. */
static void a_part_that_cannot_be_planned_for_a_while_makes_no_release(void)
{
    struct scene scene = {0};
    unsigned a, b;

    scene_begin(&scene);
    b = refuse_plans(&scene, CONFIGMAPS "/b");
    scene_spec(&scene, "web", MANUAL, CONFIGMAP("a", "1") "," CONFIGMAP("b", "1"));
    scene_expect_ready(&scene, "web", "Unknown", "AwaitingApproval");
    look(&scene, 1, "the same");
    a = refuse_plans(&scene, CONFIGMAPS "/a");
    api_server_release(scene.server, b);
    look(&scene, 1, "the other part");
    api_server_release(scene.server, a);
    look(&scene, 2, "the whole");
    for (int i = 0; i < 2; i++) {
        b = refuse_plans(&scene, CONFIGMAPS "/b");
        look(&scene, 2, "a part of it");
        api_server_release(scene.server, b);
        look(&scene, 2, "the whole again");
    }
    b = refuse_plans(&scene, CONFIGMAPS "/b");
    approval_give(&scene, 2);
    scene_expect_ready(&scene, "web", "False", NULL);
    EXPECT_DATA(&scene, "a", "1");
    api_server_release(scene.server, b);
    scene_ask(&scene, "web");
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    EXPECT_DATA(&scene, "b", "1");
    scene_end(&scene);
}

/* Else an approval of what is shown would be void. */
static void a_part_that_is_another_now_makes_a_release(void)
{
    struct scene scene;
    unsigned b;

    approval_begin(&scene, MANUAL);
    scene_spec(&scene, "web", MANUAL, CONFIGMAP("a", "2") "," CONFIGMAP("b", "1"));
    scene_expect_ready(&scene, "web", "Unknown", "AwaitingApproval");
    b = refuse_plans(&scene, CONFIGMAPS "/b");
    look(&scene, 2, "the same");
    approval_edit_a(&scene, "theirs");
    look(&scene, 3, "another");
    EXPECT_PHASE(&scene, "web", 2, "cancelled");
    api_server_release(scene.server, b);
    scene_end(&scene);
}

/* The drift goes as it came. Then no value changes any more, but the field is another manager's:
 * that it is applied again is another plan. */
static void a_value_that_was_put_back_is_another_plan(void)
{
    struct scene scene;

    approval_begin(&scene, MANUAL);
    approval_edit_a(&scene, "theirs");
    scene_ask(&scene, "web");
    scene_expect_ready(&scene, "web", "Unknown", "AwaitingApproval");
    approval_edit_a(&scene, "1");
    scene_ask(&scene, "web");
    scene_expect_quiet(&scene);
    EXPECT_PHASE(&scene, "web", 2, "cancelled");
    approval_give(&scene, 3);
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    EXPECT_PHASE(&scene, "web", 3, "succeeded");
    scene_end(&scene);
}

/* A retry of the approved plan finds that something else would be done. */
static void a_retry_that_is_stale_names_the_plan_that_was_approved(void)
{
    const struct api_rule refuse = {
        .verb = "write", .path = CONFIGMAPS "/b", .fault = API_ANSWER, .status = 422};
    _cleanup_value_ const struct value *first = NULL, *second = NULL;
    struct scene scene = {0};
    unsigned rule;

    scene_begin(&scene);
    rule = api_server_rule(scene.server, &refuse);
    scene_spec(&scene, "web", MANUAL, CONFIGMAP("a", "1") "," CONFIGMAP("b", "1"));
    scene_expect_ready(&scene, "web", "Unknown", "AwaitingApproval");
    approval_give(&scene, 1);
    scene_expect_ready(&scene, "web", "False", NULL);
    approval_edit_a(&scene, "theirs");
    scene_ask(&scene, "web");
    scene_expect_ready(&scene, "web", "Unknown", "AwaitingApproval");
    EXPECT_PHASE(&scene, "web", 2, "cancelled");
    first = api_server_get(scene.server, RELEASE "1");
    second = api_server_get(scene.server, RELEASE "2");
    EXPECT_STR(value_string(value_path(second, "status", "plan", "digest", NULL)),
               value_string(value_path(first, "status", "plan", "digest", NULL)), "the digest");
    api_server_release(scene.server, rule);
    approval_give(&scene, 3);
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    EXPECT_DATA(&scene, "a", "1");
    scene_end(&scene);
}

static void releases_that_nobody_approves_do_not_pile_up(void)
{
    static const char *const values[] = {"2", "3", "4", "5", "6", "7"};
    struct scene scene;

    approval_begin(&scene, MANUAL "\"revisionHistoryLimit\":2,");
    for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
        approval_edit_a(&scene, values[i]);
        scene_ask(&scene, "web");
        scene_expect_handled(&scene, "web");
        scene_expect_ready(&scene, "web", "Unknown", "AwaitingApproval");
        scene_expect_quiet(&scene);
    }
    EXPECT_PHASE(&scene, "web", 1, "succeeded");
    EXPECT(approval_is_waiting(&scene, 7), "the last one");
    EXPECT_INT(api_server_size(scene.server, RELEASES), 2, "the limit");
    approval_give(&scene, 7);
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    EXPECT_DATA(&scene, "a", "1");
    scene_end(&scene);
}

/* Else the approval of the new plan would be void as soon as the object is there. */
static void a_plan_waits_for_a_create_that_may_still_come(void)
{
    const struct api_rule hold = {
        .verb = "write", .path = CONFIGMAPS "/a", .times = 1, .fault = API_HOLD};
    struct scene scene = {0};
    unsigned rule;

    scene_begin(&scene);
    scene_spec(&scene, "web", MANUAL, CONFIGMAP("a", "1"));
    scene_expect_ready(&scene, "web", "Unknown", "AwaitingApproval");
    rule = api_server_rule(scene.server, &hold);
    approval_give(&scene, 1);
    EXPECT(api_server_wait_hits(scene.server, rule, 1), "the create");
    scene_kill(&scene);
    scene_spec(&scene, "web", MANUAL, CONFIGMAP("a", "1") "," CONFIGMAP("b", "1"));
    scene_start(&scene);
    scene_expect_ready(&scene, "web", "Unknown", "Progressing");
    EXPECT(!approval_is_waiting(&scene, 2), "there is no plan to approve yet");
    api_server_release(scene.server, rule);
    scene_expect_ready(&scene, "web", "Unknown", "AwaitingApproval");
    approval_give(&scene, 2);
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    EXPECT_PHASE(&scene, "web", 2, "succeeded");
    EXPECT_INT(api_server_size(scene.server, RELEASES), 2, "no other plan");
    scene_end(&scene);
}

static size_t count_documents(struct scene *scene)
{
    return api_server_size(scene->server, KEPT);
}

/* By the watch, long before the next look; or where no process ran. */
static void a_waiting_release_that_is_deleted_is_made_again(void)
{
    struct scene scene;

    approval_begin(&scene, MANUAL);
    approval_edit_a(&scene, "theirs");
    scene_ask(&scene, "web");
    scene_expect_ready(&scene, "web", "Unknown", "AwaitingApproval");
    for (int is_down = 0; is_down < 2; is_down++) {
        scene_expect_quiet(&scene);
        if (is_down)
            scene_kill(&scene);
        api_server_delete(scene.server, RELEASE "2");
        if (is_down)
            scene_start(&scene);
        scene_expect_there(&scene, RELEASE "2");
        scene_expect_quiet(&scene);
        EXPECT(approval_is_waiting(&scene, 2), "there is one again");
    }
    approval_give(&scene, 2);
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    EXPECT_DATA(&scene, "a", "1");
    EXPECT_INT(api_server_size(scene.server, RELEASES), 2, "one correction");
    scene_end(&scene);
}

/* Of what waits for approval nothing is left when it is done; nor where the process was killed
 * before the plan that it had kept was shown, and needs no approval after that. */
static void an_approved_plan_goes_when_it_is_carried_out(void)
{
    struct scene scene;
    size_t state;

    approval_begin(&scene, MANUAL);
    state = count_documents(&scene);
    approval_edit_a(&scene, "theirs");
    api_server_cut_after(scene.server, 2); /* the Release, and what it is compared with */
    scene_ask(&scene, "web");
    scene_expect_cut(&scene);
    scene_kill(&scene);
    EXPECT_INT(count_documents(&scene), state + 1, "the plan is kept");
    api_server_mend(scene.server);
    scene_start(&scene);
    scene_expect_ready(&scene, "web", "Unknown", "AwaitingApproval");
    scene_expect_quiet(&scene);
    approval_give(&scene, 2);
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    for (int ms = 0; ms < 60000 && count_documents(&scene) > state; ms += 50)
        usleep(50000);
    EXPECT_INT(count_documents(&scene), state, "State is left");
    scene_end(&scene);
}

/* Twelve ConfigMaps with so many values, of 200 bytes; free(). */
static char *large_resources(int values)
{
    struct buf text = BUF_INIT;

    for (int i = 0; i < 12; i++) {
        buf_printf(&text,
                   "%s{\"id\":\"v1:ConfigMap:team:m%d\",\"type\":\"Kubernetes\",\"attributes\":{"
                   "\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"m%d\","
                   "\"namespace\":\"team\"},\"data\":{\"x\":\"%d\"",
                   i ? "," : "", i, i, values);
        for (int n = 0; n < values; n++)
            buf_printf(&text, ",\"k%d\":\"%0200d\"", n, n);
        buf_add_str(&text, "}}}");
    }
    return buf_take(&text);
}

/* What people read of it, and what is compared with it later, are documents of their own. */
static void a_plan_that_is_longer_than_a_release_is_carried_out(void)
{
    _cleanup_free_ char *small = large_resources(0), *large = large_resources(200);
    _cleanup_value_ const struct value *release = NULL;
    _cleanup_free_ char *data = NULL;
    struct scene scene = {0};
    size_t state;

    scene_begin(&scene);
    scene_spec(&scene, "web", MANUAL, small);
    scene_expect_ready(&scene, "web", "Unknown", "AwaitingApproval");
    approval_give(&scene, 1);
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    scene_expect_quiet(&scene);
    state = count_documents(&scene);
    scene_spec(&scene, "web", MANUAL, large);
    scene_expect_ready(&scene, "web", "Unknown", "AwaitingApproval");
    release = api_server_get(scene.server, RELEASE "2");
    EXPECT(!value_path(release, "status", "plan", "unseen", NULL), "all of it is there");
    EXPECT_INT(count_documents(&scene), state + 2, "what is compared, the Spec");
    scene_kill(&scene);
    approval_give(&scene, 2);
    scene_start(&scene);
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    data = scene_data(&scene, "m11");
    EXPECT_STR(data, "200", "all of them");
    EXPECT_PHASE(&scene, "web", 2, "succeeded");
    value_assign(&release, NULL);
    release = api_server_get(scene.server, RELEASE "2");
    EXPECT(value_path(release, "status", "planRef", "name", NULL), "now it is elsewhere");
    scene_end(&scene);
}

/* Nothing is approved unseen, unless somebody says so. */
static void a_plan_that_does_not_fit_is_approved_in_so_many_words(void)
{
    _cleanup_free_ char *large = large_resources(390);
    _cleanup_value_ const struct value *release = NULL;
    const struct value *conditions;
    struct scene scene = {0};

    scene_begin(&scene);
    scene_spec(&scene, "web", MANUAL, large);
    scene_expect_ready(&scene, "web", "Unknown", "AwaitingApproval");
    release = api_server_get(scene.server, RELEASE "1");
    EXPECT_INT(value_int(value_path(release, "status", "plan", "unseen", NULL), 0), 1, "one");
    EXPECT_STR(value_string(value_path(release, "status", "plan", "serviceAccountName", NULL)),
               "default", "whose rights");
    EXPECT(value_path(release, "status", "planRef", "name", NULL), "it is elsewhere");
    conditions = value_path(release, "status", "conditions", NULL);
    EXPECT(strstr(value_get_string(conditions_find(conditions, "Ready"), "message"),
                  "; 1 of these are NOT shown in full"),
           "the message says so");
    approval_give(&scene, 1);
    scene_ask(&scene, "web");
    scene_expect_quiet(&scene);
    EXPECT(approval_is_waiting(&scene, 1), "an approval of what is shown is not enough");
    api_server_edit(scene.server, RELEASE "1", "{\"spec\":{\"approvedUnseen\":true}}");
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    scene_end(&scene);
}

/* The sweep after a start finds what is kept for it, and the Release waits on. */
static void a_waiting_plan_is_made_once_after_a_start(void)
{
    struct scene scene = {0};
    unsigned swept;

    scene_begin(&scene);
    scene_spec(&scene, "web", MANUAL, CONFIGMAP("a", "1"));
    scene_expect_ready(&scene, "web", "Unknown", "AwaitingApproval");
    scene_kill(&scene);
    api_server_mark(scene.server);
    scene_start(&scene);
    for (int ms = 0; ms < 60000 && !api_server_count(scene.server, "apply", CONFIGMAPS "/a");
         ms += 50)
        usleep(50000);
    scene_expect_quiet(&scene);
    EXPECT_INT(api_server_count(scene.server, "apply", CONFIGMAPS "/a"), 1, "at the start");
    swept = api_server_count(scene.server, "get", RELEASE "1");
    for (int ms = 0; ms < 60000 && api_server_count(scene.server, "get", RELEASE "1") == swept;
         ms += 50)
        usleep(50000);
    scene_expect_quiet(&scene);
    EXPECT_INT(api_server_count(scene.server, "apply", CONFIGMAPS "/a"), 1, "by the sweep");
    approval_give(&scene, 1);
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    scene_end(&scene);
}

#define PLAN_KEY "/api/v1/namespaces/kusion-system/secrets/kusion-operator-plan-key"

static void expect_stale(struct scene *scene, const char *path, const char *says)
{
    _cleanup_value_ const struct value *release = api_server_get(scene->server, path);
    const struct value *ready = value_at(value_path(release, "status", "conditions", NULL), 0);

    EXPECT_STR(value_string(value_path(release, "status", "phase", NULL)), "cancelled", path);
    EXPECT_STR(value_get_string(ready, "reason"), "PlanStale", path);
    EXPECT(strstr(value_get_string(ready, "message"), says), value_get_string(ready, "message"));
}

/* The operator was replaced by one whose digests are others: with another key, or of another
 * version. Whether the approved operation had begun or not, nothing more is done of it. */
static void a_plan_of_other_digests_is_shown_again(void)
{
    const struct api_rule refuse = {
        .verb = "write", .path = CONFIGMAPS "/a", .fault = API_ANSWER, .status = 503};

    for (int is_begun = 0; is_begun < 2; is_begun++) {
        struct scene scene;
        unsigned rule;

        approval_begin(&scene, MANUAL);
        scene_spec(&scene, "web", MANUAL, CONFIGMAP("a", "2"));
        scene_expect_ready(&scene, "web", "Unknown", "AwaitingApproval");
        rule = api_server_rule(scene.server, &refuse);
        if (is_begun) {
            approval_give(&scene, 2);
            EXPECT(api_server_wait_hits(scene.server, rule, 1), "it is carried out");
            scene_kill(&scene);
        } else {
            scene_kill(&scene);
            approval_give(&scene, 2);
        }
        api_server_delete(scene.server, PLAN_KEY);
        api_server_release(scene.server, rule);
        scene_start(&scene);
        scene_expect_there(&scene, RELEASE "3");
        for (int ms = 0; ms < 60000 && !approval_is_waiting(&scene, 3); ms += 50)
            usleep(50000);
        scene_expect_ready(&scene, "web", "Unknown", "AwaitingApproval");
        EXPECT_DATA(&scene, "a", "1");
        expect_stale(&scene, RELEASE "2", "by another version of the operator");
        approval_give(&scene, 3);
        scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
        EXPECT_DATA(&scene, "a", "2");
        scene_end(&scene);
    }
}

SUITE(scenario_approval, TEST(a_plan_of_other_digests_is_shown_again),
      TEST(a_waiting_plan_is_made_once_after_a_start),
      TEST(a_correction_that_the_status_does_not_have_is_held_to_its_plan),
      TEST(a_correction_that_the_status_does_not_have_can_be_approved),
      TEST(a_status_that_is_refused_is_written_later),
      TEST(an_approval_while_the_plan_is_made_again_is_seen),
      TEST(a_plan_waits_for_a_create_that_may_still_come),
      TEST(a_release_waits_on_while_nothing_can_be_planned),
      TEST(a_value_that_was_put_back_is_another_plan),
      TEST(a_retry_that_is_stale_names_the_plan_that_was_approved),
      TEST(releases_that_nobody_approves_do_not_pile_up),
      TEST(a_part_that_cannot_be_planned_for_a_while_makes_no_release),
      TEST(a_part_that_is_another_now_makes_a_release),
      TEST(a_waiting_release_that_is_deleted_is_made_again),
      TEST(an_approved_plan_goes_when_it_is_carried_out),
      TEST(a_plan_that_is_longer_than_a_release_is_carried_out),
      TEST(a_plan_that_does_not_fit_is_approved_in_so_many_words))
