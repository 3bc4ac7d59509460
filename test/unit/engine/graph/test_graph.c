#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/graph/graph.h"
#include "test/unit/suite.h"

#define LARGE 100000

/* Names are "a", "b", …; of large graphs numbers. */
static char large_name[16];

static const char *name_of(void *arg, uint32_t node)
{
    static char letters[26][2];

    if (arg) {
        snprintf(large_name, sizeof(large_name), "n%u", node);
        return large_name;
    }
    letters[node][0] = (char)('a' + node);
    return letters[node];
}

/* "a>b c>b": a depends on b. */
static size_t read_edges(const char *text, struct graph_edge *ret)
{
    size_t n_edges = 0;

    for (const char *at = text; *at; at++)
        if (at[1] == '>')
            ret[n_edges++] = (struct graph_edge){(uint32_t)(at[0] - 'a'), (uint32_t)(at[2] - 'a')};
    return n_edges;
}

static struct graph *make(uint32_t n_nodes, const char *edges, const uint16_t *ranks,
                          struct error *error)
{
    struct graph_edge list[64];
    struct graph *graph = NULL;

    graph_new(n_nodes, list, read_edges(edges, list), ranks, name_of, NULL, &graph, error);
    return graph;
}

/* "b>a c>ab": rows, with empty ones left out. */
static char *rows_of(uint32_t n_nodes, const uint32_t *start, const uint32_t *items)
{
    struct buf text = BUF_INIT;

    for (uint32_t i = 0; i < n_nodes; i++) {
        if (start[i] == start[i + 1])
            continue;
        buf_printf(&text, "%s%c>", text.length ? " " : "", 'a' + (char)i);
        for (uint32_t j = start[i]; j < start[i + 1]; j++)
            buf_add_char(&text, (char)('a' + items[j]));
    }
    return buf_take(&text);
}

static void keeps_rows_in_both_directions(void)
{
    _cleanup_(graph_free_p) struct graph *graph =
        make(5, "c>a b>a c>b c>a e>a c>d b>a", NULL, NULL);
    _cleanup_free_ char *down = NULL, *up = NULL;

    EXPECT_INT(graph->n_edges, 5, "repeated edges count once");
    down = rows_of(5, graph->dependency_start, graph->dependencies);
    up = rows_of(5, graph->dependent_start, graph->dependents);
    EXPECT_STR(down, "b>a c>abd e>a", "dependencies, in the order given");
    EXPECT_STR(up, "a>bce b>c d>c", "dependents, in ascending order");
}

