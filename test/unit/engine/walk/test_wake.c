#include <stdlib.h>
#include <unistd.h>

#include "test/unit/engine/walk/stroll.h"
#include "test/unit/suite.h"

static struct stroll stroll;

/* ---- Revisits ---- */

static void comes_back_when_due(void)
{
    for (unsigned seed = 1; seed <= 30; seed++) {
        int64_t longest = 0;

        srand(seed);
        jumping_now = 5;
        stroll_init(&stroll, 100, NULL, 0, NULL);
        for (uint32_t i = 0; i < 100; i++) {
            stroll.plan[i].parks = (unsigned)rand() % 4;
            stroll.plan[i].retry_after = 1 + rand() % 500;
            if (stroll.plan[i].parks * stroll.plan[i].retry_after > longest)
                longest = stroll.plan[i].parks * stroll.plan[i].retry_after;
        }
        stroll_run(&stroll, &(struct stroll_config){.parallelism = 1, .clock = &jumping_clock});
        EXPECT_INT(stroll.early, 0, "none before its time");
        EXPECT_INT(jumping_now, 5 + longest, "none after it");
        EXPECT_INT(stroll.counts.done, 100, "all are done");
        for (uint32_t i = 0; i < 100; i++)
            EXPECT_INT(stroll.seen[i].visits, stroll.plan[i].parks + 1, "visits");
        stroll_done(&stroll);
    }
}

static void comes_back_after_a_second_when_not_told(void)
{
    jumping_now = 0;
    stroll_init(&stroll, 1, NULL, 0, NULL);
    stroll.plan[0].parks = 2;
    stroll_run(&stroll, &(struct stroll_config){.parallelism = 1, .clock = &jumping_clock});
    EXPECT_INT(jumping_now, 2000, "twice a second");
    stroll_done(&stroll);
}

/* ---- Waking ---- */

static void wake_itself(struct stroll *s, uint32_t node)
{
    walk_wake(s->walk, node);
    walk_wake(s->walk, node);
}

static void wake_all(struct stroll *s, uint32_t node)
{
    (void)node;
    for (uint32_t i = 0; i < s->graph->n_nodes; i++)
        walk_wake(s->walk, i);
}

static void a_wake_during_a_visit_is_not_lost(void)
{
    for (unsigned parallelism = 1; parallelism <= 3; parallelism++) {
        stroll_init(&stroll, 3, NULL, 0, NULL);
        stroll.plan[1].parks = 3;
        stroll.plan[1].retry_after = CLOCK_FOREVER;
        stroll.plan[1].during = wake_itself;
        stroll_run(&stroll, &(struct stroll_config){.parallelism = parallelism});
        EXPECT_INT(stroll.seen[1].visits, 4, "one more for each, not for each call");
        EXPECT_INT(stroll.counts.done, 3, "all are done");
        stroll_done(&stroll);
    }
}

/* Waking is for what is parked: nothing else is visited for it. */
static void a_wake_of_what_is_not_parked_is_nothing(void)
{
    const struct graph_edge edges[] = {{3, 2}};

    stroll_init(&stroll, 4, edges, 1, NULL);
    stroll.plan[0].during = stroll.plan[1].during = stroll.plan[3].during = wake_all;
    stroll.plan[2].fails = true;
    stroll_run(&stroll, &(struct stroll_config){.parallelism = 1});
    EXPECT_STR(stroll_order(&stroll), "0 1 2", "order");
    for (uint32_t i = 0; i < 3; i++)
        EXPECT_INT(stroll.seen[i].visits, 1, "visits");
    EXPECT_INT(stroll.counts.skipped, 1, "3 stays skipped");
    stroll_done(&stroll);
}

static void *wake_from_outside(void *arg)
{
    struct stroll *s = arg;

    pthread_mutex_lock(&s->lock);
    while (!s->seen[0].visits)
        pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
    usleep(2000); /* until all workers wait, most likely */
    walk_wake(s->walk, 0);
    return NULL;
}

static void is_woken_from_another_thread(void)
{
    for (unsigned parallelism = 1; parallelism <= 4; parallelism++) {
        int64_t begun = test_clock.monotonic(&test_clock);
        pthread_t thread;

        stroll_init(&stroll, 4, NULL, 0, NULL);
        stroll.plan[0].parks = 1;
        stroll.plan[0].retry_after = CLOCK_FOREVER;
        pthread_create(&thread, NULL, wake_from_outside, &stroll);
        stroll_run(&stroll, &(struct stroll_config){.parallelism = parallelism});
        pthread_join(thread, NULL);
        EXPECT_INT(stroll.counts.done, 4, "all are done");
        EXPECT(test_clock.monotonic(&test_clock) - begun < 10000, "at once");
        stroll_done(&stroll);
    }
}

/* ---- Ends that come from outside ---- */

static void *cancel_from_outside(void *arg)
{
    struct stroll *s = arg;

    pthread_mutex_lock(&s->lock);
    while (!s->seen[0].first_is_over || !s->seen[2].ends)
        pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
    usleep(2000); /* until all workers wait, most likely */
    cancel_fire(s->cancel, "Test");
    return NULL;
}

static void a_cancel_ends_what_is_parked(void)
{
    const struct graph_edge edges[] = {{1, 0}};
    int64_t begun = test_clock.monotonic(&test_clock);
    pthread_t thread;

    stroll_init(&stroll, 3, edges, 1, NULL);
    stroll.cancel = cancel_new(NULL);
    stroll.plan[0].parks = 1;
    stroll.plan[0].retry_after = CLOCK_FOREVER;
    pthread_create(&thread, NULL, cancel_from_outside, &stroll);
    stroll_run(&stroll, &(struct stroll_config){.parallelism = 2});
    pthread_join(thread, NULL);
    EXPECT_INT(stroll.seen[0].outcome, WALK_OUTCOME_CANCELLED, "parked: not timed out");
    EXPECT_INT(stroll.seen[1].outcome, WALK_OUTCOME_CANCELLED, "behind it: not skipped");
    EXPECT_INT(stroll.seen[2].outcome, WALK_OUTCOME_DONE, "done before");
    EXPECT(test_clock.monotonic(&test_clock) - begun < 10000, "at once");
    stroll_done(&stroll);
}

