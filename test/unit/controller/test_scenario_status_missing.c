/* What was done and not told: no second record is made of it. */
#include "engine/base/str.h"
#include "test/unit/controller/scene.h"

#define WEB SPECS "/web"

static void expect_mended(struct scene *scene)
{
    _cleanup_value_ const struct value *spec = NULL;

    scene_expect_ready(scene, "web", "True", "ReconciliationSucceeded");
    scene_expect_quiet(scene);
    spec = api_server_get(scene->server, WEB);
    EXPECT_DATA(scene, "a", "1");
    EXPECT_PHASE(scene, "web", 1, "succeeded");
    EXPECT_PHASE(scene, "web", 2, "succeeded");
    EXPECT_INT(api_server_size(scene->server, RELEASES), 2, "one for the mending");
    EXPECT_INT(value_int(value_path(spec, "status", "lastAppliedRevision", NULL), 0), 2, "told");
}

/* Killed after so many writes. False: there are fewer. */
static bool mend(unsigned n)
{
    struct scene scene = {0};
    bool was_cut;

    scene_begin(&scene);
    scene_spec(&scene, "web", "", CONFIGMAP("a", "1"));
    scene_expect_ready(&scene, "web", "True", NULL);
    scene_expect_quiet(&scene);
    api_server_edit(scene.server, CONFIGMAPS "/a", "{\"data\":{\"x\":\"theirs\"}}");
    api_server_mark(scene.server);
    api_server_cut_after(scene.server, n);
    scene_ask(&scene, "web");
    scene_expect_quiet(&scene);
    was_cut = api_server_is_cut(scene.server);
    scene_kill(&scene);
    api_server_mend(scene.server);
    scene_start(&scene);
    expect_mended(&scene);
    scene_end(&scene);
    return was_cut;
}

/* All the while the Spec is Ready: only State and the Release tell that there is something to end.
 */
static void mending_survives_kills(void)
{
    unsigned n = 1;

    while (n < 20 && mend(n))
        n++;
    EXPECT(n > 5 && n < 20, "after each write");
}

static void a_status_that_is_refused_makes_no_more_releases(void)
{
    struct scene scene = {0};
    unsigned rule;

    scene_begin(&scene);
    rule = api_server_forbid(scene.server, NULL, "update", WEB "/status");
    scene_spec(&scene, "web", "", CONFIGMAP("a", "1"));
    EXPECT(api_server_wait_hits(scene.server, rule, 4), "tried again");
    EXPECT_INT(api_server_size(scene.server, RELEASES), 1, "one Release");
    EXPECT_PHASE(&scene, "web", 1, "succeeded");
    api_server_release(scene.server, rule);
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    EXPECT_INT(api_server_size(scene.server, RELEASES), 1, "and it stays the one");
    scene_end(&scene);
}

SUITE(scenario_status_missing, TEST(mending_survives_kills),
      TEST(a_status_that_is_refused_makes_no_more_releases))
