/* The Secret of a Spec's kubeConfig, which is made, replaced and deleted: the Spec hears of it at
 * once, long before it would try again. */
#include "engine/base/str.h"
#include "test/unit/controller/scene.h"

#define SECRETS "/api/v1/namespaces/team/secrets"
#define AT_EDGE                                                                              \
    "\"retryInterval\":\"5m\",\"interval\":\"20m\",\"kubeConfig\":{\"secretRef\":{\"name\":" \
    "\"edge\","                                                                              \
    "\"key\":\"value\"}},"
/* No kubeconfig, in Base64. */
#define EMPTY                                                                                   \
    "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"edge\",\"namespace\":" \
    "\"team\"},\"data\":{\"value\":\"e30=\"}}"

static void each_change_is_seen_at_once(void)
{
    struct scene scene = {0};

    scene_begin(&scene);
    scene_spec(&scene, "web", AT_EDGE, CONFIGMAP("a", "1"));
    scene_expect_ready(&scene, "web", "False", "KubeConfigNotFound");
    scene_expect_quiet(&scene);
    api_server_create(scene.server, EMPTY);
    scene_expect_ready(&scene, "web", "False", "InvalidKubeConfig");
    scene_expect_quiet(&scene);
    api_server_delete(scene.server, SECRETS "/edge");
    scene_expect_ready(&scene, "web", "False", "KubeConfigNotFound");
    scene_kill(&scene);
    api_server_create(scene.server, EMPTY);
    scene_start(&scene);
    scene_expect_ready(&scene, "web", "False", "InvalidKubeConfig");
    scene_expect_quiet(&scene);
    api_server_delete(scene.server, SECRETS "/edge");
    scene_expect_ready(&scene, "web", "False", "KubeConfigNotFound");
    scene_expect_quiet(&scene);
    EXPECT_DATA(&scene, "a", NULL);
    scene_end(&scene);
}

static void what_is_there_is_no_change(void)
{
    struct scene scene = {0};

    scene_begin(&scene);
    api_server_create(scene.server, EMPTY);
    scene_spec(&scene, "web", AT_EDGE, CONFIGMAP("a", "1"));
    scene_expect_ready(&scene, "web", "False", "InvalidKubeConfig");
    scene_expect_quiet(&scene);
    EXPECT_INT(api_server_count(scene.server, "get", SECRETS "/edge"), 1, "it was read once");
    scene_end(&scene);
}

SUITE(scenario_cluster_secret, TEST(each_change_is_seen_at_once), TEST(what_is_there_is_no_change))
