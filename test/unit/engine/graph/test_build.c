#include "engine/base/json.h"
#include "engine/base/mem.h"
#include "engine/graph/build.h"
#include "test/unit/suite.h"

#define WRAP(resources)                                                                         \
    "{\"metadata\":{\"name\":\"s\",\"namespace\":\"team\"},\"spec\":{\"resources\":[" resources \
    "]}}"
#define OBJECT(version, kind, in, name, more)                                    \
    "{\"id\":\"" version ":" kind ":" in name "\",\"type\":\"Kubernetes\"," more \
    "\"attributes\":{\"apiVersion\":\"" version "\",\"kind\":\"" kind            \
    "\",\"metadata\":{\"name\":\"" name "\""
#define END             "}}}"
#define NAMESPACE       OBJECT("v1", "Namespace", "", "demo", "") END
#define MAP(name, more) OBJECT("v1", "ConfigMap", "demo:", name, more) ",\"namespace\":\"demo\"" END
#define DEFINITION                                                                           \
    OBJECT("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets.example", "") \
    "},\"spec\":{\"group\":\"example.io\",\"names\":{\"kind\":\"Widget\"}}}}"
#define WIDGET \
    OBJECT("example.io/v1beta1", "Widget", "demo:", "w", "") ",\"namespace\":\"demo\"" END

static struct spec *parse(const char *text)
{
    static const char *const types[] = {RESOURCE_KUBERNETES, NULL};
    const struct spec_options options = {.types = types};
    _cleanup_value_ const struct value *object = NULL;
    struct problems problems = PROBLEMS_INIT;
    struct error error = {0};
    struct spec *spec = NULL;

    if (json_read_str(text, &object, &error) == 0)
        spec_parse(object, &options, &spec, &problems, &error);
    EXPECT_STR(error.message, "", text);
    problems_done(&problems);
    return spec;
}

/* "1>0 2>01" */
static char *edges_of(const struct graph *graph)
{
    struct buf text = BUF_INIT;

    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        uint32_t at = graph->dependency_start[i];

        if (at == graph->dependency_start[i + 1])
            continue;
        buf_printf(&text, "%s%u>", text.length ? " " : "", i);
        for (; at < graph->dependency_start[i + 1]; at++)
            buf_printf(&text, "%u", graph->dependencies[at]);
    }
    return buf_take(&text);
}

