#include "controller/reconcile/run/corrections.h"

#include <string.h>

#include "engine/base/str.h"
#include "engine/base/timestamp.h"
#include "engine/base/utf8.h"
#include "engine/operation/operation.h"

/* ---- One change ---- */

static const char *path_at(const struct value *fields, size_t i)
{
    return value_string(value_at(fields, i));
}

static bool has_field(const struct value *fields, const char *path)
{
    for (size_t i = 0; i < value_count(fields); i++)
        if (str_equal(path_at(fields, i), path))
            return true;
    return false;
}

/* Of a create the object as a whole is meant. */
static const struct diff *fields_of(const struct plan_change *change)
{
    return change->action == PLAN_UPDATE ? change->diff : NULL;
}

/* All its fields are known, and can be listed. */
static bool fits(const struct plan_change *change)
{
    const struct diff *diff = fields_of(change);

    if (!diff)
        return true;
    if (diff->total > diff->n_fields || diff->n_fields > CORRECTIONS_FIELDS)
        return false;
    for (size_t i = 0; i < diff->n_fields; i++)
        if (strlen(diff->fields[i].path) > CORRECTIONS_PATH)
            return false;
    return true;
}

/* The entry for the same action on the same resource, or NULL. */
static const struct value *find(const struct value *changes, const struct plan_change *change)
{
    for (size_t i = 0; i < value_count(changes); i++) {
        const struct value *entry = value_at(changes, i);

        if (str_equal(value_get_string(entry, "id"), change->id) &&
            str_equal(value_get_string(entry, "action"), plan_action_name(change->action)))
            return entry;
    }
    return NULL;
}

static bool is_covered(const struct value *changes, const struct plan_change *change)
{
    const struct value *entry = find(changes, change);
    const struct diff *diff = fields_of(change);

    if (!entry || !fits(change))
        return false;
    for (size_t i = 0; diff && i < diff->n_fields; i++)
        if (!has_field(value_get(entry, "fields"), diff->fields[i].path))
            return false;
    return true;
}

static bool is_correction(const struct plan_change *change)
{
    return change->action == PLAN_CREATE || change->action == PLAN_UPDATE;
}

bool corrections_repeat(const struct value *recorded, const struct plan *plan)
{
    const struct value *changes = value_get(recorded, "changes");
    bool any = false;

    for (size_t i = 0; i < plan->n_changes; i++) {
        const struct plan_change *change = &plan->changes[i];

        if (change->error || change->deposed)
            return false;
        if (change->action == PLAN_UNCHANGED || change->action == PLAN_READ)
            continue;
        if (!is_correction(change) || !is_covered(changes, change))
            return false;
        any = true;
    }
    return any;
}

/* ---- The list ---- */

static const struct value *list_fields(const struct value *entry, const struct diff *diff)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    const struct value *before = value_get(entry, "fields");

    value_begin_array(b);
    for (size_t i = 0; i < value_count(before); i++)
        value_add(b, value_at(before, i));
    for (size_t i = 0; diff && i < diff->n_fields; i++)
        if (!has_field(before, diff->fields[i].path))
            value_add_string(b, diff->fields[i].path);
    value_end_array(b);
    return value_finish(b);
}

/* The last times of an update, with this one. */
static const struct value *list_times(const struct value *entry, const char *time)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    const struct value *before = value_get(entry, "lastTimes");
    size_t n = value_count(before);

    value_begin_array(b);
    for (size_t i = n < CORRECTIONS_TIMES ? 0 : n - CORRECTIONS_TIMES + 1; i < n; i++)
        value_add(b, value_at(before, i));
    value_add_string(b, time);
    value_end_array(b);
    return value_finish(b);
}

/* entry: the one before, or NULL. False: there is no room for it. */
static bool add_change(struct value_builder *b, const struct value *entry,
                       const struct plan_change *change, const char *time)
{
    bool is_update = change->action == PLAN_UPDATE;
    _cleanup_value_ const struct value *fields = list_fields(entry, fields_of(change)),
                                       *made = NULL;
    /* Who changed it, in the plan's words; as before where they do not say. */
    _cleanup_free_ char *shown = change->reason ? utf8_show(change->reason) : NULL;
    const char *who = shown ? shown : value_get_string(entry, "message");
    char message[CORRECTIONS_NAME];

    if (!fits(change) || value_count(fields) > CORRECTIONS_FIELDS)
        return false;
    str_copy(message, sizeof(message), who ? who : "");
    made = value_pack(
        "{s:s, s:s, s:v?, s:s?, s:V?}", "id", change->id, "action",
        plan_action_name(change->action), "fields", value_count(fields) ? fields : NULL, "message",
        is_update && who ? message : NULL, "lastTimes", is_update ? list_times(entry, time) : NULL);
    value_add(b, made);
    return true;
}

static const struct plan_change *change_of(const struct plan *plan, const struct value *entry)
{
    _cleanup_value_ const struct value *list = value_pack("[v]", entry);

    for (size_t i = 0; i < plan->n_changes; i++)
        if (is_correction(&plan->changes[i]) && find(list, &plan->changes[i]))
            return &plan->changes[i];
    return NULL;
}

