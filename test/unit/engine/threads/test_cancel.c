#include <pthread.h>
#include <stdatomic.h>

#include "engine/threads/cancel.h"
#include "test/unit/suite.h"

#define ROUNDS 2000

static void count(void *arg)
{
    atomic_fetch_add((atomic_int *)arg, 1);
}

static void null_is_never_fired(void)
{
    atomic_int calls = 0;

    cancel_fire(NULL, "Shutdown");
    EXPECT(!cancel_fired(NULL), NULL);
    EXPECT_STR(cancel_reason(NULL), NULL, NULL);
    cancel_unlisten(NULL, cancel_listen(NULL, count, &calls));
    cancel_free(NULL);
    EXPECT_INT(calls, 0, NULL);
}

static void fires_once_and_keeps_the_first_reason(void)
{
    _cleanup_(cancel_free_p) struct cancel *token = cancel_new(NULL);
    atomic_int calls = 0;
    struct cancel_listener *listener = cancel_listen(token, count, &calls);

    EXPECT(!cancel_fired(token), "new");
    EXPECT_STR(cancel_reason(token), NULL, "new");
    EXPECT_INT(calls, 0, "new");
    cancel_fire(token, "Superseded");
    cancel_fire(token, "Shutdown");
    EXPECT(cancel_fired(token), NULL);
    EXPECT_STR(cancel_reason(token), "Superseded", NULL);
    EXPECT_INT(calls, 1, NULL);
    cancel_unlisten(token, listener);
}

static void a_late_listener_is_called_at_once(void)
{
    _cleanup_(cancel_free_p) struct cancel *token = cancel_new(NULL);
    atomic_int calls = 0;
    struct cancel_listener *listener;

    cancel_fire(token, "Shutdown");
    listener = cancel_listen(token, count, &calls);
    EXPECT_INT(calls, 1, NULL);
    cancel_unlisten(token, listener);
}

static void who_left_is_not_called(void)
{
    _cleanup_(cancel_free_p) struct cancel *token = cancel_new(NULL);
    atomic_int calls[4] = {0};
    struct cancel_listener *listeners[4];

    for (int i = 0; i < 4; i++)
        listeners[i] = cancel_listen(token, count, &calls[i]);
    cancel_unlisten(token, listeners[1]); /* inside */
    cancel_unlisten(token, listeners[3]); /* last */
    cancel_unlisten(token, NULL);
    listeners[1] = cancel_listen(token, count, &calls[1]); /* after the last one left */
    cancel_unlisten(token, listeners[0]);                  /* first */
    cancel_fire(token, "Shutdown");
    EXPECT_INT(calls[0], 0, "first");
    EXPECT_INT(calls[1], 1, "came back");
    EXPECT_INT(calls[2], 1, "stayed");
    EXPECT_INT(calls[3], 0, "last");
    cancel_unlisten(token, listeners[1]);
    cancel_unlisten(token, listeners[2]);
}

static void a_parent_fires_its_children_and_not_the_reverse(void)
{
    _cleanup_(cancel_free_p) struct cancel *parent = cancel_new(NULL);
    _cleanup_(cancel_free_p) struct cancel *child = cancel_new(parent);
    _cleanup_(cancel_free_p) struct cancel *other = cancel_new(parent);
    _cleanup_(cancel_free_p) struct cancel *grandchild = cancel_new(child);

    cancel_fire(other, "Superseded");
    EXPECT(!cancel_fired(parent), "up");
    EXPECT(!cancel_fired(child), "across");
    cancel_fire(parent, "Shutdown");
    EXPECT_STR(cancel_reason(child), "Shutdown", NULL);
    EXPECT_STR(cancel_reason(grandchild), "Shutdown", NULL);
    EXPECT_STR(cancel_reason(other), "Superseded", "fired before");
}

static void a_child_of_a_fired_parent_is_born_fired(void)
{
    _cleanup_(cancel_free_p) struct cancel *parent = cancel_new(NULL);
    _cleanup_(cancel_free_p) struct cancel *child = NULL;

    cancel_fire(parent, "Shutdown");
    child = cancel_new(parent);
    EXPECT_STR(cancel_reason(child), "Shutdown", NULL);
}

static void a_child_may_go_before_its_parent_fires(void)
{
    _cleanup_(cancel_free_p) struct cancel *parent = cancel_new(NULL);

    cancel_free(cancel_new(parent));
    cancel_fire(parent, "Shutdown");
    EXPECT(cancel_fired(parent), NULL);
}

/* ---- Threads ---- */

struct race {
    struct cancel *root;
    pthread_barrier_t start;
    atomic_int late; /* calls after cancel_unlisten() returned */
    atomic_int wrong;
};

struct listening {
    atomic_bool gone;
    atomic_int calls;
    struct race *race;
};

