/*
 * An operator that takes over from one of an earlier version, in the middle of what that one did.
 *
 * upgrade/objects-2298794f.txt has the objects, a line each, that the operator of commit 2298794f
 * left on a real API server (1.36) when it was stopped, as `kubectl get -o json
 * --show-managed-fields` has them, without resourceVersion, and without what controllers of
 * Kubernetes wrote. Nothing else of them was changed: State, plans and recorded Specs are as that
 * version encoded them. Its Specs are
 *
 *   ready    a Secret, and a ConfigMap that refers to another one: all is done
 *   back     was rolled back, and stays so
 *   paused   was suspended when it was changed
 *   running  waits for its Deployment
 *   waits    is new, and its plan waits for approval
 *   changed  was applied, and the plan of its change waits
 *   middle   waits for its Deployment, as a person approved
 *
 * A version that reads them no more fails here; then say so in CHANGELOG.md and docs/upgrade.md.
 * Digests of plans are made in another way since (they have the account), so approvals of then hold
 * no more.
 */
#include "engine/base/str.h"
#include "test/unit/controller/scene.h"

#define OBJECTS "test/unit/controller/upgrade/objects-2298794f.txt" /* from the checkout */
#define LONGEST 65536
#define SECRETS "/api/v1/namespaces/team/secrets"
#define ANOTHER "another version of the operator"

static void load(struct scene *scene)
{
    static char line[LONGEST];
    FILE *file = fopen(OBJECTS, "re");

    if (!file)
        abort();
    while (fgets(line, sizeof(line), file))
        api_server_put(scene->server, line);
    fclose(file);
}

/* All is as the earlier version left it, and no operator runs. */
static void prepare(struct scene *scene)
{
    scene_begin(scene);
    scene_stop(scene);
    scene_remove_states(scene, STATES); /* that version knew no identity of stores */
    load(scene);
}

static void begin(struct scene *scene)
{
    prepare(scene);
    scene_start(scene);
}

/* As the controller of Deployments says it of one with a deadline. */
static void roll_out(struct scene *scene, const char *path)
{
    api_server_edit(scene->server, path,
                    "{\"status\":{\"observedGeneration\":1,\"replicas\":1,\"updatedReplicas\":1,"
                    "\"readyReplicas\":1,\"availableReplicas\":1,\"conditions\":["
                    "{\"type\":\"Available\",\"status\":\"True\"},{\"type\":\"Progressing\","
                    "\"status\":\"True\",\"reason\":\"NewReplicaSetAvailable\"}]}}");
}

static char *text_of(struct scene *scene, const char *path, const char *a, const char *b)
{
    _cleanup_value_ const struct value *object = api_server_get(scene->server, path);
    const char *text = value_string(value_path(object, a, b, NULL));

    return text ? str_new(text) : NULL;
}

static void approve(struct scene *scene, const char *release)
{
    _cleanup_free_ char *path = str_printf(RELEASES "/%s", release), *patch = NULL;
    _cleanup_value_ const struct value *object = api_server_get(scene->server, path);
    const char *digest = value_string(value_path(object, "status", "plan", "digest", NULL));

    EXPECT_STR(value_string(value_path(object, "status", "phase", NULL)), "awaitingApproval",
               release);
    patch = str_printf("{\"spec\":{\"approvedPlan\":\"%s\"}}", digest ? digest : "");
    api_server_edit(scene->server, path, patch);
}

/* ---- What is settled ---- */

static void leaves_alone_what_is_settled(void)
{
    static const char *const settled[] = {
        SPECS "/ready",     SPECS "/back",       CONFIGMAPS "/a", CONFIGMAPS "/b",
        CONFIGMAPS "/k",    CONFIGMAPS "/l",     SECRETS "/s",    RELEASES "/ready-1",
        RELEASES "/back-3", RELEASES "/paused-1"};
    char *before[ARRAY_SIZE(settled)];
    struct scene scene = {0};

    prepare(&scene);
    for (size_t i = 0; i < ARRAY_SIZE(settled); i++)
        before[i] = text_of(&scene, settled[i], "metadata", "resourceVersion");
    scene_start(&scene);
    scene_expect_there(&scene, RELEASES "/waits-2");
    scene_expect_quiet(&scene);
    for (size_t i = 0; i < ARRAY_SIZE(settled); i++) {
        _cleanup_free_ char *after = text_of(&scene, settled[i], "metadata", "resourceVersion");

        EXPECT(before[i], settled[i]);
        EXPECT_STR(after, before[i], settled[i]);
        free(before[i]);
    }
    scene_end(&scene);
}

/* It knows what it made, as what, and what it may delete; and which Spec to go back to. */
static void goes_on_with_what_is_settled(void)
{
    struct scene scene = {0};

    begin(&scene);
    scene_spec(&scene, "ready", "", CONFIGMAP("a", "2"));
    scene_expect_ready(&scene, "ready", "True", NULL);
    EXPECT_DATA(&scene, "a", "2");
    scene_expect_gone(&scene, CONFIGMAPS "/b");
    scene_expect_gone(&scene, SECRETS "/s");
    api_server_edit(scene.server, SPECS "/paused", "{\"spec\":{\"suspend\":false}}");
    scene_expect_data(&scene, "l", "2");
    api_server_delete(scene.server, SPECS "/back");
    scene_expect_gone(&scene, CONFIGMAPS "/k");
    scene_expect_gone(&scene, SPECS "/back");
    scene_end(&scene);
}

