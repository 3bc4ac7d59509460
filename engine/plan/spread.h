/*
 * What spreads from change to change along edges, in time linear in changes
 * and edges, in whatever order these are.
 */
#ifndef ENGINE_PLAN_SPREAD_H
#define ENGINE_PLAN_SPREAD_H

#include <stdbool.h>

#include "engine/graph/graph.h"

/* For each node, the other ends of its edges. */
struct rows {
    uint32_t n_nodes;
    uint32_t *start; /* n_nodes + 1 offsets into others */
    uint32_t *others;
};

/* Two lists of edges, taken together. to_dependents: from each dependency to what depends on it, else
 * the other way. */
void rows_init(struct rows *rows, uint32_t n_nodes, const struct graph_edge *const edges[2],
               const size_t n_edges[2], bool to_dependents);
void rows_done(struct rows *rows);

/* Marks all that what is marked leads to, through nodes that may be marked. */
void spread(const struct rows *rows, const bool *may, bool *marks);

#endif
