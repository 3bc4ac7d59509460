/* A Spec whose State and status are gone, beside Releases of an earlier one of its name: what these
 * tell of is made no second time, whatever fails meanwhile. An earlier Spec that ended well does
 * not concern the next one. */
#include <glob.h>
#include <stdlib.h>

#include "engine/base/str.h"
#include "runtimes/terraform/plugin/folder.h"
#include "test/unit/controller/scene.h"

#ifdef KUSION_TEST_RUNTIME
#define HAS_CLOUD true /* test/runtime/cloud.h */
#else
#define HAS_CLOUD false
#endif

#define WEB    SPECS "/web"
#define THING  "{\"id\":\"cloud:thing:db\",\"type\":\"Cloud\",\"attributes\":{\"x\":\"1\"}}"
#define QUICK  "\"retryInterval\":\"1s\","
#define MANUAL QUICK "\"approval\":{\"mode\":\"Manual\"},"

static char *world; /* the folder of things */

static void begin(struct scene *scene, const char *fields, const char *resources)
{
    world = str_new("/tmp/kusion-test-XXXXXX");
    CU_ASSERT_FATAL(mkdtemp(world) != NULL);
    setenv("KUSION_TEST_CLOUD", world, true);
    scene_begin(scene);
    scene_spec(scene, "web", fields, resources);
    scene_expect_ready(scene, "web", "True", NULL);
    scene_expect_quiet(scene);
}

static void end(struct scene *scene)
{
    scene_end(scene);
    unsetenv("KUSION_TEST_CLOUD");
    folder_remove(world);
    world = NULL;
}

static size_t count_things(void)
{
    _cleanup_free_ char *pattern = str_printf("%s/things/*.json", world);
    glob_t found = {0};
    size_t count;

    glob(pattern, 0, NULL, &found);
    count = found.gl_pathc;
    globfree(&found);
    return count;
}

/* By a backup's tool, which leaves the status away. The operator does not run. */
static void restore(struct scene *scene, const char *fields)
{
    scene_kill(scene);
    scene_remove_states(scene, STATES);
    api_server_edit(scene->server, WEB, "{\"metadata\":{\"finalizers\":null}}");
    api_server_delete(scene->server, WEB);
    scene_expect_gone(scene, WEB);
    scene_spec(scene, "web", fields, THING);
}

static void expect_held(struct scene *scene, const char *note)
{
    scene_expect_ready(scene, "web", "False", "StateLost");
    scene_expect_quiet(scene);
    EXPECT_INT(count_things(), 1, note);
}

/* ---- How the earlier one ended ---- */

static void only_what_may_be_there_is_held(void)
{
    static const struct {
        const char *note, *fields;
        bool is_suspended;
        size_t things; /* in the end */
    } rows[] = {
        {"all was destroyed", "", false, 1},
        {"all was left, on purpose", "\"deletionPolicy\":\"Orphan\",", false, 2},
        {"it was suspended", "", true, 2},
    };

    for (size_t i = 0; HAS_CLOUD && i < ARRAY_SIZE(rows); i++) {
        struct scene scene = {0};

        begin(&scene, rows[i].fields, THING "," CONFIGMAP("a", "1"));
        if (rows[i].is_suspended) {
            scene_spec(&scene, "web", "\"suspend\":true,", THING "," CONFIGMAP("a", "1"));
            scene_expect_ready(&scene, "web", "True", "Suspended");
        }
        api_server_delete(scene.server, WEB);
        scene_expect_gone(&scene, WEB);
        scene_expect_quiet(&scene);
        scene_spec(&scene, "web", QUICK, THING);
        scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
        scene_expect_quiet(&scene);
        EXPECT_INT(count_things(), rows[i].things, rows[i].note);
        EXPECT_DATA(&scene, "a", rows[i].things == 2 ? "1" : NULL);
        end(&scene);
    }
}

/* ---- What fails meanwhile ---- */

static void fails_meanwhile(void)
{
    static const struct {
        const char *note, *fields;
        struct api_rule rule;
    } rows[] = {
        {"nothing", QUICK, {.path = "/nothing", .times = 1}},
        {"nothing, and a plan is to be approved", MANUAL, {.path = "/nothing", .times = 1}},
        {"State is refused, and a plan is to be approved",
         MANUAL,
         {.verb = "write", .path = STATES "*", .times = 3, .fault = API_FORBID}},
        {"the list of Releases",
         QUICK,
         {.verb = "list", .path = RELEASES "*", .times = 2, .fault = API_ANSWER, .status = 500}},
        {"a Release",
         QUICK,
         {.verb = "get", .path = RELEASES "/*", .times = 2, .fault = API_ANSWER, .status = 500}},
        {"State is not written",
         QUICK,
         {.verb = "write", .path = STATES "*", .times = 8, .fault = API_ANSWER, .status = 500}},
        {"State is refused",
         QUICK,
         {.verb = "write", .path = STATES "*", .times = 3, .fault = API_FORBID}},
        {"the Spec's status",
         QUICK,
         {.verb = "write", .path = WEB "/status", .times = 2, .fault = API_DROP_AFTER}},
    };

    for (size_t i = 0; HAS_CLOUD && i < ARRAY_SIZE(rows); i++) {
        struct scene scene = {0};

        begin(&scene, "", THING);
        restore(&scene, rows[i].fields);
        api_server_rule(scene.server, &rows[i].rule);
        scene_start(&scene);
        expect_held(&scene, rows[i].note);
        end(&scene);
    }
}

static bool kill_after(unsigned n)
{
    struct scene scene = {0};
    bool was_cut;

    begin(&scene, "", THING "," CONFIGMAP("a", "1"));
    restore(&scene, QUICK);
    api_server_mark(scene.server);
    api_server_cut_after(scene.server, n);
    scene_start(&scene);
    scene_expect_quiet(&scene);
    was_cut = api_server_is_cut(scene.server);
    scene_kill(&scene);
    api_server_mend(scene.server);
    scene_start(&scene);
    expect_held(&scene, "killed");
    end(&scene);
    return was_cut;
}

static void survives_kills(void)
{
    unsigned n = STARTED_WRITES + 1;

    while (HAS_CLOUD && n < 20 && kill_after(n))
        n++;
    EXPECT(!HAS_CLOUD || (n > STARTED_WRITES + 4 && n < 20), "after each write");
}

SUITE(scenario_restored, TEST(only_what_may_be_there_is_held), TEST(fails_meanwhile),
      TEST(survives_kills))
