/* What a process finds that comes after another one died: the record of what was under way. */
#include <unistd.h>

#include "controller/reconcile/quarantine.h"
#include "controller/reconcile/status/conditions.h"
#include "engine/base/str.h"
#include "engine/release/history.h"
#include "engine/value/json.h"
#include "test/unit/controller/scene.h"

#define LEASE \
    "/apis/coordination.k8s.io/v1/namespaces/kusion-system/leases/kusion-operator-under-way"
#define ANNOTATION "api.kusion.io/under-way"

#define PATIENCE 60000 /* ms */
#define STEP     50

/* The process is killed, and recorded this before. Of the key; deaths: before this one. */
static void die_with(struct scene *scene, const char *key, unsigned deaths, const char *phase)
{
    _cleanup_free_ char *record =
        str_printf("{\\\"deaths\\\":1,\\\"objects\\\":[{\\\"key\\\":\\\"%s\\\",\\\"deaths\\\":%u,"
                   "\\\"phase\\\":\\\"%s\\\"}]}",
                   key, deaths, phase);
    _cleanup_free_ char *patch =
        str_printf("{\"metadata\":{\"annotations\":{\"" ANNOTATION "\":\"%s\"}}}", record);

    scene_kill(scene);
    api_server_edit(scene->server, LEASE, patch);
}

/* What is recorded of the key ("Waits 1": its phase and deaths); free(). NULL: it is not there. */
static char *recorded(struct scene *scene, const char *key)
{
    _cleanup_value_ const struct value *lease = api_server_get(scene->server, LEASE),
                                       *record = NULL;
    const char *text = value_string(value_path(lease, "metadata", "annotations", ANNOTATION, NULL));
    const struct value *objects;

    if (!text || json_read_str(text, &record, NULL) < 0)
        return NULL;
    objects = value_get(record, "objects");
    for (size_t i = 0; i < value_count(objects); i++) {
        const struct value *one = value_at(objects, i);

        if (str_equal(value_get_string(one, "key"), key))
            return str_printf("%s %lld", value_get_string(one, "phase"),
                              (long long)value_int(value_get(one, "deaths"), 0));
    }
    return NULL;
}

/* Until that is recorded: it is a moment later. */
static void expect_recorded(struct scene *scene, const char *key, const char *wanted,
                            const char *note)
{
    char *is = recorded(scene, key);

    for (int ms = 0; ms < PATIENCE && !str_equal(is, wanted); ms += STEP) {
        usleep(STEP * 1000);
        free(is);
        is = recorded(scene, key);
    }
    EXPECT_STR(is, wanted, note);
    free(is);
}

/* fields: of its spec, each with a comma. */
static void make_release(struct scene *scene, const char *name, const char *operation,
                         const char *fields)
{
    _cleanup_free_ char *json = str_printf(
        "{\"apiVersion\":\"api.kusion.io/v1\",\"kind\":\"Release\",\"metadata\":{\"name\":\"%s\","
        "\"namespace\":\"team\"},\"spec\":{%s\"specRef\":{\"name\":\"web\"},\"operation\":\"%s\"}}",
        name, fields, operation);

    api_server_create(scene->server, json);
}

static bool has_ended(const struct value *release)
{
    return release_phase_is_terminal(release_status_phase(value_get(release, "status")));
}

/* Until it has: what Ready says. message: a part of it. */
static void expect_ended(struct scene *scene, const char *path, const char *reason,
                         const char *message)
{
    _cleanup_value_ const struct value *release = NULL;
    const struct value *ready;
    const char *said;

    for (int ms = 0; ms < PATIENCE && !has_ended(release); ms += STEP) {
        usleep(STEP * 1000);
        value_unref(release);
        release = api_server_get(scene->server, path);
    }
    EXPECT(has_ended(release), path);
    ready = conditions_find(value_path(release, "status", "conditions", NULL), "Ready");
    said = value_get_string(ready, "message");
    EXPECT_STR(value_get_string(ready, "reason"), reason, path);
    EXPECT(said && strstr(said, message), message);
}

#define OWN "\"resources\":[" CONFIGMAP("a", "1") "],"

static void a_preview_is_held_after_the_third_death(void)
{
    struct scene scene = {0};

    scene_begin(&scene);
    die_with(&scene, "release:team/bad", QUARANTINE_DEATHS - 1, "Turn");
    make_release(&scene, "bad", "Preview", OWN);
    make_release(&scene, "good", "Preview", OWN);
    scene_start(&scene);
    expect_ended(&scene, RELEASES "/bad", QUARANTINED, "then make the Preview again");
    expect_ended(&scene, RELEASES "/good", "ReconciliationSucceeded", "1 to create");
    expect_recorded(&scene, "release:team/bad", NULL, "its status says so");
    scene_end(&scene);
}

