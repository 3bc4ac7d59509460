/*
 * A directed acyclic graph of resources: nodes are numbers, an edge goes from
 * a node to one that it depends on.
 *
 * Stored as compressed rows in both directions; building it and checking it
 * for cycles are linear in nodes + edges. A node's rank is its place in the
 * default order of its runtime (relations.h), raised so that no node ranks
 * below what it depends on: then an order by rank never contradicts an edge.
 */
#ifndef ENGINE_GRAPH_GRAPH_H
#define ENGINE_GRAPH_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/error.h"

struct graph {
    uint32_t n_nodes, n_edges;
    uint32_t *dependency_start; /* n_nodes + 1 offsets into dependencies */
    uint32_t *dependencies;
    uint32_t *dependent_start;
    uint32_t *dependents;
    uint16_t *rank;
};

struct graph_edge {
    uint32_t node, dependency;
};

/*
 * Edges may repeat (they count once). ranks: of each node, or NULL for 0. name gives a
 * node's name for messages. ERR_INVALID CyclicDependency: "a -> b -> c -> a", the
 * path that closes, the shortest through the first node found in a cycle.
 */
int graph_new(uint32_t n_nodes, const struct graph_edge *edges, size_t n_edges,
              const uint16_t *ranks, const char *(*name)(void *arg, uint32_t node), void *arg,
              struct graph **ret, struct error *error);
void graph_free(struct graph *graph);
DEFINE_CLEANUP(struct graph *, graph_free)

#endif
