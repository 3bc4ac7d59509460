#include "cli/online/plan_view.h"

#include <string.h>

#include "cli/frame/width.h"
#include "cli/online/names.h"
#include "cli/online/objects.h"
#include "cli/online/rows.h"
#include "engine/base/str.h"
#include "engine/base/utf8.h"

#define WIDEST_PATH 48  /* of those that are put in line */
#define LONG_VALUE  240 /* bytes, beyond which a value is cut */
#define HIDDEN      "(sensitive)"

static const struct look {
    const char *action, *sign;
    enum style style;
} looks[] = {
    {"create", "+", STYLE_GOOD},   {"update", "~", STYLE_WARN},   {"adopt", "~", STYLE_WARN},
    {"replace", "-/+", STYLE_BAD}, {"delete", "-", STYLE_BAD},    {"read", "<", STYLE_DIM},
    {"forget", ".", STYLE_DIM},    {"unchanged", " ", STYLE_DIM},
};
static const struct look unplanned = {NULL, "?", STYLE_WARN};

static const struct look *look_of(const char *action)
{
    for (size_t i = 0; action && i < ARRAY_SIZE(looks); i++)
        if (str_equal(action, looks[i].action))
            return &looks[i];
    return &unplanned;
}

static const struct value *results_of(const struct value *release)
{
    return value_path(release, "status", "results", NULL);
}

static const char *action_of(const struct value *result)
{
    const char *action = value_get_string(result, "action");

    return action ? action : "unknown";
}

/* ---- Fields ---- */

/* Whether the operator itself adds it. */
static bool is_own_field(const char *path)
{
    static const char *const own[] = {"metadata.labels[api.kusion.io/owner]",
                                      "metadata.annotations[api.kusion.io/spec]"};

    for (size_t i = 0; i < ARRAY_SIZE(own); i++)
        if (str_equal(path, own[i]))
            return true;
    return false;
}

static const char *path_of(const struct value *field)
{
    const char *path = value_get_string(field, "path");

    return path ? path : "";
}

static size_t path_width(const struct value *fields)
{
    size_t widest = 0;

    for (size_t i = 0; i < value_count(fields); i++) {
        _cleanup_free_ char *shown = utf8_show(path_of(value_at(fields, i)));
        size_t width = text_width(shown);

        if (width > widest && width <= WIDEST_PATH && !is_own_field(shown))
            widest = width;
    }
    return widest;
}

/* A cut at the end of a character. */
static void add_value(struct output *out, const char *text, bool is_full)
{
    size_t length = strlen(text), kept = LONG_VALUE;
    _cleanup_free_ char *head = NULL;

    if (str_equal(text, HIDDEN)) {
        output_paint(out, STYLE_DIM, "(sensitive value)");
        return;
    }
    if (is_full || length <= LONG_VALUE) {
        output_add(out, "%s", text);
        return;
    }
    while (kept && (text[kept] & 0xc0) == 0x80)
        kept--;
    head = str_new_n(text, kept);
    output_add(out, "%s", head);
    output_paint(out, STYLE_DIM, "… and %zu bytes (--full)", length - kept);
}

static void show_field(struct output *out, const struct value *field, size_t width, bool is_full)
{
    const char *from = value_get_string(field, "from"), *to = value_get_string(field, "to");
    enum style style = !from ? STYLE_GOOD : !to ? STYLE_BAD : STYLE_WARN;

    output_add(out, "      ");
    output_paint(out, style, "%s", !from ? "+" : !to ? "-" : "~");
    output_add(out, " %s", path_of(field));
    output_tab(out, 9 + width);
    output_add(out, "= ");
    if (from)
        add_value(out, from, is_full);
    if (from && to && !(str_equal(from, HIDDEN) && str_equal(to, HIDDEN))) {
        output_add(out, " -> ");
        add_value(out, to, is_full);
    } else if (!from && to) {
        add_value(out, to, is_full);
    }
    output_end(out);
}

static void show_fields(struct output *out, const struct value *result, bool is_full)
{
    const struct value *fields = value_get(result, "fields");
    int64_t omitted = value_int(value_get(result, "omittedFields"), 0);
    size_t width = path_width(fields);

    for (size_t i = 0; i < value_count(fields); i++)
        if (!is_own_field(path_of(value_at(fields, i))))
            show_field(out, value_at(fields, i), width, is_full);
    if (!omitted)
        return;
    output_add(out, "      ");
    output_paint(out, STYLE_BAD, "… and %lld%s fields that are NOT shown", (long long)omitted,
                 value_count(fields) ? " more" : "");
    output_end(out);
}

