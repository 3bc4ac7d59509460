#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/walk/walk.h"
#include "test/unit/suite.h"

#define NODES   300
#define THREADS 6

/* Visits by several threads at once. */
struct crew {
    struct graph *graph;
    struct walk *walk;
    bool written[NODES]; /* by a node's visits, read by those of its dependents: not atomic */
    atomic_int errors;
    uint32_t stop_at; /* NODES: at none */
};

static enum walk_verdict visit(struct crew *crew, struct walk_visit *visit)
{
    const struct graph *g = crew->graph;
    uint32_t node = visit->node;

    for (uint32_t e = g->dependency_start[node]; e < g->dependency_start[node + 1]; e++)
        if (!crew->written[g->dependencies[e]])
            atomic_fetch_add(&crew->errors, 1);
    if (node == crew->stop_at)
        walk_stop(crew->walk, false);
    if (node % 5 == 0 && visit->count < 2) {
        visit->retry_after = node % 2 ? 1 : CLOCK_FOREVER;
        return WALK_PARKED;
    }
    crew->written[node] = true;
    walk_wake(crew->walk, (node * 7) % NODES);
    return node % 50 == 49 ? WALK_FAILED : WALK_DONE;
}

static void wake_all(struct crew *crew)
{
    for (uint32_t i = 0; i < NODES; i++)
        walk_wake(crew->walk, i);
}

static void *work(void *arg)
{
    struct crew *crew = arg;
    struct walk_visit next;
    enum walk_state state;
    int64_t now = 0, due;

    while ((state = walk_next(crew->walk, now++, &next, &due)) != WALK_OVER)
        if (state == WALK_VISIT)
            walk_end_visit(crew->walk, &next, visit(crew, &next), now);
        else if (state == WALK_WAITING && due == CLOCK_FOREVER)
            wake_all(crew);
        else
            sched_yield();
    return NULL;
}

static void run(unsigned seed, struct walk_counts *ret)
{
    struct crew crew = {.stop_at = seed % 4 ? NODES : NODES / 3};
    struct graph_edge edges[NODES];
    uint16_t groups[NODES];
    pthread_t threads[THREADS];
    size_t n_edges = 0;

    srand(seed);
    for (uint32_t i = 0; i < NODES; i++) {
        groups[i] = (uint16_t)(rand() % 3);
        if (i && rand() % 3)
            edges[n_edges++] = (struct graph_edge){i, (uint32_t)rand() % i};
    }
    EXPECT_INT(graph_new(NODES, edges, n_edges, NULL, NULL, NULL, &crew.graph, NULL), 0, "graph");
    crew.walk = walk_new(&(struct walk_config){
        .graph = crew.graph, .groups = groups, .n_groups = 3, .parallelism = 2});
    for (int i = 0; i < THREADS; i++)
        CU_ASSERT_FATAL(pthread_create(&threads[i], NULL, work, &crew) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    EXPECT_INT(atomic_load(&crew.errors), 0, "after all that it depends on");
    walk_counts(crew.walk, ret);
    walk_free(crew.walk);
    graph_free(crew.graph);
}

static void several_threads_visit(void)
{
    for (unsigned seed = 1; seed <= 20; seed++) {
        struct walk_counts counts;

        run(seed, &counts);
        EXPECT_INT(counts.done + counts.failed + counts.skipped + counts.cancelled, NODES, "all");
        EXPECT(seed % 4 || counts.cancelled, "stopped");
        EXPECT(seed % 4 == 0 || !counts.cancelled, "not stopped");
    }
}

SUITE(walk_threads, TEST(several_threads_visit))
