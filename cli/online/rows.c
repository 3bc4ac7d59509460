#include "cli/online/rows.h"

#include <string.h>

#include "cli/check/spec_graph.h"
#include "cli/online/names.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"

char *first_line(const char *message)
{
    return str_new_n(message, strcspn(message, "\n"));
}

/* ---- What each came to ---- */

static enum row_state state_of(const char *outcome)
{
    static const struct {
        const char *outcome;
        enum row_state state;
    } states[] = {
        {"succeeded", ROW_DONE},  {"failed", ROW_FAILED},     {"timedOut", ROW_FAILED},
        {"skipped", ROW_SKIPPED}, {"cancelled", ROW_SKIPPED}, {"deferred", ROW_WAITS},
        {"pending", ROW_BUSY},
    };

    for (size_t i = 0; outcome && i < ARRAY_SIZE(states); i++)
        if (str_equal(outcome, states[i].outcome))
            return states[i].state;
    return ROW_WAITS;
}

static const char *done_text(const char *action)
{
    static const struct {
        const char *action, *text;
    } texts[] = {
        {"create", "created"},   {"update", "configured"}, {"adopt", "adopted"},
        {"replace", "replaced"}, {"delete", "deleted"},    {"read", "read"},
        {"forget", "left"},
    };

    for (size_t i = 0; action && i < ARRAY_SIZE(texts); i++)
        if (str_equal(action, texts[i].action))
            return texts[i].text;
    return "";
}

/* ---- What each waits for ---- */

static const struct value *find_resource(const struct value *resources, const char *id)
{
    for (size_t i = 0; i < value_count(resources); i++)
        if (str_equal(value_get_string(value_at(resources, i), "id"), id))
            return value_at(resources, i);
    return NULL;
}

/* The row of that resource, if it is not done. */
static const struct row *undone_row(const struct strmap *undone, const char *id)
{
    return id ? strmap_get(undone, id) : NULL;
}

/* The first dependency that is not done, of those that are written. */
static void find_written(struct row *row, const struct value *resource, const struct strmap *undone)
{
    const struct value *ids = value_get(resource, "dependsOn");

    for (size_t i = 0; i < value_count(ids); i++) {
        const struct row *other = undone_row(undone, value_string(value_at(ids, i)));

        if (!other)
            continue;
        row->waits_for = other->id;
        row->waits_by = "dependsOn";
        return;
    }
}

/* Of the others: of each resource the first that is referred to, or else follows from the kinds. */
static void find_implied(const struct spec *spec, const struct spec_graph *graph,
                         const struct strmap *undone)
{
    static const char *const by[] = {
        [EDGE_WRITTEN] = "dependsOn", [EDGE_REFERENCE] = "reference", [EDGE_KIND] = "kind"};

    for (size_t i = 0; i < graph->n_edges; i++) {
        const struct spec_edge *edge = &graph->edges[i];
        struct row *row = strmap_get(undone, spec->resources[edge->node].id);
        const struct row *other = undone_row(undone, spec->resources[edge->dependency].id);
        bool is_better = row && (!row->waits_for || (str_equal(row->waits_by, by[EDGE_KIND]) &&
                                                     edge->kind != EDGE_KIND));

        if (!is_better || !other)
            continue;
        row->waits_for = other->id;
        row->waits_by = by[edge->kind];
    }
}

/* A Spec that cannot be read has what it says itself. */
static void find_waits(const struct value *object, const struct strmap *undone)
{
    const struct value *resources = value_path(object, "spec", "resources", NULL);
    _cleanup_(problems_done) struct problems problems = PROBLEMS_INIT;
    struct spec_graph graph = {0};
    struct spec *spec = NULL;

    for (size_t i = 0; i < value_count(resources); i++) {
        const struct value *resource = value_at(resources, i);
        const char *id = value_get_string(resource, "id");
        struct row *row = id ? strmap_get(undone, id) : NULL;

        if (row)
            find_written(row, resource, undone);
    }
    if (object && undone->count &&
        spec_parse(object, &spec_graph_options, &spec, &problems, NULL) == 0 &&
        spec_graph_make(spec, &graph, NULL) == 0)
        find_implied(spec, &graph, undone);
    spec_graph_done(&graph);
    spec_free(spec);
}

/* Of a plan that is not carried out (yet). */
static bool is_planned(const struct row *row)
{
    return row->action && !row->outcome;
}

static char *waits_text(const struct row *row, const char *namespace_name)
{
    _cleanup_free_ char *name = name_of_id(row->waits_for, namespace_name);
    const char *why = str_equal(row->waits_by, "reference") ? ", to which it refers"
                      : str_equal(row->waits_by, "kind")    ? ", as its kind comes first"
                                                            : "";

    return str_printf("waits for %s%s", name, why);
}

