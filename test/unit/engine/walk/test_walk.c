#include "engine/walk/walk.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "engine/base/mem.h"
#include "test/unit/engine/walk/test_clock.h"
#include "test/unit/suite.h"

/* What a walk did, as its visits saw it. */
struct probe {
    const struct graph *graph;
    bool reverse;
    enum walk_verdict *verdicts; /* of a node's last visit */
    unsigned *parks;             /* visits that park before it */
    atomic_uint *ended;          /* 1 when its last visit is over */
    atomic_uint in_flight, most_in_flight, order_errors;
    struct walk *walk;
    struct cancel *cancel;
    uint32_t cancel_at; /* node whose visit fires the cancel */
};

static void check_before(struct probe *probe, uint32_t node)
{
    const struct graph *g = probe->graph;
    const uint32_t *start = probe->reverse ? g->dependent_start : g->dependency_start;
    const uint32_t *list = probe->reverse ? g->dependents : g->dependencies;

    for (uint32_t e = start[node]; e < start[node + 1]; e++)
        if (!atomic_load(&probe->ended[list[e]]))
            atomic_fetch_add(&probe->order_errors, 1);
}

static enum walk_verdict visit(void *arg, struct walk_visit *visit)
{
    struct probe *probe = arg;
    unsigned now = atomic_fetch_add(&probe->in_flight, 1) + 1;
    unsigned most = atomic_load(&probe->most_in_flight);

    while (now > most && !atomic_compare_exchange_weak(&probe->most_in_flight, &most, now))
        ;
    check_before(probe, visit->node);
    atomic_fetch_sub(&probe->in_flight, 1);
    if (probe->cancel && visit->node == probe->cancel_at)
        cancel_fire(probe->cancel, "Test");
    if (visit->count < probe->parks[visit->node]) {
        visit->retry_after = visit->node % 2 ? 1 : CLOCK_FOREVER;
        if (visit->node % 2 == 0)
            walk_wake(probe->walk, visit->node);
        return WALK_PARKED;
    }
    if (probe->verdicts[visit->node] == WALK_DONE)
        atomic_store(&probe->ended[visit->node], 1);
    return probe->verdicts[visit->node];
}

static struct graph *random_graph(uint32_t n)
{
    struct graph_edge *edges = NEW_ARRAY(struct graph_edge, 3 * n);
    uint16_t *ranks = NEW_ARRAY(uint16_t, n);
    struct graph *graph = NULL;
    size_t count = 0;

    for (uint32_t i = 0; i < n; i++) {
        ranks[i] = (uint16_t)(rand() % 4);
        for (int k = rand() % 3; i && k > 0; k--)
            edges[count++] = (struct graph_edge){i, (uint32_t)rand() % i};
    }
    EXPECT_INT(graph_new(n, edges, count, ranks, NULL, NULL, &graph, NULL), 0, "graph");
    free(edges);
    free(ranks);
    return graph;
}

static struct probe probe_new(uint32_t n, int failures)
{
    struct probe probe = {.graph = random_graph(n), .reverse = rand() % 2};

    probe.verdicts = NEW_ARRAY(enum walk_verdict, n);
    probe.parks = NEW_ARRAY(unsigned, n);
    probe.ended = NEW_ARRAY(atomic_uint, n);
    for (uint32_t i = 0; i < n; i++) {
        probe.verdicts[i] = failures && rand() % failures == 0 ? WALK_FAILED : WALK_DONE;
        probe.parks[i] = rand() % 5 == 0 ? 1 + (unsigned)rand() % 2 : 0;
    }
    return probe;
}

static void probe_run(struct probe *probe, unsigned parallelism, struct walk_counts *ret)
{
    probe->walk = walk_new(&(struct walk_config){
        .graph = probe->graph,
        .reverse = probe->reverse,
        .parallelism = parallelism,
        .clock = &test_clock,
        .cancel = probe->cancel,
        .deadline = CLOCK_FOREVER,
        .visit = visit,
        .arg = probe,
    });
    walk_run(probe->walk, ret);
}

