#include <stdlib.h>

#include "engine/base/limits.h"
#include "test/unit/engine/walk/stroll.h"
#include "test/unit/suite.h"

static struct stroll stroll;

/* One worker: what is free to go goes by rank. */
static void lower_ranks_go_first(void)
{
    static const struct {
        const char *note;
        uint16_t ranks[4];
        struct graph_edge edges[3];
        size_t n_edges;
        bool reverse;
        const char *order;
    } rows[] = {
        {"none", {0, 0, 0, 0}, {{0, 0}}, 0, false, "0 1 2 3"},
        {"by rank", {3, 1, 2, 0}, {{0, 0}}, 0, false, "3 1 2 0"},
        {"in reverse", {3, 1, 2, 0}, {{0, 0}}, 0, true, "0 2 1 3"},
        {"edges come first", {0, 9, 0, 0}, {{0, 1}}, 1, false, "2 3 1 0"},
        {"edges come first, in reverse", {0, 9, 0, 0}, {{0, 1}}, 1, true, "0 1 2 3"},
        {"what gets free goes before higher ranks", {0, 1, 1, 0}, {{3, 0}}, 1, false, "0 3 1 2"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        stroll_init(&stroll, 4, rows[i].edges, rows[i].n_edges, rows[i].ranks);
        stroll_run(&stroll, &(struct stroll_config){.parallelism = 1, .reverse = rows[i].reverse});
        EXPECT_STR(stroll_order(&stroll), rows[i].order, rows[i].note);
        EXPECT_INT(stroll.early, 0, rows[i].note);
        stroll_done(&stroll);
    }
}

/* Several workers: a rank waits for the first visits of the one before. (None parks: what is freed
 * by a revisit may be free a moment after the choice fell on another.) */
static void a_rank_waits_for_the_one_before(void)
{
    for (unsigned seed = 1; seed <= 30; seed++) {
        struct graph_edge edges[200];
        uint16_t ranks[80];
        size_t n_edges = 0;

        srand(seed);
        for (uint32_t i = 0; i < ARRAY_SIZE(ranks); i++) {
            ranks[i] = (uint16_t)(rand() % 5);
            if (i && rand() % 3 == 0)
                edges[n_edges++] = (struct graph_edge){i, (uint32_t)rand() % i};
        }
        stroll_init(&stroll, ARRAY_SIZE(ranks), edges, n_edges, ranks);
        for (uint32_t i = 0; i < ARRAY_SIZE(ranks); i++)
            stroll.plan[i].fails = rand() % 15 == 0;
        stroll_run(&stroll,
                   &(struct stroll_config){.parallelism = 2 + seed % 6, .reverse = seed % 2 == 0});
        EXPECT_INT(stroll.early, 0, "no first visit beside one of lower rank");
        EXPECT_INT(stroll.counts.done + stroll.counts.failed + stroll.counts.skipped,
                   ARRAY_SIZE(ranks), "all end");
        stroll_done(&stroll);
    }
}

static void wake_the_first(struct stroll *s, uint32_t node)
{
    (void)node;
    walk_wake(s->walk, 0);
}

/* The order by rank is a courtesy: what is not ready yet holds back its dependents alone. */
static void what_is_parked_holds_back_no_rank(void)
{
    const uint16_t ranks[] = {0, 0, 1, 2};
    const struct graph_edge edges[] = {{1, 0}};

    for (unsigned parallelism = 1; parallelism <= 4; parallelism++) {
        stroll_init(&stroll, 4, edges, 1, ranks);
        stroll.plan[0].parks = 1;
        stroll.plan[0].retry_after = CLOCK_FOREVER;
        stroll.plan[3].during = wake_the_first;
        stroll_run(&stroll, &(struct stroll_config){.parallelism = parallelism});
        EXPECT_STR(stroll_order(&stroll), "0 2 3 1", "only 1 waits for 0");
        EXPECT_INT(stroll.counts.done, 4, "all are done");
        stroll_done(&stroll);
    }
}

static void what_fails_holds_back_no_rank(void)
{
    const uint16_t ranks[] = {0, 1, 1};
    const struct graph_edge edges[] = {{1, 0}};

    stroll_init(&stroll, 3, edges, 1, ranks);
    stroll.plan[0].fails = true;
    stroll_run(&stroll, &(struct stroll_config){.parallelism = 2});
    EXPECT_STR(stroll_order(&stroll), "0 2", "2 goes");
    EXPECT_INT(stroll.counts.skipped, 1, "1 is skipped");
    stroll_done(&stroll);
}

/* ---- Parallelism ---- */

static unsigned wanted;

static void wait_for(struct stroll *s, unsigned in_flight, int64_t ms)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += ms % 1000 * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    while (s->most_in_flight < in_flight)
        if (pthread_cond_timedwait(&s->changed, &s->lock, &until) != 0)
            return;
}

/* Until as many as are wanted have been in flight at once, and a while for one more to come. */
static void wait_for_company(struct stroll *s, uint32_t node)
{
    (void)node;
    pthread_mutex_lock(&s->lock);
    wait_for(s, wanted, 5000);
    wait_for(s, wanted + 1, 10);
    pthread_mutex_unlock(&s->lock);
}

static void runs_as_many_as_it_may_and_no_more(void)
{
    static const struct {
        const char *note;
        uint32_t nodes;
        unsigned parallelism, at_once;
    } rows[] = {
        {"one", 5, 1, 1},
        {"several", 40, 7, 7},
        {"no more than nodes", 3, 50, 3},
        {"no more than the limit", 300, 1000, LIMIT_PARALLELISM},
        {"none counts as one", 5, 0, 1},
        {"no nodes", 0, 4, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        stroll_init(&stroll, rows[i].nodes, NULL, 0, NULL);
        wanted = rows[i].at_once;
        for (uint32_t node = 0; node < rows[i].nodes; node++)
            stroll.plan[node].during = wait_for_company;
        stroll_run(&stroll, &(struct stroll_config){.parallelism = rows[i].parallelism});
        EXPECT_INT(stroll.most_in_flight, rows[i].at_once, rows[i].note);
        EXPECT_INT(stroll.counts.done, rows[i].nodes, rows[i].note);
        stroll_done(&stroll);
    }
}

SUITE(walk_rank, TEST(lower_ranks_go_first), TEST(a_rank_waits_for_the_one_before),
      TEST(what_is_parked_holds_back_no_rank), TEST(what_fails_holds_back_no_rank),
      TEST(runs_as_many_as_it_may_and_no_more))
