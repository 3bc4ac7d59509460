/*
 * What plan() has just read and found as it is wanted. Where nothing changes, the engine reads a
 * thing once more right after that: the second read takes what the first one gave, once, and only
 * within moments. Thread-safe.
 */
#pragma once

#include <pthread.h>

#include "engine/base/strmap.h"
#include "engine/value/value.h"

struct seen_things {
    pthread_mutex_t lock;
    struct strmap by_path; /* path that read it -> seen_thing */
};

void seen_init(struct seen_things *seen);
void seen_done(struct seen_things *seen);

/* key: the path, and what tells things of one path apart. Large ones are not kept. */
void seen_note(struct seen_things *seen, const char *key, const struct value *object);
/* A reference; NULL: it was not seen just now. */
const struct value *seen_take(struct seen_things *seen, const char *key);
