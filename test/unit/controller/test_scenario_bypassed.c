/* Specs that the API server removes though their finalizer was set: a deletion had looked at them
 * just before. */
#include <unistd.h>

#include "engine/base/str.h"
#include "test/unit/controller/scene.h"

#define WEB      SPECS "/web"
#define PATIENCE 20000 /* ms */

static void expect_nothing_kept(struct scene *scene, const char *note)
{
    for (int ms = 0; ms < PATIENCE && api_server_size(scene->server, KEPT); ms += 20)
        usleep(20000);
    EXPECT_INT(api_server_size(scene->server, KEPT), 0, note);
}

static void begin(struct scene *scene, const char *fields, const char *resources)
{
    scene_begin(scene);
    scene_spec(scene, "web", fields, resources);
    scene_expect_ready(scene, "web", "True", NULL);
    scene_expect_quiet(scene);
    api_server_mark(scene->server);
}

/* The most common: it is deleted right after it was made. */
static void takes_away_what_is_being_made(void)
{
    static const struct {
        const char *note;
        struct api_rule rule;
    } rows[] = {
        {"State is being saved", {.verb = "create", .path = STATES, .fault = API_HOLD}},
        {"State was saved, unanswered",
         {.verb = "create", .path = STATES, .fault = API_HOLD_AFTER}},
        {"an object is being made",
         {.verb = "apply", .path = DEPLOYMENTS "/slow", .fault = API_HOLD}},
        {"an object was made, unanswered",
         {.verb = "apply", .path = DEPLOYMENTS "/slow", .fault = API_HOLD_AFTER}},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct scene scene = {0};
        unsigned rule;

        scene_begin(&scene);
        rule = api_server_rule(scene.server, &rows[i].rule);
        scene_spec(&scene, "web", "", CONFIGMAP("a", "1") "," DEPLOYMENT("slow", "1"));
        EXPECT(api_server_wait_hits(scene.server, rule, 1), rows[i].note);
        api_server_remove(scene.server, WEB);
        scene_expect_quiet(&scene);
        api_server_release(scene.server, rule);
        scene_expect_gone(&scene, CONFIGMAPS "/a");
        scene_expect_gone(&scene, DEPLOYMENTS "/slow");
        expect_nothing_kept(&scene, rows[i].note);
        scene_expect_quiet(&scene);
        EXPECT_INT(api_server_size(scene.server, CONFIGMAPS), 0, rows[i].note);
        EXPECT_INT(api_server_size(scene.server, DEPLOYMENTS), 0, rows[i].note);
        scene_end(&scene);
    }
}

static void does_as_the_spec_said(void)
{
    static const struct {
        const char *fields;
        bool goes;
    } rows[] = {
        {"", true},
        {"\"deletionPolicy\":\"Orphan\",", false},
        {"\"prune\":false,", false},
        {"\"prune\":false,\"deletionPolicy\":\"Delete\",", true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct scene scene = {0};

        begin(&scene, rows[i].fields, CONFIGMAP("a", "1"));
        api_server_remove(scene.server, WEB);
        expect_nothing_kept(&scene, rows[i].fields);
        scene_expect_quiet(&scene);
        EXPECT_DATA(&scene, "a", rows[i].goes ? NULL : "1");
        scene_end(&scene);
    }
}

/* Who takes the finalizer off wants the objects to stay. */
static void leaves_all_where_the_finalizer_was_taken_off(void)
{
    struct scene scene = {0};
    unsigned rule;

    begin(&scene, "", CONFIGMAP("a", "1"));
    rule = api_server_forbid(scene.server, NULL, "delete", CONFIGMAPS "/a");
    api_server_delete(scene.server, WEB);
    EXPECT(api_server_wait_hits(scene.server, rule, 1), "it is held");
    scene_expect_ready(&scene, "web", "False", NULL);
    api_server_release(scene.server, rule);
    api_server_edit(scene.server, WEB, "{\"metadata\":{\"finalizers\":null}}");
    scene_expect_gone(&scene, WEB);
    scene_expect_quiet(&scene);
    EXPECT_DATA(&scene, "a", "1");
    EXPECT_INT(api_server_size(scene.server, STATES_ONLY), 1, "State stays");
    scene_end(&scene);
}

/* The next Spec of the name has it, and prunes it. */
static void gives_all_to_the_next_spec_of_the_name(void)
{
    static const struct {
        const char *note;
        bool is_killed;
    } rows[] = {{"made at once", false}, {"made after the process was killed", true}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct scene scene = {0};

        begin(&scene, "", CONFIGMAP("a", "1"));
        if (rows[i].is_killed)
            scene_kill(&scene);
        api_server_remove(scene.server, WEB);
        scene_spec(&scene, "web", "", CONFIGMAP("b", "1"));
        if (rows[i].is_killed)
            scene_start(&scene);
        scene_expect_ready(&scene, "web", "True", NULL);
        EXPECT_DATA(&scene, "a", NULL);
        EXPECT_DATA(&scene, "b", "1");
        EXPECT_INT(api_server_size(scene.server, STATES_ONLY), 1, rows[i].note);
        scene_end(&scene);
    }
}

/* What leaves a selector looks the same. */
static void leaves_all_where_it_may_be_anothers(void)
{
    struct scene scene = {.flags = "--watch-label-selector=shard!=b"};

    begin(&scene, "", CONFIGMAP("a", "1"));
    api_server_remove(scene.server, WEB);
    scene_expect_quiet(&scene);
    EXPECT_DATA(&scene, "a", "1");
    EXPECT_INT(api_server_size(scene.server, STATES_ONLY), 1, "State stays");
    scene_end(&scene);
}

SUITE(scenario_bypassed, TEST(takes_away_what_is_being_made), TEST(does_as_the_spec_said),
      TEST(leaves_all_where_the_finalizer_was_taken_off),
      TEST(gives_all_to_the_next_spec_of_the_name), TEST(leaves_all_where_it_may_be_anothers))
