#include "engine/base/mem.h"
#include "test/unit/engine/walk/stroll.h"
#include "test/unit/suite.h"

/* Of two nodes; of the second alone where the first does not park. */
static void says_when_there_is_nothing_to_do_but_wait(void)
{
    static const struct {
        const char *note;
        bool depends; /* the second on the first */
        unsigned parks[2];
        bool fails;
        int64_t time;
        unsigned waited;
    } rows[] = {
        {"nothing parks", .waited = 0},
        {"one parks, the other is done", .parks = {1, 0}, .waited = 1},
        {"looks now and then are no end of it", .parks = {5, 0}, .waited = 1},
        {"both park", .parks = {2, 3}, .waited = 1},
        {"one after the other", .depends = true, .parks = {2, 2}, .waited = 2},
        {"the second follows, and is done at once", .depends = true, .parks = {1, 0}, .waited = 1},
        {"what follows is skipped", .depends = true, .parks = {1, 0}, .fails = true, .waited = 1},
        {"until time runs out", .parks = {100000, 0}, .time = 30, .waited = 1},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct graph_edge edge = {1, 0};

        for (unsigned parallelism = 1; parallelism <= 2; parallelism++) {
            struct stroll s;

            stroll_init(&s, 2, &edge, rows[i].depends, NULL);
            for (uint32_t node = 0; node < 2; node++) {
                s.plan[node].parks = rows[i].parks[node];
                s.plan[node].retry_after = 1;
            }
            s.plan[0].fails = rows[i].fails;
            stroll_run(&s,
                       &(struct stroll_config){.parallelism = parallelism, .time = rows[i].time});
            EXPECT_INT(s.waited, rows[i].waited, rows[i].note);
            stroll_done(&s);
        }
    }
}

/* Of three in a chain, the first is parked for so long that the others end before it. */
static void what_lets_go_holds_nothing_back(void)
{
    static const struct {
        bool fails;
        enum walk_outcome first;
    } rows[] = {{false, WALK_OUTCOME_DONE}, {true, WALK_OUTCOME_FAILED}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct graph_edge edges[] = {{1, 0}, {2, 1}};
        struct stroll s;

        stroll_init(&s, 3, edges, ARRAY_SIZE(edges), NULL);
        s.plan[0] = (struct plan_of_node){
            .parks = 3, .retry_after = 20, .lets_go = true, .fails = rows[i].fails};
        stroll_run(&s, &(struct stroll_config){.parallelism = 1});
        EXPECT_STR(stroll_order(&s), "0 1 2", "order");
        EXPECT_INT(s.seen[0].outcome, rows[i].first, "its own");
        EXPECT_INT(s.seen[1].outcome, WALK_OUTCOME_DONE, "of what depends on it");
        EXPECT_INT(s.seen[2].outcome, WALK_OUTCOME_DONE, "of what depends on that");
        stroll_done(&s);
    }
}

/* What stroll_run() checks, of many. */
static void is_true_of_any_graph(void)
{
    for (unsigned round = 0; round < 50; round++) {
        struct graph_edge edges[120];
        struct stroll s;

        for (uint32_t i = 0; i < ARRAY_SIZE(edges); i++)
            edges[i] = (struct graph_edge){1 + i / 2, (uint32_t)rand() % (1 + i / 2)};
        stroll_init(&s, 61, edges, ARRAY_SIZE(edges), NULL);
        for (uint32_t node = 0; node < 61; node++) {
            s.plan[node].parks = rand() % 3 ? 0 : 1 + (unsigned)rand() % 2;
            s.plan[node].retry_after = 1;
            s.plan[node].fails = rand() % 20 == 0;
        }
        stroll_run(&s, &(struct stroll_config){.parallelism = 1 + round % 8, .reverse = round % 2});
        stroll_done(&s);
    }
}

SUITE(walk_wait, TEST(says_when_there_is_nothing_to_do_but_wait),
      TEST(what_lets_go_holds_nothing_back), TEST(is_true_of_any_graph))
