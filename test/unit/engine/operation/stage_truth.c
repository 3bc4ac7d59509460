/* Whatever happens, and whenever: State names what we made. */
#include "engine/base/str.h"
#include "test/unit/engine/operation/stage_private.h"

static bool names_object(struct state *state, const struct fake_object *object)
{
    for (size_t i = 0; state && i < state_count(state); i++)
        if (str_equal(short_name(state_at(state, i)->id), object->name))
            return true;
    return false;
}

static bool names_thing(struct state *state, const struct fake_thing *thing)
{
    for (size_t i = 0; state && i < state_count(state); i++)
        if (str_equal(fake_cloud_id(state_at(state, i)), thing->id))
            return true;
    return false;
}

/* A create that was begun covers one thing whose id is not known yet. */
static size_t count_begun(struct state *state, const char *name)
{
    size_t count = 0;

    for (size_t i = 0; state && i < state_count(state); i++)
        count += state_at(state, i)->status == RECORD_CREATING &&
                 str_equal(short_name(state_at(state, i)->id), name);
    return count;
}

static size_t count_unnamed(const struct stage *stage, struct state *state, const char *name)
{
    size_t count = 0;

    for (size_t i = 0; i < stage->cloud.n_things; i++)
        count += str_equal(stage->cloud.things[i].name, name) &&
                 !stage->cloud.things[i].is_foreign && !names_thing(state, &stage->cloud.things[i]);
    return count;
}

void stage_check_truth(void *arg)
{
    struct stage *stage = arg;
    _cleanup_(state_free_p) struct state *state = NULL;

    if (stage->may_forget)
        return;
    state = fake_store_state(&stage->store);
    for (size_t i = 0; i < stage->objects.n_objects; i++) {
        const struct fake_object *object = &stage->objects.objects[i];

        if (object->made && !names_object(state, object))
            fake_world_lie(&stage->world, "State does not name %s, after: %s", object->name,
                           stage->world.log.data);
    }
    for (size_t i = 0; i < stage->cloud.n_things; i++) {
        const char *name = stage->cloud.things[i].name;

        if (count_unnamed(stage, state, name) > count_begun(state, name))
            fake_world_lie(&stage->world, "State does not name a %s of the cloud, after: %s", name,
                           stage->world.log.data);
    }
}