static char *text_of(const struct row *row, const char *namespace_name)
{
    _cleanup_free_ char *line = first_line(row->message ? row->message : "");

    if (row->state == ROW_DONE)
        return str_new(*line ? line : done_text(row->action));
    if (is_planned(row))
        return str_equal(row->action, "unchanged") ? str_new("unchanged")
                                                   : str_printf("to %s", row->action);
    if (row->state == ROW_WAITS && row->waits_for)
        return waits_text(row, namespace_name);
    if (row->state >= ROW_FAILED && row->reason)
        return *line ? str_printf("%s: %s", row->reason, line) : str_new(row->reason);
    return TAKE(line);
}

/* ---- The list ---- */

static struct row *add(struct rows *rows, const char *id)
{
    rows->items = mem_grow(rows->items, rows->count, &rows->capacity, sizeof(*rows->items));
    rows->items[rows->count] = (struct row){.id = id};
    return &rows->items[rows->count++];
}

static void add_results(struct rows *rows, const struct value *results)
{
    for (size_t i = 0; i < value_count(results); i++) {
        const struct value *result = value_at(results, i);
        const char *id = value_get_string(result, "id");
        struct row *row = id ? add(rows, id) : NULL;

        if (!row)
            continue;
        row->action = value_get_string(result, "action");
        row->outcome = value_get_string(result, "outcome");
        row->reason = value_get_string(result, "reason");
        row->message = value_get_string(result, "message");
        row->duration = value_get_string(result, "duration");
        row->started_at = value_get_string(result, "startedAt");
        row->state = state_of(row->outcome);
    }
}

/* Without a record: what the Spec itself says. */
static void add_resources(struct rows *rows, const struct value *spec)
{
    const struct value *resources = value_path(spec, "spec", "resources", NULL);
    const struct value *failed = value_path(spec, "status", "resources", "failed", NULL);
    bool is_ready = condition_is(spec, "Ready", "True");

    for (size_t i = 0; i < value_count(resources); i++) {
        const char *id = value_get_string(value_at(resources, i), "id");
        const struct value *failure = id ? find_resource(failed, id) : NULL;
        struct row *row = id ? add(rows, id) : NULL;

        if (!row)
            continue;
        row->state = failure ? ROW_FAILED : is_ready ? ROW_DONE : ROW_WAITS;
        row->reason = value_get_string(failure, "reason");
        row->message = value_get_string(failure, "message");
    }
}

static void find_undone(const struct rows *rows, struct strmap *ret)
{
    for (size_t i = 0; i < rows->count; i++)
        if (rows->items[i].state != ROW_DONE)
            strmap_put(ret, rows->items[i].id, &rows->items[i]);
}

void rows_init(struct rows *rows, const struct value *spec, const struct value *record)
{
    const struct value *results = value_path(record, "status", "results", NULL);
    const char *namespace_name = object_namespace(spec ? spec : record);
    _cleanup_(strmap_done) struct strmap undone = STRMAP_INIT;

    *rows = (struct rows){0};
    if (value_count(results))
        add_results(rows, results);
    else
        add_resources(rows, spec);
    find_undone(rows, &undone);
    find_waits(spec, &undone);
    for (size_t i = 0; i < rows->count; i++) {
        struct row *row = &rows->items[i];
        bool may_wait = row->state == ROW_WAITS || (row->state == ROW_BUSY && !row->started_at);

        if (!may_wait)
            row->waits_for = row->waits_by = NULL;
        else if (row->waits_for)
            row->state = ROW_WAITS;
        row->name = name_of_id(row->id, namespace_name);
        row->text = text_of(row, namespace_name);
        rows->n_done += row->state == ROW_DONE;
    }
}

void rows_done(struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        free(rows->items[i].name);
        free(rows->items[i].text);
    }
    free(rows->items);
    *rows = (struct rows){0};
}

bool rows_have_failed(const struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        if (rows->items[i].state == ROW_FAILED)
            return true;
    return false;
}

static const struct {
    const char *mark;
    enum style style;
} looks[] = {
    [ROW_DONE] = {"✓", STYLE_GOOD},   [ROW_BUSY] = {"◐", STYLE_WARN},
    [ROW_WAITS] = {"·", STYLE_DIM},   [ROW_FAILED] = {"✗", STYLE_BAD},
    [ROW_SKIPPED] = {"-", STYLE_DIM},
};

const char *row_mark(const struct row *row)
{
    return looks[row->state].mark;
}

enum style row_style(const struct row *row)
{
    return looks[row->state].style;
}
