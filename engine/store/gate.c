#include "engine/store/gate.h"

#include <pthread.h>
#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/threads/locked.h"

struct store_gate {
    pthread_mutex_t lock;
    struct error *why; /* NULL: it is open */
    void (*look)(void *arg);
    void *arg;
};

struct store_gate *store_gate_new(void)
{
    struct store_gate *gate = NEW(struct store_gate);
    struct error why = {0};

    pthread_mutex_init(&gate->lock, NULL);
    err_set(&why, ERR_UNAVAILABLE, "StoreUnreachable", "the store was not looked at yet");
    gate->why = err_new(&why);
    return gate;
}

void store_gate_free(struct store_gate *gate)
{
    if (!gate)
        return;
    free(gate->why);
    pthread_mutex_destroy(&gate->lock);
    free(gate);
}

/* why: owned; NULL: open. */
static bool set(struct store_gate *gate, struct error *why)
{
    struct error *before;
    bool is_news;

    pthread_mutex_lock(&gate->lock);
    before = gate->why;
    gate->why = why;
    pthread_mutex_unlock(&gate->lock);
    is_news = !before != !why || (why && !str_equal(before->message, why->message));
    free(before);
    return is_news;
}

bool store_gate_open(struct store_gate *gate)
{
    return set(gate, NULL);
}

bool store_gate_shut(struct store_gate *gate, const struct error *why)
{
    return set(gate, err_new(why));
}

int store_gate_ask(struct store_gate *gate, struct error *error)
{
    int r = 0;

    if (!gate)
        return 0;
    LOCKED(&gate->lock);
    if (gate->why)
        r = err_copy(error, gate->why);
    return r;
}

void store_gate_on_confirm(struct store_gate *gate, void (*look)(void *arg), void *arg)
{
    gate->look = look;
    gate->arg = arg;
}

int store_gate_confirm(struct store_gate *gate, struct error *error)
{
    if (gate && gate->look)
        gate->look(gate->arg);
    return store_gate_ask(gate, error);
}
