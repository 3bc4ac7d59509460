/* Where the system gives no more threads. The linker leads pthread_create() here
 * (cmake/tests.cmake). */
#include <errno.h>
#include <stdatomic.h>

#include "test/unit/engine/executor/stage.h"

static atomic_uint refusals; /* to come */

int __real_pthread_create(pthread_t *ret, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *arg);

int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *arg)
{
    if (!atomic_load(&refusals))
        return __real_pthread_create(ret, attributes, run, arg);
    atomic_fetch_sub(&refusals, 1);
    return EAGAIN;
}

static struct stage stage;

/* All is done by the first thread, one piece after another. */
static void goes_on_with_the_threads_there_are(void)
{
    struct actor *held, *waits, *due;

    stage_init(&stage, 4, 0);
    held = stage_add(&stage, "a", "x");
    waits = stage_add(&stage, "b", "x");
    due = stage_add(&stage, "c", "x");
    atomic_store(&refusals, 1000000);
    due->due = 1010;
    task_poke(due->task);
    AWAIT(actor_runs(due) && stage_is_quiet(&stage), "has a timer");
    due->due = CLOCK_FOREVER;
    due->pieces = 1;
    actor_hold(held);
    actor_give(held, 2);
    AWAIT(actor_held(held), "under way");
    actor_give(waits, 2);
    still_clock_advance(&stage.clock, EXECUTOR_LONG_RUN);
    EXPECT_INT(stage_stats(&stage).threads, 1, "no other");
    EXPECT_STR(stage_log(&stage), "A", "no other");
    actor_release(held);
    AWAIT(stage_is_quiet(&stage), "all is done");
    EXPECT_STR(stage_log(&stage), "AABCB", "in turns, and what became due meanwhile, too");
    EXPECT_INT(stage_stats(&stage).threads, 1, "no other");
    atomic_store(&refusals, 0);
    stage_done(&stage);
}

static void tries_again(void)
{
    struct actor *held, *waits;

    stage_init(&stage, 4, 0);
    held = stage_add(&stage, "a", "x");
    waits = stage_add(&stage, "b", "x");
    actor_hold(held);
    atomic_store(&refusals, 1);
    actor_give(held, 1);
    AWAIT(actor_held(held), "under way");
    EXPECT_INT(atomic_load(&refusals), 0, "refused");
    EXPECT_INT(stage_stats(&stage).threads, 1, "alone");
    actor_give(waits, 1);
    AWAIT(actor_runs(waits), "beside it, with a thread that the poke started");
    actor_release(held);
    AWAIT(stage_is_quiet(&stage), "quiet");
    stage_done(&stage);
}

SUITE(executor_no_threads, TEST(goes_on_with_the_threads_there_are), TEST(tries_again))
