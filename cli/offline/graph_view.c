#include "cli/offline/graph_view.h"

#include <stdlib.h>
#include <string.h>

#include "cli/check/spec_graph.h"
#include "engine/base/mem.h"
#include "engine/base/similar.h"
#include "engine/base/str.h"

struct view {
    struct output *out;
    const struct spec *spec;
    const struct spec_graph *graph;
    char **labels;
    bool *is_shown;   /* by --to */
    uint32_t *parent; /* in the tree: the dependency that comes last; UINT32_MAX: none */
    uint32_t *depth;  /* the length of the longest way to it */
    uint32_t *level;  /* in the tree: LEVELS at most, then a new one is begun */
};

/* ---- Nodes ---- */

static char *label_of(const struct resource *resource)
{
    const char *kind = value_get_string(resource->attributes, "kind");
    const char *name = value_get_string(value_get(resource->attributes, "metadata"), "name");

    return kind && name && str_equal(resource->type, "Kubernetes") ? str_printf("%s/%s", kind, name)
                                                                   : str_new(resource->id);
}

/* Labels that two have are ids. */
static void make_labels(struct view *view)
{
    struct strmap seen = STRMAP_INIT;
    size_t n = view->spec->n_resources;
    _cleanup_free_ size_t *first = NEW_ARRAY(size_t, n + 1);

    view->labels = NEW_ARRAY(char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        view->labels[i] = label_of(&view->spec->resources[i]);
        first[i] = i;
    }
    for (size_t i = 0; i < n; i++) {
        size_t *other = strmap_get(&seen, view->labels[i]);

        if (other)
            first[i] = *other;
        else
            strmap_put(&seen, view->labels[i], &first[i]);
    }
    strmap_done(&seen);
    for (size_t i = n; i > 0; i--)
        if (first[i - 1] != i - 1) {
            size_t both[] = {i - 1, first[i - 1]};

            for (size_t k = 0; k < 2; k++) {
                free(view->labels[both[k]]);
                view->labels[both[k]] = str_new(view->spec->resources[both[k]].id);
            }
        }
}

static void show_with_dependencies(struct view *view, uint32_t node)
{
    const struct graph *graph = view->graph->graph;
    _cleanup_free_ uint32_t *stack = NEW_ARRAY(uint32_t, graph->n_nodes + 1);
    size_t n = 0;

    view->is_shown[node] = true;
    stack[n++] = node;
    while (n > 0) {
        uint32_t at = stack[--n];

        for (uint32_t i = graph->dependency_start[at]; i < graph->dependency_start[at + 1]; i++)
            if (!view->is_shown[graph->dependencies[i]]) {
                view->is_shown[graph->dependencies[i]] = true;
                stack[n++] = graph->dependencies[i];
            }
    }
}

static int choose_nodes(struct view *view, const char *to, struct error *error)
{
    struct similar similar;

    view->is_shown = NEW_ARRAY(bool, view->spec->n_resources + 1);
    if (!to) {
        memset(view->is_shown, true, view->spec->n_resources);
        return 0;
    }
    similar_begin(&similar, to);
    for (uint32_t i = 0; i < view->spec->n_resources; i++) {
        if (str_equal(view->spec->resources[i].id, to) || str_equal(view->labels[i], to)) {
            show_with_dependencies(view, i);
            return 0;
        }
        similar_offer(&similar, view->spec->resources[i].id);
        similar_offer(&similar, view->labels[i]);
    }
    return err_set(error, ERR_NOT_FOUND, "NotFound", "--to: no resource is \"%s\"%s%s%s", to,
                   similar.found ? ": did you mean \"" : "", similar.found ? similar.found : "",
                   similar.found ? "\"?" : "");
}

/* ---- The Specs that come first ---- */

/* "db", "team-b/net"; free(). */
static char *name_awaited(const struct spec *spec, size_t i)
{
    const struct spec_awaited *awaited = &spec->awaited[i];
    bool is_own = str_equal(awaited->namespace_name, spec->namespace_name);

    return str_printf("%s%s%s", is_own ? "" : awaited->namespace_name, is_own ? "" : "/",
                      awaited->name);
}

/* ---- A tree ---- */

#define LEVELS 50

