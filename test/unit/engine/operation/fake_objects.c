/* The objects themselves, and what tests do to them. */
#include "test/unit/engine/operation/fake_objects.h"

#include <string.h>

#include "engine/base/hash.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/value/json.h"

#define LOOKS_OF_SLOW 3

/* ---- Faults ---- */

static struct fake_fault *fault_of(struct fake_objects *objects, const char *name)
{
    for (size_t i = 0; i < objects->n_faults; i++)
        if (str_equal(objects->faults[i].name, name) || str_equal(objects->faults[i].name, "*"))
            return &objects->faults[i];
    return NULL;
}

unsigned fake_objects_faults(struct fake_objects *objects, const char *id)
{
    const struct fake_fault *fault = fault_of(objects, short_name(id));

    return fault ? fault->faults : 0;
}

unsigned fake_objects_try(struct fake_objects *objects, const char *id)
{
    struct fake_fault *fault = fault_of(objects, short_name(id));

    return fault ? ++fault->tries : 0;
}

void fake_fault(struct fake_objects *objects, const char *name, unsigned faults)
{
    size_t i = 0;

    pthread_mutex_lock(&objects->world->lock);
    while (i < objects->n_faults && !str_equal(objects->faults[i].name, name))
        i++;
    if (i == ARRAY_SIZE(objects->faults))
        abort();
    objects->faults[i] = (struct fake_fault){.name = name, .faults = faults};
    if (i == objects->n_faults)
        objects->n_faults++;
    pthread_mutex_unlock(&objects->world->lock);
}

/* ---- Objects ---- */

static char *key_of(const struct value *attributes)
{
    return str_printf("%s/%s", value_get_string(attributes, "kind"),
                      value_string(value_path(attributes, "metadata", "name", NULL)));
}

static const char *namespace_of(const struct value *attributes)
{
    return value_string(value_path(attributes, "metadata", "namespace", NULL));
}

bool fake_objects_is(const struct value *attributes, const char *kind)
{
    return str_equal(value_get_string(attributes, "kind"), kind);
}

struct fake_object *fake_objects_at(const struct fake_objects *objects,
                                    const struct value *attributes)
{
    _cleanup_free_ char *key = key_of(attributes);

    for (size_t i = 0; i < objects->n_objects; i++)
        if (str_equal(objects->objects[i].key, key))
            return &objects->objects[i];
    return NULL;
}

struct fake_object *fake_objects_add(struct fake_objects *objects, const struct value *attributes,
                                     enum owner_kind owner)
{
    struct fake_object *object;

    objects->objects = mem_grow(objects->objects, objects->n_objects, &objects->capacity,
                                sizeof(*objects->objects));
    object = &objects->objects[objects->n_objects++];
    *object = (struct fake_object){.key = key_of(attributes),
                                   .uid = str_printf("u%u", ++objects->next_uid),
                                   .attributes = fake_without_marks(attributes),
                                   .owner = owner};
    object->name = strchr(object->key, '/') + 1;
    return object;
}

static void discard(struct fake_objects *objects, struct fake_object *object)
{
    free(object->key);
    free(object->uid);
    value_unref(object->attributes);
    *object = objects->objects[--objects->n_objects];
}

void fake_objects_drop(struct fake_objects *objects, struct fake_object *object)
{
    bool is_space = fake_objects_is(object->attributes, "Namespace");
    _cleanup_free_ char *name = str_new(object->name);

    discard(objects, object);
    for (size_t i = objects->n_objects; is_space && i-- > 0;)
        if (str_equal(namespace_of(objects->objects[i].attributes), name))
            discard(objects, &objects->objects[i]);
}

bool fake_objects_may(const struct fake_objects *objects)
{
    for (size_t i = 0; i < objects->n_objects; i++)
        if (fake_objects_is(objects->objects[i].attributes, "RoleBinding"))
            return true;
    return !objects->rights_are_bound;
}

/* ---- Looks ---- */

const struct value *fake_without_marks(const struct value *value)
{
    _cleanup_free_ char *text = json_to_str(value);
    const struct value *plain = NULL;

    if (text)
        json_read_str(text, &plain, NULL);
    return plain;
}

const struct value *fake_objects_mark(const struct value *attributes)
{
    const struct value *data = value_get(attributes, "data");
    _cleanup_value_ const struct value *secret = NULL;

    if (!fake_objects_is(attributes, "Secret") || !data)
        return value_ref(attributes);
    secret = value_sensitive(data);
    return value_with(attributes, "data", secret);
}

static const char *phase_of(struct fake_objects *objects, const struct fake_object *object)
{
    unsigned faults = fake_objects_faults(objects, object->name);

    if (faults & FAKE_SICK)
        return "failed";
    if (faults & FAKE_CLAIM && objects->n_objects < 2)
        return "unbound";
    if (faults & FAKE_UNHEALTHY || (faults & FAKE_SLOW && object->looks < LOOKS_OF_SLOW))
        return "pending";
    return "ready";
}

