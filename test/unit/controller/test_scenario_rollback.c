/* Rollbacks and Destroys that a person requests with a Release: kill -9 after each write, requests
 * that go wrong, and a Spec that changes or goes meanwhile. Each ends in one outcome, which
 * objects, State, the Spec's status, the record of the operation and the person's Release all tell.
 */
#include <unistd.h>

#include "controller/reconcile/status/conditions.h"
#include "engine/base/str.h"
#include "test/unit/controller/scene.h"
#include "test/unit/engine/sweep.h"

#define WEB      SPECS "/web"
#define UNDO     RELEASES "/undo"
#define RECORDED STATES "?labelSelector=api.kusion.io/document=spec"
#define ONE      CONFIGMAP("a", "1") "," CONFIGMAP("old", "1")
#define TWO      CONFIGMAP("a", "2") "," CONFIGMAP("new", "1")
#define THREE    CONFIGMAP("a", "3")
#define REMEDY   "\"remediation\":{\"strategy\":\"rollback\"},\"retryInterval\":\"1s\","

static void request_named(struct scene *scene, const char *name, const char *spec)
{
    _cleanup_free_ char *json = str_printf(
        "{\"apiVersion\":\"api.kusion.io/v1\",\"kind\":\"Release\",\"metadata\":{\"name\":\"%s\","
        "\"namespace\":\"team\"},\"spec\":{\"specRef\":{\"name\":\"web\"},%s}}",
        name, spec);

    api_server_create(scene->server, json);
}

static void request(struct scene *scene, const char *operation)
{
    _cleanup_free_ char *spec = str_printf("\"operation\":\"%s\"", operation);

    request_named(scene, "undo", spec);
}

static bool has_ended(const struct value *release)
{
    const char *phase = value_string(value_path(release, "status", "phase", NULL));

    return str_equal(phase, "succeeded") || str_equal(phase, "failed") ||
           str_equal(phase, "cancelled");
}

/* Until the person's Release has ended: its phase, its revision (0: any), and Ready's reason (NULL:
 * any). */
static void expect_ended(struct scene *scene, const char *path, const char *phase, int64_t revision,
                         const char *reason)
{
    _cleanup_value_ const struct value *release = NULL;
    const struct value *ready;

    for (unsigned i = 0; i < 40 && !has_ended(release); i++) {
        if (i)
            scene_expect_quiet(scene);
        value_unref(release);
        release = api_server_get(scene->server, path);
    }
    ready = value_at(value_path(release, "status", "conditions", NULL), 0);
    EXPECT_STR(value_string(value_path(release, "status", "phase", NULL)), phase, path);
    if (revision)
        EXPECT_INT(value_int(value_path(release, "status", "revision", NULL), 0), revision, path);
    if (reason)
        EXPECT_STR(value_get_string(ready, "reason"), reason, path);
}

/* Ready at revision 2. */
static void begin(struct scene *scene, const char *fields)
{
    *scene = (struct scene){0};
    scene_begin(scene);
    scene_spec(scene, "web", fields, ONE);
    scene_expect_ready(scene, "web", "True", NULL);
    scene_spec(scene, "web", fields, TWO);
    scene_expect_ready(scene, "web", "True", NULL);
    scene_expect_quiet(scene);
}

static bool is_rollback(const char *operation)
{
    return str_equal(operation, "Rollback");
}

static const char *reason_of(const char *operation)
{
    return is_rollback(operation) ? "RolledBack" : "Destroyed";
}

static void expect_objects(struct scene *scene, const char *operation)
{
    EXPECT_DATA(scene, "a", is_rollback(operation) ? "1" : NULL);
    EXPECT_DATA(scene, "old", is_rollback(operation) ? "1" : NULL);
    EXPECT_DATA(scene, "new", NULL);
}

