/*
 * Finds a cycle, for the error message of graph.c.
 */
#pragma once

#include "engine/graph/graph.h"

/* Sets ERR_INVALID CyclicDependency with the path of a cycle, and returns that code. The graph must
 * have a cycle. */
int cycle_report(const struct graph *graph, const char *(*name)(void *arg, uint32_t node),
                 void *arg, struct error *error);