static void raises_ranks_above_those_of_dependencies(void)
{
    static const struct {
        uint32_t n_nodes;
        const char *edges;
        uint16_t ranks[8];
        const char *after;
    } rows[] = {
        {0, "", {0}, ""},
        {3, "", {0}, "000"},
        {3, "a>b b>c", {0}, "000"},
        {4, "", {3, 1, 2, 0}, "3120"},
        {4, "a>d", {0, 1, 2, 3}, "3123"},
        {4, "a>c b>a", {0, 0, 2, 1}, "2221"},
        {5, "b>a c>a d>b d>c e>d", {4, 3, 2, 1, 0}, "44444"},
        {5, "b>a c>a d>b d>c e>d", {0, 1, 2, 3, 4}, "01234"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(graph_free_p) struct graph *graph =
            make(rows[i].n_nodes, rows[i].edges, rows[i].ranks, NULL);
        char ranks[9] = "";

        for (uint32_t n = 0; n < graph->n_nodes; n++)
            ranks[n] = (char)('0' + graph->rank[n]);
        EXPECT_STR(ranks, rows[i].after, rows[i].edges);
    }
}

static void tells_the_path_that_closes(void)
{
    static const struct {
        uint32_t n_nodes;
        const char *edges, *path;
    } rows[] = {
        {1, "a>a", "a -> a"},
        {3, "b>b a>b", "b -> b"},
        {2, "a>b b>a", "a -> b -> a"},
        {4, "a>b b>c c>d d>b", "b -> c -> d -> b"}, /* a only leads to it */
        {4, "a>b b>c c>a b>d", "a -> b -> c -> a"}, /* d is only led to */
        {5, "a>b b>c c>d d>a b>a", "a -> b -> a"},  /* the shortest */
        {5, "a>b b>c c>b d>e e>d", "b -> c -> b"},  /* the first of two */
        {6, "a>b b>c c>d d>a a>e e>a", "a -> e -> a"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct error error = {0};
        struct graph *graph = make(rows[i].n_nodes, rows[i].edges, NULL, &error);

        EXPECT(!graph, rows[i].edges);
        EXPECT_INT(error.code, ERR_INVALID, rows[i].edges);
        EXPECT_STR(error.reason, "CyclicDependency", rows[i].edges);
        EXPECT_STR(error.message, rows[i].path, rows[i].edges);
    }
}

static void holds_long_chains(void)
{
    _cleanup_free_ struct graph_edge *edges = NEW_ARRAY(struct graph_edge, LARGE);
    _cleanup_(graph_free_p) struct graph *graph = NULL, *none = NULL;
    struct error error = {0};

    for (uint32_t i = 0; i + 1 < LARGE; i++)
        edges[i] = (struct graph_edge){i, i + 1};
    EXPECT_INT(graph_new(LARGE, edges, LARGE - 1, NULL, name_of, &error, &graph, &error), 0,
               "a chain");
    EXPECT_INT(graph->n_edges, LARGE - 1, "all edges");

    edges[LARGE - 1] = (struct graph_edge){LARGE - 1, 0};
    EXPECT_INT(graph_new(LARGE, edges, LARGE, NULL, name_of, &error, &none, &error), ERR_INVALID,
               "closed");
    EXPECT(!none, "not made");
    EXPECT_STR(error.message,
               "n0 -> n1 -> n2 -> n3 -> n4 -> n5 -> n6 -> n7 -> (99989 more) -> n99997 -> n99998"
               " -> n99999 -> n0",
               "its ends");
}

/* ---- Random graphs, against the simplest that can be right ---- */

#define NODES 14

static uint32_t random_below(uint32_t bound)
{
    static uint64_t state = 0x9e3779b97f4a7c15u;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % bound;
}

/* Edges between shuffled nodes, so that numbers say nothing of the order. */
static size_t random_dag(struct graph_edge *edges, bool depends[NODES][NODES])
{
    uint32_t nodes[NODES], density = random_below(100);
    size_t n_edges = 0;

    memset(depends, 0, sizeof(bool[NODES][NODES]));
    for (uint32_t i = 0; i < NODES; i++) {
        uint32_t j = random_below(i + 1);

        nodes[i] = nodes[j];
        nodes[j] = i;
    }
    for (uint32_t i = 0; i < NODES; i++)
        for (uint32_t j = 0; j < i; j++)
            if (random_below(100) < density) {
                edges[n_edges++] = (struct graph_edge){nodes[i], nodes[j]};
                depends[nodes[i]][nodes[j]] = true;
            }
    return n_edges;
}

/* The highest rank of what a node reaches, itself included. */
static uint16_t highest_rank(bool depends[NODES][NODES], const uint16_t *ranks, int node)
{
    uint16_t highest = ranks[node];

    for (int j = 0; j < NODES; j++)
        if (depends[node][j]) {
            uint16_t below = highest_rank(depends, ranks, j);

            highest = below > highest ? below : highest;
        }
    return highest;
}

static void ranks_as_brute_force_does(void)
{
    struct graph_edge edges[NODES * NODES];
    bool depends[NODES][NODES];

    for (int round = 0; round < 500; round++) {
        size_t n_edges = random_dag(edges, depends);
        _cleanup_(graph_free_p) struct graph *graph = NULL;
        uint32_t wrong = 0;
        uint16_t ranks[NODES];

        for (int i = 0; i < NODES; i++)
            ranks[i] = (uint16_t)random_below(round % 2 ? 4 : UINT16_MAX + 1);
        graph_new(NODES, edges, n_edges, ranks, name_of, NULL, &graph, NULL);
        for (int i = 0; i < NODES; i++)
            wrong += graph->rank[i] != highest_rank(depends, ranks, i);
        EXPECT_INT(wrong, 0, "ranks");
    }
}

SUITE(graph, TEST(keeps_rows_in_both_directions), TEST(raises_ranks_above_those_of_dependencies),
      TEST(tells_the_path_that_closes), TEST(holds_long_chains), TEST(ranks_as_brute_force_does))
