/*
 * For graph.c: the cycle of a graph that has one.
 */
#ifndef ENGINE_GRAPH_CYCLE_H
#define ENGINE_GRAPH_CYCLE_H

#include "engine/graph/graph.h"

/* Sets ERR_INVALID CyclicDependency with the path that closes, and returns its code. */
int cycle_report(const struct graph *graph, const char *(*name)(void *arg, uint32_t node),
                 void *arg, struct error *error);

#endif
