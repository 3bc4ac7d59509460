#include "cli/online/rows.h"

#include <string.h>

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

/* The first dependency that is not done. */
static const char *waited_for(const struct value *resource, const struct strmap *undone)
{
    const struct value *ids = value_get(resource, "dependsOn");

    for (size_t i = 0; i < value_count(ids); i++) {
        const char *id = value_string(value_at(ids, i));
        const struct strmap_entry *entry = id ? strmap_find_n(undone, id, strlen(id)) : NULL;

        if (entry)
            return entry->key;
    }
    return NULL;
}

/* Of a plan that is not carried out (yet). */
static bool is_planned(const struct row *row)
{
    return row->action && !row->outcome;
}

static char *text_of(const struct row *row, const char *waits_for, const char *namespace_name)
{
    _cleanup_free_ char *line = first_line(row->message ? row->message : ""), *name = NULL;

    if (row->state == ROW_DONE)
        return str_new(*line ? line : done_text(row->action));
    if (is_planned(row))
        return str_equal(row->action, "unchanged") ? str_new("unchanged")
                                                   : str_printf("to %s", row->action);
    if ((row->state == ROW_BUSY || row->state == ROW_WAITS) && waits_for) {
        name = name_of_id(waits_for, namespace_name);
        return str_printf("waits for %s", name);
    }
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

/* Resources by id: a Spec may have thousands. */
static void index_resources(const struct value *resources, struct strmap *ret)
{
    for (size_t i = 0; i < value_count(resources); i++) {
        const char *id = value_get_string(value_at(resources, i), "id");

        if (id)
            strmap_put(ret, id, (void *)(uintptr_t)value_at(resources, i));
    }
}

void rows_init(struct rows *rows, const struct value *spec, const struct value *record)
{
    const struct value *results = value_path(record, "status", "results", NULL);
    const char *namespace_name = object_namespace(spec ? spec : record);
    _cleanup_(strmap_done) struct strmap undone = STRMAP_INIT, resources = STRMAP_INIT;

    *rows = (struct rows){0};
    if (value_count(results))
        add_results(rows, results);
    else
        add_resources(rows, spec);
    find_undone(rows, &undone);
    index_resources(value_path(spec, "spec", "resources", NULL), &resources);
    for (size_t i = 0; i < rows->count; i++) {
        struct row *row = &rows->items[i];
        const char *waits_for = waited_for(strmap_get(&resources, row->id), &undone);

        row->name = name_of_id(row->id, namespace_name);
        if (waits_for && row->state == ROW_BUSY)
            row->state = ROW_WAITS;
        row->text = text_of(row, waits_for, namespace_name);
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
