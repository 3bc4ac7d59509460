#include "runtimes/http/seen.h"

#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/io/clock.h"

#define KEPT_FOR    5000        /* ms */
#define MOST_BYTES  (64u << 10) /* of a thing, in memory */
#define MOST_VALUES 1000        /* of one that is a part of an answer */

struct seen_thing {
    const struct value *object;
    int64_t at; /* ms, monotonic */
};

void seen_init(struct seen_things *seen)
{
    pthread_mutex_init(&seen->lock, NULL);
    strmap_init(&seen->by_path);
}

/* *ret_at: when it was seen. A reference. */
static const struct value *drop(struct seen_things *seen, const struct strmap_entry *entry,
                                int64_t *ret_at)
{
    char *key = (char *)(uintptr_t)entry->key;
    struct seen_thing *thing = entry->value;
    const struct value *object = thing->object;

    *ret_at = thing->at;
    strmap_remove(&seen->by_path, key);
    free(thing);
    free(key);
    return object;
}

void seen_done(struct seen_things *seen)
{
    int64_t at;

    for (struct strmap_entry *e; (e = strmap_next(&seen->by_path, NULL));)
        value_unref(drop(seen, e, &at));
    strmap_done(&seen->by_path);
    pthread_mutex_destroy(&seen->lock);
}

const struct value *seen_take(struct seen_things *seen, const char *key)
{
    int64_t at = 0, now = system_clock.monotonic(&system_clock);
    const struct strmap_entry *entry;
    const struct value *object = NULL;

    pthread_mutex_lock(&seen->lock);
    entry = strmap_find_n(&seen->by_path, key, strlen(key));
    if (entry)
        object = drop(seen, entry, &at);
    pthread_mutex_unlock(&seen->lock);
    if (object && at + KEPT_FOR < now) {
        value_unref(object);
        object = NULL;
    }
    return object;
}

static const struct value *copy_of(const struct value *object)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    value_add_copy(b, object);
    return value_finish(b);
}

void seen_note(struct seen_things *seen, const char *key, const struct value *object)
{
    struct seen_thing *thing;

    value_unref(seen_take(seen, key));
    if (value_memory(object) > MOST_BYTES ||
        (!value_memory(object) && value_size(object) > MOST_VALUES))
        return;
    thing = NEW(struct seen_thing);
    /* Of a part of an answer, the rest is not kept. */
    thing->object = value_memory(object) ? value_ref(object) : copy_of(object);
    thing->at = system_clock.monotonic(&system_clock);
    pthread_mutex_lock(&seen->lock);
    if (!strmap_get(&seen->by_path, key)) {
        strmap_put(&seen->by_path, str_new(key), thing);
        thing = NULL;
    }
    pthread_mutex_unlock(&seen->lock);
    if (thing)
        value_unref(thing->object);
    free(thing);
}
