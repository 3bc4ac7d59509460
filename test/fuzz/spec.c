/*
 * Whatever the resources: parsing ends, with a Spec or with problems; and a Spec gives a
 * graph, in which every node is visited after what it depends on, or a cycle.
 */
#include "engine/spec/spec.h"
#include "engine/base/mem.h"
#include "engine/graph/graph.h"
#include "engine/graph/relations.h"
#include "engine/value/json.h"
#include "engine/walk/walk.h"
#include "runtimes/kubernetes/objects/check.h"
#include "runtimes/kubernetes/objects/relate.h"
#include "runtimes/kubernetes/runtime.h"
#include "test/fuzz/fuzz.h"

/* Visited one by one, each comes after all that it depends on. */
static void check_order(const struct graph *graph)
{
    _cleanup_(walk_free_p) struct walk *walk = walk_new(&(struct walk_config){.graph = graph});
    struct walk_visit visit;
    uint32_t visited = 0;
    int64_t due;

    for (; walk_next(walk, 0, &visit, &due) == WALK_VISIT; visited++) {
        for (uint32_t i = graph->dependency_start[visit.node];
             i < graph->dependency_start[visit.node + 1]; i++)
            must(walk_outcome(walk, graph->dependencies[i]) == WALK_OUTCOME_DONE);
        walk_end_visit(walk, &visit, WALK_DONE, 0);
    }
    must(visited == graph->n_nodes);
}

static void relate(const struct spec *spec, struct relations *ret)
{
    static const struct runtime_scope scope = {.key = {"team", "s"}};
    _cleanup_free_ struct runtime_target *targets =
        NEW_ARRAY(struct runtime_target, spec->n_resources + 1);

    for (size_t i = 0; i < spec->n_resources; i++)
        targets[i] = (struct runtime_target){.id = spec->resources[i].id,
                                             .attributes = spec->resources[i].attributes};
    relations_init(ret, spec->n_resources);
    must(kube_relate(NULL, &scope, targets, spec->n_resources, ret, NULL) == 0);
}

static const char *name_of(void *arg, uint32_t node)
{
    const struct spec *spec = arg;

    return spec->resources[node].id;
}

static size_t list_edges(const struct spec *spec, const struct relations *relations,
                         struct graph_edge *ret)
{
    size_t n = 0;

    for (uint32_t i = 0; i < spec->n_resources; i++)
        for (size_t d = 0; d < spec->dependencies[i].count; d++)
            ret[n++] = (struct graph_edge){i, spec->dependencies[i].indices[d]};
    for (size_t i = 0; i < relations->n_items; i++)
        ret[n++] = (struct graph_edge){relations->items[i].node, relations->items[i].other};
    return n;
}

static size_t count_edges(const struct spec *spec, const struct relations *relations)
{
    size_t n = relations->n_items;

    for (size_t i = 0; i < spec->n_resources; i++)
        n += spec->dependencies[i].count;
    return n;
}

static void check_graph(const struct spec *spec)
{
    _cleanup_(graph_free_p) struct graph *graph = NULL;
    _cleanup_(relations_done) struct relations relations = RELATIONS_INIT;
    _cleanup_free_ struct graph_edge *edges = NULL;
    struct error error = {0};
    int r;

    relate(spec, &relations);
    edges = NEW_ARRAY(struct graph_edge, count_edges(spec, &relations) + 1);
    r = graph_new((uint32_t)spec->n_resources, edges, list_edges(spec, &relations, edges),
                  relations.ranks, name_of, (void *)(uintptr_t)spec, &graph, &error);
    must(r == error.code && (r == 0) == (graph != NULL));
    if (graph)
        check_order(graph);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct spec_type types[] = {{KUBE_RUNTIME_TYPE, &kube_checks, NULL}};
    const struct spec_options options = {.types = types, .n_types = ARRAY_SIZE(types)};
    _cleanup_value_ const struct value *resources = NULL, *object = NULL;
    _cleanup_(spec_free_p) struct spec *spec = NULL;
    struct problems problems = PROBLEMS_INIT;
    struct error error = {0};
    int r;

    if (json_read((const char *)data, size, &resources, NULL) != 0)
        return 0;
    object = value_pack("{s:{s:s,s:s},s:{s:v}}", "metadata", "name", "s", "namespace", "team",
                        "spec", "resources", resources);
    if (!object)
        return 0;
    r = spec_parse(object, &options, &spec, &problems, &error);
    must(r == error.code && (r == 0) == (spec != NULL) && (r == 0) == (problems.total == 0));
    if (spec)
        check_graph(spec);
    problems_done(&problems);
    return 0;
}
