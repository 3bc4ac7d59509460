/* The things themselves, and what tests do to them. */
#include "test/unit/engine/operation/fake_cloud.h"

#include <string.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "test/unit/engine/operation/fake_objects.h"

#define PATIENCE 10000 /* ms, real */

/* ---- Faults ---- */

unsigned fake_cloud_faults(const struct fake_cloud *cloud, const char *id)
{
    for (size_t i = 0; i < cloud->n_faults; i++)
        if (str_equal(cloud->faults[i].name, short_name(id)))
            return cloud->faults[i].faults;
    return 0;
}

unsigned fake_cloud_try(struct fake_cloud *cloud, const char *id)
{
    for (size_t i = 0; i < cloud->n_faults; i++)
        if (str_equal(cloud->faults[i].name, short_name(id)))
            return ++cloud->faults[i].tries;
    return 0;
}

void fake_cloud_fault(struct fake_cloud *cloud, const char *name, unsigned faults)
{
    size_t i = 0;

    pthread_mutex_lock(&cloud->world->lock);
    while (i < cloud->n_faults && !str_equal(cloud->faults[i].name, name))
        i++;
    if (i == ARRAY_SIZE(cloud->faults))
        abort();
    cloud->faults[i] = (struct fake_cloud_fault){.name = name, .faults = faults};
    if (i == cloud->n_faults)
        cloud->n_faults++;
    pthread_cond_broadcast(&cloud->world->changed);
    pthread_mutex_unlock(&cloud->world->lock);
}

void fake_cloud_block_open(struct fake_cloud *cloud, unsigned n)
{
    pthread_mutex_lock(&cloud->world->lock);
    cloud->open_blocks = n;
    pthread_cond_broadcast(&cloud->world->changed);
    pthread_mutex_unlock(&cloud->world->lock);
}

bool fake_cloud_await_blocked(struct fake_cloud *cloud)
{
    bool is_blocked = false;

    for (unsigned waited = 0; !is_blocked && waited < PATIENCE; waited++) {
        pthread_mutex_lock(&cloud->world->lock);
        is_blocked = cloud->blocked > 0;
        pthread_mutex_unlock(&cloud->world->lock);
        if (!is_blocked)
            usleep(1000);
    }
    return is_blocked;
}

/* ---- Things ---- */

struct fake_thing *fake_cloud_by_id(const struct fake_cloud *cloud, const char *id)
{
    for (size_t i = 0; i < cloud->n_things; i++)
        if (str_equal(cloud->things[i].id, id))
            return &cloud->things[i];
    return NULL;
}

struct fake_thing *fake_cloud_add(struct fake_cloud *cloud, const char *name,
                                  const struct value *attributes)
{
    struct fake_thing *thing;

    cloud->things =
        mem_grow(cloud->things, cloud->n_things, &cloud->capacity, sizeof(*cloud->things));
    thing = &cloud->things[cloud->n_things++];
    *thing =
        (struct fake_thing){.id = str_printf("i%u", ++cloud->next_id),
                            .name = str_new(name),
                            .attributes = fake_without_marks(attributes),
                            .quotes = fake_cloud_faults(cloud, name) & CLOUD_QUOTES,
                            .quotes_as_key = fake_cloud_faults(cloud, name) & CLOUD_QUOTES_AS_KEY,
                            .rev = 1};
    return thing;
}

void fake_cloud_remove(struct fake_cloud *cloud, struct fake_thing *thing)
{
    free(thing->id);
    free(thing->name);
    value_unref(thing->attributes);
    *thing = cloud->things[--cloud->n_things];
}

const char *fake_cloud_id(const struct record *record)
{
    return value_get_string(record->memory, "id");
}

/* ---- For tests ---- */

void fake_cloud_init(struct fake_cloud *cloud, struct fake_world *world)
{
    *cloud = (struct fake_cloud){.base = {&fake_cloud_ops}, .world = world};
}

void fake_cloud_done(struct fake_cloud *cloud)
{
    if (cloud->sessions || cloud->steps)
        fake_world_lie(cloud->world, "leaked by the cloud: %u sessions, %u steps", cloud->sessions,
                       cloud->steps);
    while (cloud->n_things)
        fake_cloud_remove(cloud, &cloud->things[0]);
    free(cloud->things);
}

struct fake_thing *fake_cloud_find(const struct fake_cloud *cloud, const char *name)
{
    for (size_t i = 0; i < cloud->n_things; i++)
        if (str_equal(cloud->things[i].name, name))
            return &cloud->things[i];
    return NULL;
}

void fake_cloud_drop(struct fake_cloud *cloud, const char *name)
{
    struct fake_thing *thing = fake_cloud_find(cloud, name);

    if (thing)
        fake_cloud_remove(cloud, thing);
}

void fake_cloud_put(struct fake_cloud *cloud, const char *name, const char *x, const char *fixed)
{
    _cleanup_value_ const struct value *attributes =
        value_pack("{s:s, s:s?}", "x", x, "fixed", fixed);

    fake_cloud_add(cloud, name, attributes)->is_foreign = true;
}

void fake_cloud_drift(struct fake_cloud *cloud, const char *name, const char *x)
{
    struct fake_thing *thing = fake_cloud_find(cloud, name);
    _cleanup_value_ const struct value *value = value_pack("s", x), *before = thing->attributes;

    thing->attributes = value_with(before, "x", value);
    thing->rev++;
}

static bool is_id(const char *text)
{
    return text[0] == 'i' && text[1] && strspn(text + 1, "0123456789") == strlen(text + 1);
}

static void show_field(const struct fake_cloud *cloud, struct buf *text, const char *mark,
                       const char *field)
{
    const struct fake_thing *thing;

    if (!field)
        return;
    thing = fake_cloud_by_id(cloud, field);
    if (is_id(field))
        buf_printf(text, "%s#%s", mark, thing ? thing->name : "?");
    else
        buf_printf(text, "%s%s", mark, field);
}

static int by_name(const void *a, const void *b)
{
    const struct fake_thing *const *x = a, *const *y = b;
    int order = strcmp((*x)->name, (*y)->name);

    return order ? order : strcmp((*x)->id, (*y)->id);
}

char *fake_cloud_text(const struct fake_cloud *cloud)
{
    static const struct {
        const char *mark, *field;
    } shown[] = {{"=", "x"}, {"*", "fixed"}, {"~", "swapped"}, {"@", "ref"}};
    _cleanup_free_ const struct fake_thing **sorted =
        NEW_ARRAY(const struct fake_thing *, cloud->n_things + 1);
    struct buf text;

    for (size_t i = 0; i < cloud->n_things; i++)
        sorted[i] = &cloud->things[i];
    qsort(sorted, cloud->n_things, sizeof(const struct fake_thing *), by_name);
    buf_init(&text, 0);
    for (size_t i = 0; i < cloud->n_things; i++) {
        buf_printf(&text, "%s%s", i ? " " : "", sorted[i]->name);
        for (size_t k = 0; k < ARRAY_SIZE(shown); k++)
            show_field(cloud, &text, shown[k].mark,
                       value_get_string(sorted[i]->attributes, shown[k].field));
        buf_add_str(&text, sorted[i]->terminating ? "-" : "");
    }
    return buf_take(&text);
}
