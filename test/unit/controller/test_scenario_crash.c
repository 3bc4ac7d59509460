/* kill -9 after each write: it ends in the same place, nothing is made twice, and each revision has
 * one Release. */
#include "engine/base/str.h"
#include "test/unit/controller/scene.h"
#include "test/unit/engine/sweep.h"

#define WEB  SPECS "/web"
#define BOTH CONFIGMAP("a", "1") "," CONFIGMAP_AFTER("b", "1", "\"" CONFIGMAP_ID("a") "\"")

/* Each begins with what was made before, if anything, and a change. */
struct change {
    const char *note;
    const char *before; /* the Spec's resources; NULL: there is none */
    const char *after;  /* NULL: it is deleted */
    unsigned writes;    /* at least so many are to be killed after */
    /* What Ready says. NULL: depends on when it was killed: an update that was not recorded yet
     * counts as unchanged. */
    const char *told;
};

static void expect_told(struct scene *scene, const char *told)
{
    _cleanup_value_ const struct value *web = api_server_get(scene->server, WEB);
    const struct value *conditions = value_path(web, "status", "conditions", NULL);

    /* Ready is the first. */
    EXPECT_STR(value_get_string(value_at(conditions, 0), "message"), told, "told");
}

static void make_change(struct scene *scene, const struct change *change)
{
    if (change->after)
        scene_spec(scene, "web", "", change->after);
    else
        api_server_delete(scene->server, WEB);
}

static void expect_outcome(struct scene *scene, const struct change *change, const char *uid)
{
    _cleanup_value_ const struct value *a = NULL;

    if (change->after)
        scene_expect_ready(scene, "web", "True", "ReconciliationSucceeded");
    else
        scene_expect_gone(scene, WEB);
    scene_expect_quiet(scene);
    EXPECT_INT(api_server_size(scene->server, change->after ? STATES_ONLY : KEPT),
               change->after ? 1 : 0, "State");
    if (!change->after) {
        EXPECT_INT(api_server_size(scene->server, CONFIGMAPS), 0, "all gone");
        return;
    }
    EXPECT_DATA(scene, "a", strstr(change->after, "\"x\":\"2\"") ? "2" : "1");
    EXPECT_DATA(scene, "b", strstr(change->after, CONFIGMAP_ID("b")) ? "1" : NULL);
    EXPECT_INT(api_server_size(scene->server, RELEASES), change->before ? 2 : 1,
               "one for each generation");
    EXPECT_PHASE(scene, "web", change->before ? 2 : 1, "succeeded");
    if (change->told)
        expect_told(scene, change->told);
    a = api_server_get(scene->server, CONFIGMAPS "/a");
    if (uid)
        EXPECT_STR(value_string(value_path(a, "metadata", "uid", NULL)), uid, "the same object");
}

/* False: there are fewer writes than that. */
static bool run_once(const struct change *change, unsigned n)
{
    _cleanup_value_ const struct value *a = NULL;
    struct scene scene = {0};
    bool was_cut;

    scene_begin(&scene);
    if (change->before) {
        scene_spec(&scene, "web", "", change->before);
        scene_expect_ready(&scene, "web", "True", NULL);
        scene_expect_quiet(&scene);
        a = api_server_get(scene.server, CONFIGMAPS "/a");
    }
    api_server_mark(scene.server);
    api_server_cut_after(scene.server, n);
    make_change(&scene, change);
    for (int ms = 0;
         ms < 2000 && !api_server_is_cut(scene.server) && api_server_writes(scene.server) < n;
         ms += 300)
        scene_expect_quiet(&scene);
    was_cut = api_server_is_cut(scene.server);
    scene_kill(&scene);
    api_server_mend(scene.server);
    scene_start(&scene);
    expect_outcome(&scene, change, value_string(value_path(a, "metadata", "uid", NULL)));
    scene_end(&scene);
    return was_cut;
}

static void survives_kills(void)
{
    static const struct change changes[] = {
        {"create", NULL, BOTH, 8, "revision 1: 2 created"},
        {"update", BOTH, CONFIGMAP("a", "2") "," CONFIGMAP("b", "1"), 4, NULL},
        {"prune", BOTH, CONFIGMAP("a", "1"), 4, NULL},
        {"delete", BOTH, NULL, 4, NULL},
    };

    for (unsigned i = 0; i < ARRAY_SIZE(changes); i++) {
        unsigned n = sweep_first(i);

        while (n < 22 && run_once(&changes[i], n))
            n = sweep_next(n);
        EXPECT(n > changes[i].writes && n < 22, changes[i].note);
    }
}

/* ---- Another Spec, before the next process comes ---- */

/* The Spec changes or goes while nobody looks: whatever was made of it before is known, and taken
 * away. */
static bool leave_nothing(unsigned n, const char *meanwhile)
{
    struct scene scene = {0};
    bool was_cut;

    scene_begin(&scene);
    api_server_cut_after(scene.server, n);
    scene_spec(&scene, "web", "", BOTH);
    scene_expect_quiet(&scene);
    was_cut = api_server_is_cut(scene.server);
    scene_kill(&scene);
    api_server_mend(scene.server);
    if (meanwhile)
        scene_spec(&scene, "web", "", meanwhile);
    else
        api_server_delete(scene.server, WEB);
    scene_start(&scene);
    if (meanwhile)
        scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    else
        scene_expect_gone(&scene, WEB);
    scene_expect_quiet(&scene);
    EXPECT_DATA(&scene, "a", NULL);
    EXPECT_DATA(&scene, "b", NULL);
    EXPECT_DATA(&scene, "c", meanwhile ? "1" : NULL);
    EXPECT_INT(api_server_size(scene.server, meanwhile ? STATES_ONLY : KEPT), meanwhile ? 1 : 0,
               "State");
    scene_end(&scene);
    return was_cut;
}

static void forgets_nothing_that_it_made(void)
{
    static const char *const meanwhile[] = {NULL, CONFIGMAP("c", "1")};

    for (unsigned i = 0; i < ARRAY_SIZE(meanwhile); i++) {
        unsigned n = sweep_first(i);

        while (n < 22 && leave_nothing(n, meanwhile[i]))
            n = sweep_next(n);
        EXPECT(n > 7 && n < 22, "after each write");
    }
}

SUITE(scenario_crash, TEST(survives_kills), TEST(forgets_nothing_that_it_made))
