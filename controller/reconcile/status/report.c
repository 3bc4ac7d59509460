#include "controller/reconcile/status/report.h"

#include <stdio.h>
#include <string.h>

#include "controller/reconcile/status/conditions.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"
#include "engine/base/utf8.h"

const struct value *report_plan(const struct plan *plan, const char *digest)
{
    _cleanup_value_ const struct value *read = NULL;
    struct plan_summary sum;

    plan_summarise(plan, &sum);
    if (sum.read)
        read = value_pack("i", (int)sum.read);
    return value_pack("{s:s?, s:i, s:i, s:i, s:i, s:i, s:i, s:v?}", "digest", digest, "create",
                      (int)sum.create, "update", (int)sum.update, "delete", (int)sum.delete,
                      "replace", (int)sum.replace, "adopt", (int)sum.adopt, "unchanged",
                      (int)sum.unchanged, "read", read);
}

static bool has_failed(const struct operation_result *result)
{
    return result->status == RESULT_FAILED || result->status == RESULT_TIMED_OUT;
}

static void count(const struct operation_results *results, int counts[RESULT_DEFERRED + 1])
{
    for (size_t i = 0; i < results->count; i++)
        counts[results->items[i].status]++;
}

const struct value *report_counts(const struct operation_results *results)
{
    int n[RESULT_DEFERRED + 1] = {0};

    count(results, n);
    return value_pack("{s:I, s:i, s:i, s:i, s:i}", "total", (int64_t)results->count, "succeeded",
                      n[RESULT_SUCCEEDED], "failed", n[RESULT_FAILED] + n[RESULT_TIMED_OUT],
                      "skipped", n[RESULT_SKIPPED] + n[RESULT_CANCELLED], "pending",
                      n[RESULT_PENDING] + n[RESULT_DEFERRED]);
}

static const struct value *resources(size_t total, size_t ready, const struct value *failed,
                                     size_t omitted)
{
    return value_pack("{s:I, s:I, s:v, s:I}", "total", (int64_t)total, "ready", (int64_t)ready,
                      "failed", failed, "omitted", (int64_t)omitted);
}

static void add_failed(struct value_builder *b, const struct operation_result *result)
{
    _cleanup_free_ char *id =
        utf8_show(result->change->id); /* a tenant's text, for administrators */
    _cleanup_value_ const struct value *failed = value_pack(
        "{s:s, s:s, s:s}", "id", id, "reason", result->error ? result->error->reason : "Pending",
        "message", result->error ? result->error->message : "not done yet");

    value_add(b, failed);
}

/* A resource may have several objects, while one makes room for another; its id is listed once. */
static bool is_listed_already(const struct operation_results *results, size_t i)
{
    const struct plan_change *change = results->items[i].change;

    for (size_t before = 0; change->deposed && before < i; before++)
        if (results->items[before].status != RESULT_SUCCEEDED &&
            str_equal(results->items[before].change->id, change->id))
            return true;
    return false;
}

const struct value *report_resources(const struct operation_results *results)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *failed = NULL;
    size_t total = 0, ready = 0, named = 0, omitted = 0;

    value_begin_array(b);
    for (size_t i = 0; i < results->count; i++) {
        const struct operation_result *result = &results->items[i];
        bool leaves = !result->change->resource, is_done = result->status == RESULT_SUCCEEDED;

        total += !leaves || !is_done;
        ready += !leaves && is_done;
        if (is_done)
            continue;
        if (named == REPORT_FAILED || is_listed_already(results, i)) {
            omitted++;
            continue;
        }
        named++;
        add_failed(b, result);
    }
    value_end_array(b);
    failed = value_finish(b);
    return resources(total, ready, failed, omitted);
}

const struct value *report_all_ready(size_t n_resources)
{
    _cleanup_value_ const struct value *none = value_pack("[]");

    return resources(n_resources, n_resources, none, 0);
}

/* ---- In a line ---- */

/* Failures with the same message. */
struct alike {
    const struct operation_result *first;
    size_t count;
};

/* Those with the most frequent message. *ret_failed: the number of all failures. */
static struct alike find_most_alike(const struct operation_results *results, size_t *ret_failed)
{
    struct alike *all = NEW_ARRAY(struct alike, results->count + 1), most = {0};
    _cleanup_(strmap_done) struct strmap by_message = STRMAP_INIT;
    size_t n = 0;

