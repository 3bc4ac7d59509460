/* --watch-label-selector: a Spec that leaves the watch is another's, and one that comes is ours. */
#include <unistd.h>

#include "engine/base/str.h"
#include "test/unit/controller/scene.h"

#define WEB    SPECS "/web"
#define OURS   "{\"metadata\":{\"labels\":{\"shard\":\"a\"}}}"
#define THEIRS "{\"metadata\":{\"labels\":{\"shard\":\"b\"}}}"

static void begin(struct scene *scene)
{
    scene->flags = "--watch-label-selector=shard=a";
    scene_begin(scene);
}

/* Of an operation that takes longer than a second it is said. */
static void expect_applying(struct scene *scene)
{
    char *phase = NULL;

    for (int ms = 0; ms < 60000 && !str_equal(phase, "applying"); ms += 50) {
        free(phase);
        usleep(50000);
        phase = scene_phase(scene, "web", 1);
    }
    free(phase);
    scene_expect_quiet(scene);
}

static void only_what_is_selected_is_worked_on(void)
{
    struct scene scene = {0};

    begin(&scene);
    scene_spec(&scene, "web", "", CONFIGMAP("a", "1"));
    scene_expect_quiet(&scene);
    EXPECT_WRITES(&scene, "");
    api_server_edit(scene.server, WEB, OURS);
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    scene_end(&scene);
}

/* Its operation ends, and nothing is said of it; when it comes back, the same Release goes on. */
static void what_leaves_is_abandoned(void)
{
    struct scene scene = {0};

    begin(&scene);
    scene_spec(&scene, "web", "", DEPLOYMENT("slow", "1"));
    api_server_edit(scene.server, WEB, OURS);
    scene_expect_there(&scene, DEPLOYMENTS "/slow");
    expect_applying(&scene);
    api_server_mark(scene.server);
    api_server_edit(scene.server, WEB, THEIRS);
    scene_expect_quiet(&scene);
    scene_roll_out(&scene, "slow");
    scene_expect_quiet(&scene);
    EXPECT_WRITES(&scene, "");
    EXPECT_PHASE(&scene, "web", 1, "applying");
    api_server_edit(scene.server, WEB, OURS);
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    EXPECT_PHASE(&scene, "web", 1, "succeeded");
    EXPECT_INT(api_server_size(scene.server, RELEASES), 1, "one Release");
    scene_end(&scene);
}

/* It came back before anybody looked. */
static void what_leaves_for_a_moment_is_not_forgotten(void)
{
    struct scene scene = {0};

    begin(&scene);
    scene_spec(&scene, "web", "", DEPLOYMENT("slow", "1"));
    api_server_edit(scene.server, WEB, OURS);
    scene_expect_there(&scene, DEPLOYMENTS "/slow");
    for (unsigned i = 0; i < 5; i++) {
        api_server_edit(scene.server, WEB, THEIRS);
        api_server_edit(scene.server, WEB, OURS);
    }
    scene_roll_out(&scene, "slow");
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    EXPECT_INT(api_server_count(scene.server, "apply", DEPLOYMENTS "/slow"), 1, "made once");
    scene_end(&scene);
}

/* One that fails, and is tried again each second. */
static void what_left_is_not_tried_again(void)
{
    struct scene scene = {0};
    unsigned rule;

    begin(&scene);
    rule = api_server_forbid(scene.server, NULL, "apply", CONFIGMAPS "/a");
    scene_spec(&scene, "web", "\"retryInterval\":\"1s\",", CONFIGMAP("a", "1"));
    api_server_edit(scene.server, WEB, OURS);
    EXPECT(api_server_wait_hits(scene.server, rule, 2), "it is tried again");
    api_server_edit(scene.server, WEB, THEIRS);
    scene_expect_quiet(&scene);
    sleep(2); /* what was due already */
    api_server_mark(scene.server);
    sleep(3);
    EXPECT_INT(api_server_count(scene.server, NULL, WEB "*"), 0, "nobody looks at it");
    scene_end(&scene);
}

SUITE(scenario_selector, TEST(only_what_is_selected_is_worked_on), TEST(what_leaves_is_abandoned),
      TEST(what_leaves_for_a_moment_is_not_forgotten), TEST(what_left_is_not_tried_again))
