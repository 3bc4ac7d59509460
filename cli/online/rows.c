#include "cli/online/rows.h"

#include <string.h>

#include "cli/online/names.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"

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

char *waits_text(const struct value *wait, const char *namespace_name)
{
    const char *id = value_get_string(wait, "id"), *by = value_get_string(wait, "by");
    _cleanup_free_ char *name = id ? name_of_id(id, namespace_name) : NULL;

    return name ? str_printf("waits for %s%s", name,
                             str_equal(by, "reference") ? ", to which it refers"
                             : str_equal(by, "kind")    ? ", as its kind comes first"
                                                        : "")
                : NULL;
}

static char *text_of(const struct row *row, const char *namespace_name)
{
    _cleanup_free_ char *line = first_line(row->message ? row->message : "");

    if (row->state == ROW_DONE)
        return str_new(*line ? line : done_text(row->action));
    if (row->action && !row->outcome) /* of a plan that is not carried out (yet) */
        return str_equal(row->action, "unchanged") ? str_new("unchanged")
                                                   : str_printf("to %s", row->action);
    if (row->waits_for)
        return waits_text(row->waits_for, namespace_name);
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
        row->waits_for = value_get(result, "waitsFor");
        row->state = row->waits_for ? ROW_WAITS : state_of(row->outcome);
    }
}

static const struct value *find_resource(const struct value *resources, const char *id)
{
    for (size_t i = 0; i < value_count(resources); i++)
        if (str_equal(value_get_string(value_at(resources, i), "id"), id))
            return value_at(resources, i);
    return NULL;
}

/* A Release has what became of its first attempt. When it is tried again, and fails in another way,
 * that is in the Spec. */
static void add_later_failures(struct rows *rows, const struct value *spec)
{
    const struct value *failed = value_path(spec, "status", "resources", "failed", NULL);

    for (size_t i = 0; i < rows->count; i++) {
        struct row *row = &rows->items[i];
        const struct value *failure = find_resource(failed, row->id);
        bool is_skipped = str_equal(value_get_string(failure, "reason"), "DependencyNotReady");
        enum row_state state = is_skipped ? ROW_SKIPPED : ROW_FAILED;

        if (!failure)
            continue;
        if (row->state != state)
            row->outcome = is_skipped ? "skipped" : "failed";
        row->state = state;
        row->reason = value_get_string(failure, "reason");
        row->message = value_get_string(failure, "message");
        row->waits_for = NULL;
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

/* ---- Objects of others, which have to be healthy, too ---- */

/* What the message says of it, up to the next one; NULL: nothing. free() it. */
static char *said_of(const char *message, const char *id)
{
    _cleanup_free_ char *mark = str_printf("%s: ", id);
    const char *at = strstr(message, mark), *end;

    if (!at)
        return NULL;
    at += strlen(mark);
    end = strstr(at, "; ");
    return str_new_n(at, end && end < err_hints(at) ? (size_t)(end - at)
                                                    : (size_t)(err_hints(at) - at));
}

static void add_health_check(struct rows *rows, const struct value *check, const struct value *spec,
                             const struct value *record)
{
    const char *place = object_text(check, object_namespace(spec), "namespace", NULL);
    const char *message = object_text(condition_of(spec, "Ready"), "", "message", NULL);
    char *id = str_printf("%s:%s:%s:%s", object_text(check, "", "apiVersion", NULL),
                          object_text(check, "", "kind", NULL), place,
                          object_text(check, "", "name", NULL));
    _cleanup_free_ char *said = said_of(message, id);
    struct row *row = add(rows, id);

    row->own_id = id;
    row->state = condition_is(spec, "Ready", "True")    ? ROW_DONE
                 : !said                                ? ROW_WAITS
                 : !record || release_has_ended(record) ? ROW_FAILED
                                                        : ROW_BUSY;
    row->text = str_printf("%s (healthChecks)", said                     ? said
                                                : row->state == ROW_DONE ? "healthy"
                                                                         : "looked at last");
    row->message = row->text;
}

void rows_init(struct rows *rows, const struct value *spec, const struct value *record)
{
    const struct value *results = value_path(record, "status", "results", NULL);
    const struct value *checks = value_path(spec, "spec", "healthChecks", NULL);
    const char *namespace_name = object_namespace(spec ? spec : record);

    *rows = (struct rows){0};
    if (value_count(results))
        add_results(rows, results);
    else
        add_resources(rows, spec);
    if (value_count(results) && release_has_ended(record) && condition_is(spec, "Ready", "False"))
        add_later_failures(rows, spec);
    for (size_t i = 0; i < value_count(checks); i++)
        add_health_check(rows, value_at(checks, i), spec, record);
    for (size_t i = 0; i < rows->count; i++) {
        struct row *row = &rows->items[i];

        row->name = name_of_id(row->id, namespace_name);
        if (!row->text)
            row->text = text_of(row, namespace_name);
        rows->n_done += row->state == ROW_DONE;
    }
}

void rows_done(struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        free(rows->items[i].own_id);
        free(rows->items[i].name);
        free(rows->items[i].text);
    }
    free(rows->items);
    *rows = (struct rows){0};
}

void row_add_members(struct value_builder *b, const struct row *row)
{
    const struct {
        const char *key, *text;
    } texts[] = {
        {"id", row->id},
        {"action", row->action},
        {"outcome", row->outcome},
        {"reason", row->reason},
        {"message", row->message},
        {"startedAt", row->started_at},
        {"duration", row->duration},
    };

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        if (texts[i].text) {
            value_key(b, texts[i].key);
            value_add_string(b, texts[i].text);
        }
    if (!row->waits_for)
        return;
    value_key(b, "waitsFor");
    value_add(b, row->waits_for);
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
