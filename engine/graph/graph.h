/*
 * A directed acyclic graph of resources: nodes are numbers, an edge goes from
 * a node to one that it depends on.
 *
 * Stored as compressed rows in both directions; building, checking for cycles
 * and ordering are linear in nodes + edges. A node's rank is its kind's place
 * in the default order (build.h), raised so that no node ranks below what it
 * depends on: then ordering by rank never contradicts an edge.
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

/* Dependencies first; among what is free to go, lower ranks, then lower numbers first.
 * ret_order: room for n_nodes. */
void graph_order(const struct graph *graph, uint32_t *ret_order);

/* The same nodes without edges that others imply (transitive reduction). Not linear: for each
 * node with several dependencies it looks at what these reach, nodes * edges at worst. */
struct graph *graph_reduce(const struct graph *graph);

#endif
