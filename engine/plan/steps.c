#include "engine/plan/steps.h"

#include <stdlib.h>

#include "engine/base/arena.h"
#include "engine/base/mem.h"
#include "engine/plan/spread.h"

struct build {
    const struct steps_input *input;
    struct steps *steps;
    struct graph_edge *edges;
    size_t n_edges, capacity;
    bool *is_needed_gone; /* of each change: a replacement waits for its deletion */
    struct arena names;
};

static void add_edge(struct build *build, uint32_t node, uint32_t dependency)
{
    if (node == STEP_NONE || dependency == STEP_NONE)
        return;
    build->edges = mem_grow(build->edges, build->n_edges, &build->capacity, sizeof(*build->edges));
    build->edges[build->n_edges++] = (struct graph_edge){node, dependency};
}

static bool is_replaced(const struct step_change *change)
{
    return change->applies && change->deletes;
}

static bool is_deleted_first(const struct step_change *change)
{
    return is_replaced(change) && !change->create_first;
}

static bool leaves(const struct step_change *change)
{
    return change->deletes && !change->applies;
}

/* ---- What follows from one change for others ---- */

/* If x is created first, so is what it depends on. This includes what it depended on before: the
 * old object is deleted late, and what that one needs has to be there until then. */
static void spread_create_first(const struct steps_input *input)
{
    const struct graph_edge *const edges[2] = {input->planned, input->recorded};
    const size_t n_edges[2] = {input->n_planned, input->n_recorded};
    _cleanup_free_ bool *may = NEW_ARRAY(bool, (size_t)input->n_changes + 1);
    _cleanup_free_ bool *first = NEW_ARRAY(bool, (size_t)input->n_changes + 1);
    struct rows rows;

    for (uint32_t i = 0; i < input->n_changes; i++) {
        may[i] = is_replaced(&input->changes[i]) && !input->changes[i].cannot_create_first;
        first[i] = input->changes[i].create_first;
    }
    rows_init(&rows, input->n_changes, edges, n_edges, false);
    spread(&rows, may, first);
    rows_done(&rows);
    for (uint32_t i = 0; i < input->n_changes; i++)
        input->changes[i].create_first = first[i];
}

/* A replacement that deletes first waits for the deletion of everything that depended on its old
 * object. */
static void find_needed_gone(struct build *build)
{
    const struct steps_input *input = build->input;
    const struct graph_edge *const edges[2] = {input->recorded};
    const size_t n_edges[2] = {input->n_recorded};
    _cleanup_free_ bool *may = NEW_ARRAY(bool, (size_t)input->n_changes + 1);
    struct rows rows;

    for (uint32_t i = 0; i < input->n_changes; i++) {
        may[i] = input->changes[i].deletes;
        build->is_needed_gone[i] = is_deleted_first(&input->changes[i]);
    }
    rows_init(&rows, input->n_changes, edges, n_edges, true);
    spread(&rows, may, build->is_needed_gone);
    rows_done(&rows);
}

/* A deletion that others wait for does not wait for applies: they may come after those others. */
static void settle_unknown(struct build *build)
{
    const struct steps_input *input = build->input;

    for (size_t e = 0; e < input->n_recorded; e++) {
        const struct graph_edge *edge = &input->recorded[e];

        if (build->is_needed_gone[edge->dependency])
            input->changes[edge->node].has_unknown = false;
    }
}

/* ---- Nodes ---- */

static uint32_t add_node(struct steps *steps, enum step_kind kind, uint32_t change)
{
    steps->nodes[steps->n_nodes] = (struct step_node){kind, change};
    return steps->n_nodes++;
}

static void add_nodes(struct build *build)
{
    const struct steps_input *input = build->input;
    struct steps *steps = build->steps;
    bool has_applies = false, has_leaving = false;

    steps->nodes = NEW_ARRAY(struct step_node, 2 * (size_t)input->n_changes + 1);
    steps->apply = NEW_ARRAY(uint32_t, input->n_changes + 1);
    steps->delete = NEW_ARRAY(uint32_t, input->n_changes + 1);
    for (uint32_t i = 0; i < input->n_changes; i++) {
        const struct step_change *change = &input->changes[i];

        steps->apply[i] = change->applies ? add_node(steps, STEP_APPLY, i) : STEP_NONE;
        has_applies = has_applies || change->applies;
        has_leaving = has_leaving || leaves(change);
    }
    for (uint32_t i = 0; i < input->n_changes; i++)
        steps->delete[i] = input->changes[i].deletes ? add_node(steps, STEP_DELETE, i) : STEP_NONE;
    steps->barrier =
        has_applies && has_leaving ? add_node(steps, STEP_BARRIER, STEP_NONE) : STEP_NONE;
}

/* ---- Edges ---- */

static void add_planned(struct build *build)
{
    const struct steps_input *input = build->input;
    const struct steps *steps = build->steps;

    for (size_t e = 0; e < input->n_planned; e++) {
        const struct graph_edge *edge = &input->planned[e];

        add_edge(build, steps->apply[edge->node], steps->apply[edge->dependency]);
        if (is_deleted_first(&input->changes[edge->node]) && input->changes[edge->node].has_unknown)
            add_edge(build, steps->delete[edge->node], steps->apply[edge->dependency]);
        if (is_replaced(&input->changes[edge->dependency]) &&
            input->changes[edge->dependency].create_first)
            add_edge(build, steps->delete[edge->dependency], steps->apply[edge->node]);
    }
}

static void add_recorded(struct build *build)
{
    const struct steps_input *input = build->input;
    const struct steps *steps = build->steps;

    for (size_t e = 0; e < input->n_recorded; e++) {
        const struct graph_edge *edge = &input->recorded[e];

        if (!input->changes[edge->node].last)
            add_edge(build, steps->delete[edge->dependency], steps->delete[edge->node]);
    }
}

