#include "engine/walk/walk.h"

#include <stdlib.h>

#include "engine/base/mem.h"
#include "test/unit/engine/walk/stroll.h"
#include "test/unit/suite.h"

static struct stroll stroll;

static void nothing_is_over_at_once(void)
{
    struct walk_visit visit;
    int64_t due;

    stroll_init(&stroll, &(struct stroll_config){.n = 0});
    EXPECT(walk_is_over(stroll.walk), "before");
    EXPECT_INT(walk_next(stroll.walk, 0, &visit, &due), WALK_OVER, "none");
    stroll_done(&stroll);
    walk_free(NULL);
}

/* ---- Failures ---- */

static void names_the_failure_for_what_it_skips(void)
{
    static const struct {
        const char *note;
        struct graph_edge edges[5];
        size_t n_edges;
        bool fails[5];
        uint32_t cause_of_last; /* UINT32_MAX: it is not skipped */
        uint32_t failed, skipped;
    } rows[] = {
        {"a chain", {{1, 0}, {2, 1}, {3, 2}, {4, 3}}, 4, {true}, 0, 1, 4},
        {"not what comes before", {{1, 0}, {2, 1}, {3, 2}, {4, 0}}, 4, {0, 0, 1}, UINT32_MAX, 1, 1},
        {"one of several", {{4, 0}, {4, 1}, {4, 2}, {4, 3}}, 4, {0, 0, 1}, 2, 1, 1},
        {"the first of two", {{4, 0}, {4, 1}, {4, 2}, {4, 3}}, 4, {0, 1, 1}, 1, 2, 1},
        {"by way of what is skipped", {{3, 0}, {3, 1}, {4, 3}, {4, 2}}, 4, {0, 1}, 1, 1, 2},
        {"two ways", {{1, 0}, {2, 0}, {4, 1}, {4, 2}}, 4, {true}, 0, 1, 3},
        {"what depends on nothing", {{1, 0}}, 1, {true}, UINT32_MAX, 1, 1},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        bool skipped = rows[i].cause_of_last != UINT32_MAX;

        stroll_init(&stroll, &(struct stroll_config){.n = 5,
                                                     .edges = rows[i].edges,
                                                     .n_edges = rows[i].n_edges,
                                                     .parallelism = 2});
        for (uint32_t node = 0; node < 5; node++)
            stroll.plan[node].fails = rows[i].fails[node];
        stroll_run(&stroll, 0);
        EXPECT_INT(stroll.model[4].outcome, skipped ? WALK_OUTCOME_SKIPPED : WALK_OUTCOME_DONE,
                   rows[i].note);
        EXPECT_INT(stroll.model[4].cause, rows[i].cause_of_last, rows[i].note);
        EXPECT_INT(stroll.counts.failed, rows[i].failed, rows[i].note);
        EXPECT_INT(stroll.counts.skipped, rows[i].skipped, rows[i].note);
        EXPECT_INT(stroll.counts.done, 5 - rows[i].failed - rows[i].skipped, rows[i].note);
        stroll_done(&stroll);
    }
}

/* ---- Releasing dependents ---- */

/* Of three in a chain, the first is parked for so long that the others end before it. */
static void what_releases_its_dependents_holds_nothing_back(void)
{
    static const struct {
        const char *note;
        bool fails;
        enum walk_outcome first;
    } rows[] = {
        {"done", false, WALK_OUTCOME_DONE},
        {"fails in the end", true, WALK_OUTCOME_FAILED},
    };
    static const struct graph_edge edges[] = {{1, 0}, {2, 1}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        stroll_init(&stroll, &(struct stroll_config){.n = 3, .edges = edges, .n_edges = 2});
        stroll.plan[0] = (struct plan_of_node){
            .parks = 3, .retry_after = 20, .releases_dependents = true, .fails = rows[i].fails};
        stroll_run(&stroll, 0);
        EXPECT_STR(stroll_order(&stroll), "0 1 2 0 0 0", rows[i].note);
        EXPECT_INT(stroll.model[0].outcome, rows[i].first, rows[i].note);
        EXPECT_INT(stroll.model[1].outcome, WALK_OUTCOME_DONE, rows[i].note);
        EXPECT_INT(stroll.model[2].outcome, WALK_OUTCOME_DONE, rows[i].note);
        stroll_done(&stroll);
    }
}

