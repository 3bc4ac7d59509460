#include "engine/plan/spread.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"

static uint32_t from_of(const struct graph_edge *edge, bool to_dependents)
{
    return to_dependents ? edge->dependency : edge->node;
}

static uint32_t to_of(const struct graph_edge *edge, bool to_dependents)
{
    return to_dependents ? edge->node : edge->dependency;
}

void rows_init(struct rows *rows, uint32_t n_nodes, const struct graph_edge *const edges[2],
               const size_t n_edges[2], bool to_dependents)
{
    uint32_t *start = NEW_ARRAY(uint32_t, (size_t)n_nodes + 1);

    *rows = (struct rows){.n_nodes = n_nodes, .start = start};
    rows->others = NEW_ARRAY(uint32_t, n_edges[0] + n_edges[1] + 1);
    for (size_t list = 0; list < 2; list++)
        for (size_t e = 0; e < n_edges[list]; e++)
            start[from_of(&edges[list][e], to_dependents) + 1]++;
    for (uint32_t i = 0; i < n_nodes; i++)
        start[i + 1] += start[i];
    for (size_t list = 0; list < 2; list++)
        for (size_t e = 0; e < n_edges[list]; e++)
            rows->others[start[from_of(&edges[list][e], to_dependents)]++] =
                to_of(&edges[list][e], to_dependents);
    memmove(start + 1, start,
            n_nodes * sizeof(*start)); /* each start was moved to that of the next row */
    start[0] = 0;
}

void rows_done(struct rows *rows)
{
    free(rows->start);
    free(rows->others);
}

void spread(const struct rows *rows, const bool *may, bool *marks)
{
    _cleanup_free_ uint32_t *stack = NEW_ARRAY(uint32_t, (size_t)rows->n_nodes + 1);
    uint32_t depth = 0;

    for (uint32_t i = 0; i < rows->n_nodes; i++)
        if (marks[i])
            stack[depth++] = i;
    while (depth > 0) {
        uint32_t at = stack[--depth];

        for (uint32_t i = rows->start[at]; i < rows->start[at + 1]; i++) {
            uint32_t other = rows->others[i];

            if (marks[other] || !may[other])
                continue;
            marks[other] = true;
            stack[depth++] = other;
        }
    }
}
