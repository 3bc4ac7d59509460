/* Plans that wait for approval, and are carried out: the operator is killed after its writes
 * (sweep.h). */
#include <unistd.h>

#include "controller/reconcile/status/conditions.h"
#include "engine/base/str.h"
#include "test/unit/controller/approval_scene.h"
#include "test/unit/engine/sweep.h"

/* False: the server was not cut off before the operator came to rest. */
static bool kill_and_start(struct scene *scene)
{
    bool was_cut;

    scene_expect_quiet(scene);
    was_cut = api_server_is_cut(scene->server);
    scene_kill(scene);
    api_server_mend(scene->server);
    scene_start(scene);
    return was_cut;
}

static void expect_one_succeeded(struct scene *scene, unsigned revision)
{
    scene_expect_ready(scene, "web", "True", "ReconciliationSucceeded");
    scene_expect_quiet(scene);
    EXPECT_DATA(scene, "a", "1");
    EXPECT_PHASE(scene, "web", revision, "succeeded");
    EXPECT_INT(api_server_size(scene->server, RELEASES), revision, "no other Release");
}

/* A plan is shown, approved, and carried out: of a new Spec, or of a correction of a Ready one. The
 * operator is killed after n writes: before the approval, or after it. */
static bool approve_with_kill(bool is_correction, bool is_killed_later, unsigned n)
{
    unsigned revision = is_correction ? 2 : 1;
    struct scene scene = {0};
    bool was_cut = false;

    if (is_correction) {
        approval_begin(&scene, MANUAL);
        approval_edit_a(&scene, "theirs");
    } else {
        scene_begin(&scene);
    }
    if (!is_killed_later)
        api_server_cut_after(scene.server, n);
    if (is_correction)
        scene_ask(&scene, "web");
    else
        scene_spec(&scene, "web", MANUAL, CONFIGMAP("a", "1"));
    if (!is_killed_later)
        was_cut = kill_and_start(&scene);
    scene_expect_ready(&scene, "web", "Unknown", "AwaitingApproval");
    if (is_killed_later) {
        scene_expect_quiet(&scene);
        api_server_cut_after(scene.server, n);
    }
    approval_give(&scene, revision);
    if (is_killed_later)
        was_cut = kill_and_start(&scene);
    expect_one_succeeded(&scene, revision);
    scene_end(&scene);
    return was_cut;
}

static void kills_change_nothing_of_what_is_approved(void)
{
    for (unsigned i = 0; i < 4; i++) {
        unsigned n = sweep_first(i);

        while (n < 26 && approve_with_kill(i & 1, i & 2, n))
            n = sweep_next(n);
        EXPECT(n > 2 && n > sweep_first(i) && n < 26, "after each write");
    }
}

/* Of this generation: it is Ready, or a plan waits. */
static bool is_settled(struct scene *scene)
{
    _cleanup_value_ const struct value *spec = api_server_get(scene->server, WEB);
    const struct value *ready =
        conditions_find(value_path(spec, "status", "conditions", NULL), "Ready");
    int64_t generation = value_int(value_path(spec, "metadata", "generation", NULL), 0);

    return value_int(value_get(ready, "observedGeneration"), 0) == generation &&
           (str_equal(value_get_string(ready, "status"), "True") ||
            str_equal(value_get_string(ready, "reason"), "AwaitingApproval"));
}

/* The newest that waits; 0: none does. There is never more than one. */
static unsigned find_waiting(struct scene *scene)
{
    unsigned found = 0;

    for (unsigned revision = 1; revision < 10; revision++)
        if (approval_is_waiting(scene, revision)) {
            EXPECT_INT(found, 0, "one waits");
            found = revision;
        }
    return found;
}

struct edit {
    const char *note, *value;
    bool is_approved; /* the plan that waits, right before the edit */
};

/* A plan waits; the Spec is changed once more, and the operator killed after n writes. Nothing that
 * waits is left of what was before, and what is there in the end is what the Spec says. */
static bool edit_with_kill(const struct edit *row, unsigned n)
{
    _cleanup_free_ char *resource = str_printf(
        "{\"id\":\"" CONFIGMAP_ID("a") "\",\"type\":\"Kubernetes\",\"attributes\":{"
                                       "\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
                                       "\"metadata\":{\"name\":\"a\",\"namespace\":\"team\"},"
                                       "\"data\":{\"x\":\"%s\"}}}",
        row->value);
    struct scene scene;
    unsigned waiting;
    bool was_cut;

    approval_begin(&scene, MANUAL);
    scene_spec(&scene, "web", MANUAL, CONFIGMAP("a", "2"));
    scene_expect_ready(&scene, "web", "Unknown", "AwaitingApproval");
    scene_expect_quiet(&scene);
    api_server_cut_after(scene.server, n);
    if (row->is_approved)
        approval_give(&scene, 2);
    scene_spec(&scene, "web", MANUAL, resource);
    was_cut = kill_and_start(&scene);
    for (int ms = 0; ms < 60000 && !is_settled(&scene); ms += 20)
        usleep(20000);
    scene_expect_quiet(&scene);
    EXPECT(is_settled(&scene), row->note);
    waiting = find_waiting(&scene);
    EXPECT(waiting || !str_equal(row->value, "3"), "that needs an approval");
    if (waiting)
        approval_give(&scene, waiting);
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    EXPECT_DATA(&scene, "a", row->value);
    EXPECT_INT(find_waiting(&scene), 0, row->note);
    scene_end(&scene);
    return was_cut;
}

static void kills_change_nothing_of_an_edit_while_a_plan_waits(void)
{
    static const struct edit rows[] = {
        {"back", "1", false},
        {"on", "3", false},
        {"back, and approved", "1", true},
        {"on, and approved", "3", true},
    };

    for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
        unsigned n = sweep_first(i);

        while (n < 22 && edit_with_kill(&rows[i], n))
            n = sweep_next(n);
        EXPECT(n > 2 && n > sweep_first(i) && n < 22, rows[i].note);
    }
}

SUITE(scenario_approval_kill, TEST(kills_change_nothing_of_what_is_approved),
      TEST(kills_change_nothing_of_an_edit_while_a_plan_waits))
