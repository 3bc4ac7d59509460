#include "test/unit/engine/walk/stroll.h"
#include "test/unit/suite.h"

static struct stroll stroll;

/* Of ranks 0 0 1: 0 ends, 1 takes long. */
static void what_takes_long_holds_back_no_rank(void)
{
    static const uint16_t ranks[] = {0, 0, 1};
    struct walk_visit first, second, third;
    _cleanup_(graph_free_p) struct graph *graph = NULL;
    _cleanup_(walk_free_p) struct walk *walk = NULL;
    int64_t due;

    EXPECT_INT(graph_new(3, NULL, 0, ranks, NULL, NULL, &graph, NULL), 0, "a graph");
    walk = walk_new(&(struct walk_config){.graph = graph, .parallelism = 3, .patience = 100});
    EXPECT_INT(walk_next(walk, 0, &first, &due), WALK_VISIT, "0");
    EXPECT_INT(walk_next(walk, 50, &second, &due), WALK_VISIT, "1");
    EXPECT_INT(walk_next(walk, 99, &third, &due), WALK_BUSY, "not 2");
    EXPECT_INT(due, 100, "0 has taken long then");
    EXPECT_INT(walk_next(walk, 100, &third, &due), WALK_BUSY, "not 2, beside 1");
    EXPECT_INT(due, 150, "1 has, then");
    EXPECT(!walk_end_visit(walk, &first, WALK_DONE, 120), "0 ends");
    EXPECT_INT(walk_next(walk, 150, &third, &due), WALK_VISIT, "2, beside 1");
    EXPECT_INT(third.node, 2, "2");
    EXPECT(!walk_end_visit(walk, &third, WALK_DONE, 160), "1 is under way");
    EXPECT_INT(walk_next(walk, 160, &first, &due), WALK_BUSY, "1 is under way");
    EXPECT_INT(due, CLOCK_FOREVER, "and holds nothing back");
    EXPECT(walk_end_visit(walk, &second, WALK_DONE, 170), "over");
}