/* Carried out as revision 3, and it stays so: a look at the Spec changes nothing. */
static void expect_held(struct scene *scene, const char *operation)
{
    scene_expect_ready(scene, "web", "False", reason_of(operation));
    expect_ended(scene, UNDO, "succeeded", 3, NULL);
    scene_expect_quiet(scene);
    expect_objects(scene, operation);
    EXPECT_PHASE(scene, "web", 3, "succeeded");
    EXPECT_INT(api_server_size(scene->server, RELEASES), 4, "two applies, it, and the person's");
    EXPECT_INT(api_server_size(scene->server, STATES_ONLY), 1, "State, which has the hold");
    EXPECT_INT(api_server_size(scene->server, RECORDED), is_rollback(operation), "what is applied");
    api_server_mark(scene->server);
    scene_ask(scene, "web");
    scene_expect_handled(scene, "web");
    expect_objects(scene, operation);
    EXPECT_WRITES(scene, "update specs/status");
}

/* ---- kill -9 ---- */

/* After the cut: it is killed, and all is well with the server again. */
static bool kill_after_cut(struct scene *scene, unsigned n)
{
    bool was_cut;

    for (int ms = 0;
         ms < 2000 && !api_server_is_cut(scene->server) && api_server_writes(scene->server) < n;
         ms += 300)
        scene_expect_quiet(scene);
    was_cut = api_server_is_cut(scene->server);
    scene_kill(scene);
    api_server_mend(scene->server);
    return was_cut;
}

/* What happens before the next process comes. */
struct meanwhile {
    const char *note;
    void (*happens)(struct scene *scene);
    void (*expect)(struct scene *scene, const char *operation);
};

static bool cut_once(const char *operation, const struct meanwhile *meanwhile, unsigned n)
{
    struct scene scene;
    bool was_cut;

    begin(&scene, "");
    api_server_mark(scene.server);
    api_server_cut_after(scene.server, n);
    request(&scene, operation);
    was_cut = kill_after_cut(&scene, n);
    if (was_cut) {
        if (meanwhile->happens)
            meanwhile->happens(&scene);
        scene_start(&scene);
        meanwhile->expect(&scene, operation);
    }
    scene_end(&scene);
    return was_cut;
}

static void cut_everywhere(unsigned row, const char *operation, const struct meanwhile *meanwhile)
{
    unsigned n = sweep_first(row);

    while (n < 27 && cut_once(operation, meanwhile, n))
        n = sweep_next(n);
    EXPECT(n > 8 && n < 27, meanwhile->note);
}

static void survives_kills(void)
{
    const struct meanwhile nothing = {"killed", NULL, expect_held};

    cut_everywhere(0, "Rollback", &nothing);
    cut_everywhere(1, "Destroy", &nothing);
}

static void change_spec(struct scene *scene)
{
    scene_spec(scene, "web", "", THREE);
}

/* The hold is void, wherever it was: the Spec is applied, and the request ends. If it was accepted
 * only now, it is for the new generation. */
static void expect_new_generation(struct scene *scene, const char *operation)
{
    _cleanup_value_ const struct value *undo = NULL;
    bool was_carried_out;

    for (unsigned i = 0; i < 20 && !has_ended(undo); i++) {
        scene_expect_quiet(scene);
        value_unref(undo);
        undo = api_server_get(scene->server, UNDO);
    }
    EXPECT(has_ended(undo), "the person's Release has ended");
    was_carried_out =
        value_int(value_path(undo, "status", "revision", NULL), 0) &&
        str_equal(value_string(value_path(undo, "status", "phase", NULL)), "succeeded");
    if (!was_carried_out)
        EXPECT_STR(value_string(value_path(undo, "status", "phase", NULL)), "cancelled",
                   "it is void");
    scene_expect_quiet(scene);
    if (was_carried_out) {
        _cleanup_value_ const struct value *web = api_server_get(scene->server, WEB);
        const struct value *ready = value_at(value_path(web, "status", "conditions", NULL), 0);

        if (str_equal(value_get_string(ready, "reason"), reason_of(operation)))
            return;
    }
    scene_expect_ready(scene, "web", "True", "ReconciliationSucceeded");
    EXPECT_DATA(scene, "a", "3");
    EXPECT_DATA(scene, "old", NULL);
    EXPECT_DATA(scene, "new", NULL);
}

