#include "test/unit/controller/reconcile/records/scene.h"

#include "controller/desk/desk.h"
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "runtimes/io/clock.h"
#include "test/unit/suite.h"

static const struct fake_step takes_events = {
    .expect = "POST /api/v1/namespaces/team/events", .status = 201, .body = "{}", .repeat = true};

static int64_t epoch(void *arg)
{
    (void)arg;
    return 1;
}

size_t count_steps(const struct fake_step *steps, size_t most)
{
    size_t n = 0;

    while (n < most && steps[n].expect)
        n++;
    return n;
}

static void enqueue(void *arg, enum desk_kind kind, const char *key)
{
    (void)arg, (void)kind, (void)key;
}

struct desk *scene_desk(struct scene *scene, size_t memory)
{
    desk_free(scene->context.desk);
    scene->context.desk = desk_new(
        &(struct desk_config){.enqueue = enqueue, .clock = &scene->clock.source, .memory = memory});
    return scene->context.desk;
}

void scene_start(struct scene *scene, const struct fake_step *steps, size_t n_steps)
{
    *scene = (struct scene){0};
    harness_start(&scene->api, steps, n_steps, NULL);
    harness_start(&scene->events, &takes_events, 1, NULL);
    fake_clock_init(&scene->clock);
    scene->context = (struct reconcile_context){
        .client = scene->api.client,
        .clock = &scene->clock.source,
        .events = event_recorder_new(scene->events.client, &system_clock, "test", "test-0"),
        .default_service_account = "default",
        .parallelism = 1,
        .epoch = epoch,
    };
    scene_desk(scene, 0);
}

void scene_stop(struct scene *scene)
{
    event_recorder_free(scene->context.events);
    desk_free(scene->context.desk);
    harness_stop(&scene->events, false);
    harness_stop(&scene->api, true);
}

const struct value *scene_value(const char *text)
{
    const struct value *value = NULL;
    struct error error = {0};

    if (json_read_str(text, &value, &error) < 0) {
        fprintf(stderr, "%s: %s\n", text, error.message);
        abort();
    }
    return value;
}

static const struct value *body_of(struct harness *harness, size_t n)
{
    _cleanup_free_ char *request = fake_server_request(harness->server, n);
    const char *body = request ? strstr(request, "\r\n\r\n") : NULL;

    return body ? scene_value(body + strlen("\r\n\r\n")) : NULL;
}

const struct value *scene_body(struct scene *scene, size_t n)
{
    return body_of(&scene->api, n);
}

const struct value *scene_event(struct scene *scene, size_t n)
{
    event_recorder_free(TAKE(scene->context.events)); /* sends what waits */
    return body_of(&scene->events, n);
}