    *ret_failed = 0;
    for (size_t i = 0; i < results->count; i++) {
        const struct operation_result *result = &results->items[i];
        struct alike *alike;

        if (!has_failed(result))
            continue;
        ++*ret_failed;
        alike = strmap_get(&by_message, result->error->message);
        if (!alike) {
            alike = &all[n++];
            alike->first = result;
            strmap_put(&by_message, result->error->message, alike);
        }
        if (++alike->count > most.count)
            most = *alike;
    }
    free(all);
    return most;
}

/* "Deployment/web" of "apps/v1:Deployment:shop:web", "random_password/db" of
 * "hashicorp:random:random_password:db": the second part is a kind if it begins like one. */
static void show_name(struct buf *to, const char *id, size_t length)
{
    const char *end = id + length, *name = end, *kind = memchr(id, ':', length);

    while (name > id && name[-1] != ':')
        name--;
    if (name == end)
        name = id;
    kind = kind ? kind + 1 : id;
    if (kind < name && !(*kind >= 'A' && *kind <= 'Z'))
        for (kind = name - 1; kind > id && kind[-1] != ':';)
            kind--;
    if (kind > id && kind < name)
        buf_printf(to, "%.*s/", (int)strcspn(kind, ":"), kind);
    buf_add(to, name, (size_t)(end - name));
}

/* By its whole id where another one has the same kind and name, in another namespace. */
static void show_failed(struct buf *to, const struct operation_results *results, const char *id)
{
    _cleanup_buf_ struct buf name = BUF_INIT;
    bool is_unique = true;

    show_name(&name, id, strlen(id));
    for (size_t i = 0; i < results->count && is_unique; i++) {
        const char *other = results->items[i].change->id;
        _cleanup_buf_ struct buf others = BUF_INIT;

        show_name(&others, other, strlen(other));
        is_unique = str_equal(other, id) || !str_equal(others.data, name.data);
    }
    operation_show_id(to, is_unique ? name.data : id);
}

/* What begins a message, and does not tell what is wrong. */
static const char *skip_preamble(const char *message)
{
    static const struct {
        const char *begin, *end;
    } preambles[] = {
        {"not healthy within ", " (timeout): "},
        {"not done within ", " (timeout): "},
        {"Internal error occurred: ", "Internal error occurred: "},
    };

    for (size_t i = 0; i < ARRAY_SIZE(preambles); i++) {
        const char *end = strstr(message, preambles[i].end);

        if (str_has_prefix(message, preambles[i].begin) && end)
            message = end + strlen(preambles[i].end);
    }
    return message;
}

char *report_brief(const char *what)
{
    const char *end = strstr(what, ": ");
    struct buf text = BUF_INIT;

    if (!end || *what == '"')
        return str_new(what);
    show_name(&text, what, (size_t)(end - what));
    buf_printf(&text, ": %s", skip_preamble(end + strlen(": ")));
    return buf_take(&text);
}

/* Without the hints of a message. */
static void show_short(const char *message, char *ret, size_t size)
{
    _cleanup_free_ char *line = str_new_n(message, (size_t)(err_hints(message) - message));
    _cleanup_free_ char *text = utf8_show(line);

    str_copy(ret, size, text);
}

void report_short(const char *message, const struct operation_results *results, char *ret,
                  size_t size)
{
    struct alike most = {0};
    char times[32] = "";
    _cleanup_buf_ struct buf text = BUF_INIT;
    size_t failed = 0;

    if (results)
        most = find_most_alike(results, &failed);
    if (!failed) {
        show_short(message, ret, size);
        return;
    }
    if (failed > 1) {
        buf_printf(&text, "%zu of %zu failed: ", failed, results->count);
    } else {
        show_failed(&text, results, most.first->change->id);
        buf_add_str(&text, ": ");
    }
    buf_add_str(&text, skip_preamble(most.first->error->message));
    if (most.count > 1)
        snprintf(times, sizeof(times), " (%zux)", most.count);
    show_short(text.data, ret, size - strlen(times));
    memcpy(ret + strlen(ret), times, strlen(times) + 1);
}

/* ---- Verdicts ---- */

bool report_timed_out(const struct operation_results *results)
{
    for (size_t i = 0; i < results->count; i++) {
        const struct operation_result *result = &results->items[i];

        if (result->status == RESULT_TIMED_OUT ||
            (result->status == RESULT_CANCELLED && result->error->code == ERR_TIMEOUT))
            return true;
    }
    return results->is_late;
}