/* Each node is below the dependency that comes last of all; in the order of dependencies. */
static void find_parents(struct view *view)
{
    const struct graph *graph = view->graph->graph;
    uint32_t n = graph->n_nodes, *waits = NEW_ARRAY(uint32_t, n + 1);
    uint32_t *ready = NEW_ARRAY(uint32_t, n + 1), first = 0, last = 0;

    view->parent = NEW_ARRAY(uint32_t, n + 1);
    view->depth = NEW_ARRAY(uint32_t, n + 1);
    view->level = NEW_ARRAY(uint32_t, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        view->parent[i] = UINT32_MAX;
        waits[i] = graph->dependency_start[i + 1] - graph->dependency_start[i];
        if (!waits[i])
            ready[last++] = i;
    }
    while (first < last) {
        uint32_t at = ready[first++];

        for (uint32_t i = graph->dependent_start[at]; i < graph->dependent_start[at + 1]; i++) {
            uint32_t node = graph->dependents[i];

            if (view->parent[node] == UINT32_MAX || view->depth[at] >= view->depth[node]) {
                view->parent[node] = at;
                view->depth[node] = view->depth[at] + 1;
            }
            if (--waits[node] > 0)
                continue;
            ready[last++] = node;
            if (view->level[view->parent[node]] + 1 < LEVELS)
                view->level[node] = view->level[view->parent[node]] + 1;
            else
                view->parent[node] = UINT32_MAX;
        }
    }
    free(waits);
    free(ready);
}

static bool is_above(const struct view *view, uint32_t node, uint32_t other)
{
    for (; node != UINT32_MAX; node = view->parent[node])
        if (node == other)
            return true;
    return false;
}

/* What it waits for beside what stands above it. */
static void add_others(const struct view *view, uint32_t node)
{
    const struct graph *graph = view->graph->graph;
    bool has_any = false;

    for (uint32_t i = graph->dependency_start[node]; i < graph->dependency_start[node + 1]; i++) {
        uint32_t other = graph->dependencies[i];

        if (is_above(view, node, other))
            continue;
        output_paint(view->out, STYLE_DIM, "%s%s", has_any ? ", " : "   also after ",
                     view->labels[other]);
        has_any = true;
    }
}

/* Children by parent, in the Spec's order: first[parent + 1], next[node]; 0: none, else index + 1.
 */
struct children {
    uint32_t *first, *next;
};

static void show_node(const struct view *view, const struct children *children, uint32_t node,
                      struct buf *lead, bool is_root, bool is_last)
{
    size_t length = lead->length;

    output_add(view->out, "%s%s%s", lead->data,
               is_root   ? ""
               : is_last ? "└─ "
                         : "├─ ",
               view->labels[node]);
    add_others(view, node);
    output_end(view->out);
    if (!is_root)
        buf_add_str(lead, is_last ? "   " : "│  ");
    for (uint32_t child = children->first[node + 1]; child; child = children->next[child - 1])
        show_node(view, children, child - 1, lead, false, !children->next[child - 1]);
    lead->data[length] = '\0';
    lead->length = length;
}

static void show_tree(struct view *view)
{
    uint32_t n = view->graph->graph->n_nodes;
    struct children children = {NEW_ARRAY(uint32_t, n + 2), NEW_ARRAY(uint32_t, n + 1)};
    _cleanup_buf_ struct buf lead = BUF_INIT;

    for (size_t i = 0; i < view->spec->n_awaited; i++) {
        _cleanup_free_ char *name = name_awaited(view->spec, i);

        output_line(view->out, "after the Spec %s", name);
    }
    find_parents(view);
    for (uint32_t i = n; i > 0; i--) {
        uint32_t parent = view->parent[i - 1] == UINT32_MAX ? 0 : view->parent[i - 1] + 1;

        if (!view->is_shown[i - 1])
            continue;
        children.next[i - 1] = children.first[parent];
        children.first[parent] = i;
    }
    buf_add_str(&lead, "");
    for (uint32_t root = children.first[0]; root; root = children.next[root - 1])
        show_node(view, &children, root - 1, &lead, true, false);
    free(children.first);
    free(children.next);
}

/* ---- For programs ---- */

/* Replaces characters that mean something. free(). */
static char *escape(const char *text, const char *const (*pairs)[2], size_t n)
{
    struct buf to = BUF_INIT;

    for (; *text; text++) {
        size_t i = 0;

        while (i < n && *text != pairs[i][0][0])
            i++;
        if (i < n)
            buf_add_str(&to, pairs[i][1]);
        else
            buf_add_char(&to, *text);
    }
    return buf_take(&to);
}

/* How a format draws: what stands before and after its texts. */
struct notation {
    const char *begin, *settings, *end;
    const char *node, *node_end, *awaited, *awaited_end;
    const char *arrows[3], *ends[3]; /* by enum edge_kind */
    const char *const (*escapes)[2]; /* of labels */
    size_t n_escapes;
};

