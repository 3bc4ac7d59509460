/*
 * The graph of a Spec as the operator has it: what is written, what is referred to, and what
 * follows from the kinds.
 */
#pragma once

#include "engine/graph/graph.h"
#include "engine/spec/spec.h"

enum edge_kind { EDGE_WRITTEN, EDGE_REFERENCE, EDGE_KIND };

struct spec_edge {
    uint32_t node, dependency;
    enum edge_kind kind;
};

struct spec_graph {
    struct graph *graph;
    struct spec_edge *edges; /* each pair once, of the first kind that it has */
    size_t n_edges, capacity;
};

void spec_graph_done(struct spec_graph *graph);

/* How the CLI parses a Spec: with the checks of Kubernetes and of HTTP, but for the
 * hosts that an operator may ask. Those of Terraform ask a provider. */
extern const struct spec_options spec_graph_options;

/* ERR_INVALID CyclicDependency. */
int spec_graph_make(const struct spec *spec, struct spec_graph *ret, struct error *error);
