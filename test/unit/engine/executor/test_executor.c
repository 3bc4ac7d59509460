#include "engine/executor/executor.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "engine/base/cleanup.h"
#include "engine/base/mem.h"
#include "test/unit/engine/executor/stage.h"

static struct stage stage;

/* ---- Fairness: one thread at a time, so the order is certain ---- */

static void gives_each_its_share(void)
{
    static const struct {
        const char *note;
        struct {
            const char *namespace_name, *name;
            int pieces;
        } actors[5]; /* B, C, … */
        const char *order;
    } rows[] = {
        {"one task", {{"a", "x", 3}}, "BBB"},
        {"in the order of their pokes", {{"a", "x", 1}, {"b", "x", 1}, {"c", "x", 1}}, "BCD"},
        {"namespaces", {{"a", "x", 4}, {"b", "x", 2}}, "BCBCBB"},
        {"not by how many Specs there are",
         {{"a", "x", 2}, {"a", "y", 2}, {"a", "z", 2}, {"b", "x", 4}},
         "BECEDEBECD"},
        {"Specs of a namespace", {{"a", "x", 2}, {"a", "x", 2}, {"a", "y", 4}}, "BDCDBDCD"},
        {"tasks of a Spec", {{"a", "x", 2}, {"a", "x", 3}}, "BCBCC"},
        {"without work", {{"a", "x", 0}, {"b", "x", 1}}, "C"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct actor *gate;

        stage_init(&stage, 1, 0);
        gate = stage_add(&stage, "gate", "gate");
        actor_hold(gate);
        actor_give(gate, 1);
        AWAIT(actor_held(gate), "the gate is held");
        for (size_t n = 0; n < ARRAY_SIZE(rows[i].actors) && rows[i].actors[n].name; n++)
            actor_give(stage_add(&stage, rows[i].actors[n].namespace_name, rows[i].actors[n].name),
                       rows[i].actors[n].pieces);
        actor_release(gate);
        AWAIT(stage_is_quiet(&stage), rows[i].note);
        EXPECT_STR(stage_log(&stage) + 1, rows[i].order, rows[i].note);
        stage_done(&stage);
    }
}

static struct actor *late[2];

static void poke_the_late(struct actor *actor)
{
    if (actor_runs(actor) == 5) {
        actor_give(late[0], 3);
        actor_give(late[1], 2);
    }
}

/* A has always work; B of another namespace, and C of a third, come during A's fifth piece. */
static void who_has_always_work_keeps_nobody_waiting(void)
{
    struct actor *busy;

    stage_init(&stage, 1, 0);
    busy = stage_add(&stage, "busy", "busy");
    late[0] = stage_add(&stage, "late", "late");
    late[1] = stage_add(&stage, "later", "later");
    busy->during = poke_the_late;
    actor_give(busy, 12);
    AWAIT(stage_is_quiet(&stage), "all is done");
    EXPECT_STR(stage_log(&stage), "AAAAAABCABCABAAAA",
               "one piece of A between those of the others");
    stage_done(&stage);
}

/* ---- Threads ---- */

static void a_task_runs_on_as_many_threads_as_there_are_turns(void)
{
    for (unsigned threads = 1; threads <= 8; threads++) {
        struct actor *actor;

        stage_init(&stage, threads, 0);
        actor = stage_add(&stage, "a", "x");
        actor_hold(actor);
        actor_give(actor, 50);
        AWAIT(actor_held(actor) == threads, "at once");
        EXPECT_INT(stage_stats(&stage).running, threads, "running");
        EXPECT_INT(stage_stats(&stage).ready, 1, "it would have more");
        actor_release(actor);
        AWAIT(stage_is_quiet(&stage), "all is done");
        EXPECT_INT(stage.n_log, 50, "pieces");
        EXPECT(stage_stats(&stage).threads <= threads + 1, "one more, which watches");
        stage_done(&stage);
    }
}

#define PARKED 1000

static atomic_uint asked;

static struct task_answer ask_nothing(void *arg)
{
    (void)arg;
    atomic_fetch_add(&asked, 1);
    return (struct task_answer){.due = CLOCK_FOREVER};
}

static void parked_tasks_cost_no_threads(void)
{
    static struct task *tasks[PARKED];
    unsigned before;

    stage_init(&stage, 4, 0);
    atomic_store(&asked, 0);
    for (unsigned i = 0; i < PARKED; i++) {
        char ns[16], name[16];

        snprintf(ns, sizeof(ns), "n%u", i % 30);
        snprintf(name, sizeof(name), "s%u", i % 200);
        tasks[i] = task_new(stage.executor, &(struct spec_key){ns, name}, ask_nothing, NULL);
    }
    EXPECT_INT(stage_stats(&stage).ready, 0, "none before it is poked");
    EXPECT_INT(atomic_load(&asked), 0, "none before it is poked");
    for (unsigned i = 0; i < PARKED; i++)
        task_poke(tasks[i]);
    AWAIT(atomic_load(&asked) >= PARKED && stage_is_quiet(&stage), "all were asked");
    EXPECT(stage_stats(&stage).threads <= 5, "threads");
    before = atomic_load(&asked);
    still_clock_advance(&stage.clock, 1000000);
    AWAIT(stage_is_quiet(&stage), "nothing is due");
    EXPECT_INT(atomic_load(&asked), before, "not asked unasked");
    for (unsigned i = 0; i < PARKED; i++)
        stage_drop_task(tasks[i]);
    stage_done(&stage);
}

static void idle_threads_end_after_a_while(void)
{
    struct actor *actor;

    stage_init(&stage, 20, 0);
    actor = stage_add(&stage, "a", "x");
    actor_hold(actor);
    actor_give(actor, 20);
    AWAIT(actor_held(actor) == 20, "all at once");
    actor_release(actor);
    AWAIT(stage_is_quiet(&stage), "idle");
    EXPECT_INT(stage_stats(&stage).threads, 21, "they are there");
    still_clock_advance(&stage.clock, 1999);
    EXPECT_INT(stage_stats(&stage).threads, 21, "for a while");
    still_clock_advance(&stage.clock, 1);
    AWAIT(stage_stats(&stage).threads == 4, "a few stay");
    actor_give(actor, 3);
    AWAIT(stage_is_quiet(&stage), "and work");
    EXPECT_INT(stage.n_log, 23, "pieces");
    stage_done(&stage);
}

/* ---- Pokes ---- */

/* The call has looked, and found nothing, when the work comes. */
static void a_poke_is_not_lost_while_run_answers_nothing(void)
{
    for (unsigned threads = 1; threads <= 3; threads++) {
        struct actor *actor;

        stage_init(&stage, threads, 0);
        actor = stage_add(&stage, "a", "x");
        actor_hold_all(actor);
        task_poke(actor->task);
        AWAIT(actor_held(actor) == threads, "all look, and find nothing");
        actor_give(actor, 1);
        actor_release(actor);
        AWAIT(stage_is_quiet(&stage), "quiet");
        EXPECT_STR(stage_log(&stage), "A", "it is done");
        stage_done(&stage);
    }
}

/* What a piece did may be what the others did not find: they are asked again. */
static void a_piece_is_news_for_those_who_found_nothing(void)
{
    struct actor *actor;

    stage_init(&stage, 2, 0);
    actor = stage_add(&stage, "a", "x");
    actor_hold_all(actor);
    actor_give(actor, 1);
    AWAIT(actor_held(actor) == 2, "one has the piece, one finds nothing");
    pthread_mutex_lock(&stage.lock);
    actor->pieces++; /* as a walk's visit frees others, without a poke */
    pthread_mutex_unlock(&stage.lock);
    actor_release(actor);
    AWAIT(stage_is_quiet(&stage), "quiet");
    EXPECT_STR(stage_log(&stage), "AA", "both are done");
    stage_done(&stage);
}

static void poke_itself(struct actor *actor)
{
    task_poke(actor->task);
}

static void run_may_poke(void)
{
    struct actor *actor;

    stage_init(&stage, 2, 0);
    actor = stage_add(&stage, "a", "x");
    actor->during = poke_itself;
    actor_give(actor, 5);
    AWAIT(stage_is_quiet(&stage), "quiet");
    EXPECT_STR(stage_log(&stage), "AAAAA", "pieces");
    stage_done(&stage);
}

#define FLOOD 20000

static void *flood(void *arg)
{
    for (int i = 0; i < FLOOD / 4; i++) {
        actor_give(arg, 1);
        if (i % 100 == 0)
            sched_yield();
    }
    return NULL;
}

/* Pokes at any moment. The fake clock wakes nobody by chance: a poke that is lost is lost. */
static void no_poke_is_lost_in_a_flood(void)
{
    struct actor *actors[2];
    pthread_t threads[4];

    stage_init(&stage, 3, 0);
    actors[0] = stage_add(&stage, "a", "x");
    actors[1] = stage_add(&stage, "b", "x");
    for (int i = 0; i < 4; i++)
        CU_ASSERT_FATAL(pthread_create(&threads[i], NULL, flood, actors[i % 2]) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    AWAIT(stage_is_quiet(&stage), "quiet");
    EXPECT_INT(actors[0]->pieces, 0, "all is done");
    EXPECT_INT(actors[1]->pieces, 0, "all is done");
    stage_done(&stage);
}

/* ---- Timers ---- */

/* So many threads that are idle: what is called is the top of them, and the bottom goes on waiting
 * for what it is told of. */
static void warm_up(unsigned threads)
{
    struct actor *actor = stage_add(&stage, "warm", "up");

    actor_hold(actor);
    actor_give(actor, (int)threads);
    AWAIT(actor_held(actor) == threads, "under way");
    actor_release(actor);
    AWAIT(stage_is_quiet(&stage), "quiet");
    EXPECT_INT(stage_stats(&stage).threads, threads + 1, "threads");
    still_clock_advance(&stage.clock, EXECUTOR_LONG_RUN); /* the piece's deadline is forgotten */
    usleep(2000);
    AWAIT(stage_is_quiet(&stage), "quiet");
    actor_free(actor);
    stage.n_actors = stage.n_log = 0;
    memset(stage.log, 0, sizeof(stage.log));
}

static void is_asked_when_due(void)
{
    struct actor *actors[3];

    stage_init(&stage, 6, 0);
    warm_up(6);
    for (int i = 0; i < 3; i++) {
        actors[i] = stage_add(&stage, "a", "x");
        actors[i]->due = stage.clock.now + (const int64_t[]){500, 100, 100000}[i];
        task_poke(actors[i]->task);
        AWAIT(actor_runs(actors[i]) && stage_is_quiet(&stage), "asked");
        actors[i]->due = CLOCK_FOREVER;
        actors[i]->pieces = 1;
    }
    still_clock_advance(&stage.clock, 99);
    AWAIT(stage_is_quiet(&stage), "nothing is due");
    EXPECT_STR(stage_log(&stage), "", "nothing is due");
    still_clock_advance(&stage.clock, 1);
    AWAIT(strcmp(stage_log(&stage), "B") == 0 && stage_is_quiet(&stage), "B, set after A's");
    still_clock_advance(&stage.clock, 400);
    AWAIT(strcmp(stage_log(&stage), "BA") == 0 && stage_is_quiet(&stage), "A");
    actor_give(actors[2], 0);
    AWAIT(strcmp(stage_log(&stage), "BAC") == 0 && stage_is_quiet(&stage), "C was poked before");
    actors[2]->pieces = 1;
    still_clock_advance(&stage.clock, 1000000);
    AWAIT(stage_is_quiet(&stage), "quiet");
    EXPECT_STR(stage_log(&stage), "BAC", "C's timer went with the poke");
    stage_done(&stage);
}

/* ---- Long pieces ---- */

static void a_long_piece_is_replaced(void)
{
    struct actor *slow[3], *quick;

    stage_init(&stage, 1, 3);
    warm_up(1);
    for (int i = 0; i < 3; i++) {
        slow[i] = stage_add(&stage, (const char *[]){"a", "b", "c"}[i], "slow");
        actor_hold(slow[i]);
    }
    quick = stage_add(&stage, "quick", "x");
    actor_give(slow[0], 1);
    AWAIT(actor_held(slow[0]), "A is under way");
    actor_give(slow[1], 1);
    actor_give(slow[2], 1);
    for (unsigned i = 0; i < 2; i++) {
        still_clock_advance(&stage.clock, EXECUTOR_LONG_RUN - 1);
        EXPECT_INT(stage_stats(&stage).long_running, i, "not yet");
        EXPECT_INT(stage_stats(&stage).running, i + 1, "one at a time");
        still_clock_advance(&stage.clock, 1);
        AWAIT(strlen(stage_log(&stage)) == i + 2, "another takes its place");
        AWAIT(stage_stats(&stage).running == i + 2, "beside it");
        EXPECT_INT(stage_stats(&stage).long_running, i + 1, "long");
    }
    actor_give(quick, 1);
    still_clock_advance(&stage.clock, EXECUTOR_LONG_RUN);
    EXPECT_INT(stage_stats(&stage).threads, 3, "no more than max_threads");
    EXPECT_INT(actor_runs(quick), 0, "there is none for it");
    actor_release(slow[0]);
    AWAIT(actor_runs(quick), "the thread that got free");
    AWAIT(actor_held(slow[1]) + actor_held(slow[2]) == 2, "while those are under way");
    actor_release(slow[1]);
    actor_release(slow[2]);
    AWAIT(stage_is_quiet(&stage), "quiet");
    EXPECT_INT(stage_stats(&stage).long_running, 0, "none");
    stage_done(&stage);
}

/* Nothing waited when it became long: what comes after finds a thread. */
static void a_long_piece_keeps_nobody_waiting_later(void)
{
    struct actor *slow, *quick;

    stage_init(&stage, 1, 0);
    slow = stage_add(&stage, "a", "slow");
    quick = stage_add(&stage, "a", "quick");
    actor_hold(slow);
    actor_give(slow, 1);
    AWAIT(actor_held(slow), "under way");
    still_clock_advance(&stage.clock, EXECUTOR_LONG_RUN);
    AWAIT(stage_stats(&stage).long_running == 1, "long");
    actor_give(quick, 2);
    AWAIT(strcmp(stage_log(&stage), "ABB") == 0, "beside it");
    actor_release(slow);
    AWAIT(stage_is_quiet(&stage), "quiet");
    stage_done(&stage);
}

/* 10 pieces that hang: 4 are begun, as a quarter of 16. Those of another namespace are not held up,
 * and the rest goes on as soon as one ends. */
static void a_namespace_has_a_part_of_the_threads(void)
{
    struct actor *hangs, *other;

    stage_init(&stage, 2, 16);
    warm_up(2);
    hangs = stage_add(&stage, "a", "hangs");
    other = stage_add(&stage, "b", "other");
    actor_hold(hangs);
    actor_give(hangs, 10);
    AWAIT(actor_held(hangs) == 2, "two at once");
    still_clock_advance(&stage.clock, EXECUTOR_LONG_RUN);
    AWAIT(actor_held(hangs) == 4, "two more, for those that are long");
    still_clock_advance(&stage.clock, EXECUTOR_LONG_RUN);
    AWAIT(stage_stats(&stage).long_running == 4, "all are long");
    actor_give(other, 3);
    AWAIT(strcmp(stage_log(&stage), "AAAABBB") == 0, "the other namespace has its turns");
    EXPECT_INT(actor_held(hangs), 4, "the namespace has no more");
    actor_release(hangs);
    AWAIT(stage_is_quiet(&stage), "quiet");
    EXPECT_STR(stage_log(&stage), "AAAABBBAAAAAA", "all is done");
    stage_done(&stage);
}

/* ---- Stats ---- */

static void says_how_it_is(void)
{
    struct executor_stats stats;
    struct actor *held, *waits;

    stage_init(&stage, 1, 0);
    held = stage_add(&stage, "a", "x");
    waits = stage_add(&stage, "b", "x");
    stats = stage_stats(&stage);
    EXPECT_INT(stats.threads, 1, "the first");
    EXPECT_INT(stats.running + stats.ready + stats.long_running, 0, "nothing to do");
    EXPECT_INT(stats.oldest, 0, "nothing to do");
    actor_hold(held);
    still_clock_advance(&stage.clock, 10);
    actor_give(held, 1);
    AWAIT(actor_held(held), "under way");
    still_clock_advance(&stage.clock, 10);
    actor_give(waits, 1);
    still_clock_advance(&stage.clock, 10);
    stats = stage_stats(&stage);
    EXPECT_INT(stats.running, 1, "one");
    EXPECT_INT(stats.ready, 2, "its next turn, and the other");
    EXPECT_INT(stats.oldest, 1010, "since its last turn");
    actor_hold(waits);
    actor_release(held);
    AWAIT(actor_held(waits), "the other");
    stats = stage_stats(&stage);
    EXPECT_INT(stats.ready, 1, "its next turn");
    EXPECT_INT(stats.oldest, 1030, "since its last turn");
    actor_release(waits);
    AWAIT(stage_is_quiet(&stage), "quiet");
    stats = stage_stats(&stage);
    EXPECT_INT(stats.ready, 0, "none");
    EXPECT_INT(stats.oldest, 0, "none");
    stage_done(&stage);
    executor_free(NULL);
}

SUITE(executor, TEST(gives_each_its_share), TEST(who_has_always_work_keeps_nobody_waiting),
      TEST(a_task_runs_on_as_many_threads_as_there_are_turns), TEST(parked_tasks_cost_no_threads),
      TEST(idle_threads_end_after_a_while), TEST(a_poke_is_not_lost_while_run_answers_nothing),
      TEST(a_piece_is_news_for_those_who_found_nothing), TEST(run_may_poke),
      TEST(no_poke_is_lost_in_a_flood), TEST(is_asked_when_due), TEST(a_long_piece_is_replaced),
      TEST(a_long_piece_keeps_nobody_waiting_later), TEST(a_namespace_has_a_part_of_the_threads),
      TEST(says_how_it_is))