static const struct value *whole(struct fake_objects *objects, const struct fake_object *object)
{
    static const char *const uid_path[] = {"metadata", "uid"};
    unsigned faults = fake_objects_faults(objects, object->name);
    const char *phase = phase_of(objects, object);
    bool is_claimed = faults & FAKE_CLAIM && str_equal(phase, "ready");
    _cleanup_free_ char *address = str_printf("addr-%s", object->name);
    _cleanup_value_ const struct value *uid = value_pack("s", object->uid);
    _cleanup_value_ const struct value *status =
        value_pack("{s:s, s:s, s:s?, s:b}", "phase", phase, "address", address, "volume",
                   is_claimed ? "v" : NULL, "holds", (faults & FAKE_HOLDS) != 0);
    _cleanup_value_ const struct value *marked = fake_objects_mark(object->attributes);
    _cleanup_value_ const struct value *named = value_with_path(marked, uid_path, 2, uid);

    return value_with(named, "status", status);
}

static char *fields_digest_of(const struct value *attributes)
{
    _cleanup_free_ char *text = json_to_str(attributes);
    char hex[HASH_HEX_SIZE];

    hash_hex(text, strlen(text), hex);
    return str_new(hex);
}

void fake_objects_look(struct fake_objects *objects, const struct fake_object *object, bool wholly,
                       struct observation *ret)
{
    struct fake_look *look;

    *ret = (struct observation){.presence = PRESENCE_ABSENT};
    if (!object)
        return;
    look = NEW(struct fake_look);
    *look = (struct fake_look){object->owner, object->version};
    *ret = (struct observation){
        .presence = PRESENCE_PRESENT,
        .terminating = object->terminating,
        .held_by = object->terminating ? str_new("it has the finalizer of a fake") : NULL,
        .uid = str_new(object->uid),
        .fields_digest = object->owner == OWNER_SELF ? fields_digest_of(object->attributes) : NULL,
        .result = wholly ? whole(objects, object) : NULL,
        .detail = look,
        .detail_free = free,
    };
}

struct fake_object *fake_objects_read(struct fake_objects *objects, const char *id,
                                      const struct value *attributes)
{
    unsigned faults = fake_objects_faults(objects, id);
    struct fake_object *object = fake_objects_at(objects, attributes);

    if (!object)
        return NULL;
    object->looks++;
    if (!(faults & FAKE_VANISHES) &&
        !(object->terminating && faults & FAKE_SLOW && object->looks >= LOOKS_OF_SLOW))
        return object;
    fake_objects_drop(objects, object);
    return NULL;
}

/* ---- For tests ---- */

void fake_objects_init(struct fake_objects *objects, struct fake_world *world)
{
    *objects = (struct fake_objects){.base = {&fake_objects_ops}, .world = world};
}

void fake_objects_done(struct fake_objects *objects)
{
    if (objects->sessions || objects->steps || objects->n_subscriptions)
        fake_world_lie(objects->world, "leaked: %u sessions, %u steps, %zu subscriptions",
                       objects->sessions, objects->steps, objects->n_subscriptions);
    while (objects->n_objects)
        discard(objects, &objects->objects[0]);
    free(objects->objects);
    free(objects->subscriptions);
    fake_lose_late(objects);
    free(objects->late);
}

struct fake_object *fake_find(const struct fake_objects *objects, const char *name)
{
    for (size_t i = 0; i < objects->n_objects; i++)
        if (str_equal(objects->objects[i].name, name))
            return &objects->objects[i];
    return NULL;
}

void fake_drop(struct fake_objects *objects, const char *name)
{
    struct fake_object *object = fake_find(objects, name);

    if (object)
        discard(objects, object);
}

struct fake_object *fake_put(struct fake_objects *objects, const char *name, const char *x,
                             enum owner_kind owner)
{
    _cleanup_value_ const struct value *attributes =
        value_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:s}}", "apiVersion", "v1", "kind", "ConfigMap",
                   "metadata", "name", name, "namespace", "team", "data", "x", x);

    fake_drop(objects, name);
    return fake_objects_add(objects, attributes, owner);
}

void fake_drift(struct fake_objects *objects, const char *name, const char *x)
{
    static const char *const path[] = {"data", "x"};
    struct fake_object *object = fake_find(objects, name);
    _cleanup_value_ const struct value *value = value_pack("s", x), *before = object->attributes;

    object->attributes = value_with_path(before, path, 2, value);
}

void fake_touch(struct fake_objects *objects, const char *name)
{
    struct fake_object *object = fake_find(objects, name);

    if (object)
        object->version++;
}

static int by_name(const void *a, const void *b)
{
    const struct fake_object *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

char *fake_objects_text(const struct fake_objects *objects)
{
    static const char *const marks[] = {
        [OWNER_NONE] = "~", [OWNER_SELF] = "", [OWNER_SPEC] = "^", [OWNER_OTHER] = "!"};
    _cleanup_free_ const struct fake_object **sorted =
        NEW_ARRAY(const struct fake_object *, objects->n_objects + 1);
    struct buf text;

    for (size_t i = 0; i < objects->n_objects; i++)
        sorted[i] = &objects->objects[i];
    qsort(sorted, objects->n_objects, sizeof(const struct fake_object *), by_name);
    buf_init(&text, 0);
    for (size_t i = 0; i < objects->n_objects; i++) {
        const struct value *data = value_get(sorted[i]->attributes, "data");
        const char *x = value_get_string(data, "x"), *ref = value_get_string(data, "ref");

        buf_printf(&text, "%s%s%s%s%s%s%s%s", i ? " " : "", sorted[i]->name, x ? "=" : "",
                   x ? x : "", ref ? "@" : "", ref ? ref : "", marks[sorted[i]->owner],
                   sorted[i]->terminating ? "-" : "");
    }
    return buf_take(&text);
}