static void heard(void *arg)
{
    struct listening *listening = arg;

    if (atomic_load(&listening->gone))
        atomic_fetch_add(&listening->race->late, 1);
    atomic_fetch_add(&listening->calls, 1);
}

static void *fire(void *arg)
{
    struct race *race = arg;

    pthread_barrier_wait(&race->start);
    cancel_fire(race->root, "Shutdown");
    if (!cancel_fired(race->root))
        atomic_fetch_add(&race->wrong, 1);
    return NULL;
}

/* Comes and goes while others fire: on the root, and on a child of its own. */
static void *come_and_go(void *arg)
{
    struct race *race = arg;
    struct cancel *child;

    pthread_barrier_wait(&race->start);
    child = cancel_new(race->root);
    for (int i = 0; i < 8; i++) {
        struct listening here = {.race = race};
        struct cancel *token = i % 2 ? child : race->root;
        bool before = cancel_fired(token);
        struct cancel_listener *listener = cancel_listen(token, heard, &here);

        cancel_unlisten(token, listener);
        atomic_store(&here.gone, true);
        if (atomic_load(&here.calls) > 1 || (before && atomic_load(&here.calls) != 1))
            atomic_fetch_add(&race->wrong, 1);
    }
    cancel_free(child);
    return NULL;
}

static void firing_races_with_coming_and_going(void)
{
    struct race race = {0};
    pthread_t threads[4];

    pthread_barrier_init(&race.start, NULL, 4);
    for (int round = 0; round < ROUNDS / 4; round++) {
        atomic_int stayed = 0;
        struct cancel_listener *listener;

        race.root = cancel_new(NULL);
        listener = cancel_listen(race.root, count, &stayed);
        for (int i = 0; i < 4; i++)
            pthread_create(&threads[i], NULL, i < 2 ? fire : come_and_go, &race);
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
        if (atomic_load(&stayed) != 1)
            atomic_fetch_add(&race.wrong, 1);
        cancel_unlisten(race.root, listener);
        cancel_free(race.root);
    }
    pthread_barrier_destroy(&race.start);
    EXPECT_INT(race.late, 0, "calls after cancel_unlisten()");
    EXPECT_INT(race.wrong, 0, "calls that were missed or came twice");
}

struct slow {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool entered, may_leave;
    atomic_bool left;
};

static void hear_slowly(void *arg)
{
    struct slow *slow = arg;

    pthread_mutex_lock(&slow->lock);
    slow->entered = true;
    pthread_cond_broadcast(&slow->changed);
    while (!slow->may_leave)
        pthread_cond_wait(&slow->changed, &slow->lock);
    pthread_mutex_unlock(&slow->lock);
    atomic_store(&slow->left, true);
}

struct firing {
    struct cancel *token;
    struct slow slow;
};

static void *fire_slowly(void *arg)
{
    struct firing *firing = arg;

    cancel_fire(firing->token, "Shutdown");
    return NULL;
}

static void *let_leave(void *arg)
{
    struct firing *firing = arg;

    for (int i = 0; i < 1000; i++)
        sched_yield(); /* so that cancel_unlisten() most likely waits by now */
    pthread_mutex_lock(&firing->slow.lock);
    firing->slow.may_leave = true;
    pthread_cond_broadcast(&firing->slow.changed);
    pthread_mutex_unlock(&firing->slow.lock);
    return NULL;
}

static void unlisten_waits_for_a_listener_that_runs(void)
{
    struct firing firing = {
        .token = cancel_new(NULL),
        .slow = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER}};
    struct cancel_listener *listener = cancel_listen(firing.token, hear_slowly, &firing.slow);
    pthread_t firer, opener;

    pthread_create(&firer, NULL, fire_slowly, &firing);
    pthread_mutex_lock(&firing.slow.lock);
    while (!firing.slow.entered)
        pthread_cond_wait(&firing.slow.changed, &firing.slow.lock);
    pthread_mutex_unlock(&firing.slow.lock);
    pthread_create(&opener, NULL, let_leave, &firing);
    cancel_unlisten(firing.token, listener);
    EXPECT(atomic_load(&firing.slow.left), "it had returned by then");
    pthread_join(firer, NULL);
    pthread_join(opener, NULL);
    cancel_free(firing.token);
}

SUITE(cancel, TEST(null_is_never_fired), TEST(fires_once_and_keeps_the_first_reason),
      TEST(a_late_listener_is_called_at_once), TEST(who_left_is_not_called),
      TEST(a_parent_fires_its_children_and_not_the_reverse),
      TEST(a_child_of_a_fired_parent_is_born_fired), TEST(a_child_may_go_before_its_parent_fires),
      TEST(firing_races_with_coming_and_going), TEST(unlisten_waits_for_a_listener_that_runs))
