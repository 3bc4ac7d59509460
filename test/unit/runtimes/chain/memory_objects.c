#include "test/unit/runtimes/chain/memory_objects.h"

#include <pthread.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/io/clock.h"

struct object {
    char *key;
    struct buf bytes;
    int64_t modified;
};

struct late {
    enum objects_request request;
    char *key;
    struct buf bytes;
};

struct memory_objects_medium {
    pthread_mutex_t lock;
    struct object **objects; /* ascending */
    size_t count, capacity;
    struct late *late;
    size_t n_late, late_capacity;
    int64_t now; /* 0: the real time */
    objects_on_request *fn;
    void *arg;
};

struct memory_objects {
    struct objects base;
    struct memory_objects_medium *medium;
};

struct memory_objects_medium *memory_objects_medium_new(void)
{
    struct memory_objects_medium *medium = NEW(struct memory_objects_medium);

    pthread_mutex_init(&medium->lock, NULL);
    return medium;
}

static void object_free(struct object *object)
{
    free(object->key);
    buf_done(&object->bytes);
    free(object);
}

static void late_done(struct late *late)
{
    free(late->key);
    buf_done(&late->bytes);
}

void memory_objects_medium_free(struct memory_objects_medium *medium)
{
    for (size_t i = 0; i < medium->count; i++)
        object_free(medium->objects[i]);
    for (size_t i = 0; i < medium->n_late; i++)
        late_done(&medium->late[i]);
    free(medium->objects);
    free(medium->late);
    pthread_mutex_destroy(&medium->lock);
    free(medium);
}

/* The place of a key, or where it would be. */
static size_t place(const struct memory_objects_medium *medium, const char *key, bool *ret_there)
{
    size_t i = 0;

    while (i < medium->count && strcmp(medium->objects[i]->key, key) < 0)
        i++;
    *ret_there = i < medium->count && str_equal(medium->objects[i]->key, key);
    return i;
}

static bool put(struct memory_objects_medium *medium, const char *key, const struct buf *bytes)
{
    bool is_there;
    size_t at = place(medium, key, &is_there);
    struct object *object;

    if (is_there)
        return false;
    object = NEW(struct object);
    object->key = str_new(key);
    buf_init(&object->bytes, OBJECT_BYTES);
    buf_add(&object->bytes, bytes->data, bytes->length);
    object->modified = medium->now ? medium->now : system_clock.now(&system_clock);
    medium->objects =
        mem_grow(medium->objects, medium->count, &medium->capacity, sizeof(*medium->objects));
    memmove(&medium->objects[at + 1], &medium->objects[at],
            (medium->count++ - at) * sizeof(*medium->objects));
    medium->objects[at] = object;
    return true;
}

static void take(struct memory_objects_medium *medium, const char *key)
{
    bool is_there;
    size_t at = place(medium, key, &is_there);

    if (!is_there)
        return;
    object_free(medium->objects[at]);
    memmove(&medium->objects[at], &medium->objects[at + 1],
            (--medium->count - at) * sizeof(*medium->objects));
}

static void keep_late(struct memory_objects_medium *medium, enum objects_request request,
                      const char *key, const struct buf *bytes)
{
    struct late *late;

    medium->late =
        mem_grow(medium->late, medium->n_late, &medium->late_capacity, sizeof(*medium->late));
    late = &medium->late[medium->n_late++];
    *late = (struct late){request, str_new(key), BUF_INIT};
    buf_init(&late->bytes, OBJECT_BYTES);
    if (bytes)
        buf_add(&late->bytes, bytes->data, bytes->length);
}

bool memory_objects_deliver(struct memory_objects_medium *medium, size_t nth)
{
    pthread_mutex_lock(&medium->lock);
    if (nth >= medium->n_late) {
        pthread_mutex_unlock(&medium->lock);
        return false;
    }
    if (medium->late[nth].request == OBJECTS_CREATE)
        put(medium, medium->late[nth].key, &medium->late[nth].bytes);
    else
        take(medium, medium->late[nth].key);
    late_done(&medium->late[nth]);
    memmove(&medium->late[nth], &medium->late[nth + 1],
            (--medium->n_late - nth) * sizeof(*medium->late));
    pthread_mutex_unlock(&medium->lock);
    return true;
}

size_t memory_objects_late(struct memory_objects_medium *medium)
{
    return medium->n_late;
}

/* ---- The table ---- */

static struct memory_objects_medium *medium_of(struct objects *objects)
{
    return ((struct memory_objects *)objects)->medium;
}

static enum objects_fault ask(struct objects *objects, enum objects_request request,
                              const char *key)
{
    struct memory_objects_medium *medium = medium_of(objects);

    return medium->fn ? medium->fn(medium->arg, objects, request, key) : OBJECTS_WORK;
}

static int no_answer(const char *key, struct error *error)
{
    return err_set(error, ERR_UNAVAILABLE, "StoreUnreachable", "memory://%s: no answer", key);
}

static int may(const struct store_call *call, struct error *error)
{
    if (cancel_fired(call->cancel))
        return err_set(error, ERR_CANCELLED, "Cancelled", "%s", cancel_reason(call->cancel));
    return 0;
}

