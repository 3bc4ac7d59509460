#include "engine/graph/graph.h"

#include <string.h>

#include "engine/base/mem.h"
#include "engine/graph/graph_private.h"

static struct graph *new_graph(uint32_t n_nodes, size_t n_edges)
{
    struct graph *graph = NEW(struct graph);

    if (n_nodes == UINT32_MAX || n_edges > UINT32_MAX)
        abort();
    graph->n_nodes = n_nodes;
    graph->dependency_start = NEW_ARRAY(uint32_t, (size_t)n_nodes + 1);
    graph->dependencies = NEW_ARRAY(uint32_t, n_edges);
    graph->dependent_start = NEW_ARRAY(uint32_t, (size_t)n_nodes + 1);
    graph->rank = NEW_ARRAY(uint16_t, n_nodes);
    return graph;
}

void graph_free(struct graph *graph)
{
    if (!graph)
        return;
    free(graph->dependency_start);
    free(graph->dependencies);
    free(graph->dependent_start);
    free(graph->dependents);
    free(graph->rank);
    free(graph);
}

/* Fills the rows with all edges, repeated ones too, in the order given. It moves
 * dependency_start[i] to the end of row i. */
static void fill_rows(struct graph *graph, const struct graph_edge *edges, size_t n_edges)
{
    uint32_t *start = graph->dependency_start;

    for (size_t i = 0; i < n_edges; i++) {
        if (edges[i].node >= graph->n_nodes || edges[i].dependency >= graph->n_nodes)
            abort();
        start[edges[i].node + 1]++;
    }
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        start[i + 1] += start[i];
    for (size_t i = 0; i < n_edges; i++)
        graph->dependencies[start[edges[i].node]++] = edges[i].dependency;
    memmove(start + 1, start, graph->n_nodes * sizeof(*start)); /* each start was moved to the start
                                                                   of the next row */
    start[0] = 0;
}

/* Drops repeated edges and closes the gaps that they leave. */
static void drop_repeated(struct graph *graph)
{
    _cleanup_free_ uint32_t *seen = NEW_ARRAY(uint32_t, graph->n_nodes); /* 1 + node */
    uint32_t kept = 0, from = 0;

    for (uint32_t node = 0; node < graph->n_nodes; node++) {
        uint32_t end = graph->dependency_start[node + 1];

        for (; from < end; from++) {
            uint32_t dependency = graph->dependencies[from];

            if (seen[dependency] == node + 1)
                continue;
            seen[dependency] = node + 1;
            graph->dependencies[kept++] = dependency;
        }
        graph->dependency_start[node + 1] = kept;
    }
    graph->n_edges = kept;
}

/* Builds the rows of dependents, each in ascending order. */
static void reverse_rows(struct graph *graph)
{
    uint32_t *start = graph->dependent_start;

    graph->dependents = NEW_ARRAY(uint32_t, graph->n_edges);
    for (uint32_t i = 0; i < graph->n_edges; i++)
        start[graph->dependencies[i] + 1]++;
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        start[i + 1] += start[i];
    for (uint32_t node = 0, i = 0; node < graph->n_nodes; node++)
        for (; i < graph->dependency_start[node + 1]; i++)
            graph->dependents[start[graph->dependencies[i]]++] = node;
    memmove(start + 1, start, graph->n_nodes * sizeof(*start));
    start[0] = 0;
}

static uint32_t *count_dependencies(const struct graph *graph)
{
    uint32_t *waiting = NEW_ARRAY(uint32_t, graph->n_nodes);

    for (uint32_t i = 0; i < graph->n_nodes; i++)
        waiting[i] = graph->dependency_start[i + 1] - graph->dependency_start[i];
    return waiting;
}

/* Raises each rank to at least those of the node's dependencies, in topological order. False: the
 * graph has a cycle. */
static bool raise_ranks(struct graph *graph)
{
    _cleanup_free_ uint32_t *waiting = count_dependencies(graph);
    _cleanup_free_ uint32_t *order = NEW_ARRAY(uint32_t, graph->n_nodes);
    uint32_t head = 0, tail = 0;

    for (uint32_t i = 0; i < graph->n_nodes; i++)
        if (!waiting[i])
            order[tail++] = i;
    while (head < tail) {
        uint32_t node = order[head++];

        for (uint32_t i = graph->dependent_start[node]; i < graph->dependent_start[node + 1]; i++) {
            uint32_t dependent = graph->dependents[i];

            if (graph->rank[dependent] < graph->rank[node])
                graph->rank[dependent] = graph->rank[node];
            if (--waiting[dependent] == 0)
                order[tail++] = dependent;
        }
    }
    return tail == graph->n_nodes;
}

int graph_new(uint32_t n_nodes, const struct graph_edge *edges, size_t n_edges,
              const uint16_t *ranks, const char *(*name)(void *arg, uint32_t node), void *arg,
              struct graph **ret, struct error *error)
{
    _cleanup_(graph_free_p) struct graph *graph = new_graph(n_nodes, n_edges);

    if (ranks)
        memcpy(graph->rank, ranks, n_nodes * sizeof(*ranks));
    fill_rows(graph, edges, n_edges);
    drop_repeated(graph);
    reverse_rows(graph);
    if (!raise_ranks(graph))
        return cycle_report(graph, name, arg, error);
    *ret = TAKE(graph);
    return 0;
}
