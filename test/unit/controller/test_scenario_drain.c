/* SIGTERM with a call in flight: it is waited for, and one that takes longer than the drain is
 * found by the next process. */
#include <signal.h>
#include <unistd.h>

#include "test/unit/controller/scene.h"

#define WEB SPECS "/web"

static unsigned hold(struct scene *scene, enum api_fault fault)
{
    unsigned rule = api_server_rule(
        scene->server,
        &(struct api_rule){.verb = "apply", .path = CONFIGMAPS "/a", .times = 1, .fault = fault});

    scene_spec(scene, "web", "",
               CONFIGMAP("a", "1") "," CONFIGMAP_AFTER("b", "1", "\"" CONFIGMAP_ID("a") "\""));
    EXPECT(api_server_wait_hits(scene->server, rule, 1), "a call is in flight");
    return rule;
}

static void expect_made(struct scene *scene, const char *note)
{
    _cleanup_value_ const struct value *web = NULL;
    const struct value *ready;

    scene_expect_ready(scene, "web", "True", "ReconciliationSucceeded");
    EXPECT_DATA(scene, "a", "1");
    EXPECT_DATA(scene, "b", "1");
    EXPECT_PHASE(scene, "web", 1, "succeeded");
    EXPECT_INT(api_server_size(scene->server, RELEASES), 1, note);
    EXPECT_INT(api_server_size(scene->server, STATES_ONLY), 1, note);
    web = api_server_get(scene->server, WEB);
    ready = value_at(value_path(web, "status", "conditions", NULL), 0);
    EXPECT_STR(value_get_string(ready, "message"), "revision 1: 2 created", note);
}

/* It is answered in time: what came of it is stored, and nothing else is begun. */
static void waits_for_a_call_in_flight(void)
{
    struct scene scene = {.flags = "--drain-timeout=10s"};
    unsigned rule;

    scene_begin(&scene);
    rule = hold(&scene, API_HOLD_AFTER);
    kill(scene.pid, SIGTERM);
    usleep(500000);
    api_server_release(scene.server, rule);
    scene_stop(&scene); /* it ends well */
    EXPECT_DATA(&scene, "b", NULL);
    scene_start(&scene);
    expect_made(&scene, "the rest");
    EXPECT_INT(api_server_count(scene.server, "apply", CONFIGMAPS "/a"), 1, "it was recorded");
    scene_end(&scene);
}

/* Before it is answered, or before it is carried out: then it lands beside the next process. */
static void a_call_that_outlives_the_drain_is_found(void)
{
    static const struct {
        enum api_fault fault;
        bool lands_late;
        const char *note;
    } rows[] = {
        {API_HOLD_AFTER, false, "carried out, and never answered"},
        {API_HOLD, false, "carried out before the next process looks"},
        {API_HOLD, true, "carried out after it"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct scene scene = {.flags = "--drain-timeout=1s"};
        unsigned rule;

        scene_begin(&scene);
        rule = hold(&scene, rows[i].fault);
        kill(scene.pid, SIGTERM);
        scene_expect_ended(&scene);
        EXPECT_INT(api_server_size(scene.server, STATES_ONLY), 1, "the intent is stored");
        if (!rows[i].lands_late)
            api_server_release(scene.server, rule);
        scene_start(&scene);
        expect_made(&scene, rows[i].note);
        api_server_release(scene.server, rule);
        scene_expect_quiet(&scene);
        expect_made(&scene, rows[i].note);
        api_server_delete(scene.server, WEB);
        scene_expect_gone(&scene, WEB);
        EXPECT_INT(api_server_size(scene.server, CONFIGMAPS), 0, "nothing is left behind");
        scene_end(&scene);
    }
}

SUITE(scenario_drain, TEST(waits_for_a_call_in_flight),
      TEST(a_call_that_outlives_the_drain_is_found))
