/*
 * A depth-first search finds a node in a cycle: the first node that the search reaches again while
 * it is on the stack. A breadth-first search from that node finds the shortest way back to it. Both
 * searches keep their own stack, and take linear time.
 */
#include "engine/graph/graph_private.h"

#include "engine/base/buf.h"
#include "engine/base/mem.h"

#define NONE UINT32_MAX

/* A longer cycle is shown by its first and its last nodes. */
#define SHOWN_FIRST 8
#define SHOWN_LAST  3

struct search {
    const struct graph *graph;
    uint32_t *stack; /* the breadth-first search uses it as a queue */
    uint32_t *next;  /* depth-first: the next dependency to visit */
    uint32_t *from;  /* breadth-first: which node led here, or NONE */
};

/* Searches from a node; returns a node in a cycle, or NONE. A node is on the stack from when its
 * `next` is set until all its dependencies are visited; after that it is known to be in no cycle.
 * */
static uint32_t descend(const struct search *search, uint32_t root, uint8_t *state)
{
    enum { NEW_NODE, OPEN, GOOD };
    const struct graph *graph = search->graph;
    uint32_t depth = 0;

    if (state[root] != NEW_NODE)
        return NONE;
    search->stack[depth++] = root;
    state[root] = OPEN;
    while (depth > 0) {
        uint32_t node = search->stack[depth - 1], dependency;

        if (search->next[node] == graph->dependency_start[node + 1]) {
            state[node] = GOOD;
            depth--;
            continue;
        }
        dependency = graph->dependencies[search->next[node]++];
        if (state[dependency] == OPEN)
            return dependency;
        if (state[dependency] == NEW_NODE) {
            state[dependency] = OPEN;
            search->stack[depth++] = dependency;
        }
    }
    return NONE;
}

static uint32_t find_node(const struct search *search)
{
    const struct graph *graph = search->graph;
    _cleanup_free_ uint8_t *state = NEW_ARRAY(uint8_t, graph->n_nodes);
    uint32_t found = NONE;

    for (uint32_t i = 0; i < graph->n_nodes; i++)
        search->next[i] = graph->dependency_start[i];
    for (uint32_t i = 0; found == NONE && i < graph->n_nodes; i++)
        found = descend(search, i, state);
    return found;
}

/* The last node of the shortest way from node back to it, along search->from. */
static uint32_t find_way_back(const struct search *search, uint32_t node)
{
    const struct graph *graph = search->graph;
    uint32_t head = 0, tail = 0;

    for (uint32_t i = 0; i < graph->n_nodes; i++)
        search->from[i] = NONE;
    search->stack[tail++] = node;
    while (head < tail) {
        uint32_t at = search->stack[head++];

        for (uint32_t i = graph->dependency_start[at]; i < graph->dependency_start[at + 1]; i++) {
            uint32_t dependency = graph->dependencies[i];

            if (dependency == node)
                return at;
            if (search->from[dependency] != NONE)
                continue;
            search->from[dependency] = at;
            search->stack[tail++] = dependency;
        }
    }
    abort(); /* not reached: node is in a cycle */
}

/* Puts the path into search->stack, first node first; returns its length. */
static uint32_t collect(const struct search *search, uint32_t node, uint32_t last)
{
    uint32_t length = 1;

    for (uint32_t at = last; at != node; at = search->from[at])
        length++;
    for (uint32_t at = last, i = length; i-- > 0; at = search->from[at])
        search->stack[i] = at;
    return length;
}

int cycle_report(const struct graph *graph, const char *(*name)(void *arg, uint32_t node),
                 void *arg, struct error *error)
{
    _cleanup_free_ uint32_t *stack = NEW_ARRAY(uint32_t, graph->n_nodes);
    _cleanup_free_ uint32_t *next = NEW_ARRAY(uint32_t, graph->n_nodes);
    _cleanup_free_ uint32_t *from = NEW_ARRAY(uint32_t, graph->n_nodes);
    const struct search search = {.graph = graph, .stack = stack, .next = next, .from = from};
    uint32_t node = find_node(&search);
    uint32_t length = collect(&search, node, find_way_back(&search, node));
    _cleanup_buf_ struct buf text = BUF_INIT;

    for (uint32_t i = 0; i < length; i++) {
        if (i == SHOWN_FIRST && length > SHOWN_FIRST + SHOWN_LAST + 1) {
            i = length - SHOWN_LAST;
            buf_printf(&text, "(%u more) -> ", i - SHOWN_FIRST);
        }
        buf_printf(&text, "%s -> ", name(arg, stack[i]));
    }
    return err_set(error, ERR_INVALID, "CyclicDependency", "%s%s", text.data, name(arg, node));
}
