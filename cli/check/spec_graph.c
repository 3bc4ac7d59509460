#include "cli/check/spec_graph.h"

#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/runtime.h"
#include "runtimes/http/resource/check.h"
#include "runtimes/kubernetes/objects/check.h"
#include "runtimes/kubernetes/objects/relate.h"

static const struct spec_type types[] = {
    {"Kubernetes", &kube_checks, NULL},
    {"Terraform", NULL, NULL},
    {"HTTP", &http_resource_checks, NULL},
};
const struct spec_options spec_graph_options = {.types = types, .n_types = ARRAY_SIZE(types)};

void spec_graph_done(struct spec_graph *graph)
{
    graph_free(graph->graph);
    free(graph->edges);
    *graph = (struct spec_graph){0};
}

static bool is_written(const struct resource *resource, const char *id)
{
    for (size_t i = 0; i < resource->n_depends_on; i++)
        if (str_equal(resource->depends_on[i], id))
            return true;
    return false;
}

static void add_edge(struct spec_graph *graph, uint32_t node, uint32_t dependency,
                     enum edge_kind kind)
{
    graph->edges = mem_grow(graph->edges, graph->n_edges, &graph->capacity, sizeof(*graph->edges));
    graph->edges[graph->n_edges++] = (struct spec_edge){node, dependency, kind};
}

static void add_own(const struct spec *spec, struct spec_graph *graph)
{
    for (uint32_t i = 0; i < spec->n_resources; i++)
        for (size_t k = 0; k < spec->dependencies[i].count; k++) {
            uint32_t other = spec->dependencies[i].indices[k];
            bool written = is_written(&spec->resources[i], spec->resources[other].id);

            add_edge(graph, i, other, written ? EDGE_WRITTEN : EDGE_REFERENCE);
        }
}

/* What the runtime knows of kinds. */
static uint16_t *add_relations(const struct spec *spec, struct spec_graph *graph)
{
    _cleanup_free_ struct runtime_target *targets =
        NEW_ARRAY(struct runtime_target, spec->n_resources + 1);
    _cleanup_free_ uint32_t *indices = NEW_ARRAY(uint32_t, spec->n_resources + 1);
    uint16_t *ranks = NEW_ARRAY(uint16_t, spec->n_resources + 1);
    const struct runtime_scope scope = {0};
    _cleanup_(relations_done) struct relations relations = RELATIONS_INIT;
    uint32_t n = 0;

    for (uint32_t i = 0; i < spec->n_resources; i++)
        if (str_equal(spec->resources[i].type, "Kubernetes")) {
            targets[n].id = spec->resources[i].id;
            targets[n].attributes = spec->resources[i].attributes;
            indices[n++] = i;
        }
    relations_init(&relations, n);
    kube_relate(NULL, &scope, targets, n, &relations, NULL);
    for (size_t i = 0; i < relations.n_items; i++)
        add_edge(graph, indices[relations.items[i].node], indices[relations.items[i].other],
                 EDGE_KIND);
    for (uint32_t i = 0; i < n; i++)
        ranks[indices[i]] = relations.ranks[i];
    return ranks;
}

static int by_pair(const void *a, const void *b)
{
    const struct spec_edge *x = a, *y = b;

    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    if (x->dependency != y->dependency)
        return x->dependency < y->dependency ? -1 : 1;
    return (int)x->kind - (int)y->kind;
}

static void drop_repeated(struct spec_graph *graph)
{
    size_t n = 0;

    if (graph->n_edges)
        qsort(graph->edges, graph->n_edges, sizeof(*graph->edges), by_pair);
    for (size_t i = 0; i < graph->n_edges; i++)
        if (!n || graph->edges[n - 1].node != graph->edges[i].node ||
            graph->edges[n - 1].dependency != graph->edges[i].dependency)
            graph->edges[n++] = graph->edges[i];
    graph->n_edges = n;
}

static const char *name_of(void *arg, uint32_t node)
{
    const struct spec *spec = arg;

    return spec->resources[node].id;
}

int spec_graph_make(const struct spec *spec, struct spec_graph *ret, struct error *error)
{
    struct spec_graph made = {0};
    struct graph_edge *edges;
    uint16_t *ranks;
    int r;

    add_own(spec, &made);
    ranks = add_relations(spec, &made);
    drop_repeated(&made);
    edges = NEW_ARRAY(struct graph_edge, made.n_edges + 1);
    for (size_t i = 0; i < made.n_edges; i++)
        edges[i] = (struct graph_edge){made.edges[i].node, made.edges[i].dependency};
    r = graph_new((uint32_t)spec->n_resources, edges, made.n_edges, ranks, name_of,
                  (void *)(uintptr_t)spec, &made.graph, error);
    free(edges);
    free(ranks);
    if (r < 0)
        spec_graph_done(&made);
    else
        *ret = made;
    return r;
}
