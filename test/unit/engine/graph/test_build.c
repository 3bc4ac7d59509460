#include "engine/base/json.h"
#include "engine/base/mem.h"
#include "engine/graph/build.h"
#include "test/unit/suite.h"

#define WRAP(resources)                                                                         \
    "{\"metadata\":{\"name\":\"s\",\"namespace\":\"team\"},\"spec\":{\"resources\":[" resources \
    "]}}"
#define ONE(id, more) "{\"id\":\"" id "\",\"type\":\"Thing\"," more "\"attributes\":{}}"
#define ON(id)        "\"dependsOn\":[\"" id "\"],"

#define MAX_RELATIONS 3

static struct spec *parse(const char *text)
{
    static const struct spec_type types[] = {{.name = "Thing"}};
    const struct spec_options options = {types, ARRAY_SIZE(types)};
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

static void add_all(struct relations *relations, const struct relation *items)
{
    for (size_t i = 0; i < MAX_RELATIONS; i++)
        if (items[i].node != items[i].other)
            relations_add(relations, items[i].node, items[i].other, items[i].kind);
}

static void takes_edges_of_a_spec(void)
{
    static const struct {
        const char *text;
        size_t n_targets;
        struct relation relations[MAX_RELATIONS];
        const char *edges;
    } rows[] = {
        {WRAP(""), 0, {{0}}, ""},
        {WRAP(ONE("a", "") "," ONE("b", "")), 2, {{0}}, ""},
        {WRAP(ONE("a", ON("b")) "," ONE("b", "")), 2, {{0}}, "0>1"},
        {WRAP(ONE("a", "") "," ONE("b", "")), 2, {{0, 1, RELATION_AFTER}}, "0>1"},
        {WRAP(ONE("a", "") "," ONE("b", "")), 2, {{0, 1, RELATION_IN}}, "0>1"},
        /* known twice, and written */
        {WRAP(ONE("a", ON("b")) "," ONE("b", "")),
         2,
         {{0, 1, RELATION_IN}, {0, 1, RELATION_AFTER}},
         "0>1"},
        /* what is beside the Spec (it leaves) has no node */
        {WRAP(ONE("a", "") "," ONE("b", "")),
         4,
         {{0, 2, RELATION_IN}, {3, 1, RELATION_IN}, {1, 0, RELATION_AFTER}},
         "1>0"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(spec_free_p) struct spec *spec = parse(rows[i].text);
        _cleanup_(relations_done) struct relations relations = RELATIONS_INIT;
        _cleanup_(graph_free_p) struct graph *graph = NULL;
        _cleanup_free_ char *edges = NULL;

        relations_init(&relations, rows[i].n_targets);
        add_all(&relations, rows[i].relations);
        EXPECT_INT(graph_from_spec(spec, &relations, &graph, NULL), 0, rows[i].text);
        edges = edges_of(graph);
        EXPECT_STR(edges, rows[i].edges, rows[i].text);
        EXPECT_INT(graph->n_nodes, spec->n_resources, rows[i].text);
    }
}

static void takes_ranks(void)
{
    _cleanup_(spec_free_p) struct spec *spec =
        parse(WRAP(ONE("a", "") "," ONE("b", "") "," ONE("c", "")));
    _cleanup_(relations_done) struct relations relations = RELATIONS_INIT;
    _cleanup_(graph_free_p) struct graph *graph = NULL;
    uint32_t order[3];

    relations_init(&relations, 3);
    relations.ranks[0] = 2;
    relations.ranks[1] = 1;
    EXPECT_INT(graph_from_spec(spec, &relations, &graph, NULL), 0, "good");
    graph_order(graph, order);
    EXPECT(order[0] == 2 && order[1] == 1 && order[2] == 0, "lower ones first");
    graph_free(TAKE(graph));
    EXPECT_INT(graph_from_spec(spec, NULL, &graph, NULL), 0, "nothing is known");
    graph_order(graph, order);
    EXPECT(order[0] == 0 && order[1] == 1 && order[2] == 2, "as written");
}

static void tells_cycles_by_id(void)
{
    static const struct {
        const char *text;
        struct relation relations[MAX_RELATIONS];
        const char *message;
    } rows[] = {
        {WRAP(ONE("a", ON("b")) "," ONE("b", ON("a"))), {{0}}, "a -> b -> a"},
        /* one half is written, the other is known */
        {WRAP(ONE("a", "") "," ONE("b", ON("a"))), {{0, 1, RELATION_IN}}, "a -> b -> a"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(spec_free_p) struct spec *spec = parse(rows[i].text);
        _cleanup_(relations_done) struct relations relations = RELATIONS_INIT;
        struct graph *graph = NULL;
        struct error error = {0};

        relations_init(&relations, 2);
        add_all(&relations, rows[i].relations);
        EXPECT_INT(graph_from_spec(spec, &relations, &graph, &error), ERR_INVALID, "a cycle");
        EXPECT_STR(error.reason, "CyclicDependency", "reason");
        EXPECT_STR(error.message, rows[i].message, "message");
        EXPECT(!graph, "not made");
    }
}

static void takes_edges_of_records(void)
{
    static const char *const on_a[] = {"a", "gone"}, *const on_b[] = {"b"};
    _cleanup_(relations_done) struct relations relations = RELATIONS_INIT;
    _cleanup_(graph_free_p) struct graph *graph = NULL;
    _cleanup_free_ char *edges = NULL, *without = NULL;
    struct graph_record records[] = {{.id = "a"}, {.id = "b"}, {.id = "c"}, {.id = "d"}};
    struct error error = {0};

    records[1].dependencies = on_a;
    records[1].n_dependencies = 2;
    relations_init(&relations, 4);
    relations_add(&relations, 3, 2, RELATION_IN);
    relations.ranks[0] = 7;
    EXPECT_INT(graph_from_records(records, 4, &relations, &graph, &error), 0, error.message);
    edges = edges_of(graph);
    EXPECT_STR(edges, "1>0 3>2", "what is gone is left out; d goes before c");
    EXPECT_INT(graph->rank[0], 7, "its rank");

    graph_free(TAKE(graph));
    EXPECT_INT(graph_from_records(records, 4, NULL, &graph, &error), 0, error.message);
    without = edges_of(graph);
    EXPECT_STR(without, "1>0", "nothing is known");

    graph_free(TAKE(graph));
    records[0].dependencies = on_b;
    records[0].n_dependencies = 1;
    EXPECT_INT(graph_from_records(records, 4, &relations, &graph, &error), ERR_INVALID, "damaged");
    EXPECT_STR(error.message, "a -> b -> a", "message");
    EXPECT_INT(graph_from_records(NULL, 0, NULL, &graph, NULL), 0, "none");
    EXPECT_INT(graph->n_nodes, 0, "none");
}

/* Whatever is written or known, what is last depends on nothing but on what goes after it. */
static void puts_what_is_last_at_the_end(void)
{
    static const char *const on_x[] = {"x"}, *const on_second[] = {"second"};
    _cleanup_(relations_done) struct relations relations = RELATIONS_INIT;
    _cleanup_(graph_free_p) struct graph *graph = NULL;
    _cleanup_free_ char *edges = NULL;
    struct graph_record records[] = {
        {.id = "third"}, {"second", on_x, 1}, {.id = "x"}, {"first", on_x, 1}, {"y", on_second, 1}};
    struct error error = {0};

    relations_init(&relations, 5);
    relations_add(&relations, 0, 2, RELATION_IN);
    relations_add(&relations, 4, 2, RELATION_AFTER);
    relations.last[3] = 1;
    relations.last[1] = 2;
    relations.last[0] = 2; /* the same place: in the order of the targets */
    EXPECT_INT(graph_from_records(records, 5, &relations, &graph, &error), 0, error.message);
    edges = edges_of(graph);
    EXPECT_STR(edges, "0>1 2>3 3>0 4>123", "first, third, second, after all else");
}

SUITE(build, TEST(takes_edges_of_a_spec), TEST(takes_ranks), TEST(tells_cycles_by_id),
      TEST(takes_edges_of_records), TEST(puts_what_is_last_at_the_end))
