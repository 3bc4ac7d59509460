/*
 * Whatever the resources: parsing ends, with a Spec or with problems; and a Spec gives a
 * graph, whose order holds every node after what it depends on, or a cycle.
 */
#include "engine/base/json.h"
#include "engine/base/mem.h"
#include "engine/graph/build.h"
#include "runtimes/kubernetes/check.h"
#include "runtimes/kubernetes/relate.h"
#include "runtimes/kubernetes/runtime.h"
#include "test/fuzz/fuzz.h"

static void check_order(const struct graph *graph)
{
    _cleanup_free_ uint32_t *order = NEW_ARRAY(uint32_t, graph->n_nodes);
    _cleanup_free_ uint32_t *place = NEW_ARRAY(uint32_t, graph->n_nodes); /* from 1 */

    graph_order(graph, order);
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        must(!place[order[i]]);
        place[order[i]] = i + 1;
    }
    for (uint32_t node = 0; node < graph->n_nodes; node++)
        for (uint32_t i = graph->dependency_start[node]; i < graph->dependency_start[node + 1]; i++)
            must(place[graph->dependencies[i]] < place[node]);
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

static void check_graph(const struct spec *spec)
{
    _cleanup_(graph_free_p) struct graph *graph = NULL, *reduced = NULL;
    _cleanup_(relations_done) struct relations relations = RELATIONS_INIT;
    struct error error = {0};
    int r;

    relate(spec, &relations);
    r = graph_from_spec(spec, &relations, &graph, &error);
    must(r == error.code && (r == 0) == (graph != NULL));
    if (!graph)
        return;
    check_order(graph);
    reduced = graph_reduce(graph);
    must(reduced->n_edges <= graph->n_edges);
    check_order(reduced);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct spec_type types[] = {{KUBE_RUNTIME_TYPE, &kube_checks, NULL}};
    const struct spec_options options = {types, ARRAY_SIZE(types)};
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
