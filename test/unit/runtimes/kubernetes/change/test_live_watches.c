/* Subscriptions on a real API server (live.h). */
#include <pthread.h>
#include <stdatomic.h>

#include "engine/base/str.h"
#include "runtimes/kubernetes/session/watches.h"
#include "test/unit/runtimes/kubernetes/change/live_thing.h"
#include "test/unit/suite.h"

/* ---- Watching ---- */

struct expectation {
    atomic_int *told;
    int more_than;
};

static void on_told(void *arg)
{
    atomic_fetch_add((atomic_int *)arg, 1);
}

static bool is_told(void *arg)
{
    const struct expectation *expected = arg;

    return atomic_load(expected->told) > expected->more_than;
}

static void expect_told(atomic_int *told, int more_than, const char *note)
{
    struct expectation expected = {told, more_than};

    EXPECT(live_eventually(is_told, &expected), note);
}

static void says_when_something_happens(void)
{
    static const char *const all[] = {
        MAP("a", ""), MAP("b", ""),
        "{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\",\"metadata\":{\"name\":\"c\"}}"};
    struct runtime_subscription *subscriptions[ARRAY_SIZE(all)] = {0};
    atomic_int told[ARRAY_SIZE(all)] = {0};
    struct thing things[ARRAY_SIZE(all)];
    struct world world;
    int before;

    if (!world_begin(&world))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        thing_init(&things[i], &world, all[i]);
        EXPECT_INT(thing_plan(&things[i]), 0, world.error.message);
        EXPECT_INT(kube_subscribe(world.session, &things[i].target, on_told, &told[i],
                                  &subscriptions[i], &world.error),
                   0, world.error.message);
    }
    EXPECT_INT(watches_count(world.session->runtime->watches), 2, "two kinds");
    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        expect_told(&told[i], 0, "in force");
    EXPECT_INT(thing_apply(&things[0]), 0, world.error.message);
    expect_told(&told[0], 1, "made");
    EXPECT_INT(atomic_load(&told[1]), 1, "nothing happened to it");
    EXPECT_INT(thing_apply(&things[2]), 0, world.error.message);
    expect_told(&told[2], 1, "of the other kind");
    before = atomic_load(&told[0]);
    EXPECT_INT(thing_take_away(&things[0]), 0, world.error.message);
    expect_told(&told[0], before, "deleted");
    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        kube_unsubscribe(subscriptions[i]);
        thing_done(&things[i]);
    }
    EXPECT_INT(watches_count(world.session->runtime->watches), 0, "none is left");
    world_end(&world);
}

static void *come_and_go(void *arg)
{
    struct thing *thing = arg;

    for (int i = 0; i < 50; i++) {
        struct runtime_subscription *subscription = NULL;
        atomic_int told = 0;

        EXPECT_INT(
            kube_subscribe(thing->session, &thing->target, on_told, &told, &subscription, NULL), 0,
            "subscribed");
        if (i % 10 == 0)
            expect_told(&told, 0, "in force");
        kube_unsubscribe(subscription);
    }
    return NULL;
}

static void many_subscribe_at_once(void)
{
    pthread_t threads[4];
    struct thing thing;
    struct world world;

    if (!world_begin(&world))
        return;
    thing_init(&thing, &world, MAP("a", ""));
    EXPECT_INT(thing_make(&thing), 0, world.error.message);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        pthread_create(&threads[i], NULL, come_and_go, &thing);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        pthread_join(threads[i], NULL);
    EXPECT_INT(watches_count(world.session->runtime->watches), 0, "none is left");
    thing_done(&thing);
    world_end(&world);
}

SUITE(live_watches, TEST(says_when_something_happens), TEST(many_subscribe_at_once))
