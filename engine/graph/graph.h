/*
 * A directed acyclic graph of resources. Nodes are numbers; an edge leads from a node to a node
 * that it depends on.
 *
 * Edges are stored as compressed rows, in both directions. Building a graph and finding cycles take
 * time linear in nodes + edges. A node's initial rank is its place in the default order of its
 * runtime (relations.h). The graph raises it to at least the ranks of the node's dependencies, so
 * an order by rank never contradicts an edge.
 */
#pragma once

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
 * Repeated edges count once. ranks: one for each node; NULL: all 0. name() names a node in
 * messages. ERR_INVALID CyclicDependency: "a -> b -> c -> a", the shortest cycle through the first
 * node that was found in one.
 */
int graph_new(uint32_t n_nodes, const struct graph_edge *edges, size_t n_edges,
              const uint16_t *ranks, const char *(*name)(void *arg, uint32_t node), void *arg,
              struct graph **ret, struct error *error);
void graph_free(struct graph *graph);
DEFINE_CLEANUP(struct graph *, graph_free)
