/*
 * Marks that spread along the edges of a graph, from node to node. The time is linear in nodes and
 * edges, and does not depend on their order.
 */
#pragma once

#include <stdbool.h>

#include "engine/graph/graph.h"

/* For each node, the nodes at the other ends of its edges: those of node i are
 * others[start[i]] to others[start[i + 1] - 1]. */
struct rows {
    uint32_t n_nodes;
    uint32_t *start; /* n_nodes + 1 */
    uint32_t *others;
};

/* Takes two lists of edges together; either may be empty. to_dependents: the row of a node has its
 * dependents; else its dependencies. */
void rows_init(struct rows *rows, uint32_t n_nodes, const struct graph_edge *const edges[2],
               const size_t n_edges[2], bool to_dependents);
void rows_done(struct rows *rows);

/* Marks each node that can be reached from a marked one through nodes with `may`. may, marks: one
 * for each node. */
void spread(const struct rows *rows, const bool *may, bool *marks);
