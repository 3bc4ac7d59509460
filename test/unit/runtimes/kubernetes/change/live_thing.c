#include "test/unit/runtimes/kubernetes/change/live_thing.h"

#include "engine/base/str.h"
#include "runtimes/kubernetes/objects/marks.h"
#include "test/unit/suite.h"

bool world_begin(struct world *world)
{
    *world = (struct world){0};
    if (!live_start(&world->live))
        return false;
    stage_start(&world->stage, world->live.harness.client, NULL, 0);
    world->session = stage_open(&world->stage, world->live.space, "web", NULL);
    return true;
}

void world_end(struct world *world)
{
    session_unref(world->session);
    stage_stop(&world->stage);
    live_stop(&world->live);
}

void thing_init(struct thing *thing, struct world *world, const char *attributes)
{
    _cleanup_free_ char *text = live_text(&world->live, attributes);

    *thing =
        (struct thing){.world = world, .session = world->session, .attributes = stage_value(text)};
    thing->target = (struct runtime_target){.id = "id", .attributes = thing->attributes};
}

void thing_done(struct thing *thing)
{
    kube_step_free(thing->step);
    outcome_done(&thing->outcome);
    record_unref(thing->record);
    value_unref(thing->attributes);
}

static struct error *clear(struct thing *thing)
{
    outcome_done(&thing->outcome);
    err_clear(&thing->world->error);
    return &thing->world->error;
}

/* ---- Calls ---- */

int thing_plan(struct thing *thing)
{
    struct error *error = clear(thing);

    kube_step_free(TAKE(thing->step));
    return kube_plan(thing->session, &thing->target, NULL, &stage_call, &thing->step, error);
}

enum plan_action thing_action(const struct thing *thing)
{
    return thing->step ? thing->step->action : PLAN_NONE;
}

static void record(struct thing *thing)
{
    const struct record like = {.status = RECORD_APPLIED,
                                .id = "id",
                                .type = KUBE_RUNTIME_TYPE,
                                .attributes = thing->attributes,
                                .uid = thing->outcome.now.uid,
                                .fields_digest = thing->outcome.now.fields_digest};

    record_unref(thing->record);
    thing->record = record_new(&like);
    thing->target.prior = thing->record;
}

/* Carries out what was planned. */
int thing_apply(struct thing *thing)
{
    struct error *error = clear(thing);
    int r = kube_apply(thing->step, &stage_call, &thing->outcome, error);

    if (r >= 0 && thing->step->attributes)
        record(thing);
    return r;
}

int thing_make(struct thing *thing)
{
    int r = thing_plan(thing);

    return r < 0 ? r : thing_apply(thing);
}

int thing_look(struct thing *thing)
{
    struct error *error = clear(thing);

    return kube_read(thing->session, &thing->target, &stage_call, &thing->outcome, error);
}

enum presence thing_presence(struct thing *thing)
{
    return thing_look(thing) < 0 ? PRESENCE_UNKNOWN : thing->outcome.now.presence;
}

int thing_plan_removal(struct thing *thing)
{
    int r;

    thing->target.attributes = NULL;
    r = thing_plan(thing);
    thing->target.attributes = thing->attributes;
    return r;
}

int thing_take_away(struct thing *thing)
{
    int r = thing_plan_removal(thing);

    return r < 0 ? r : thing_apply(thing);
}

bool thing_is_absent(void *arg)
{
    return thing_presence(arg) == PRESENCE_ABSENT;
}

const char *thing_data(struct thing *thing, const char *key)
{
    EXPECT_INT(thing_look(thing), 0, thing->world->error.message);
    return value_string(value_path(thing->outcome.now.result, "data", key, NULL));
}

/* As another would. */
void world_do(struct world *world, const char *method, const char *path, const char *body)
{
    EXPECT_INT(live_do(&world->live, method, path, body, NULL, &world->error), 0,
               world->error.message);
}