static void probe_done(struct probe *probe)
{
    walk_free(probe->walk);
    graph_free((struct graph *)(uintptr_t)probe->graph);
    free(probe->verdicts);
    free(probe->parks);
    free(probe->ended);
}

/* A node is skipped if and only if something before it, near or far, failed. */
static void check_outcomes(struct probe *probe)
{
    const struct graph *g = probe->graph;
    uint32_t *order = NEW_ARRAY(uint32_t, g->n_nodes);
    bool *spoiled = NEW_ARRAY(bool, g->n_nodes);
    const uint32_t *start = probe->reverse ? g->dependent_start : g->dependency_start;
    const uint32_t *list = probe->reverse ? g->dependents : g->dependencies;

    graph_order(g, order);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        uint32_t node = order[probe->reverse ? g->n_nodes - 1 - i : i];
        enum walk_outcome outcome = walk_outcome(probe->walk, node), expected;

        for (uint32_t e = start[node]; e < start[node + 1]; e++)
            spoiled[node] = spoiled[node] || spoiled[list[e]];
        expected = spoiled[node]                          ? WALK_OUTCOME_SKIPPED
                   : probe->verdicts[node] == WALK_FAILED ? WALK_OUTCOME_FAILED
                                                          : WALK_OUTCOME_DONE;
        EXPECT_INT(outcome, expected, "outcome");
        spoiled[node] = spoiled[node] || expected == WALK_OUTCOME_FAILED;
    }
    free(order);
    free(spoiled);
}

static void keeps_order_and_skips_what_depends_on_failures(void)
{
    for (unsigned seed = 1; seed <= 40; seed++) {
        struct walk_counts counts;
        struct probe probe;

        srand(seed);
        probe = probe_new(1 + (uint32_t)rand() % 120, seed % 2 ? 6 : 0);
        probe_run(&probe, 1 + seed % 9, &counts);
        EXPECT_INT(atomic_load(&probe.order_errors), 0, "order");
        EXPECT(atomic_load(&probe.most_in_flight) <= 1 + seed % 9, "parallelism");
        EXPECT_INT(counts.done + counts.failed + counts.skipped, probe.graph->n_nodes, "all end");
        check_outcomes(&probe);
        probe_done(&probe);
    }
}

static void stops_when_cancelled(void)
{
    struct walk_counts counts;
    struct probe probe;

    srand(7);
    probe = probe_new(200, 0);
    probe.cancel = cancel_new(NULL);
    probe.cancel_at = 50;
    probe_run(&probe, 4, &counts);
    EXPECT(counts.cancelled > 0, "some were never begun");
    EXPECT_INT(counts.done + counts.cancelled, 200, "all end");
    probe_done(&probe);
    cancel_free(probe.cancel);
}

static enum walk_verdict park_for_ever(void *arg, struct walk_visit *visit)
{
    (void)arg;
    visit->retry_after = CLOCK_FOREVER;
    return visit->node == 0 ? WALK_PARKED : WALK_DONE;
}

static void a_stuck_node_stalls_no_other_and_times_out(void)
{
    struct graph_edge edge = {2, 0};
    struct graph *graph = NULL;
    struct walk_counts counts;
    struct walk *walk;

    graph_new(3, &edge, 1, NULL, NULL, NULL, &graph, NULL);
    walk = walk_new(&(struct walk_config){.graph = graph,
                                          .parallelism = 1,
                                          .clock = &jumping_clock,
                                          .deadline = jumping_now + 50,
                                          .visit = park_for_ever});
    walk_run(walk, &counts);
    EXPECT_INT(walk_outcome(walk, 0), WALK_OUTCOME_TIMED_OUT, "stuck");
    EXPECT_INT(walk_outcome(walk, 1), WALK_OUTCOME_DONE, "independent");
    EXPECT_INT(walk_outcome(walk, 2), WALK_OUTCOME_CANCELLED, "dependent");
    walk_free(walk);
    graph_free(graph);
}

SUITE(walk, TEST(keeps_order_and_skips_what_depends_on_failures), TEST(stops_when_cancelled),
      TEST(a_stuck_node_stalls_no_other_and_times_out))