static void a_new_generation_ends_it(void)
{
    cut_everywhere(2, "Rollback",
                   &(struct meanwhile){"new generation", change_spec, expect_new_generation});
}

static void delete_spec(struct scene *scene)
{
    api_server_delete(scene->server, WEB);
}

static void expect_all_gone(struct scene *scene, const char *operation)
{
    _cleanup_value_ const struct value *undo = NULL;

    scene_expect_gone(scene, WEB);
    scene_expect_quiet(scene);
    EXPECT_INT(api_server_size(scene->server, CONFIGMAPS), 0, operation);
    EXPECT_INT(api_server_size(scene->server, KEPT), 0, "nothing is left beside them");
    undo = api_server_get(scene->server, UNDO);
    if (undo) /* one that had succeeded goes with the Spec */
        expect_ended(scene, UNDO, "failed", 0, "SpecNotFound");
}

static void a_deletion_ends_it(void)
{
    cut_everywhere(0, "Destroy", &(struct meanwhile){"deleted", delete_spec, expect_all_gone});
}

SUITE(scenario_rollback_kill, TEST(survives_kills), TEST(a_new_generation_ends_it),
      TEST(a_deletion_ends_it))

/* ---- What is not there, or not any more ---- */

/* A correction that fails is none of the Spec: that succeeded, and would be applied again. */
static void remediation_does_not_hold_the_spec_that_succeeded(void)
{
    const struct api_rule refuse = {.verb = "write",
                                    .path = CONFIGMAPS "/a",
                                    .fault = API_ANSWER,
                                    .status = 422,
                                    .message = "a webhook is against it"};
    struct scene scene;
    unsigned rule;

    begin(&scene, REMEDY);
    api_server_edit(scene.server, CONFIGMAPS "/a", "{\"data\":{\"x\":\"drift\"}}");
    rule = api_server_rule(scene.server, &refuse);
    scene_ask(&scene, "web");
    EXPECT(api_server_wait_hits(scene.server, rule, 2), "retried");
    scene_expect_ready(&scene, "web", "False", NULL);
    api_server_release(scene.server, rule);
    scene_ask(&scene, "web");
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    EXPECT_DATA(&scene, "a", "2");
    scene_end(&scene);
}

/* Its record has another name than the next revision's, and the end could not be told at once. */
static void the_end_is_told_later(void)
{
    const struct api_rule refuse = {
        .verb = "update", .path = UNDO "/status", .first = 2, .fault = API_FORBID};
    struct scene scene;
    unsigned rule;

    begin(&scene, "");
    request_named(&scene, "web-3", "\"operation\":\"Preview\"");
    scene_expect_quiet(&scene);
    rule = api_server_rule(scene.server, &refuse);
    request(&scene, "Rollback");
    EXPECT(api_server_wait_hits(scene.server, rule, 1), "its end is refused");
    scene_expect_ready(&scene, "web", "False", "RolledBack");
    api_server_release(scene.server, rule);
    scene_ask(&scene, "web");
    expect_ended(&scene, UNDO, "succeeded", 4, NULL);
    scene_end(&scene);
}

/* Somebody clears the status of the Spec. */
static void a_lost_status_does_not_end_the_hold(void)
{
    struct scene scene;

    begin(&scene, "");
    request(&scene, "Rollback");
    expect_ended(&scene, UNDO, "succeeded", 3, NULL);
    EXPECT_INT(api_server_do(scene.server, "MERGE", WEB "/status", "{\"status\":null}", NULL), 200,
               "cleared");
    scene_ask(&scene, "web");
    scene_expect_ready(&scene, "web", "False", "RolledBack");
    scene_expect_quiet(&scene);
    EXPECT_DATA(&scene, "a", "1");
    EXPECT_INT(api_server_size(scene.server, RELEASES), 4, "no other Release");
    scene_end(&scene);
}