static void takes_edges_of_a_spec(void)
{
    static const struct {
        const char *text, *edges;
    } rows[] = {
        {WRAP(""), ""},
        {WRAP(MAP("a", "") "," MAP("b", "")), ""},
        {WRAP(MAP("a", "\"dependsOn\":[\"v1:ConfigMap:demo:b\"],") "," MAP("b", "")), "0>1"},
        {WRAP(MAP("a", "") "," NAMESPACE), "0>1"},
        {WRAP(MAP("a", "\"dependsOn\":[\"v1:Namespace:demo\"],") "," NAMESPACE), "0>1"},
        {WRAP(WIDGET "," DEFINITION "," NAMESPACE), "0>21"},
        {WRAP(DEFINITION "," WIDGET), "1>0"},
        /* an object that has no namespace of its own depends on none */
        {WRAP(NAMESPACE "," OBJECT("v1", "ConfigMap", "", "a", "") END), ""},
        /* a Namespace lives in none, whatever its metadata say */
        {WRAP(OBJECT("v1", "Namespace", "demo:", "demo", "") ",\"namespace\":\"demo\"" END), ""},
        /* another group's Widget */
        {WRAP(DEFINITION "," OBJECT("example.org/v1", "Widget", "", "w", "") END), ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(spec_free_p) struct spec *spec = parse(rows[i].text);
        _cleanup_(graph_free_p) struct graph *graph = NULL;
        _cleanup_free_ char *edges = NULL;

        EXPECT_INT(graph_from_spec(spec, &graph, NULL), 0, rows[i].text);
        edges = edges_of(graph);
        EXPECT_STR(edges, rows[i].edges, rows[i].text);
        EXPECT_INT(graph->n_nodes, spec->n_resources, rows[i].text);
    }
}

static void ranks_by_kind(void)
{
    _cleanup_(spec_free_p) struct spec *spec =
        parse(WRAP(WIDGET "," MAP("a", "") "," NAMESPACE "," DEFINITION));
    _cleanup_(graph_free_p) struct graph *graph = NULL;
    uint32_t order[4];

    EXPECT_INT(graph_from_spec(spec, &graph, NULL), 0, "good");
    graph_order(graph, order);
    EXPECT(order[0] == 2 && order[1] == 3 && order[2] == 1 && order[3] == 0,
           "Namespace, definition, map, widget");
}

static void tells_cycles_by_id(void)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {WRAP(MAP("a", "\"dependsOn\":[\"v1:ConfigMap:demo:b\"],") "," MAP(
             "b", "\"dependsOn\":[\"v1:ConfigMap:demo:a\"],")),
         "v1:ConfigMap:demo:a -> v1:ConfigMap:demo:b -> v1:ConfigMap:demo:a"},
        /* one half is written, the other is the API's demand */
        {WRAP(MAP("a", "") "," OBJECT("v1", "Namespace", "", "demo",
                                      "\"dependsOn\":[\"v1:ConfigMap:demo:a\"],") END),
         "v1:ConfigMap:demo:a -> v1:Namespace:demo -> v1:ConfigMap:demo:a"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(spec_free_p) struct spec *spec = parse(rows[i].text);
        struct graph *graph = NULL;
        struct error error = {0};

        EXPECT_INT(graph_from_spec(spec, &graph, &error), ERR_INVALID, "a cycle");
        EXPECT_STR(error.reason, "CyclicDependency", "reason");
        EXPECT_STR(error.message, rows[i].message, "message");
        EXPECT(!graph, "not made");
    }
}

static void takes_edges_of_records(void)
{
    static const char *const on_a[] = {"a", "gone"}, *const on_b[] = {"b"};
    _cleanup_value_ const struct value *space = NULL, *map = NULL;
    _cleanup_(graph_free_p) struct graph *graph = NULL;
    _cleanup_free_ char *edges = NULL;
    struct graph_record records[] = {{.id = "a"}, {.id = "b"}, {.id = "ns"}, {.id = "map"}};
    struct error error = {0};

    space = value_pack("{s:s,s:s,s:{s:s}}", "apiVersion", "v1", "kind", "Namespace", "metadata",
                       "name", "demo");
    map = value_pack("{s:s,s:s,s:{s:s,s:s}}", "apiVersion", "v1", "kind", "ConfigMap", "metadata",
                     "name", "m", "namespace", "demo");
    records[1].dependencies = on_a;
    records[1].n_dependencies = 2;
    records[2].attributes = space;
    records[3].attributes = map;
    EXPECT_INT(graph_from_records(records, 4, NULL, &graph, &error), 0, error.message);
    edges = edges_of(graph);
    EXPECT_STR(edges, "1>0 3>2", "what is gone is left out; a map goes before its Namespace");
    EXPECT_INT(graph->rank[2], 0, "a Namespace");

    graph_free(TAKE(graph));
    records[0].dependencies = on_b;
    records[0].n_dependencies = 1;
    EXPECT_INT(graph_from_records(records, 4, NULL, &graph, &error), ERR_INVALID, "damaged");
    EXPECT_STR(error.message, "a -> b -> a", "message");
    EXPECT_INT(graph_from_records(NULL, 0, NULL, &graph, NULL), 0, "none");
    EXPECT_INT(graph->n_nodes, 0, "none");
}

SUITE(build, TEST(takes_edges_of_a_spec), TEST(ranks_by_kind), TEST(tells_cycles_by_id),
      TEST(takes_edges_of_records))
