/* Creates that are carried out after nobody waits for them any more. */
#include "engine/base/mem.h"
#include "test/unit/engine/operation/fake_objects.h"

void fake_objects_send_late(struct fake_objects *objects, const struct value *attributes)
{
    objects->late =
        mem_grow(objects->late, objects->n_late, &objects->late_capacity, sizeof(*objects->late));
    objects->late[objects->n_late++] = (struct fake_late){
        fake_without_marks(attributes), objects->world->now + objects->late_after};
}

/* As any create, it fails if the object exists. */
static void land(struct fake_objects *objects, const struct fake_late *late)
{
    if (!fake_objects_at(objects, late->attributes))
        fake_objects_add(objects, late->attributes, OWNER_SELF)->made = true;
    value_unref(late->attributes);
}

static void land_until(struct fake_objects *objects, int64_t now)
{
    size_t n = 0;

    for (size_t i = 0; i < objects->n_late; i++)
        if (objects->late[i].at <= now)
            land(objects, &objects->late[i]);
        else
            objects->late[n++] = objects->late[i];
    objects->n_late = n;
}

void fake_land_late(struct fake_objects *objects)
{
    land_until(objects, INT64_MAX);
}

void fake_lose_late(struct fake_objects *objects)
{
    while (objects->n_late)
        value_unref(objects->late[--objects->n_late].attributes);
}

int fake_objects_enter(struct fake_objects *objects, struct error *error)
{
    int r = fake_world_enter(objects->world, error);

    if (r >= 0)
        land_until(objects, objects->world->now);
    return r;
}