bool report_needs_plan(const struct operation_results *results)
{
    for (size_t i = 0; i < results->count; i++)
        if (has_failed(&results->items[i]) &&
            str_equal(results->items[i].error->reason, OPERATION_NEEDS_PLAN))
            return true;
    return false;
}

void report_judge(const struct operation_results *results, struct error *failure)
{
    for (size_t i = 0; i < results->count && conditions_may_heal(failure); i++) {
        const struct operation_result *result = &results->items[i];

        if (!has_failed(result) || conditions_may_heal(result->error))
            continue;
        failure->code = result->error->code;
        str_copy(failure->reason, sizeof(failure->reason), result->error->reason);
    }
}

static bool is_gone(const struct operation_result *result)
{
    return !result->change->stays && !result->change->is_only_read;
}

static bool stays(const struct operation_result *result)
{
    return result->change->stays;
}

static void add_warnings(struct buf *text, size_t n)
{
    if (n)
        buf_printf(text, "; %zu warning%s", n, n == 1 ? "" : "s");
}

char *report_summary(const struct operation_results *results)
{
    static const struct {
        enum plan_action action;
        const char *verb;
        bool (*applies)(const struct operation_result *result); /* NULL: to all of the action */
    } verbs[] = {
        {PLAN_CREATE, "created", NULL},
        {PLAN_ADOPT, "adopted", NULL},
        {PLAN_UPDATE, "configured", NULL},
        {PLAN_REPLACE, "replaced", NULL},
        {PLAN_READ, "read", NULL},
        {PLAN_DELETE, "deleted", NULL},
        {PLAN_FORGET, "already gone", is_gone},
        {PLAN_FORGET, "left in place", stays},
        {PLAN_UNCHANGED, "unchanged", NULL},
    };
    struct buf text = BUF_INIT;
    size_t warnings = 0;

    for (size_t v = 0; v < ARRAY_SIZE(verbs); v++) {
        size_t n = 0;

        for (size_t i = 0; i < results->count; i++)
            n += results->items[i].action == verbs[v].action &&
                 results->items[i].status == RESULT_SUCCEEDED &&
                 (!verbs[v].applies || verbs[v].applies(&results->items[i]));
        if (n)
            buf_printf(&text, "%s%zu %s", text.length ? ", " : "", n, verbs[v].verb);
    }
    if (!text.length)
        buf_add_str(&text, "nothing to do");
    for (size_t i = 0; i < results->count; i++)
        warnings += value_count(results->items[i].warnings);
    add_warnings(&text, warnings);
    return buf_take(&text);
}

char *report_warnings(const struct operation_results *results)
{
    struct buf text = BUF_INIT;

    for (size_t i = 0; i < results->count; i++) {
        const struct operation_result *result = &results->items[i];

        for (size_t w = 0; result->action != PLAN_UNCHANGED && w < value_count(result->warnings);
             w++) {
            buf_add_str(&text, text.length ? "; " : "");
            operation_show_id(&text, result->change->id);
            buf_printf(&text, ": %s", value_string(value_at(result->warnings, w)));
        }
    }
    return text.length ? buf_take(&text) : NULL;
}

static void add_part(struct buf *text, uint32_t n, const char *what)
{
    if (n)
        buf_printf(text, "%s%u %s", text->length ? ", " : "", n, what);
}

char *report_plan_summary(const struct plan *plan)
{
    struct buf text = BUF_INIT;
    struct plan_summary sum;
    size_t warnings = 0;

    plan_summarise(plan, &sum);
    add_part(&text, sum.create, "to create");
    add_part(&text, sum.adopt, "to adopt");
    add_part(&text, sum.update, "to update");
    add_part(&text, sum.replace, "to replace");
    add_part(&text, sum.read, "to read");
    add_part(&text, sum.delete, "to delete");
    add_part(&text, sum.stay, "to leave in place");
    add_part(&text, sum.moved, "to get another id");
    add_part(&text, sum.deferred, "to be planned when others are applied");
    add_part(&text, sum.unknown, "that could not be looked at");
    if (!text.length)
        buf_add_str(&text, "nothing to do");
    for (size_t i = 0; i < plan->n_changes; i++)
        warnings += value_count(plan->changes[i].warnings);
    add_warnings(&text, warnings);
    return buf_take(&text);
}

char *report_to_revision(char *summary, int64_t revision)
{
    char *text;

    if (!revision)
        return summary;
    text = str_printf("to revision %lld: %s", (long long)revision, summary);
    free(summary);
    return text;
}
