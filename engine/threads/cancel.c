#include "engine/threads/cancel.h"

#include <pthread.h>
#include <stdatomic.h>

#include "engine/base/mem.h"

enum listener_state {
    LISTENER_WAITING, /* in the token's list */
    LISTENER_RUNNING, /* removed from the list; fn is being called */
    LISTENER_DONE,
};

struct cancel_listener {
    void (*fn)(void *arg);
    void *arg;
    enum listener_state state;
    struct cancel_listener *next, **link; /* link: the pointer that points to this listener */
};

/*
 * A child token is a listener of its parent. A token's lock is never held while a listener is
 * called, so no two of these locks are held at once.
 */
struct cancel {
    pthread_mutex_t lock;
    pthread_cond_t ran; /* a listener went from RUNNING to DONE */
    _Atomic(const char *) reason;
    struct cancel_listener *first, **end; /* in the order of cancel_listen() */
    struct cancel *parent;
    struct cancel_listener *of_parent;
};

static void fire_child(void *arg)
{
    struct cancel *child = arg;

    cancel_fire(child, cancel_reason(child->parent));
}

struct cancel *cancel_new(struct cancel *parent)
{
    struct cancel *cancel = NEW(struct cancel);

    pthread_mutex_init(&cancel->lock, NULL);
    pthread_cond_init(&cancel->ran, NULL);
    atomic_init(&cancel->reason, NULL);
    cancel->end = &cancel->first;
    cancel->parent = parent;
    if (parent)
        cancel->of_parent = cancel_listen(parent, fire_child, cancel);
    return cancel;
}

void cancel_free(struct cancel *cancel)
{
    if (!cancel)
        return;
    cancel_unlisten(cancel->parent, cancel->of_parent);
    pthread_cond_destroy(&cancel->ran);
    pthread_mutex_destroy(&cancel->lock);
    free(cancel);
}

static void append(struct cancel *cancel, struct cancel_listener *listener)
{
    listener->link = cancel->end;
    *cancel->end = listener;
    cancel->end = &listener->next;
}

static void take_out(struct cancel *cancel, struct cancel_listener *listener)
{
    *listener->link = listener->next;
    if (listener->next)
        listener->next->link = listener->link;
    else
        cancel->end = listener->link;
}

void cancel_fire(struct cancel *cancel, const char *reason)
{
    struct cancel_listener *listener;

    if (!cancel)
        return;
    pthread_mutex_lock(&cancel->lock);
    if (!atomic_load(&cancel->reason)) {
        atomic_store(&cancel->reason, reason ? reason : "Cancelled");
        while ((listener = cancel->first)) {
            take_out(cancel, listener);
            listener->state = LISTENER_RUNNING;
            pthread_mutex_unlock(&cancel->lock);
            listener->fn(listener->arg);
            pthread_mutex_lock(&cancel->lock);
            listener->state = LISTENER_DONE;
            pthread_cond_broadcast(&cancel->ran);
        }
    }
    pthread_mutex_unlock(&cancel->lock);
}

bool cancel_fired(const struct cancel *cancel)
{
    return cancel_reason(cancel) != NULL;
}

const char *cancel_reason(const struct cancel *cancel)
{
    return cancel ? atomic_load(&cancel->reason) : NULL;
}

struct cancel_listener *cancel_listen(struct cancel *cancel, void (*fn)(void *arg), void *arg)
{
    struct cancel_listener *listener;
    bool fired;

    if (!cancel)
        return NULL;
    listener = NEW(struct cancel_listener);
    listener->fn = fn;
    listener->arg = arg;
    pthread_mutex_lock(&cancel->lock);
    fired = cancel_fired(cancel);
    if (fired)
        listener->state = LISTENER_DONE;
    else
        append(cancel, listener);
    pthread_mutex_unlock(&cancel->lock);
    if (fired)
        fn(arg);
    return listener;
}

void cancel_unlisten(struct cancel *cancel, struct cancel_listener *listener)
{
    if (!listener)
        return;
    pthread_mutex_lock(&cancel->lock);
    while (listener->state == LISTENER_RUNNING)
        pthread_cond_wait(&cancel->ran, &cancel->lock);
    if (listener->state == LISTENER_WAITING)
        take_out(cancel, listener);
    pthread_mutex_unlock(&cancel->lock);
    free(listener);
}