static void cancel_now(struct stroll *s, uint32_t node)
{
    (void)node;
    cancel_fire(s->cancel, "Test");
}

static void what_is_under_way_ends_when_cancelled(void)
{
    const struct graph_edge edges[] = {{1, 0}};

    stroll_init(&stroll, 3, edges, 1, NULL);
    stroll.cancel = cancel_new(NULL);
    stroll.plan[0].during = cancel_now;
    stroll_run(&stroll, &(struct stroll_config){.parallelism = 1});
    EXPECT_STR(stroll_order(&stroll), "0", "none begins after it");
    EXPECT_INT(stroll.seen[0].outcome, WALK_OUTCOME_DONE, "it came to its end");
    EXPECT_INT(stroll.counts.cancelled, 2, "the rest");
    stroll_done(&stroll);
}

static void visits_nothing_when_over_before_it_begins(void)
{
    for (int cancelled = 0; cancelled < 2; cancelled++) {
        jumping_now = 1000;
        stroll_init(&stroll, 2, NULL, 0, NULL);
        if (cancelled) {
            stroll.cancel = cancel_new(NULL);
            cancel_fire(stroll.cancel, "Test");
        }
        stroll_run(&stroll, &(struct stroll_config){.parallelism = 1,
                                                    .clock = &jumping_clock,
                                                    .time = cancelled ? 0 : -1});
        EXPECT_STR(stroll_order(&stroll), "", "no visits");
        EXPECT_INT(stroll.counts.cancelled, 2, "cancelled, or out of time before its first visit");
        stroll_done(&stroll);
    }
}

static void times_out_what_is_parked(void)
{
    const struct graph_edge edges[] = {{2, 1}};

    jumping_now = 0;
    stroll_init(&stroll, 4, edges, 1, NULL);
    for (uint32_t i = 0; i < 2; i++) {
        stroll.plan[i].parks = 1000;
        stroll.plan[i].retry_after = i ? CLOCK_FOREVER : 300;
    }
    stroll_run(&stroll,
               &(struct stroll_config){.parallelism = 1, .clock = &jumping_clock, .time = 1000});
    EXPECT_INT(jumping_now, 1000, "at its deadline");
    EXPECT_INT(stroll.seen[0].visits, 4, "looked at until then");
    EXPECT_INT(stroll.seen[0].outcome, WALK_OUTCOME_TIMED_OUT, "with a delay");
    EXPECT_INT(stroll.seen[1].outcome, WALK_OUTCOME_TIMED_OUT, "until woken");
    EXPECT_INT(stroll.seen[2].outcome, WALK_OUTCOME_CANCELLED, "never begun");
    EXPECT_INT(stroll.seen[3].outcome, WALK_OUTCOME_DONE, "independent");
    stroll_done(&stroll);
}

/* ---- Failures ---- */

/* Of two failures either may be the cause; but a failure it must be. */
static void names_the_failure_for_what_it_skips(void)
{
    static const struct {
        const char *note;
        struct graph_edge edges[5];
        size_t n_edges;
        bool fails[5];
        bool reverse;
        uint32_t cause_of_last; /* UINT32_MAX: it is not skipped */
    } rows[] = {
        {"a chain", {{1, 0}, {2, 1}, {3, 2}, {4, 3}}, 4, {true}, false, 0},
        {"not what comes before",
         {{1, 0}, {2, 1}, {3, 2}, {4, 0}},
         4,
         {0, 0, 1},
         false,
         UINT32_MAX},
        {"in reverse", {{1, 4}, {0, 1}}, 2, {true}, true, 0},
        {"one of several", {{4, 0}, {4, 1}, {4, 2}, {4, 3}}, 4, {0, 0, 1}, false, 2},
        {"by way of what is skipped", {{3, 0}, {3, 1}, {4, 3}, {4, 2}}, 4, {0, 1}, false, 1},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        bool skipped = rows[i].cause_of_last != UINT32_MAX;

        stroll_init(&stroll, 5, rows[i].edges, rows[i].n_edges, NULL);
        for (uint32_t node = 0; node < 5; node++)
            stroll.plan[node].fails = rows[i].fails[node];
        stroll_run(&stroll, &(struct stroll_config){.parallelism = 3, .reverse = rows[i].reverse});
        EXPECT_INT(stroll.seen[4].outcome, skipped ? WALK_OUTCOME_SKIPPED : WALK_OUTCOME_DONE,
                   rows[i].note);
        EXPECT_INT(stroll.seen[4].cause, rows[i].cause_of_last, rows[i].note);
        EXPECT_INT(stroll.counts.failed, 1, rows[i].note);
        stroll_done(&stroll);
    }
}

SUITE(walk_wake, TEST(comes_back_when_due), TEST(comes_back_after_a_second_when_not_told),
      TEST(a_wake_during_a_visit_is_not_lost), TEST(a_wake_of_what_is_not_parked_is_nothing),
      TEST(is_woken_from_another_thread), TEST(a_cancel_ends_what_is_parked),
      TEST(what_is_under_way_ends_when_cancelled), TEST(visits_nothing_when_over_before_it_begins),
      TEST(times_out_what_is_parked), TEST(names_the_failure_for_what_it_skips))