/* ---- What is under way ---- */

static void goes_on_with_an_operation(void)
{
    struct scene scene = {0};
    _cleanup_free_ char *before = NULL, *after = NULL;

    prepare(&scene);
    before = text_of(&scene, CONFIGMAPS "/i", "metadata", "uid");
    roll_out(&scene, DEPLOYMENTS "/slower/status"); /* before its time is over */
    scene_start(&scene);
    scene_expect_ready(&scene, "running", "True", NULL);
    EXPECT_DATA(&scene, "j", "1");
    EXPECT_PHASE(&scene, "running", 1, "succeeded");
    after = text_of(&scene, CONFIGMAPS "/i", "metadata", "uid");
    EXPECT_STR(after, before, "not made again");
    scene_end(&scene);
}

/* ---- Approvals ---- */

/* The Release is over, and says why. */
static void expect_void(struct scene *scene, const char *release)
{
    _cleanup_free_ char *path = str_printf(RELEASES "/%s", release);
    _cleanup_value_ const struct value *object = api_server_get(scene->server, path);
    const struct value *conditions = value_path(object, "status", "conditions", NULL);
    const struct value *first = value_at(conditions, 0);

    EXPECT_STR(value_string(value_path(object, "status", "phase", NULL)), "cancelled", release);
    EXPECT_STR(value_get_string(first, "reason"), "PlanStale", release);
    EXPECT(value_get_string(first, "message") &&
               strstr(value_get_string(first, "message"), ANOTHER),
           release);
}

static void asks_again_for_an_approval(void)
{
    struct scene scene = {0};

    begin(&scene);
    scene_expect_there(&scene, RELEASES "/waits-2");
    scene_expect_there(&scene, RELEASES "/changed-3");
    scene_expect_quiet(&scene);
    scene_expect_ready(&scene, "waits", "Unknown", "AwaitingApproval");
    scene_expect_ready(&scene, "changed", "Unknown", "AwaitingApproval");
    expect_void(&scene, "waits-1");
    expect_void(&scene, "changed-2");
    EXPECT_DATA(&scene, "c", NULL);
    EXPECT_DATA(&scene, "e", "1");
    approve(&scene, "waits-2");
    approve(&scene, "changed-3");
    scene_expect_ready(&scene, "waits", "True", NULL);
    scene_expect_ready(&scene, "changed", "True", NULL);
    EXPECT_DATA(&scene, "c", "1");
    EXPECT_DATA(&scene, "e", "2");
    scene_end(&scene);
}

/* One that came while no operator ran. */
static void takes_no_approval_of_then(void)
{
    struct scene scene = {0};
    _cleanup_free_ char *digest = NULL, *patch = NULL;
    _cleanup_value_ const struct value *release = NULL;

    prepare(&scene);
    release = api_server_get(scene.server, RELEASES "/waits-1");
    digest = str_new(value_string(value_path(release, "status", "plan", "digest", NULL)));
    patch = str_printf("{\"spec\":{\"approvedPlan\":\"%s\"}}", digest);
    api_server_edit(scene.server, RELEASES "/waits-1", patch);
    scene_start(&scene);
    scene_expect_there(&scene, RELEASES "/waits-2");
    scene_expect_quiet(&scene);
    scene_expect_ready(&scene, "waits", "Unknown", "AwaitingApproval");
    expect_void(&scene, "waits-1");
    EXPECT_DATA(&scene, "c", NULL);
    scene_end(&scene);
}

static void asks_again_in_the_middle(void)
{
    struct scene scene = {0};
    _cleanup_free_ char *before = NULL, *after = NULL;

    prepare(&scene);
    before = text_of(&scene, CONFIGMAPS "/g", "metadata", "uid");
    roll_out(&scene, DEPLOYMENTS "/slow/status");
    scene_start(&scene);
    scene_expect_there(&scene, RELEASES "/middle-2");
    scene_expect_quiet(&scene);
    scene_expect_ready(&scene, "middle", "Unknown", "AwaitingApproval");
    expect_void(&scene, "middle-1");
    EXPECT_DATA(&scene, "h", NULL);
    approve(&scene, "middle-2");
    scene_expect_ready(&scene, "middle", "True", NULL);
    EXPECT_DATA(&scene, "h", "1");
    after = text_of(&scene, CONFIGMAPS "/g", "metadata", "uid");
    EXPECT_STR(after, before, "not made again");
    scene_end(&scene);
}

SUITE(scenario_upgrade, TEST(leaves_alone_what_is_settled), TEST(goes_on_with_what_is_settled),
      TEST(goes_on_with_an_operation), TEST(asks_again_for_an_approval),
      TEST(takes_no_approval_of_then), TEST(asks_again_in_the_middle))
