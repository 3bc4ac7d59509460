#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "engine/base/cleanup.h"
#include "engine/executor/private.h"
#include "test/unit/engine/executor/stage.h"

static struct stage stage;

static void *drop_in_a_thread(void *arg)
{
    actor_free(arg);
    return NULL;
}

static bool is_dropped(struct actor *actor, struct task *task)
{
    bool is_dropped;

    pthread_mutex_lock(&actor->stage->executor->lock);
    is_dropped = task->is_dropped;
    pthread_mutex_unlock(&actor->stage->executor->lock);
    return is_dropped;
}

/* ---- While it runs ---- */

static void waits_for_what_is_under_way(void)
{
    for (unsigned threads = 1; threads <= 3; threads++) {
        struct actor *actor, *other;
        struct task *task;
        pthread_t thread;

        stage_init(&stage, threads, 0);
        actor = stage_add(&stage, "a", "x");
        other = stage_add(&stage, "a", "x");
        task = actor->task;
        actor_hold(actor);
        actor_give(actor, 100);
        AWAIT(actor_held(actor) == threads, "under way");
        CU_ASSERT_FATAL(pthread_create(&thread, NULL, drop_in_a_thread, actor) == 0);
        AWAIT(is_dropped(actor, task), "waits");
        task_poke(task); /* while it is waited for: nothing */
        actor_release(actor);
        pthread_join(thread, NULL);
        EXPECT_INT(actor_held(actor), 0, "no call is left");
        EXPECT_INT(actor->runs, threads, "nor was there one more");
        actor_give(other, 1);
        AWAIT(stage_is_quiet(&stage), "others go on");
        EXPECT_INT(other->pieces, 0, "others go on");
        stage_done(&stage);
    }
}

static void poke_while_it_is_dropped(struct actor *actor)
{
    while (!is_dropped(actor, actor->task))
        sched_yield();
    task_poke(actor->task);
}

static void run_may_poke_while_it_is_dropped(void)
{
    struct actor *actor;

    for (int i = 0; i < 20; i++) {
        stage_init(&stage, 2, 0);
        actor = stage_add(&stage, "a", "x");
        actor->during = poke_while_it_is_dropped;
        actor_give(actor, 3);
        AWAIT(actor_runs(actor), "under way");
        stage_drop_task(actor->task);
        EXPECT_INT(actor_held(actor), 0, "no call is left");
        actor->task = NULL;
        stage_done(&stage);
    }
}

static void what_waits_or_is_due_goes_with_it(void)
{
    struct actor *gate, *waits, *due;

    stage_init(&stage, 1, 0);
    gate = stage_add(&stage, "gate", "gate");
    waits = stage_add(&stage, "a", "x");
    due = stage_add(&stage, "a", "y");
    due->due = 1100;
    task_poke(due->task);
    AWAIT(actor_runs(due) && stage_is_quiet(&stage), "has a timer");
    actor_hold(gate);
    actor_give(gate, 1);
    AWAIT(actor_held(gate), "the gate is held");
    actor_give(waits, 1);
    actor_free(waits);
    actor_free(due);
    EXPECT_INT(stage_stats(&stage).ready, 1, "the gate's");
    actor_release(gate);
    still_clock_advance(&stage.clock, 1000);
    AWAIT(stage_is_quiet(&stage), "quiet");
    EXPECT_INT(waits->runs, 0, "it never ran");
    EXPECT_INT(due->runs, 1, "not again");
    stage_done(&stage);
}

/* ---- While it is poked ---- */

static void *poke_in_a_thread(void *arg)
{
    task_poke(arg);
    return NULL;
}

/* A poke that has begun, and has not got the lock yet, when the task is dropped. */
static void waits_for_pokes_that_have_begun(void)
{
    for (int i = 0; i < 50; i++) {
        pthread_t poker, dropper;
        struct actor *actor;
        struct task *task;

        stage_init(&stage, 1, 0);
        actor = stage_add(&stage, "a", "x");
        task = actor->task;
        pthread_mutex_lock(&stage.executor->lock);
        CU_ASSERT_FATAL(pthread_create(&poker, NULL, poke_in_a_thread, task) == 0);
        AWAIT(atomic_load(&task->pokers), "it has begun");
        CU_ASSERT_FATAL(pthread_create(&dropper, NULL, drop_in_a_thread, actor) == 0);
        if (i % 2)
            usleep(500);
        pthread_mutex_unlock(&stage.executor->lock);
        pthread_join(poker, NULL);
        pthread_join(dropper, NULL);
        stage_done(&stage);
    }
}

/* ---- All at once ---- */

#define LIVES  200
#define LIVING 4

struct life {
    struct stage *stage;
    unsigned seed;
    atomic_int work;
    atomic_int inside;
};

static struct task_answer live(void *arg)
{
    struct life *life = arg;
    struct task_answer answer = {.ran = true};

    atomic_fetch_add(&life->inside, 1);
    if (atomic_fetch_sub(&life->work, 1) <= 0) {
        atomic_fetch_add(&life->work, 1);
        answer = (struct task_answer){
            .due = life->stage->clock.source.monotonic(&life->stage->clock.source) + 5};
    }
    atomic_fetch_sub(&life->inside, 1);
    return answer;
}

static void *live_and_die(void *arg)
{
    struct life *life = arg;

    for (int i = 0; i < LIVES; i++) {
        const struct spec_key key = {rand_r(&life->seed) % 2 ? "a" : "b",
                                     rand_r(&life->seed) % 2 ? "x" : "y"};
        struct task *task = task_new(life->stage->executor, &key, live, life);
        int pokes = rand_r(&life->seed) % 20;

        for (int n = 0; n < pokes; n++) {
            atomic_fetch_add(&life->work, 1);
            task_poke(task);
        }
        if (i % 2) /* all that it was poked for is done, or done after 5 ms */
            while (atomic_load(&life->work) > 0)
                sched_yield();
        stage_drop_task(task);
        EXPECT_INT(atomic_load(&life->inside), 0, "no call is left");
        atomic_store(&life->work, 0);
    }
    return NULL;
}

static atomic_bool ticks;

static void *tick(void *arg)
{
    while (atomic_load(&ticks)) {
        still_clock_advance(arg, 1);
        sched_yield();
    }
    return NULL;
}

static void many_lives_at_once(void)
{
    static struct life lives[LIVING];
    pthread_t threads[LIVING], ticker;

    stage_init(&stage, 3, 6);
    atomic_store(&ticks, true);
    CU_ASSERT_FATAL(pthread_create(&ticker, NULL, tick, &stage.clock) == 0);
    for (unsigned i = 0; i < LIVING; i++) {
        lives[i] = (struct life){.stage = &stage, .seed = i + 1};
        CU_ASSERT_FATAL(pthread_create(&threads[i], NULL, live_and_die, &lives[i]) == 0);
    }
    for (unsigned i = 0; i < LIVING; i++)
        pthread_join(threads[i], NULL);
    atomic_store(&ticks, false);
    pthread_join(ticker, NULL);
    EXPECT_INT(stage_stats(&stage).ready, 0, "nothing is left");
    EXPECT_INT(stage.executor->timers.count, 0, "nothing is left");
    stage_done(&stage);
}

SUITE(executor_drop, TEST(waits_for_what_is_under_way), TEST(run_may_poke_while_it_is_dropped),
      TEST(what_waits_or_is_due_goes_with_it), TEST(waits_for_pokes_that_have_begun),
      TEST(many_lives_at_once))