/* ---- Results ---- */

/* Each line of a message is marked, so that none looks like a part of the plan. */
static void show_note(struct output *out, enum style style, const char *prefix, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        _cleanup_free_ char *line = str_new_n(text, length);

        output_add(out, "      ");
        output_paint(out, style, "│");
        output_line(out, " %s%s", prefix, line);
        text += length + (text[length] == '\n');
        prefix = "";
    }
}

static void show_notes(struct output *out, const struct value *result)
{
    const char *reason = value_get_string(result, "reason");
    const char *message = value_get_string(result, "message");
    const struct value *warnings = value_get(result, "warnings");
    _cleanup_free_ char *prefix = reason ? str_printf("%s: ", reason) : NULL;

    if (reason || message)
        show_note(out, reason ? STYLE_BAD : STYLE_DIM, prefix ? prefix : "",
                  message ? message : "-");
    for (size_t i = 0; i < value_count(warnings); i++) {
        const char *warning = value_string(value_at(warnings, i));

        show_note(out, STYLE_WARN, "warning: ", warning ? warning : "");
    }
}

static bool is_change(const struct value *result)
{
    return !str_equal(action_of(result), "unchanged");
}

static void show_result(struct output *out, const struct value *result, const char *namespace_name,
                        const struct plan_view *view)
{
    const struct look *look = look_of(action_of(result));
    const char *id = value_get_string(result, "id");
    const char *outcome = value_get_string(result, "outcome");
    _cleanup_free_ char *name = name_of_id(id ? id : "", namespace_name);
    _cleanup_free_ char *wait = waits_text(value_get(result, "waitsFor"), namespace_name);

    output_paint(out, look->style, "  %3s %-9s", look->sign, action_of(result));
    output_add(out, " ");
    output_paint(out, STYLE_BOLD, "%s", name);
    if (wait || str_equal(outcome, "pending"))
        output_paint(out, STYLE_DIM, "   %s", wait ? wait : outcome);
    else if (outcome && !str_equal(outcome, "succeeded"))
        output_paint(out, STYLE_BAD, "   %s", outcome);
    output_end(out);
    show_notes(out, result);
    show_fields(out, result, view->is_full);
}

void plan_view_results(struct output *out, const struct value *release,
                       const struct plan_view *view)
{
    const struct value *results = results_of(release);
    int64_t omitted = object_int(release, 0, "status", "omitted", NULL);

    for (size_t i = 0; i < value_count(results); i++) {
        const struct value *result = value_at(results, i);

        if (view->has_unchanged || is_change(result) || value_get(result, "reason") ||
            value_count(value_get(result, "warnings")))
            show_result(out, result, object_namespace(release), view);
    }
    if (omitted)
        output_line(
            out, "  … and %lld more resources: all are in %s", (long long)omitted,
            object_text(release, "the operator's namespace", "status", "planRef", "name", NULL));
}

/* ---- Summary ---- */

static unsigned count_action(const struct value *results, const char *action)
{
    unsigned count = 0;

    for (size_t i = 0; i < value_count(results); i++)
        count += str_equal(action_of(value_at(results, i)), action);
    return count;
}

static unsigned count_unplanned(const struct value *results)
{
    return count_action(results, "unknown") + count_action(results, "deferred");
}

static unsigned count_warnings(const struct value *results)
{
    unsigned count = 0;

    for (size_t i = 0; i < value_count(results); i++)
        count += (unsigned)value_count(value_get(value_at(results, i), "warnings"));
    return count;
}

char *plan_short_digest(const struct value *release)
{
    const char *digest = object_text(release, "", "status", "plan", "digest", NULL);

    return str_new_n(digest, strnlen(digest, 12));
}

/* status.plan counts all; what is only forgotten, or could not be planned, only the results do. */
static int64_t count_of(const struct value *release, const char *action)
{
    const struct value *plan = value_path(release, "status", "plan", NULL);
    int64_t count = value_int(value_get(plan, action), -1);

    return count >= 0 ? count : count_action(results_of(release), action);
}