/* 2 waits for 1, too, while 0 fails after it has released its dependents. */
static void a_failure_after_releasing_dependents_skips_nothing(void)
{
    static const struct graph_edge edges[] = {{2, 0}, {2, 1}};

    stroll_init(&stroll, &(struct stroll_config){.n = 3, .edges = edges, .n_edges = 2});
    stroll.plan[0] = (struct plan_of_node){.parks = 1, .releases_dependents = true, .fails = true};
    stroll.plan[1] = (struct plan_of_node){.parks = 5};
    stroll_run(&stroll, 0);
    EXPECT_INT(stroll.model[0].outcome, WALK_OUTCOME_FAILED, "0");
    EXPECT_INT(stroll.model[2].outcome, WALK_OUTCOME_DONE, "2");
    stroll_done(&stroll);
}

/* ---- Yielding ---- */

/* As many visits again as may be under way begin in the place of those that yield; what depends on
 * these waits for their end. */
static void others_begin_in_place_of_what_yields(void)
{
    static const struct {
        const char *note;
        bool yields;
        unsigned parallelism, most;
        const char *order;
    } rows[] = {
        {"none yields", false, 2, 2, "0 1 2 3 4 5"},
        {"each yields", true, 2, 4, "0 1 2 3 4 5"},
        {"one at a time", true, 1, 2, "0 1 2 3 4 5"},
        {"more than there are", true, 20, 5, "0 1 2 3 4 5"},
    };
    static const struct graph_edge edges[] = {{5, 0}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        stroll_init(&stroll,
                    &(struct stroll_config){
                        .n = 6, .edges = edges, .n_edges = 1, .parallelism = rows[i].parallelism});
        for (uint32_t node = 0; node < 6; node++)
            stroll.plan[node].yields = rows[i].yields;
        stroll_run(&stroll, 0);
        EXPECT_INT(stroll.most_under_way, rows[i].most, rows[i].note);
        EXPECT_STR(stroll_order(&stroll), rows[i].order, rows[i].note);
        EXPECT_INT(stroll.counts.done, 6, rows[i].note);
        stroll_done(&stroll);
    }
}

/* ---- Anything, against the model ---- */

static void disturb(struct stroll *s, uint32_t node)
{
    uint32_t other = (uint32_t)rand() % s->config.n;

    (void)node;
    switch (rand() % 12) {
    case 0:
    case 1:
    case 2:
        stroll_wake(s, other);
        break;
    case 3:
        if (rand() % 20 == 0)
            stroll_stop(s, rand() % 2);
        break;
    }
}

static void wake_or_stop(struct stroll *s)
{
    if (rand() % 8 == 0)
        stroll_stop(s, rand() % 2);
    for (uint32_t i = 0; i < s->config.n; i++)
        if (rand() % 3 == 0)
            stroll_wake(s, i);
}

static void random_stroll(unsigned seed)
{
    struct graph_edge edges[100];
    uint16_t ranks[40], groups[40];
    struct stroll_config config = {.edges = edges, .ranks = ranks, .groups = groups};

    srand(seed);
    config.n = 1 + (uint32_t)rand() % ARRAY_SIZE(ranks);
    config.n_groups = (uint16_t)(1 + rand() % 3);
    config.parallelism = (unsigned)rand() % 5;
    for (uint32_t i = 0; i < config.n; i++) {
        ranks[i] = (uint16_t)(rand() % 4 * 1000);
        groups[i] = (uint16_t)(rand() % config.n_groups);
        for (int k = rand() % 3; i && k > 0; k--)
            edges[config.n_edges++] = (struct graph_edge){i, (uint32_t)rand() % i};
    }
    stroll_init(&stroll, &config);
    for (uint32_t i = 0; i < config.n; i++)
        stroll.plan[i] = (struct plan_of_node){
            .parks = rand() % 3 ? 0 : (unsigned)rand() % 4,
            .retry_after = rand() % 3 ? rand() % 50 : CLOCK_FOREVER,
            .releases_dependents = rand() % 4 == 0,
            .fails = rand() % 12 == 0,
            .yields = rand() % 3 == 0,
            .during = seed % 3 ? disturb : NULL,
        };
    stroll.when_stuck = wake_or_stop;
    stroll_run(&stroll, seed);
    EXPECT(walk_is_over(stroll.walk), "over");
    stroll_done(&stroll);
}