/* Only State has the hold: what was rolled back does not come back because State is gone. */
static void lost_state_does_not_bring_back_what_was_rolled_back(void)
{
    struct scene scene;

    begin(&scene, "");
    request(&scene, "Rollback");
    expect_ended(&scene, UNDO, "succeeded", 3, NULL);
    scene_expect_ready(&scene, "web", "False", "RolledBack");
    scene_expect_quiet(&scene);
    scene_remove_states(&scene, STATES);
    for (int i = 0; i < 2; i++) {
        scene_ask(&scene, "web");
        scene_expect_ready(&scene, "web", "False", "StateLost");
        scene_expect_quiet(&scene);
        EXPECT_DATA(&scene, "a", "1");
    }
    scene_spec(&scene, "web", "", CONFIGMAP("a", "9"));
    scene_expect_ready(&scene, "web", "True", NULL);
    EXPECT_DATA(&scene, "a", "9");
    scene_end(&scene);
}

/* There is nothing to do, and a plan of nothing is made at once: that is no reason to look again.
 */
static void a_destroyed_spec_comes_to_rest(void)
{
    struct scene scene;
    unsigned before;

    begin(&scene, "");
    request(&scene, "Destroy");
    expect_ended(&scene, UNDO, "succeeded", 3, NULL);
    scene_expect_quiet(&scene);
    before = api_server_count(scene.server, "get", WEB);
    for (unsigned looks = 0; looks < 20; looks++) {
        scene_ask(&scene, "web");
        scene_expect_handled(&scene, "web");
    }
    scene_expect_quiet(&scene);
    EXPECT(api_server_count(scene.server, "get", WEB) - before <= 60, "three times for each look");
    scene_end(&scene);
}

/* A Rollback is under way. Gives the rule that holds it, to be released. */
static unsigned begin_rollback(struct scene *scene)
{
    const struct api_rule hold = {
        .verb = "write", .path = CONFIGMAPS "/a", .times = 1, .fault = API_HOLD};
    unsigned rule;

    begin(scene, "");
    rule = api_server_rule(scene->server, &hold);
    request(scene, "Rollback");
    EXPECT(api_server_wait_hits(scene->server, rule, 1), "under way");
    return rule;
}

/* The operation goes on although the Release by which it was asked for is gone. */
static void the_request_is_deleted_meanwhile(void)
{
    struct scene scene;
    unsigned rule = begin_rollback(&scene);

    api_server_delete(scene.server, UNDO);
    api_server_release(scene.server, rule);
    scene_expect_ready(&scene, "web", "False", "RolledBack");
    EXPECT_DATA(&scene, "a", "1");
    EXPECT_PHASE(&scene, "web", 3, "succeeded");
    scene_end(&scene);
}

/* The first is under way: it gives way, and says so. */
static void of_two_requests_the_later_one_wins(void)
{
    struct scene scene;
    unsigned rule = begin_rollback(&scene);

    request_named(&scene, "wipe", "\"operation\":\"Destroy\"");
    scene_expect_quiet(&scene);
    api_server_release(scene.server, rule);
    expect_ended(&scene, RELEASES "/wipe", "succeeded", 4, NULL);
    expect_ended(&scene, UNDO, "cancelled", 0, "Superseded");
    scene_expect_ready(&scene, "web", "False", "Destroyed");
    scene_expect_quiet(&scene);
    EXPECT_INT(api_server_size(scene.server, CONFIGMAPS), 0, "all gone");
    EXPECT_PHASE(&scene, "web", 3, "cancelled");
    scene_end(&scene);
}

