#include "test/unit/runtimes/chain/faulty_objects.h"

#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"

#define FAULTY_OF 4 /* one change of so many has a fault */
#define LATEST    6 /* changes that may come before one that is late */
#define LATE      8 /* at once */

struct late {
    char *key; /* NULL: nothing */
    struct buf bytes;
    bool is_create;
    unsigned changes_left;
};

struct faulty_objects {
    struct objects base;
    struct object_ops ops;
    struct objects *below;
    unsigned seed;
    struct late late[LATE];
};

enum fault { FAULT_NONE, FAULT_FIRST_ANSWER, FAULT_SECOND_ANSWER, FAULT_NO_ANSWER, FAULT_LATE };

static struct faulty_objects *faulty_of(struct objects *objects)
{
    return (struct faulty_objects *)objects;
}

static unsigned draw(struct faulty_objects *faulty, unsigned bound)
{
    faulty->seed = faulty->seed * 1664525u + 1013904223u;
    return (faulty->seed >> 8) % bound;
}

static int no_answer(const char *key, struct error *error)
{
    return err_set(error, ERR_UNAVAILABLE, "StoreInDoubt", "%s: no answer", key);
}

/* bytes: NULL: a delete. */
static int change(struct objects *below, const char *key, const struct buf *bytes,
                  const struct store_call *call, struct error *error)
{
    return bytes ? below->ops->create(below, key, bytes, call, error)
                 : below->ops->delete (below, key, call, error);
}

/* ---- What is late ---- */

static void deliver(struct faulty_objects *faulty, struct late *late)
{
    const struct store_call call = {0};

    change(faulty->below, late->key, late->is_create ? &late->bytes : NULL, &call, NULL);
    free(TAKE(late->key));
    buf_done(&late->bytes);
}

static void deliver_due(struct faulty_objects *faulty)
{
    for (size_t i = 0; i < LATE; i++)
        if (faulty->late[i].key && faulty->late[i].changes_left-- == 0)
            deliver(faulty, &faulty->late[i]);
}

/* False: there are too many already. */
static bool keep_late(struct faulty_objects *faulty, const char *key, const struct buf *bytes)
{
    for (size_t i = 0; i < LATE; i++) {
        struct late *late = &faulty->late[i];

        if (late->key)
            continue;
        *late = (struct late){str_new(key), BUF_INIT, bytes != NULL, draw(faulty, LATEST)};
        buf_init(&late->bytes, OBJECT_BYTES);
        if (bytes)
            buf_add(&late->bytes, bytes->data, bytes->length);
        return true;
    }
    return false;
}

/* ---- The table ---- */

static int change_with_faults(struct objects *objects, const char *key, const struct buf *bytes,
                              const struct store_call *call, struct error *error)
{
    struct faulty_objects *faulty = faulty_of(objects);
    enum fault fault = FAULT_NONE;
    struct error first = {0};
    int r;

    deliver_due(faulty);
    if (draw(faulty, FAULTY_OF) == 0)
        fault = 1 + draw(faulty, FAULT_LATE);
    if (fault == FAULT_LATE && keep_late(faulty, key, bytes))
        return no_answer(key, error);
    r = change(faulty->below, key, bytes, call, &first);
    if (fault == FAULT_FIRST_ANSWER)
        change(faulty->below, key, bytes, call, NULL);
    if (fault == FAULT_SECOND_ANSWER)
        return change(faulty->below, key, bytes, call, error);
    if (fault == FAULT_NO_ANSWER)
        return no_answer(key, error);
    return r < 0 ? err_copy(error, &first) : r;
}

static int faulty_create(struct objects *objects, const char *key, const struct buf *bytes,
                         const struct store_call *call, struct error *error)
{
    return change_with_faults(objects, key, bytes, call, error);
}

static int faulty_delete(struct objects *objects, const char *key, const struct store_call *call,
                         struct error *error)
{
    return change_with_faults(objects, key, NULL, call, error);
}

static int faulty_get(struct objects *objects, const char *key, struct buf *ret,
                      const struct store_call *call, struct error *error)
{
    struct objects *below = faulty_of(objects)->below;

    return below->ops->get(below, key, ret, call, error);
}

static int faulty_list(struct objects *objects, const char *prefix, objects_on_key *fn, void *arg,
                       const struct store_call *call, struct error *error)
{
    struct objects *below = faulty_of(objects)->below;

    return below->ops->list(below, prefix, fn, arg, call, error);
}

static char *faulty_describe(struct objects *objects, const char *key)
{
    struct objects *below = faulty_of(objects)->below;

    return below->ops->describe(below, key);
}

static void faulty_free(struct objects *objects)
{
    struct faulty_objects *faulty = faulty_of(objects);

    for (size_t i = 0; i < LATE; i++)
        if (faulty->late[i].key)
            deliver(faulty, &faulty->late[i]);
    faulty->below->ops->free(faulty->below);
    free(faulty);
}

struct objects *faulty_objects_new(struct objects *below, unsigned seed)
{
    struct faulty_objects *faulty = NEW(struct faulty_objects);

    faulty->ops = (struct object_ops){
        .type = below->ops->type,
        .free = faulty_free,
        .create = faulty_create,
        .get = faulty_get,
        .delete = faulty_delete,
        .list = faulty_list,
        .describe = faulty_describe,
    };
    faulty->base.ops = &faulty->ops;
    faulty->below = below;
    faulty->seed = seed;
    return &faulty->base;
}
