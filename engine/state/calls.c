#include "engine/state/calls.h"

#include <pthread.h>
#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"
#include "engine/threads/locked.h"

struct call {
    char *id;
    int64_t since;
};

struct calls {
    pthread_mutex_t lock;
    struct strmap by_id; /* struct call */
};

struct calls *calls_new(void)
{
    struct calls *calls = NEW(struct calls);

    pthread_mutex_init(&calls->lock, NULL);
    strmap_init(&calls->by_id);
    return calls;
}

void calls_free(struct calls *calls)
{
    if (!calls)
        return;
    strmap_done(&calls->by_id);
    pthread_mutex_destroy(&calls->lock);
    free(calls);
}

bool calls_begin(struct calls *calls, const char *id, int64_t now)
{
    bool is_first;
    LOCKED(&calls->lock);

    is_first = !strmap_get(&calls->by_id, id);
    if (is_first) {
        struct call *call = NEW(struct call);

        call->id = str_new(id);
        call->since = now;
        strmap_put(&calls->by_id, call->id, call);
    }
    return is_first;
}

void calls_end(struct calls *calls, const char *id)
{
    struct call *call;

    pthread_mutex_lock(&calls->lock);
    call = strmap_remove(&calls->by_id, id);
    pthread_mutex_unlock(&calls->lock);
    if (!call)
        return;
    free(call->id);
    free(call);
}

int64_t calls_since(struct calls *calls, const char *id)
{
    const struct call *call;
    LOCKED(&calls->lock);

    call = strmap_get(&calls->by_id, id);
    return call ? call->since : 0;
}

size_t calls_count(struct calls *calls)
{
    LOCKED(&calls->lock);

    return calls->by_id.count;
}
