#include "controller/reconcile/progress.h"

#include "controller/reconcile/run.h"
#include "engine/base/str.h"
#include "test/unit/controller/reconcile/scene.h"
#include "test/unit/suite.h"

#define WEB \
    "{\"metadata\":{\"namespace\":\"team\",\"name\":\"web\",\"uid\":\"u\",\"generation\":3}}"
#define PUT                                                                                    \
    {                                                                                          \
        .expect = "PUT /apis/api.kusion.io/v1/namespaces/team/specs/web/status ", .body = WEB, \
        .status = 200                                                                          \
    }

static void look(struct run *run, struct scene *scene, int64_t after, const char *id)
{
    struct operation_result result = {.id = id};

    err_set(&result.error, ERR_TIMEOUT, "HealthCheckFailed", "1/3 replicas");
    scene->clock.monotonic += after;
    progress_on_pending(run, &result);
    run_settle(run, NULL);
}

static const char *told(const struct run *run)
{
    const struct value *status = value_get(run->object, "status");

    return value_get_string(conditions_find(value_get(status, "conditions"), "Ready"), "message");
}

static void says_now_and_then_what_is_waited_for(void)
{
    static const struct fake_step steps[] = {PUT, PUT};
    static const struct {
        int64_t after;
        const char *id, *told;
    } rows[] = {
        {PROGRESS_FIRST - 1, "a", NULL},
        {1, "a", "applying: waiting for a: 1/3 replicas"},
        {PROGRESS_INTERVAL - 1, "b", "applying: waiting for a: 1/3 replicas"},
        {1, "a", "applying: waiting for a: 1/3 replicas"}, /* nothing new, so no request */
        {PROGRESS_INTERVAL, "b", "applying: waiting for b: 1/3 replicas"},
    };
    struct scene scene;
    struct run run;

    scene_start(&scene, steps, ARRAY_SIZE(steps));
    run = (struct run){.context = &scene.context,
                       .namespace_name = "team",
                       .name = "web",
                       .object = scene_value(WEB),
                       .generation = 3};
    spec_policy_read(run.object, &run.policy);
    look(&run, &scene, PROGRESS_FIRST, "a");
    EXPECT_STR(told(&run), NULL, "not begun");
    progress_begin(&run, "applying");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        look(&run, &scene, rows[i].after, rows[i].id);
        EXPECT_STR(told(&run), rows[i].told, rows[i].id);
    }
    progress_end(&run);
    look(&run, &scene, PROGRESS_INTERVAL, "c");
    EXPECT_STR(told(&run), rows[ARRAY_SIZE(rows) - 1].told, "over");
    value_unref(run.object);
    scene_stop(&scene);
}

SUITE(progress, TEST(says_now_and_then_what_is_waited_for))
