#include "cli/online/spec_view.h"

#include <string.h>

#include "cli/frame/width.h"
#include "cli/online/names.h"
#include "engine/base/str.h"
#include "engine/base/timestamp.h"
#include "engine/base/utf8.h"
#include "runtimes/io/clock.h"

#define NAME_WIDTH 44 /* of the widest name that others are put in line with */

static int64_t now(void)
{
    return system_clock.now(&system_clock);
}

const struct value *latest_record(const struct objects *releases, int64_t generation)
{
    for (size_t i = releases->count; i-- > 0;) {
        const struct value *release = releases->items[i];

        if (release_is_record(release) &&
            object_int(release, 0, "status", "specGeneration", NULL) >= generation)
            return release;
    }
    return NULL;
}

/* ---- Head ---- */

static void add_revision(struct output *out, const struct value *spec, const struct value *record)
{
    int64_t in_force = object_int(spec, 0, "status", "lastAppliedRevision", NULL);
    int64_t latest = object_int(record, in_force, "status", "revision", NULL);

    if (latest)
        output_add(out, "   revision %lld", (long long)latest);
    if (latest && in_force != latest)
        output_add(out, in_force ? " (in force: %lld)" : " (in force: none)", (long long)in_force);
}

/* An operation that goes on: what it does, and for how long. */
static void add_phase(struct output *out, const struct value *record)
{
    int64_t began = timestamp_parse(object_text(record, "", "status", "createTime", NULL));
    const char *phase = object_text(record, "", "status", "phase", NULL);
    _cleanup_free_ char *took = NULL;

    if (!record || release_has_ended(record) || !*phase || str_equal(phase, "awaitingApproval"))
        return;
    output_add(out, "   %s", phase);
    if (!began)
        return;
    took = age_since(began, now());
    output_add(out, " for %s", took);
}

void spec_view_head(struct output *out, const struct value *spec, const struct value *record)
{
    struct standing standing = standing_of(spec, now());
    const char *objects = object_text(spec, NULL, "status", "objects", NULL);
    int64_t drift = object_int(spec, 0, "status", "driftCorrections", "count", NULL);

    output_paint(out, STYLE_BOLD, "%s/%s", object_namespace(spec), object_name(spec));
    output_paint(out, standing.style, "   %s %s", standing.mark, standing.reason);
    add_revision(out, spec, record);
    add_phase(out, record);
    if (objects)
        output_add(out, "   %s objects", objects);
    if (drift)
        output_add(out, "   drift corrected %lld time%s", (long long)drift, drift > 1 ? "s" : "");
    output_end(out);
}

/* ---- Rows ---- */

static size_t name_width(const struct rows *rows)
{
    size_t widest = 0;

    for (size_t i = 0; i < rows->count; i++) {
        _cleanup_free_ char *shown = utf8_show(rows->items[i].name);
        size_t width = text_width(shown);

        if (width > widest && width <= NAME_WIDTH)
            widest = width;
    }
    return widest;
}

static void show_row(struct output *out, const struct row *row, size_t width)
{
    _cleanup_free_ char *took = took_text(row->state == ROW_DONE ? row->duration : NULL);

    output_add(out, "  ");
    output_paint(out, row_style(row), "%s ", row_mark(row));
    output_add(out, "%s", row->name);
    output_tab(out, 4 + width + 2);
    output_add(out, "%6s", took);
    if (row->text && *row->text)
        output_paint(out, row->state == ROW_FAILED ? STYLE_BAD : STYLE_PLAIN, "  %s", row->text);
    output_end(out);
}

static bool is_shown(const struct spec_view *view, const struct row *row, bool is_done)
{
    return (row->state == ROW_DONE) == is_done && !(view->is_failed_only && is_done);
}

/* Where not all have room, those that are done are left out first. */
void spec_view_rows(struct output *out, const struct spec_view *view)
{
    const struct rows *rows = view->rows;
    size_t width = name_width(rows), n_shown = 0, n_undone = rows->count - rows->n_done;
    bool is_whole = !view->most || rows->count <= view->most;
    size_t room = is_whole ? rows->count : view->most - 1;
    size_t room_for_done = room > n_undone ? room - n_undone : 0;

    for (size_t i = 0; i < rows->count && n_shown < room; i++) {
        const struct row *row = &rows->items[i];

        if (is_shown(view, row, true)) {
            if (!room_for_done)
                continue;
            room_for_done--;
        } else if (!is_shown(view, row, false)) {
            continue;
        }
        show_row(out, row, width);
        n_shown++;
        if (view->below && row->state != ROW_DONE)
            view->below(view->arg, out, row);
    }
    if (!is_whole && !view->is_failed_only)
        output_line(out, "  … and %zu more", rows->count - n_shown);
}

/* ---- Foot ---- */

#define RECONCILE "kubectl annotate spec "

/* Hints of the operator that name kubectl where this program has a command of its own: those of an
 * approval are left out, and the annotation that asks for a reconcile is its command. */
static void show_hint(struct output *out, const char *hint, const struct value *spec)
{
    const char *reconcile = strstr(hint, RECONCILE);

    if (str_has_prefix(hint, "to see it:") || str_has_prefix(hint, "to approve"))
        return;
    if (reconcile && strstr(reconcile, "reconcile-requested-at"))
        output_line(out, "next:  %.*skubectl kusion reconcile %s -n %s", (int)(reconcile - hint),
                    hint, object_name(spec), object_namespace(spec));
    else
        output_line(out, "next:  %s", hint);
}

static void show_hints(struct output *out, const struct value *spec, const char *message)
{
    const char *hint = err_hints(message);

    while (*hint) {
        size_t length = strcspn(++hint, "\n");
        _cleanup_free_ char *line = str_new_n(hint, length);

        show_hint(out, line, spec);
        hint += length;
    }
}

void show_next(struct output *out, const struct value *spec, const struct standing *standing)
{
    const char *name = object_name(spec), *place = object_namespace(spec);

    if (str_equal(standing->reason, "AccessDenied")) {
        output_line(out, "next:  kubectl kusion rbac check %s -n %s", name, place);
        return;
    }
    show_hints(out, spec, standing->message);
    if (standing->rank == STANDING_WAITS)
        output_line(out, "next:  kubectl kusion approve %s -n %s", name, place);
    else if (standing->rank == STANDING_UNSEEN)
        output_line(out, "next:  kubectl kusion doctor");
    else if (value_bool(value_path(spec, "spec", "suspend", NULL), false))
        output_line(out, "next:  kubectl kusion resume %s -n %s", name, place);
    else if (standing->rank == STANDING_FAILED &&
             object_int(spec, 0, "status", "lastAppliedRevision", NULL) &&
             !str_equal(standing->reason, "InvalidSpec") &&
             !str_equal(standing->reason, "Rejected"))
        output_line(out, "next:  kubectl kusion rollback %s -n %s --preview", name, place);
    else if (standing->rank == STANDING_HELD)
        output_line(out, "next:  kubectl kusion history %s -n %s", name, place);
    else if (standing->rank == STANDING_FAILED && !*err_hints(standing->message))
        output_line(out, "next:  kubectl kusion explain %s", standing->reason);
}

void spec_view_foot(struct output *out, const struct value *spec, bool is_short)
{
    struct standing standing = standing_of(spec, now());
    bool is_told = is_short && standing.rank == STANDING_FAILED; /* by the rows */
    _cleanup_free_ char *line = first_line(is_told ? standing.summary : standing.message);

    if (standing.rank != STANDING_READY)
        output_line(out, "%s", line);
    show_next(out, spec, &standing);
}