void plan_view_summary(struct output *out, const struct value *release)
{
    const struct value *results = results_of(release);
    _cleanup_free_ char *digest = plan_short_digest(release);
    unsigned unplanned_count = count_unplanned(results), warnings = count_warnings(results);
    bool has_any = false;

    for (size_t i = 0; i < ARRAY_SIZE(looks); i++) {
        int64_t count = count_of(release, looks[i].action);

        if (!count || str_equal(looks[i].action, "unchanged"))
            continue;
        output_paint(out, STYLE_BOLD, "%s%lld to %s", has_any ? ", " : "Plan: ", (long long)count,
                     looks[i].action);
        has_any = true;
    }
    if (unplanned_count) {
        output_paint(out, STYLE_WARN, "%s%u not planned",
                     has_any ? ", " : "Plan: ", unplanned_count);
        has_any = true;
    }
    output_paint(out, STYLE_BOLD, "%s%lld unchanged.",
                 has_any ? ", " : "No changes: ", (long long)count_of(release, "unchanged"));
    if (warnings)
        output_paint(out, STYLE_WARN, " %u warning%s.", warnings, warnings > 1 ? "s" : "");
    if (*digest)
        output_paint(out, STYLE_DIM, "   digest %s", digest);
    output_end(out);
}

/* ---- What is not shown ---- */

static bool is_hidden_in(const struct value *object, const char *key)
{
    const char *text = value_get_string(object, key);

    return text && strstr(text, "(sensitive");
}

/* Fields and messages in which something is hidden. */
static unsigned count_hidden(const struct value *results)
{
    unsigned count = 0;

    for (size_t i = 0; i < value_count(results); i++) {
        const struct value *result = value_at(results, i), *fields = value_get(result, "fields");
        const struct value *warnings = value_get(result, "warnings");

        for (size_t n = 0; n < value_count(fields); n++) {
            const struct value *field = value_at(fields, n);

            count += is_hidden_in(field, "path") || is_hidden_in(field, "from") ||
                     is_hidden_in(field, "to");
        }
        for (size_t n = 0; n < value_count(warnings); n++) {
            const char *warning = value_string(value_at(warnings, n));

            count += warning && strstr(warning, "(sensitive");
        }
        count += is_hidden_in(result, "message");
    }
    return count;
}

static int64_t count_omitted_fields(const struct value *results)
{
    int64_t count = 0;

    for (size_t i = 0; i < value_count(results); i++)
        count += value_int(value_get(value_at(results, i), "omittedFields"), 0);
    return count;
}

static void PRINTF_LIKE(2, 3) warn(struct output *out, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    output_paint_v(out, STYLE_BAD, format, args);
    va_end(args);
    output_end(out);
}

void plan_view_unseen(struct output *out, const struct value *release)
{
    const struct value *results = results_of(release);
    int64_t fields = count_omitted_fields(results);
    int64_t omitted = object_int(release, 0, "status", "omitted", NULL);
    bool is_unseen = object_int(release, 0, "status", "plan", "unseen", NULL) > 0;
    const char *where = object_text(release, NULL, "status", "planRef", "name", NULL);
    unsigned hidden = count_hidden(results);

    if (fields)
        warn(out, "%lld fields are NOT shown above.", (long long)fields);
    if (omitted && is_unseen)
        warn(out, "%lld resources are NOT shown above.", (long long)omitted);
    if (is_unseen && where)
        warn(out, "All of the plan is in %s, for who may read that.", where);
    if (hidden)
        warn(out, "%u sensitive value%s approved unseen.", hidden, hidden > 1 ? "s are" : " is");
}

/* ---- Questions ---- */

bool plan_has_changes(const struct value *release)
{
    for (size_t i = 0; i < ARRAY_SIZE(looks); i++)
        if (!str_equal(looks[i].action, "unchanged") && count_of(release, looks[i].action))
            return true;
    return count_unplanned(results_of(release)) > 0;
}

bool plan_is_complete(const struct value *release)
{
    return count_action(results_of(release), "unknown") == 0;
}

static const struct value *result_of(const struct value *release, const char *id)
{
    const struct value *results = results_of(release);

    for (size_t i = 0; i < value_count(results); i++)
        if (str_equal(value_get_string(value_at(results, i), "id"), id))
            return value_at(results, i);
    return NULL;
}

unsigned plan_count_other(const struct value *before, const struct value *plan)
{
    const struct value *results = results_of(plan);
    unsigned count = 0;

    for (size_t i = 0; i < value_count(results); i++) {
        const struct value *now = value_at(results, i);
        const struct value *old = result_of(before, value_get_string(now, "id"));

        count +=
            is_change(now) && !(old && str_equal(action_of(old), action_of(now)) &&
                                value_equal(value_get(old, "fields"), value_get(now, "fields")));
    }
    return count;
}