/* More than one reconcile ends. */
static void of_many_requests_the_last_one_wins(void)
{
    struct scene scene;

    begin(&scene, "");
    scene_kill(&scene);
    for (unsigned i = 0; i < 50; i++) {
        _cleanup_free_ char *name = str_printf("many-%u", i);

        request_named(&scene, name, "\"operation\":\"Destroy\"");
    }
    usleep(1100000); /* of another second */
    request_named(&scene, "undo", "\"operation\":\"Rollback\",\"toRevision\":1");
    scene_start(&scene);
    expect_ended(&scene, UNDO, "succeeded", 0, NULL);
    scene_expect_ready(&scene, "web", "False", "RolledBack");
    for (unsigned i = 0; i < 50; i++) {
        _cleanup_free_ char *path = str_printf(RELEASES "/many-%u", i);

        expect_ended(&scene, path, "cancelled", 0, "Superseded");
    }
    EXPECT_DATA(&scene, "a", "1");
    scene_end(&scene);
}

/* Answers that are lost or refused, at each write in turn. */
static void faults_pass(void)
{
    static const struct {
        const char *note;
        const char *path;
        struct api_rule fault;
    } faults[] = {
        {"the person's Release", UNDO "/status", {.fault = API_ANSWER, .status = 409}},
        {"the person's Release", UNDO "/status", {.fault = API_ANSWER, .status = 500}},
        {"the person's Release", UNDO "/status", {.fault = API_DROP_AFTER}},
        {"the Spec's status", WEB "/status", {.fault = API_ANSWER, .status = 409}},
        {"the Spec's status", WEB "/status", {.fault = API_ANSWER, .status = 500}},
        {"the Spec's status", WEB "/status", {.fault = API_DROP_AFTER}},
        {"State", STATES "/*", {.fault = API_ANSWER, .status = 409}},
        {"State", STATES "/*", {.fault = API_ANSWER, .status = 500}},
        {"State", STATES "/*", {.fault = API_DROP_AFTER}},
        {"the record", RELEASES "/web-3/status", {.fault = API_ANSWER, .status = 409}},
        {"the record", RELEASES "/web-3/status", {.fault = API_DROP_AFTER}},
    };
    struct scene scene;

    for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
        const char *operation = i % 2 ? "Destroy" : "Rollback";
        struct api_rule rule = faults[i].fault;

        rule.verb = "write";
        rule.path = faults[i].path;
        rule.times = 1;
        begin(&scene, "");
        api_server_rule(scene.server, &rule);
        request(&scene, operation);
        expect_held(&scene, operation);
        scene_end(&scene);
    }
}

/* That it was accepted could not be written. The operation waits for approval, for long perhaps. */
static void what_was_accepted_is_said_later(void)
{
    const struct api_rule fail = {
        .verb = "write", .path = UNDO "/status", .fault = API_ANSWER, .status = 403, .times = 1};
    _cleanup_value_ const struct value *undo = NULL;
    struct scene scene;

    begin(&scene, "");
    scene_spec(&scene, "web", "\"approval\":{\"mode\":\"Manual\"},\"retryInterval\":\"1s\",", TWO);
    scene_expect_ready(&scene, "web", "True", NULL);
    api_server_rule(scene.server, &fail);
    request(&scene, "Destroy");
    scene_expect_ready(&scene, "web", "Unknown", "AwaitingApproval");
    scene_expect_quiet(&scene);
    undo = api_server_get(scene.server, UNDO);
    EXPECT_STR(value_string(value_path(undo, "status", "phase", NULL)), "generating", "accepted");
    EXPECT_INT(value_int(value_path(undo, "status", "revision", NULL), 0), 4, "as that revision");
    EXPECT_STR(
        value_get_string(conditions_find(value_path(undo, "status", "conditions", NULL), "Ready"),
                         "message"),
        "it is carried out as revision 4, in the Release web-4", "the record is named");
    scene_end(&scene);
}