static void a_preview_is_no_suspect_after_its_end(void)
{
    struct scene scene = {0};

    scene_begin(&scene);
    die_with(&scene, "release:team/late", 0, "Begun");
    make_release(&scene, "late", "Preview", OWN);
    scene_start(&scene);
    expect_recorded(&scene, "release:team/late", "Waits 1", "it comes last");
    expect_ended(&scene, RELEASES "/late", "ReconciliationSucceeded", "1 to create");
    expect_recorded(&scene, "release:team/late", NULL, "it has ended");
    scene_end(&scene);
}

/* No memory for what waits: it is evicted in its turn, and not at its end. */
static void what_is_evicted_stays_suspected(void)
{
    struct scene scene = {.flags = "--operation-memory=1"};

    scene_begin(&scene);
    die_with(&scene, "team/web", 0, "Turn");
    scene_spec(&scene, "web", "", DEPLOYMENT("d", "1"));
    scene_start(&scene);
    scene_expect_there(&scene, DEPLOYMENTS "/d");
    expect_recorded(&scene, "team/web", "Waits 1", "set aside");
    scene_roll_out(&scene, "d");
    scene_ask(&scene, "web");
    scene_expect_ready(&scene, "web", "True", NULL);
    expect_recorded(&scene, "team/web", NULL, "it has ended");
    scene_end(&scene);
}

/* A write of the Spec comes between its read and its finalizer. */
static void what_meets_a_conflict_stays_suspected(void)
{
    struct scene scene = {0};
    unsigned rule;

    scene_begin(&scene);
    die_with(&scene, "team/web", 0, "Turn");
    scene_spec(&scene, "web", "", CONFIGMAP("a", "1"));
    rule = api_server_rule(scene.server, &(struct api_rule){.verb = "write",
                                                            .path = SPECS "/web",
                                                            .fault = API_ANSWER,
                                                            .status = 409});
    scene_start(&scene);
    EXPECT(api_server_wait_hits(scene.server, rule, 2), "it is tried again");
    expect_recorded(&scene, "team/web", "Turn 1", "as a suspect");
    api_server_release(scene.server, rule);
    scene_expect_ready(&scene, "web", "True", NULL);
    expect_recorded(&scene, "team/web", NULL, "it has ended");
    scene_end(&scene);
}

/* Nobody will end its operation. */
static void what_is_gone_is_no_suspect(void)
{
    static const struct {
        const char *key;
        unsigned deaths;
    } rows[] = {{"team/gone", 0}, {"team/gone", QUARANTINE_DEATHS - 1}, {"release:team/gone", 0}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct scene scene = {0};

        scene_begin(&scene);
        die_with(&scene, rows[i].key, rows[i].deaths, "Turn");
        scene_start(&scene);
        expect_recorded(&scene, rows[i].key, NULL, rows[i].key);
        scene_end(&scene);
    }
}

/* Deleted before it has its turn. */
static void what_goes_is_no_suspect_any_more(void)
{
    struct scene scene = {0};

    scene_begin(&scene);
    die_with(&scene, "team/web", 0, "Begun");
    scene_spec(&scene, "web", "", CONFIGMAP("a", "1"));
    scene_start(&scene);
    expect_recorded(&scene, "team/web", "Waits 1", "it comes last");
    api_server_delete(scene.server, SPECS "/web");
    expect_recorded(&scene, "team/web", NULL, "it is gone");
    scene_end(&scene);
}

/* Its status says that it is held. */
static void hold(struct scene *scene)
{
    scene_begin(scene);
    die_with(scene, "team/web", QUARANTINE_DEATHS - 1, "Turn");
    scene_spec(scene, "web", "", CONFIGMAP("a", "1"));
    scene_start(scene);
    scene_expect_ready(scene, "web", "False", QUARANTINED);
    expect_recorded(scene, "team/web", NULL, "its status says so");
}

/* The process died before it had recorded that the status says so. */
static void a_request_for_a_reconcile_lets_go_what_is_held(void)
{
    struct scene scene = {0};

    hold(&scene);
    die_with(&scene, "team/web", QUARANTINE_DEATHS, "Waits");
    scene_start(&scene);
    expect_recorded(&scene, "team/web", NULL, "its status says so");
    scene_ask(&scene, "web");
    scene_expect_ready(&scene, "web", "True", NULL);
    scene_end(&scene);
}

static void what_is_held_refuses_rollbacks(void)
{
    struct scene scene = {0};

    hold(&scene);
    make_release(&scene, "undo", "Rollback", "");
    make_release(&scene, "down", "Destroy", "");
    expect_ended(&scene, RELEASES "/undo", QUARANTINED, "make the Release again");
    expect_ended(&scene, RELEASES "/down", QUARANTINED, "make the Release again");
    scene_expect_ready(&scene, "web", "False", QUARANTINED);
    scene_end(&scene);
}

SUITE(scenario_quarantine, TEST(what_is_gone_is_no_suspect), TEST(what_goes_is_no_suspect_any_more),
      TEST(a_preview_is_held_after_the_third_death), TEST(a_preview_is_no_suspect_after_its_end),
      TEST(what_is_evicted_stays_suspected), TEST(what_meets_a_conflict_stays_suspected),
      TEST(a_request_for_a_reconcile_lets_go_what_is_held), TEST(what_is_held_refuses_rollbacks))
