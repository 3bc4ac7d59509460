#include "test/unit/runtimes/kubernetes/session/stage.h"

#include "engine/value/json.h"
#include "runtimes/io/clock.h"
#include "runtimes/kubernetes/session/setup.h"
#include "test/unit/suite.h"

void stage_start(struct stage *stage, struct kube_client *client, const struct fake_step *steps,
                 size_t n_steps)
{
    struct kube_runtime_config config = {.act_as_controller = true};

    *stage = (struct stage){0};
    fake_clock_init(&stage->clock);
    config.clock = client ? &system_clock : &stage->clock.source;
    if (!client) {
        harness_start(&stage->harness, steps, n_steps, NULL);
        client = stage->harness.client;
    }
    config.cluster.client = client;
    config.cluster.discovery = stage->discovery = kube_discovery_new(client, config.clock);
    kube_runtime_init(&stage->runtime, &config);
}

void stage_stop(struct stage *stage)
{
    kube_runtime_done(&stage->runtime);
    kube_discovery_free(stage->discovery);
    if (stage->harness.client)
        harness_stop(&stage->harness, true);
}

const struct runtime_call stage_call = {.deadline = CLOCK_FOREVER};

struct runtime_session *stage_open(struct stage *stage, const char *spec_namespace,
                                   const char *name, const char *account)
{
    _cleanup_value_ const struct value *identity =
        account ? value_pack("{s:s}", "serviceAccountName", account) : NULL;
    struct runtime_scope scope = {
        .key = {spec_namespace, name}, .spec_uid = "u", .identity = identity};
    struct runtime_session *session = NULL;

    EXPECT_INT(
        kube_session_open(&stage->runtime.base, &scope, &stage_call, &session, &stage->error), 0,
        stage->error.message);
    session->is_account_known = true;
    return session;
}

struct runtime_session stage_session(void)
{
    return (struct runtime_session){
        .spec_namespace = (char *)(uintptr_t) "team",
        .spec = (char *)(uintptr_t) "team/web",
        .owner = (char *)(uintptr_t)STAGE_OWNER,
        .service_account = (char *)(uintptr_t) "deployer",
        .impersonate = (char *)(uintptr_t) "system:serviceaccount:team:deployer",
        .field_manager = "kusion-operator-a5cb1ff62f8ed32c",
    };
}