/* Its status cannot be written, ever: it has no room. What is asked for is done all the same. */
static void a_request_without_room_for_its_status(void)
{
    const struct api_rule full = {
        .verb = "write", .path = UNDO "/status", .fault = API_ANSWER, .status = 413};
    struct scene scene;

    begin(&scene, "");
    api_server_rule(scene.server, &full);
    request(&scene, "Rollback");
    scene_expect_ready(&scene, "web", "False", "RolledBack");
    EXPECT_DATA(&scene, "a", "1");
    api_server_delete(scene.server, WEB);
    scene_expect_gone(&scene, WEB);
    scene_end(&scene);
}

/* The Spec was deleted, and made again, while nobody saw the request: it was meant for the first.
 */
static void a_request_is_older_than_the_spec(void)
{
    struct scene scene;

    begin(&scene, "");
    scene_kill(&scene);
    request(&scene, "Destroy");
    api_server_edit(scene.server, WEB, "{\"metadata\":{\"finalizers\":null}}");
    api_server_delete(scene.server, WEB);
    usleep(1100000); /* of another second */
    scene_spec(&scene, "web", "", TWO);
    scene_start(&scene);
    expect_ended(&scene, UNDO, "cancelled", 0, "Superseded");
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    EXPECT_DATA(&scene, "a", "2");
    scene_end(&scene);
}

/* A Release that could not be read before a later one was carried out comes too late. */
static void an_older_request_does_not_overtake(void)
{
    const struct api_rule fail = {.verb = "get", .path = UNDO, .fault = API_ANSWER, .status = 500};
    struct scene scene;
    unsigned rule;

    begin(&scene, "");
    rule = api_server_rule(scene.server, &fail);
    request(&scene, "Rollback");
    usleep(1100000); /* of another second */
    request_named(&scene, "wipe", "\"operation\":\"Destroy\"");
    expect_ended(&scene, RELEASES "/wipe", "succeeded", 3, NULL);
    api_server_release(scene.server, rule);
    expect_ended(&scene, UNDO, "cancelled", 0, NULL);
    scene_expect_ready(&scene, "web", "False", "Destroyed");
    scene_end(&scene);
}

/* Nobody saw the request and the change of the Spec before both had happened. Their times are of
 * whole seconds. */
static void of_a_request_and_a_change_the_later_one_wins(void)
{
    for (int is_change_first = 0; is_change_first < 2; is_change_first++) {
        struct scene scene;

        begin(&scene, "");
        scene_kill(&scene);
        if (!is_change_first)
            request(&scene, "Rollback");
        else
            scene_spec(&scene, "web", "", THREE);
        usleep(1100000);
        if (is_change_first)
            request(&scene, "Rollback");
        else
            scene_spec(&scene, "web", "", THREE);
        scene_start(&scene);
        expect_ended(&scene, UNDO, is_change_first ? "succeeded" : "cancelled", 0, NULL);
        scene_expect_ready(&scene, "web", is_change_first ? "False" : "True",
                           is_change_first ? "RolledBack" : "ReconciliationSucceeded");
        EXPECT_DATA(&scene, "a", is_change_first ? "2" : "3");
        scene_end(&scene);
    }
}

SUITE(scenario_rollback, TEST(of_a_request_and_a_change_the_later_one_wins),
      TEST(remediation_does_not_hold_the_spec_that_succeeded), TEST(the_end_is_told_later),
      TEST(a_lost_status_does_not_end_the_hold),
      TEST(lost_state_does_not_bring_back_what_was_rolled_back),
      TEST(a_destroyed_spec_comes_to_rest), TEST(the_request_is_deleted_meanwhile),
      TEST(of_two_requests_the_later_one_wins), TEST(an_older_request_does_not_overtake),
      TEST(of_many_requests_the_last_one_wins), TEST(faults_pass),
      TEST(what_was_accepted_is_said_later), TEST(a_request_without_room_for_its_status),
      TEST(a_request_is_older_than_the_spec))