static void add_own(struct build *build)
{
    const struct steps_input *input = build->input;
    const struct steps *steps = build->steps;

    for (uint32_t i = 0; i < input->n_changes; i++) {
        const struct step_change *change = &input->changes[i];

        if (is_deleted_first(change))
            add_edge(build, steps->apply[i], steps->delete[i]);
        else if (is_replaced(change))
            add_edge(build, steps->delete[i], steps->apply[i]);
        add_edge(build, steps->barrier, steps->apply[i]);
        if (leaves(change) && !build->is_needed_gone[i])
            add_edge(build, steps->delete[i], steps->barrier);
    }
}

static int by_last(const void *a, const void *b, void *changes)
{
    const struct step_change *all = changes;
    uint32_t x = all[*(const uint32_t *)a].last, y = all[*(const uint32_t *)b].last;

    return (x > y) - (x < y);
}

/* The deletions that go last are a chain, and all other steps come before its first: this takes few
 * edges, however many steps there are. */
static void add_last(struct build *build)
{
    const struct steps_input *input = build->input;
    const struct steps *steps = build->steps;
    _cleanup_free_ uint32_t *chain = NEW_ARRAY(uint32_t, input->n_changes + 1);
    size_t n = 0;

    for (uint32_t i = 0; i < input->n_changes; i++)
        if (leaves(&input->changes[i]) && input->changes[i].last)
            chain[n++] = i;
    qsort_r(chain, n, sizeof(*chain), by_last, input->changes);
    for (size_t i = 1; i < n; i++)
        add_edge(build, steps->delete[chain[i]], steps->delete[chain[i - 1]]);
    for (uint32_t i = 0; n && i < input->n_changes; i++)
        if (!(leaves(&input->changes[i]) && input->changes[i].last))
            add_edge(build, steps->delete[chain[0]], steps->delete[i]);
}

/* ---- The whole ---- */

static const char *name_of(void *arg, uint32_t node)
{
    struct build *build = arg;
    const struct step_node *step = &build->steps->nodes[node];
    const char *name;

    if (step->kind == STEP_BARRIER)
        return "the end of all applies";
    name = build->input->name(build->input->arg, step->change);
    return step->kind == STEP_DELETE ? arena_printf(&build->names, "the deletion of %s", name)
                                     : name;
}

/* Deletions after applies, and in the opposite order. */
static uint16_t *ranks_of(const struct build *build)
{
    const struct steps *steps = build->steps;
    const struct step_change *changes = build->input->changes;
    uint16_t *ranks = NEW_ARRAY(uint16_t, (size_t)steps->n_nodes + 1), most = 0;

    for (uint32_t i = 0; i < build->input->n_changes; i++)
        if (changes[i].rank > most)
            most = changes[i].rank;
    for (uint32_t i = 0; i < steps->n_nodes; i++) {
        const struct step_node *node = &steps->nodes[i];

        if (node->kind == STEP_APPLY)
            ranks[i] = changes[node->change].rank;
        else if (node->kind == STEP_BARRIER)
            ranks[i] = most;
        else if (!build->is_needed_gone[node->change])
            ranks[i] = (uint16_t)(2 * most + 1 - changes[node->change].rank);
    }
    return ranks;
}

static int build_steps(const struct steps_input *input, struct steps **ret, struct error *error)
{
    _cleanup_(steps_free_p) struct steps *steps = NEW(struct steps);
    struct build build = {.input = input, .steps = steps};
    uint16_t *ranks;
    int r;

    build.is_needed_gone = NEW_ARRAY(bool, input->n_changes + 1);
    find_needed_gone(&build);
    settle_unknown(&build);
    add_nodes(&build);
    add_planned(&build);
    add_recorded(&build);
    add_own(&build);
    add_last(&build);
    ranks = ranks_of(&build);
    r = graph_new(steps->n_nodes, build.edges, build.n_edges, ranks, name_of, &build, &steps->graph,
                  error);
    free(ranks);
    free(build.edges);
    free(build.is_needed_gone);
    arena_done(&build.names);
    if (r >= 0)
        *ret = TAKE(steps);
    return r;
}

/* False: all that can be are created first already. */
static bool create_all_first(const struct steps_input *input)
{
    bool changed = false;

    for (uint32_t i = 0; i < input->n_changes; i++) {
        struct step_change *change = &input->changes[i];

        if (!is_deleted_first(change) || change->cannot_create_first)
            continue;
        change->create_first = true;
        changed = true;
    }
    return changed;
}

/* When a dependency between two replacements has turned round, and one of them deletes first, the
 * steps form a circle: its old object cannot be deleted before the other is moved, which waits for
 * the new object. Created first, an apply waits for no deletion, and there is no circle. */
int steps_new(const struct steps_input *input, struct steps **ret, struct error *error)
{
    _cleanup_free_ bool *has_unknown = NEW_ARRAY(bool, (size_t)input->n_changes + 1);
    struct error problem = {0};
    int r;

    for (uint32_t i = 0; i < input->n_changes; i++)
        has_unknown[i] = input->changes[i].has_unknown;
    spread_create_first(input);
    r = build_steps(input, ret, &problem);
    if (r < 0 && create_all_first(input)) {
        for (uint32_t i = 0; i < input->n_changes; i++)
            input->changes[i].has_unknown = has_unknown[i];
        err_clear(&problem);
        r = build_steps(input, ret, &problem);
    }
    return r < 0 ? err_copy(error, &problem) : 0;
}

void steps_free(struct steps *steps)
{
    if (!steps)
        return;
    graph_free(steps->graph);
    free(steps->nodes);
    free(steps->apply);
    free(steps->delete);
    free(steps);
}