static const char *const dot_escapes[][2] = {{"\"", "\\\""}, {"\\", "\\\\"}};
static const struct notation dot = {
    .begin = "digraph spec {",
    .settings = "  rankdir=LR; node [shape=box, style=rounded];",
    .end = "}",
    .node = " [label=\"",
    .node_end = "\"];",
    .awaited = " [label=\"",
    .awaited_end = "\", style=dashed];",
    .arrows = {"->", "->", "->"},
    .ends = {" [style=solid];", " [style=dashed];", " [style=dotted];"},
    .escapes = dot_escapes,
    .n_escapes = ARRAY_SIZE(dot_escapes),
};
static const char *const mermaid_escapes[][2] = {
    {"\"", "#quot;"}, {"#", "#35;"}, {"<", "#lt;"}, {">", "#gt;"}, {"`", "#96;"}};
static const struct notation mermaid = {
    .begin = "flowchart LR",
    .node = "[\"",
    .node_end = "\"]",
    .awaited = "([\"",
    .awaited_end = "\"])",
    .arrows = {"-->", "-. ref .->", "-. kind .->"},
    .ends = {"", "", ""},
    .escapes = mermaid_escapes,
    .n_escapes = ARRAY_SIZE(mermaid_escapes),
};

/* The Specs that come first, and what begins after them. */
static void draw_awaited(const struct view *view, const struct notation *as)
{
    const struct graph *graph = view->graph->graph;

    for (size_t i = 0; i < view->spec->n_awaited; i++) {
        _cleanup_free_ char *name = name_awaited(view->spec, i);

        output_line(view->out, "  s%zu%sSpec %s%s", i, as->awaited, name, as->awaited_end);
        for (uint32_t k = 0; k < graph->n_nodes; k++)
            if (view->is_shown[k] && graph->dependency_start[k] == graph->dependency_start[k + 1])
                output_line(view->out, "  s%zu %s n%u%s", i, as->arrows[0], k, as->ends[0]);
    }
}

static void draw(const struct view *view, const struct notation *as)
{
    output_line(view->out, "%s", as->begin);
    if (as->settings)
        output_line(view->out, "%s", as->settings);
    for (uint32_t i = 0; i < view->spec->n_resources; i++) {
        _cleanup_free_ char *label = escape(view->labels[i], as->escapes, as->n_escapes);

        if (view->is_shown[i])
            output_line(view->out, "  n%u%s%s%s", i, as->node, label, as->node_end);
    }
    for (size_t i = 0; i < view->graph->n_edges; i++) {
        const struct spec_edge *edge = &view->graph->edges[i];

        if (view->is_shown[edge->node] && view->is_shown[edge->dependency])
            output_line(view->out, "  n%u %s n%u%s", edge->dependency, as->arrows[edge->kind],
                        edge->node, as->ends[edge->kind]);
    }
    draw_awaited(view, as);
    if (as->end)
        output_line(view->out, "%s", as->end);
}

/* ---- ---- */

static int show(struct cli *cli, const struct spec *spec, const struct spec_graph *graph,
                struct error *error)
{
    struct view view = {.out = &cli->out, .spec = spec, .graph = graph};
    const char *format = cli->options.output;
    int r;

    make_labels(&view);
    r = choose_nodes(&view, cli->options.to_id, error);
    if (r == 0 && str_equal(format, "dot"))
        draw(&view, &dot);
    else if (r == 0 && str_equal(format, "mermaid"))
        draw(&view, &mermaid);
    else if (r == 0)
        show_tree(&view);
    for (size_t i = 0; i < spec->n_resources; i++)
        free(view.labels[i]);
    free(view.labels);
    free(view.is_shown);
    free(view.parent);
    free(view.depth);
    free(view.level);
    return r;
}

int graph_show(struct cli *cli, const struct value *spec, struct error *error)
{
    _cleanup_(problems_done) struct problems problems = PROBLEMS_INIT;
    _cleanup_(spec_graph_done) struct spec_graph graph = {0};
    _cleanup_(spec_free_p) struct spec *parsed = NULL;
    int r = spec_parse(spec, &spec_graph_options, &parsed, &problems, error);

    if (r == 0)
        r = spec_graph_make(parsed, &graph, error);
    if (r == 0)
        r = show(cli, parsed, &graph, error);
    else
        err_hint(error, "kubectl kusion validate -f FILE");
    return r;
}
