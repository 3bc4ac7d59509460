#include "test/unit/controller/approval_scene.h"

#include "engine/base/str.h"

void approval_edit_a(struct scene *scene, const char *x)
{
    _cleanup_free_ char *patch = str_printf("{\"data\":{\"x\":\"%s\"}}", x);

    api_server_edit(scene->server, CONFIGMAPS "/a", patch);
}

bool approval_is_waiting(struct scene *scene, unsigned revision)
{
    _cleanup_free_ char *phase = scene_phase(scene, "web", revision);

    return str_equal(phase, "awaitingApproval");
}

void approval_give(struct scene *scene, unsigned revision)
{
    _cleanup_free_ char *path = str_printf(RELEASE "%u", revision), *patch = NULL;
    _cleanup_value_ const struct value *release = api_server_get(scene->server, path);
    const char *digest = value_string(value_path(release, "status", "plan", "digest", NULL));

    EXPECT(approval_is_waiting(scene, revision), path);
    if (!digest)
        return;
    patch = str_printf("{\"spec\":{\"approvedPlan\":\"%s\"}}", digest);
    api_server_edit(scene->server, path, patch);
}

void approval_begin(struct scene *scene, const char *fields)
{
    *scene = (struct scene){0};
    scene_begin(scene);
    scene_spec(scene, "web", fields, CONFIGMAP("a", "1"));
    scene_expect_ready(scene, "web", "Unknown", "AwaitingApproval");
    approval_give(scene, 1);
    scene_expect_ready(scene, "web", "True", "ReconciliationSucceeded");
    scene_expect_quiet(scene);
}