static int objects_create(struct objects *objects, const char *key, const struct buf *bytes,
                          const struct store_call *call, struct error *error)
{
    struct memory_objects_medium *medium = medium_of(objects);
    enum objects_fault fault = ask(objects, OBJECTS_CREATE, key);
    bool is_made = false;
    int r = may(call, error);

    if (r == 0)
        r = permit_ask(call->permit, call->use, error);
    if (r < 0)
        return r;
    pthread_mutex_lock(&medium->lock);
    if (fault == OBJECTS_LATE || fault == OBJECTS_DOUBLED_LATE)
        keep_late(medium, OBJECTS_CREATE, key, bytes);
    if (fault != OBJECTS_LATE && fault != OBJECTS_LOST)
        is_made = put(medium, key, bytes);
    if (fault == OBJECTS_DOUBLED)
        is_made = put(medium, key, bytes);
    pthread_mutex_unlock(&medium->lock);
    if (fault == OBJECTS_LOST || fault == OBJECTS_LATE || fault == OBJECTS_UNANSWERED)
        return no_answer(key, error);
    return is_made ? 0 : err_set(error, ERR_EXISTS, NULL, "memory://%s is there", key);
}

static int objects_delete(struct objects *objects, const char *key, const struct store_call *call,
                          struct error *error)
{
    struct memory_objects_medium *medium = medium_of(objects);
    enum objects_fault fault = ask(objects, OBJECTS_DELETE, key);
    int r = may(call, error);

    if (r == 0)
        r = permit_ask(call->permit, call->use, error);
    if (r < 0)
        return r;
    pthread_mutex_lock(&medium->lock);
    if (fault == OBJECTS_LATE || fault == OBJECTS_DOUBLED_LATE)
        keep_late(medium, OBJECTS_DELETE, key, NULL);
    if (fault != OBJECTS_LATE && fault != OBJECTS_LOST)
        take(medium, key);
    pthread_mutex_unlock(&medium->lock);
    if (fault == OBJECTS_LOST || fault == OBJECTS_LATE || fault == OBJECTS_UNANSWERED)
        return no_answer(key, error);
    return 0;
}

static bool is_answered(enum objects_fault fault)
{
    return fault == OBJECTS_WORK || fault == OBJECTS_DOUBLED || fault == OBJECTS_DOUBLED_LATE;
}

static int objects_get(struct objects *objects, const char *key, struct buf *ret,
                       const struct store_call *call, struct error *error)
{
    struct memory_objects_medium *medium = medium_of(objects);
    enum objects_fault fault = ask(objects, OBJECTS_GET, key);
    bool is_there;
    size_t at;
    int r = may(call, error);

    if (r < 0)
        return r;
    if (!is_answered(fault))
        return no_answer(key, error);
    pthread_mutex_lock(&medium->lock);
    at = place(medium, key, &is_there);
    if (is_there)
        buf_add(ret, medium->objects[at]->bytes.data, medium->objects[at]->bytes.length);
    pthread_mutex_unlock(&medium->lock);
    return is_there ? 0 : err_set(error, ERR_NOT_FOUND, NULL, "memory://%s is not there", key);
}

/* What is to be named, so that no lock is held while fn is called. */
struct copy {
    char *key;
    int64_t modified;
};

static int objects_list(struct objects *objects, const char *prefix, objects_on_key *fn, void *arg,
                        const struct store_call *call, struct error *error)
{
    struct memory_objects_medium *medium = medium_of(objects);
    enum objects_fault fault = ask(objects, OBJECTS_LIST, prefix);
    struct copy *copies = NULL;
    size_t count = 0, capacity = 0;
    int r = may(call, error);

    if (r < 0)
        return r;
    if (!is_answered(fault))
        return no_answer(prefix, error);
    pthread_mutex_lock(&medium->lock);
    for (size_t i = 0; i < medium->count; i++)
        if (str_has_prefix(medium->objects[i]->key, prefix)) {
            copies = mem_grow(copies, count, &capacity, sizeof(*copies));
            copies[count++] =
                (struct copy){str_new(medium->objects[i]->key), medium->objects[i]->modified};
        }
    pthread_mutex_unlock(&medium->lock);
    while (count--) { /* in no order */
        r = r == 0 ? fn(arg, copies[count].key, copies[count].modified, error) : r;
        free(copies[count].key);
    }
    free(copies);
    return r;
}

static char *objects_describe(struct objects *objects, const char *key)
{
    (void)objects;
    return str_printf("memory://%s", key);
}

static void objects_free(struct objects *objects)
{
    free(objects);
}

static const struct object_ops ops = {
    .type = "memory",
    .free = objects_free,
    .create = objects_create,
    .get = objects_get,
    .delete = objects_delete,
    .list = objects_list,
    .describe = objects_describe,
};

struct objects *memory_objects_new(struct memory_objects_medium *medium)
{
    struct memory_objects *objects = NEW(struct memory_objects);

    objects->base.ops = &ops;
    objects->medium = medium;
    return &objects->base;
}

/* ---- For tests ---- */

void memory_objects_watch(struct memory_objects_medium *medium, objects_on_request *fn, void *arg)
{
    medium->fn = fn;
    medium->arg = arg;
}

void memory_objects_set_time(struct memory_objects_medium *medium, int64_t now)
{
    medium->now = now;
}

size_t memory_objects_count(struct memory_objects_medium *medium)
{
    return medium->count;
}

const char *memory_objects_key(struct memory_objects_medium *medium, size_t nth)
{
    return nth < medium->count ? medium->objects[nth]->key : NULL;
}

struct buf *memory_objects_bytes(struct memory_objects_medium *medium, const char *key)
{
    bool is_there;
    size_t at = place(medium, key, &is_there);

    return is_there ? &medium->objects[at]->bytes : NULL;
}