/* One at a time: what is free to go goes by rank. */
static void lower_ranks_go_first(void)
{
    static const struct {
        const char *note;
        uint16_t ranks[4];
        struct graph_edge edges[3];
        size_t n_edges;
        const char *order;
    } rows[] = {
        {"none", {0, 0, 0, 0}, {{0, 0}}, 0, "0 1 2 3"},
        {"by rank", {3, 1, 2, 0}, {{0, 0}}, 0, "3 1 2 0"},
        {"the highest there is", {UINT16_MAX, 1, UINT16_MAX, 0}, {{0, 0}}, 0, "3 1 0 2"},
        {"edges come first", {0, 9, 0, 0}, {{0, 1}}, 1, "2 3 1 0"},
        {"what gets free goes before higher ranks", {0, 1, 1, 0}, {{3, 0}}, 1, "0 3 1 2"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        stroll_init(&stroll, &(struct stroll_config){.n = 4,
                                                     .edges = rows[i].edges,
                                                     .n_edges = rows[i].n_edges,
                                                     .ranks = rows[i].ranks});
        stroll_run(&stroll, 0);
        EXPECT_STR(stroll_order(&stroll), rows[i].order, rows[i].note);
        stroll_done(&stroll);
    }
}

/* Of ranks 0 0 1, with room for all: the model knows that 2 waits for both others. */
static void a_rank_waits_for_first_visits_of_the_one_before(void)
{
    static const uint16_t ranks[] = {0, 0, 1};
    struct walk_visit first, second, third;
    int64_t due;

    stroll_init(&stroll, &(struct stroll_config){.n = 3, .ranks = ranks, .parallelism = 3});
    EXPECT_INT(walk_next(stroll.walk, 0, &first, &due), WALK_VISIT, "0");
    EXPECT_INT(walk_next(stroll.walk, 0, &second, &due), WALK_VISIT, "1");
    EXPECT_INT(walk_next(stroll.walk, 0, &third, &due), WALK_BUSY, "not 2");
    stroll.model[0].phase = stroll.model[1].phase = stroll.model[2].phase = MODEL_ENDED;
    stroll.model[0].outcome = stroll.model[2].outcome = WALK_OUTCOME_DONE;
    stroll.model[1].outcome = WALK_OUTCOME_FAILED;
    for (int i = 0; i < 3; i++)
        stroll.model[i].cause = UINT32_MAX;
    EXPECT(!walk_end_visit(stroll.walk, &first, WALK_PARKED, 0), "nothing to begin");
    EXPECT_INT(walk_next(stroll.walk, 0, &third, &due), WALK_BUSY, "not 2, beside 1");
    EXPECT(walk_end_visit(stroll.walk, &second, WALK_FAILED, 0), "2");
    EXPECT_INT(walk_next(stroll.walk, 0, &third, &due), WALK_VISIT, "2, beside a parked 0");
    EXPECT_INT(third.node, 2, "2");
    EXPECT_INT(walk_next(stroll.walk, 1000, &first, &due), WALK_VISIT, "0 again, beside 2");
    EXPECT_INT(first.node, 0, "0");
    EXPECT(!walk_end_visit(stroll.walk, &third, WALK_DONE, 1000), "0 is under way");
    EXPECT(walk_end_visit(stroll.walk, &first, WALK_DONE, 1000), "over");
    stroll_done(&stroll);
}

static void wake_the_first(struct stroll *s, uint32_t node)
{
    (void)node;
    stroll_wake(s, 0);
}

/* The order by rank is a courtesy: what is not ready yet holds back its dependents alone. */
static void what_is_parked_holds_back_no_rank(void)
{
    static const uint16_t ranks[] = {0, 0, 1, 2};
    static const struct graph_edge edges[] = {{1, 0}};

    for (unsigned parallelism = 1; parallelism <= 4; parallelism++) {
        stroll_init(
            &stroll,
            &(struct stroll_config){
                .n = 4, .edges = edges, .n_edges = 1, .ranks = ranks, .parallelism = parallelism});
        stroll.plan[0].parks = 1;
        stroll.plan[0].retry_after = CLOCK_FOREVER;
        stroll.plan[3].during = wake_the_first;
        stroll_run(&stroll, 0);
        EXPECT_STR(stroll_order(&stroll), "0 2 3 0 1", "only 1 waits for 0");
        EXPECT_INT(stroll.counts.done, 4, "all are done");
        stroll_done(&stroll);
    }
}

static void what_fails_holds_back_no_rank(void)
{
    static const uint16_t ranks[] = {0, 1, 1};
    static const struct graph_edge edges[] = {{1, 0}};

    stroll_init(&stroll,
                &(struct stroll_config){
                    .n = 3, .edges = edges, .n_edges = 1, .ranks = ranks, .parallelism = 2});
    stroll.plan[0].fails = true;
    stroll_run(&stroll, 0);
    EXPECT_STR(stroll_order(&stroll), "0 2", "2 goes");
    EXPECT_INT(stroll.counts.skipped, 1, "1 is skipped");
    stroll_done(&stroll);
}

static void wake_itself(struct stroll *s, uint32_t node)
{
    stroll_wake(s, node);
}

/* One that is woken all the time does not keep others from their first visits. */
static void revisits_and_first_visits_take_turns(void)
{
    stroll_init(&stroll, &(struct stroll_config){.n = 4});
    stroll.plan[0] =
        (struct plan_of_node){.parks = 6, .retry_after = CLOCK_FOREVER, .during = wake_itself};
    stroll_run(&stroll, 0);
    EXPECT_STR(stroll_order(&stroll), "0 0 1 0 2 0 3 0 0 0", "order");
    stroll_done(&stroll);
}

/* ---- Groups, and how many at once ---- */

static void runs_as_many_as_it_may_and_no_more(void)
{
    static const struct {
        const char *note;
        uint32_t nodes;
        unsigned parallelism;
        uint16_t n_groups; /* nodes are dealt out to them */
        unsigned at_once;
    } rows[] = {
        {"one", 5, 1, 1, 1},
        {"several", 40, 7, 1, 7},
        {"no more than nodes", 3, 50, 1, 3},
        {"none counts as one", 5, 0, 1, 1},
        {"no nodes", 0, 4, 1, 0},
        {"of each group", 40, 4, 3, 12},
        {"of groups with nodes", 2, 4, 8, 2},
        {"no groups is one", 9, 3, 0, 3},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        uint16_t groups[40];

        for (uint32_t node = 0; node < rows[i].nodes; node++)
            groups[node] = (uint16_t)(rows[i].n_groups ? node % rows[i].n_groups : 0);
        stroll_init(&stroll, &(struct stroll_config){.n = rows[i].nodes,
                                                     .groups = rows[i].n_groups ? groups : NULL,
                                                     .n_groups = rows[i].n_groups,
                                                     .parallelism = rows[i].parallelism});
        stroll_run(&stroll, 0);
        EXPECT_INT(stroll.most_under_way, rows[i].at_once, rows[i].note);
        EXPECT_INT(stroll.counts.done, rows[i].nodes, rows[i].note);
        stroll_done(&stroll);
    }
}

static void groups_take_turns(void)
{
    static const struct {
        const char *note;
        uint16_t ranks[6], groups[6];
        struct graph_edge edges[2];
        size_t n_edges;
        const char *order;
    } rows[] = {
        {"in turns", {0}, {0, 0, 0, 0, 1, 1}, {{0, 0}}, 0, "0 4 1 5 2 3"},
        {"each has its own ranks",
         {0, 0, 1, 5, 4, 3},
         {0, 0, 0, 1, 1, 1},
         {{0, 0}},
         0,
         "0 5 1 4 2 3"},
        {"edges go from one to another",
         {0},
         {0, 0, 0, 1, 1, 1},
         {{3, 1}, {4, 3}},
         2,
         "0 5 1 3 2 4"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        stroll_init(&stroll, &(struct stroll_config){.n = 6,
                                                     .edges = rows[i].edges,
                                                     .n_edges = rows[i].n_edges,
                                                     .ranks = rows[i].ranks,
                                                     .groups = rows[i].groups,
                                                     .n_groups = 2});
        stroll_run(&stroll, 0);
        EXPECT_STR(stroll_order(&stroll), rows[i].order, rows[i].note);
        stroll_done(&stroll);
    }
}

SUITE(walk_rank, TEST(lower_ranks_go_first), TEST(a_rank_waits_for_first_visits_of_the_one_before),
      TEST(what_is_parked_holds_back_no_rank), TEST(what_fails_holds_back_no_rank),
      TEST(what_takes_long_holds_back_no_rank), TEST(revisits_and_first_visits_take_turns),
      TEST(runs_as_many_as_it_may_and_no_more), TEST(groups_take_turns))