static void does_as_the_model_says(void)
{
    for (unsigned seed = 1; seed <= 400; seed++)
        random_stroll(seed);
}

/* ---- Many ---- */

#define MANY 100000

static uint32_t ended;

static void count_end(void *arg, uint32_t node, enum walk_outcome outcome, uint32_t cause)
{
    (void)arg, (void)node, (void)outcome, (void)cause;
    ended++;
}

static struct graph *many(const char *shape, struct graph_edge *edges, uint16_t *ranks)
{
    struct graph *graph = NULL;
    size_t n_edges = 0;

    for (uint32_t i = 0; i < MANY; i++) {
        ranks[i] = (uint16_t)(shape[0] == 'r' ? i % 60000 : 0);
        if (i && shape[0] == 'c')
            edges[n_edges++] = (struct graph_edge){i, i - 1};
        if (i && shape[0] == 's')
            edges[n_edges++] = (struct graph_edge){i, 0};
    }
    EXPECT_INT(graph_new(MANY, edges, n_edges, ranks, NULL, NULL, &graph, NULL), 0, "graph");
    return graph;
}

/* Each parks once, before it ends. */
static void walk_many(struct walk *walk, enum walk_verdict verdict)
{
    struct walk_visit visit;
    enum walk_state state;
    int64_t now = 0, due;

    while ((state = walk_next(walk, now, &visit, &due)) != WALK_OVER) {
        if (state != WALK_VISIT) {
            CU_ASSERT_FATAL(due != CLOCK_FOREVER);
            now = due;
            continue;
        }
        visit.retry_after = 100 + visit.node % 1000;
        walk_end_visit(walk, &visit, visit.count ? verdict : WALK_PARKED, now);
    }
}

/* Of a hundred thousand nodes: were anything not linear, this would take minutes. */
static void many_are_no_problem(void)
{
    static const struct {
        const char *shape;
        enum walk_verdict verdict;
        struct walk_counts counts;
    } rows[] = {
        {"loose", WALK_DONE, {.done = MANY}},
        {"loose", WALK_FAILED, {.failed = MANY}},
        {"chain", WALK_DONE, {.done = MANY}},
        {"chain", WALK_FAILED, {.failed = 1, .skipped = MANY - 1}},
        {"star", WALK_DONE, {.done = MANY}},
        {"star", WALK_FAILED, {.failed = 1, .skipped = MANY - 1}},
        {"ranks", WALK_DONE, {.done = MANY}},
    };
    struct graph_edge *edges = NEW_ARRAY(struct graph_edge, MANY);
    uint16_t *ranks = NEW_ARRAY(uint16_t, MANY);

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct graph *graph = many(rows[i].shape, edges, ranks);
        struct walk *walk =
            walk_new(&(struct walk_config){.graph = graph, .parallelism = 10, .on_end = count_end});
        struct walk_counts counts;

        ended = 0;
        walk_many(walk, rows[i].verdict);
        walk_counts(walk, &counts);
        EXPECT_INT(counts.done, rows[i].counts.done, rows[i].shape);
        EXPECT_INT(counts.failed, rows[i].counts.failed, rows[i].shape);
        EXPECT_INT(counts.skipped, rows[i].counts.skipped, rows[i].shape);
        EXPECT_INT(ended, MANY, rows[i].shape);
        walk_free(walk);
        graph_free(graph);
    }
    free(edges);
    free(ranks);
}

SUITE(walk, TEST(nothing_is_over_at_once), TEST(names_the_failure_for_what_it_skips),
      TEST(what_releases_its_dependents_holds_nothing_back),
      TEST(a_failure_after_releasing_dependents_skips_nothing),
      TEST(others_begin_in_place_of_what_yields), TEST(does_as_the_model_says),
      TEST(many_are_no_problem))