/* Those before, with what this correction adds to them, then the new ones. */
static const struct value *list_changes(const struct value *before, const struct plan *plan,
                                        const char *time)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    size_t n = 0;

    value_begin_array(b);
    for (size_t i = 0; i < value_count(before); i++, n++) {
        const struct value *entry = value_at(before, i);
        const struct plan_change *change = change_of(plan, entry);

        if (!change || !add_change(b, entry, change, time))
            value_add(b, entry);
    }
    for (size_t i = 0; i < plan->n_changes && n < CORRECTIONS_CHANGES; i++)
        if (is_correction(&plan->changes[i]) && !find(before, &plan->changes[i]))
            n += add_change(b, NULL, &plan->changes[i], time);
    value_end_array(b);
    return value_finish(b);
}

static bool has_correction(const struct plan *plan)
{
    for (size_t i = 0; i < plan->n_changes; i++)
        if (is_correction(&plan->changes[i]))
            return true;
    return false;
}

const struct value *corrections_add(const struct value *recorded, const struct plan *plan,
                                    const char *summary, int64_t now)
{
    _cleanup_value_ const struct value *changes = NULL;
    char time[TIMESTAMP_SIZE];

    if (!has_correction(plan))
        return NULL;
    timestamp_format(now, time);
    changes = list_changes(value_get(recorded, "changes"), plan, time);
    return value_pack("{s:I, s:s, s:s, s:v}", "count",
                      value_int(value_get(recorded, "count"), 0) + 1, "lastTime", time, "message",
                      summary, "changes", changes);
}

/* ---- Fights ---- */

#define CORRECTIONS_EACH 60000 /* ms between two corrections of fields that are fought for */

static int64_t time_at(const struct value *times, size_t i)
{
    const char *text = value_string(value_at(times, i));

    return text ? timestamp_parse(text) : 0;
}

static bool is_fought_for(const struct value *entry, int64_t interval, int64_t now)
{
    const struct value *times = value_get(entry, "lastTimes");
    size_t n = value_count(times);

    if (interval < CORRECTIONS_EACH)
        interval = CORRECTIONS_EACH;
    return n >= CORRECTIONS_TIMES && now - time_at(times, 0) <= 5 * interval &&
           now - time_at(times, n - 1) <= 2 * interval;
}

/* ms for which this change is not made; 0: it is made now. */
static int64_t rest_of(const struct value *recorded, const struct plan_change *change, int64_t now)
{
    const struct value *changes = value_get(recorded, "changes");
    const struct value *times =
        is_covered(changes, change) ? value_get(find(changes, change), "lastTimes") : NULL;
    size_t n = value_count(times);

    if (change->action != PLAN_UPDATE || n < CORRECTIONS_TIMES ||
        now - time_at(times, 0) > CORRECTIONS_TIMES * CORRECTIONS_EACH)
        return 0;
    return time_at(times, n - 1) + CORRECTIONS_EACH - now;
}

int64_t corrections_rest(const struct value *recorded, const struct plan *plan, int64_t now)
{
    int64_t least = INT64_MAX;

    for (size_t i = 0; i < plan->n_changes; i++) {
        const struct plan_change *change = &plan->changes[i];
        int64_t rest;

        if (change->error || change->deposed || change->moved_from)
            return 0;
        if (change->action == PLAN_UNCHANGED || change->action == PLAN_READ)
            continue;
        rest = rest_of(recorded, change, now);
        if (rest <= 0)
            return 0;
        least = rest < least ? rest : least;
    }
    return least == INT64_MAX ? 0 : least;
}

#define NAMED_FIELDS 3

/* "apps/v1:Deployment:shop:web: spec.replicas, changed by kube-controller-manager (scale)" */
static void add_fight(struct buf *text, const struct value *entry)
{
    const struct value *fields = value_get(entry, "fields");
    const char *message = value_get_string(entry, "message");
    size_t n = value_count(fields);

    operation_show_id(text, value_get_string(entry, "id"));
    buf_add_str(text, ": ");
    for (size_t i = 0; i < n && i < NAMED_FIELDS; i++)
        buf_printf(text, "%s%s", i ? ", " : "", path_at(fields, i));
    if (n > NAMED_FIELDS)
        buf_printf(text, " and %zu more", n - NAMED_FIELDS);
    buf_printf(text, ", %s", message ? message : "changed by others");
}

char *corrections_fight(const struct value *recorded, int64_t interval, int64_t now)
{
    const struct value *changes = value_get(recorded, "changes");
    _cleanup_buf_ struct buf text = BUF_INIT;
    size_t named = 0, more = 0;

    for (size_t i = 0; i < value_count(changes); i++) {
        const struct value *entry = value_at(changes, i);

        if (!is_fought_for(entry, interval, now))
            continue;
        if (named == NAMED_FIELDS) {
            more++;
            continue;
        }
        buf_add_str(&text, named++ ? "; " : "corrected at each check: ");
        add_fight(&text, entry);
    }
    if (!named)
        return NULL;
    if (more)
        buf_printf(&text, "; and %zu more resources", more);
    buf_add_str(&text, ". Leave these fields out of the Spec, or keep the other from writing them");
    return utf8_show(text.data);
}
