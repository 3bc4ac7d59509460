#include "engine/graph/graph.h"

#include <string.h>

#include "engine/base/mem.h"
#include "engine/graph/cycle.h"
#include "engine/graph/queue.h"

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

/* ---- Order ---- */

/* ret_place: each node's place by rank, then by number. ret_node: the node in each place. */
static void sort_by_rank(const struct graph *graph, uint32_t *ret_place, uint32_t *ret_node)
{
    _cleanup_free_ uint32_t *start = NEW_ARRAY(uint32_t, UINT16_MAX + 2);

    for (uint32_t i = 0; i < graph->n_nodes; i++)
        start[graph->rank[i] + 1]++;
    for (uint32_t i = 0; i <= UINT16_MAX; i++)
        start[i + 1] += start[i];
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        ret_place[i] = start[graph->rank[i]]++;
        ret_node[ret_place[i]] = i;
    }
}

void graph_order(const struct graph *graph, uint32_t *ret_order)
{
    _cleanup_free_ uint32_t *waiting = count_dependencies(graph);
    _cleanup_free_ uint32_t *place = NEW_ARRAY(uint32_t, graph->n_nodes);
    _cleanup_free_ uint32_t *node_at = NEW_ARRAY(uint32_t, graph->n_nodes);
    _cleanup_(queue_done) struct queue free_to_go;
    uint32_t next, ordered = 0;

    sort_by_rank(graph, place, node_at);
    queue_init(&free_to_go, graph->n_nodes);
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        if (!waiting[i])
            queue_add(&free_to_go, place[i]);
    while (queue_take(&free_to_go, &next)) {
        uint32_t node = node_at[next];

        ret_order[ordered++] = node;
        for (uint32_t i = graph->dependent_start[node]; i < graph->dependent_start[node + 1]; i++)
            if (--waiting[graph->dependents[i]] == 0)
                queue_add(&free_to_go, place[graph->dependents[i]]);
    }
}

/* ---- Reduction ---- */

struct reduce {
    const struct graph *graph;
    uint32_t *position; /* in a topological order */
    uint32_t *seen;     /* 1 + the node for which it was reached last */
    uint32_t *stack;
};

static int by_position(const void *a, const void *b, void *position)
{
    uint32_t x = ((uint32_t *)position)[*(const uint32_t *)a];
    uint32_t y = ((uint32_t *)position)[*(const uint32_t *)b];

    return (x < y) - (x > y); /* descending */
}

/* Marks the nodes that root reaches, down to position `lowest`, as seen for node. */
static void mark_reached(const struct reduce *reduce, uint32_t node, uint32_t root, uint32_t lowest)
{
    const struct graph *graph = reduce->graph;
    uint32_t depth = 0;

    reduce->stack[depth++] = root;
    while (depth > 0) {
        uint32_t at = reduce->stack[--depth];

        for (uint32_t i = graph->dependency_start[at]; i < graph->dependency_start[at + 1]; i++) {
            uint32_t dependency = graph->dependencies[i];

            if (reduce->seen[dependency] == node + 1 || reduce->position[dependency] < lowest)
                continue;
            reduce->seen[dependency] = node + 1;
            reduce->stack[depth++] = dependency;
        }
    }
}

/* Keeps in the row those nodes that no other node of the row reaches; returns how many. A node
 * reaches only nodes of lower positions, so the highest positions are visited first. */
static uint32_t reduce_row(const struct reduce *reduce, uint32_t node, uint32_t *row,
                           uint32_t count)
{
    uint32_t kept = 0, lowest;

    if (count < 2)
        return count;
    qsort_r(row, count, sizeof(*row), by_position, reduce->position);
    lowest = reduce->position[row[count - 1]];
    for (uint32_t i = 0; i < count; i++) {
        if (reduce->seen[row[i]] == node + 1)
            continue;
        mark_reached(reduce, node, row[i], lowest);
        row[kept++] = row[i];
    }
    return kept;
}

struct graph *graph_reduce(const struct graph *graph)
{
    struct graph *reduced = new_graph(graph->n_nodes, graph->n_edges);
    _cleanup_free_ uint32_t *order = NEW_ARRAY(uint32_t, graph->n_nodes);
    _cleanup_free_ uint32_t *position = NEW_ARRAY(uint32_t, graph->n_nodes);
    _cleanup_free_ uint32_t *seen = NEW_ARRAY(uint32_t, graph->n_nodes);
    _cleanup_free_ uint32_t *stack = NEW_ARRAY(uint32_t, graph->n_nodes);
    const struct reduce reduce = {
        .graph = graph, .position = position, .seen = seen, .stack = stack};

    graph_order(graph, order);
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        position[order[i]] = i;
    memcpy(reduced->rank, graph->rank, graph->n_nodes * sizeof(*graph->rank));
    for (uint32_t node = 0; node < graph->n_nodes; node++) {
        uint32_t start = graph->dependency_start[node];
        uint32_t count = graph->dependency_start[node + 1] - start;
        uint32_t *row = reduced->dependencies + reduced->n_edges;

        memcpy(row, graph->dependencies + start, count * sizeof(*row));
        reduced->n_edges += reduce_row(&reduce, node, row, count);
        reduced->dependency_start[node + 1] = reduced->n_edges;
    }
    reverse_rows(reduced);
    return reduced;
}
