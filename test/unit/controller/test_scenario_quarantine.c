/* What a process finds that comes after another one died: the record of what was under way. */
#include <unistd.h>

#include "controller/reconcile/conditions.h"
#include "controller/reconcile/quarantine.h"
#include "engine/base/json.h"
#include "engine/base/str.h"
#include "engine/release/history.h"
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

/* The deaths that are recorded of the key; -1: it is not there. */
static int deaths_of(struct scene *scene, const char *key)
{
    _cleanup_value_ const struct value *lease = api_server_get(scene->server, LEASE), *record = NULL;
    const char *text = value_string(value_path(lease, "metadata", "annotations", ANNOTATION, NULL));
    const struct value *objects;

    if (!text || json_read_str(text, &record, NULL) < 0)
        return -1;
    objects = value_get(record, "objects");
    for (size_t i = 0; i < value_count(objects); i++)
        if (str_equal(value_get_string(value_at(objects, i), "key"), key))
            return (int)value_int(value_get(value_at(objects, i), "deaths"), 0);
    return -1;
}

/* What has ended is recorded a moment later. */
static void expect_deaths(struct scene *scene, const char *key, int deaths, const char *note)
{
    for (int ms = 0; ms < PATIENCE && deaths_of(scene, key) != deaths; ms += STEP)
        usleep(STEP * 1000);
    EXPECT_INT(deaths_of(scene, key), deaths, note);
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
    expect_deaths(&scene, "release:team/bad", -1, "its status says so");
    scene_end(&scene);
}

static void a_preview_is_no_suspect_after_its_end(void)
{
    struct scene scene = {0};

    scene_begin(&scene);
    die_with(&scene, "release:team/late", 0, "Begun");
    make_release(&scene, "late", "Preview", OWN);
    scene_start(&scene);
    expect_deaths(&scene, "release:team/late", 1, "it comes last");
    expect_ended(&scene, RELEASES "/late", "ReconciliationSucceeded", "1 to create");
    expect_deaths(&scene, "release:team/late", -1, "it has ended");
    scene_end(&scene);
}

SUITE(scenario_quarantine, TEST(a_preview_is_held_after_the_third_death),
      TEST(a_preview_is_no_suspect_after_its_end))
