#include "cli/online/watch_spec.h"

#include "cli/online/follow.h"
#include "cli/online/names.h"
#include "cli/online/spec_view.h"
#include "engine/base/duration.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"
#include "engine/base/timestamp.h"
#include "runtimes/io/clock.h"

#define REDRAW 1000 /* ms */
#define SETTLE 2000 /* ms for a Release to come after the Spec that tells of it */

/* What was told of a resource last. */
struct told {
    char *id, *text;
};

struct watcher {
    struct session *session;
    const struct watch_spec *watch;
    struct output *out;
    bool is_json, is_page;
    char *head;         /* the last line about the Spec itself */
    struct strmap told; /* of the resources, by id */
    char *told_of;      /* the Release that these are of */
    bool was_connected;
    int64_t deadline;   /* ms, monotonic */
    int64_t settled_by; /* likewise: by when the end is told; 0: it has not come */
};

/* ---- Lines ---- */

static void forget(struct watcher *watcher)
{
    for (struct strmap_entry *e = NULL; (e = strmap_next(&watcher->told, e));) {
        struct told *told = e->value;

        free(told->id);
        free(told->text);
        free(told);
    }
    strmap_done(&watcher->told);
    strmap_init(&watcher->told);
}

/* False: it was told so already. */
static bool is_news(struct watcher *watcher, const char *id, const char *text)
{
    struct told *told = strmap_get(&watcher->told, id);

    if (told && str_equal(told->text, text))
        return false;
    if (!told) {
        told = NEW(struct told);
        told->id = str_new(id);
        strmap_put(&watcher->told, told->id, told);
    }
    free(told->text);
    told->text = str_new(text);
    return true;
}

static void emit_spec(struct watcher *watcher, const struct value *spec, const struct value *record,
                      const struct standing *standing)
{
    int64_t revision = object_int(record, 0, "status", "revision", NULL);
    _cleanup_value_ const struct value *number = revision ? value_pack("I", revision) : NULL;
    _cleanup_value_ const struct value *event = NULL;
    char time[TIMESTAMP_SIZE];

    timestamp_format_milli(system_clock.now(&system_clock), time);
    event =
        value_pack("{s:s, s:s, s:s?, s:s?, s:I, s:v?, s:s?, s:s?, s:s?, s:s?, s:s?}", "time", time,
                   "type", "Spec", "namespace", object_namespace(spec), "spec", object_name(spec),
                   "generation", object_int(spec, 0, "metadata", "generation", NULL), "revision",
                   number, "phase", object_text(record, NULL, "status", "phase", NULL), "ready",
                   standing->ready, "reason", standing->reason, "message", standing->message,
                   "objects", object_text(spec, NULL, "status", "objects", NULL));
    if (event)
        output_json(watcher->out, event, false);
}

static void add_member(struct value_builder *b, const char *key, const char *text)
{
    value_key(b, key);
    value_add_string(b, text);
}

static void emit_row(struct watcher *watcher, const struct value *spec, const struct row *row)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *event = NULL;
    char time[TIMESTAMP_SIZE];

    timestamp_format_milli(system_clock.now(&system_clock), time);
    value_begin_object(b);
    add_member(b, "time", time);
    add_member(b, "type", "Resource");
    add_member(b, "namespace", object_namespace(spec));
    add_member(b, "spec", object_name(spec));
    row_add_members(b, row);
    value_end_object(b);
    event = value_finish(b);
    if (event)
        output_json(watcher->out, event, false);
}

static void line_of_spec(struct watcher *watcher, const struct value *spec,
                         const struct value *record, const struct standing *standing, bool is_short)
{
    _cleanup_free_ char *line = first_line(is_short ? standing->summary : standing->message);
    _cleanup_free_ char *head = str_printf("%s %s", standing->reason, line);

    if (str_equal(head, watcher->head))
        return;
    free(watcher->head);
    watcher->head = TAKE(head);
    if (watcher->is_json) {
        emit_spec(watcher, spec, record, standing);
        return;
    }
    output_paint(watcher->out, standing->style, "%s ", standing->mark);
    output_add(watcher->out, "%s/%s", object_namespace(spec), object_name(spec));
    output_paint(watcher->out, standing->style, "  %s", standing->reason);
    output_line(watcher->out, "  %s", line);
}

static void line_of_row(struct watcher *watcher, const struct value *spec, const struct row *row)
{
    _cleanup_free_ char *text =
        str_printf("%s %s %s", row_mark(row), row->outcome ? row->outcome : "", row->text);
    _cleanup_free_ char *took = took_text(row->state == ROW_DONE ? row->duration : NULL);

    if (!is_news(watcher, row->id, text))
        return;
    if (watcher->is_json) {
        emit_row(watcher, spec, row);
        return;
    }
    output_add(watcher->out, "  ");
    output_paint(watcher->out, row_style(row), "%s ", row_mark(row));
    output_add(watcher->out, "%s", row->name);
    if (*took)
        output_add(watcher->out, "  %s", took);
    output_line(watcher->out, "  %s", row->text);
}

/* Of a plan that is not being carried out, the resources are no news. */
static bool has_rows(const struct value *record)
{
    const struct value *results = value_path(record, "status", "results", NULL);

    return value_count(results) && value_get_string(value_at(results, 0), "outcome");
}

/* is_current: the Spec's own conditions are of what is followed, too. */
static void tell_lines(struct watcher *watcher, const struct value *spec,
                       const struct value *record, const struct rows *rows, bool is_current)
{
    struct standing standing = standing_of(spec, system_clock.now(&system_clock));
    /* tell_end() says it, of whichever of the Spec and its Release is seen first. */
    bool is_end = watcher->watch->goal == WATCH_REQUEST && standing.rank == STANDING_WAITS;

    if (record && !str_equal(watcher->told_of, object_name(record))) {
        forget(watcher);
        free(watcher->told_of);
        watcher->told_of = str_new(object_name(record));
    }
    for (size_t i = 0; has_rows(record) && i < rows->count; i++)
        line_of_row(watcher, spec, &rows->items[i]);
    if (is_current && (!is_end || watcher->is_json))
        line_of_spec(watcher, spec, record, &standing, rows_have_failed(rows));
    output_flush(watcher->out);
}

/* ---- A page ---- */

static void draw(struct watcher *watcher, const struct snapshot *snapshot,
                 const struct value *record, const struct rows *rows, bool is_last)
{
    struct output *out = watcher->out;
    struct spec_view view = {.spec = snapshot->spec, .record = record, .rows = rows};

    if (is_last)
        output_erase_frame(out);
    else
        output_begin_frame(out);
    if (!is_last)
        view.most = out->rows > 8 ? out->rows - 6 : 2;
    spec_view_head(out, snapshot->spec, record);
    if (has_rows(record) || !record)
        spec_view_rows(out, &view);
    spec_view_foot(out, snapshot->spec, rows_have_failed(rows));
    if (!snapshot->is_connected)
        output_line(out, "the API server does not answer: %s", snapshot->error.message);
    else if (!is_last)
        output_paint(out, STYLE_DIM, "ctrl-c leaves the operator at work"), output_end(out);
    if (is_last)
        output_flush(out);
    else
        output_end_frame(out);
}

/* ---- The end ---- */

/* Ready of a suspended Spec stays that of the generation which was applied. */
static bool is_current(const struct value *spec, int64_t generation)
{
    const struct value *ready = condition_of(spec, "Ready");

    return object_int(spec, -1, "status", "observedGeneration", NULL) >= generation &&
           (value_int(value_get(ready, "observedGeneration"), -1) >= generation ||
            str_equal(value_get_string(ready, "reason"), "Suspended"));
}

/* A plan waits, and has its verdict, which the operator has not seen yet: it is no news. */
static bool is_decided(const struct snapshot *snapshot)
{
    const struct value *record = latest_record(&snapshot->releases, 0);
    struct standing standing = standing_of(snapshot->spec, system_clock.now(&system_clock));

    return standing.rank == STANDING_WAITS &&
           (object_text(record, NULL, "spec", "approvedPlan", NULL) ||
            value_bool(value_path(record, "spec", "rejected", NULL), false));
}

/* -1: it goes on. */
static int exit_of_spec(const struct watch_spec *watch, const struct snapshot *snapshot)
{
    const struct value *spec = snapshot->spec;
    struct standing standing = standing_of(spec, system_clock.now(&system_clock));

    if (!is_current(spec, watch->generation) || standing.rank == STANDING_UNSEEN)
        return -1;
    if (standing.rank == STANDING_WAITS)
        return is_decided(snapshot) ? -1 : EXIT_WAITS;
    if (standing.rank == STANDING_READY)
        return EXIT_DONE;
    if (str_equal(standing.reason, "Suspended"))
        return EXIT_DONE;
    return condition_is(spec, "Stalled", "True") || condition_is(spec, "Finished", "True")
               ? EXIT_ERROR
               : -1;
}

static const struct value *find_release(const struct snapshot *snapshot, const char *name)
{
    for (size_t i = 0; i < snapshot->releases.count; i++)
        if (str_equal(object_name(snapshot->releases.items[i]), name))
            return snapshot->releases.items[i];
    return NULL;
}

static const struct value *record_of_request(const struct snapshot *snapshot,
                                             const struct value *request)
{
    int64_t revision = object_int(request, 0, "status", "revision", NULL);

    if (release_is_record(request))
        return request;
    for (size_t i = 0; revision && i < snapshot->releases.count; i++) {
        const struct value *release = snapshot->releases.items[i];

        if (release_is_record(release) &&
            object_int(release, 0, "status", "revision", NULL) == revision)
            return release;
    }
    return NULL;
}

/* The Spec's own conditions follow those of an approved plan's Release in a moment, unless another
 * plan waits by then. */
static bool is_settled(const struct watch_spec *watch, const struct snapshot *snapshot,
                       const struct value *record)
{
    struct standing standing = standing_of(snapshot->spec, system_clock.now(&system_clock));

    return watch->goal != WATCH_APPROVED || standing.rank != STANDING_WAITS ||
           latest_record(&snapshot->releases, 0) != record;
}

static int exit_of_request(const struct watch_spec *watch, const struct snapshot *snapshot,
                           const struct value *request)
{
    const char *phase = object_text(request, "", "status", "phase", NULL);
    const struct value *record = record_of_request(snapshot, request);

    if (release_has_ended(request) && is_settled(watch, snapshot, request))
        return str_equal(phase, "succeeded") ? EXIT_DONE : EXIT_ERROR;
    if (watch->goal == WATCH_REQUEST &&
        str_equal(object_text(record, "", "status", "phase", NULL), "awaitingApproval"))
        return EXIT_WAITS;
    return -1;
}

static int exit_of(const struct watch_spec *watch, const struct snapshot *snapshot,
                   const struct value *request)
{
    int code;

    switch (watch->goal) {
    case WATCH_FOREVER:
        return -1;
    case WATCH_APPROVAL:
        code = exit_of_spec(watch, snapshot);
        return code == EXIT_WAITS ? EXIT_DONE : code == EXIT_DONE ? EXIT_ERROR : code;
    case WATCH_REQUEST:
    case WATCH_APPROVED:
        return exit_of_request(watch, snapshot, request);
    case WATCH_APPLIED:
        return exit_of_spec(watch, snapshot);
    case WATCH_READY:
        /* A failure may be mended by whoever changes the Spec, or the world: it is waited on. */
        code = exit_of_spec(watch, snapshot);
        return code == EXIT_ERROR ? -1 : code;
    }
    return -1;
}

/* ---- The loop ---- */

static int gone(const struct watch_spec *watch, struct error *error)
{
    err_set(error, ERR_NOT_FOUND, "NotFound", "the Spec %s/%s does not exist any more",
            watch->target->namespace_name, watch->target->name);
    err_hint(error, "kubectl kusion status -n %s", watch->target->namespace_name);
    return ERR_NOT_FOUND;
}

static int withdrawn(const struct watch_spec *watch, struct error *error)
{
    err_set(error, ERR_NOT_FOUND, "NotFound", "the request %s was deleted, which withdraws it",
            watch->request);
    err_hint(error, "kubectl kusion history %s -n %s", watch->target->name,
             watch->target->namespace_name);
    return ERR_NOT_FOUND;
}

/* Whether the Spec tells of an operation whose Release says less, or has not been seen yet: the two
 * come by watches of their own, in any order. */
static bool is_behind(const struct snapshot *snapshot, int code)
{
    const struct value *record = latest_record(&snapshot->releases, 0);
    int64_t of_spec = object_int(snapshot->spec, 0, "status", "lastAttemptedRevision", NULL);
    int64_t of_record = object_int(record, 0, "status", "revision", NULL);

    return of_spec > of_record ||
           (of_spec && of_spec == of_record && code != EXIT_WAITS && !release_has_ended(record));
}

/* Whether the Spec's conditions are of that operation, or of a later one. */
static bool has_begun(const struct value *spec, const struct value *record)
{
    return record && object_int(spec, 0, "status", "lastAttemptedRevision", NULL) >=
                         object_int(record, 0, "status", "revision", NULL);
}

static void tell(struct watcher *watcher, const struct snapshot *snapshot,
                 const struct value *request, bool is_last)
{
    const struct watch_spec *watch = watcher->watch;
    const struct value *record = request ? record_of_request(snapshot, request)
                                         : latest_record(&snapshot->releases, watch->generation);
    enum standing_rank rank = standing_of(snapshot->spec, system_clock.now(&system_clock)).rank;
    bool is_early = !is_last && rank != STANDING_BUSY &&
                    is_behind(snapshot, rank == STANDING_WAITS ? EXIT_WAITS : EXIT_DONE);
    bool is_ours = is_current(snapshot->spec, watch->generation) && !is_decided(snapshot) &&
                   !is_early && (!watch->request || has_begun(snapshot->spec, record));
    struct rows rows;

    rows_init(&rows, snapshot->spec, record);
    if (watcher->is_page && (is_ours || is_last))
        draw(watcher, snapshot, record, &rows, is_last);
    else if (!watcher->is_page && !watch->is_quiet)
        tell_lines(watcher, snapshot->spec, record, &rows, is_ours);
    rows_done(&rows);
}

static void tell_next(struct watcher *watcher, const struct value *spec)
{
    struct standing standing = standing_of(spec, system_clock.now(&system_clock));

    show_next(watcher->out, spec, &standing);
    output_flush(watcher->out);
}

/* What a request or an approval came to: its Release says more than the Spec does. */
static void tell_end(struct watcher *watcher, const struct snapshot *snapshot,
                     const struct value *request, int code)
{
    const struct target *target = watcher->watch->target;
    const struct value *record = request ? record_of_request(snapshot, request) : NULL;
    const struct value *told = record ? record : request;
    int64_t revision = object_int(told, 0, "status", "revision", NULL);

    if (!told && !watcher->is_json && !watcher->is_page && code != EXIT_DONE)
        tell_next(watcher, snapshot->spec);
    if (!told || watcher->is_json)
        return;
    output_paint(watcher->out, code == EXIT_DONE ? STYLE_GOOD : STYLE_WARN, "%s ",
                 code == EXIT_DONE    ? "✓"
                 : code == EXIT_WAITS ? "‖"
                                      : "✗");
    if (revision)
        output_add(watcher->out, "revision %lld: ", (long long)revision);
    output_line(watcher->out, "%s: %s", object_text(told, "", "status", "phase", NULL),
                object_text(told, "", "status", "summary", NULL));
    if (code == EXIT_WAITS)
        output_line(watcher->out, "next:  kubectl kusion approve %s -n %s", target->name,
                    target->namespace_name);
    else if (code == EXIT_ERROR)
        output_line(watcher->out, "next:  kubectl kusion show %s -n %s", object_name(told),
                    target->namespace_name);
    output_flush(watcher->out);
}

static void tell_connection(struct watcher *watcher, const struct snapshot *snapshot)
{
    if (!watcher->is_page && !snapshot->is_connected && watcher->was_connected)
        output_line(&watcher->session->cli->err, "the API server does not answer: %s",
                    snapshot->error.message);
    watcher->was_connected = snapshot->is_connected;
    output_flush(&watcher->session->cli->err);
}

static int timed_out(const struct watcher *watcher, const struct value *spec,
                     const struct value *request, struct error *error)
{
    const struct target *target = watcher->watch->target;
    const struct value *object = request ? request : spec;
    int64_t wanted = request ? object_int(request, 0, "metadata", "generation", NULL)
                             : watcher->watch->generation;
    _cleanup_free_ char *time = duration_show(watcher->watch->timeout);

    if (object_int(object, 0, "status", "observedGeneration", NULL) < wanted) {
        err_set(error, ERR_TIMEOUT, "NotSeen", "%s/%s: no operator has seen it after %s",
                target->namespace_name, target->name, time);
        err_hint(error, "kubectl kusion doctor");
        return ERR_TIMEOUT;
    }
    err_set(error, ERR_TIMEOUT, "Timeout", "%s/%s: not there after %s; the operator goes on",
            target->namespace_name, target->name, time);
    err_hint(error, "kubectl kusion status %s -n %s", target->name, target->namespace_name);
    return ERR_TIMEOUT;
}

/* The next time at which something is to be drawn or ended. */
static int64_t next_deadline(const struct watcher *watcher)
{
    int64_t redraw = watcher->is_page ? follow_now() + REDRAW : CLOCK_FOREVER;

    if (watcher->settled_by && watcher->settled_by < redraw)
        redraw = watcher->settled_by;
    return redraw < watcher->deadline ? redraw : watcher->deadline;
}

/* The end is told when the Release is there, or does not come (where Releases are kept in files).
 */
static int settle(struct watcher *watcher, const struct snapshot *snapshot, int code)
{
    if (code < 0 || !is_behind(snapshot, code)) {
        watcher->settled_by = 0;
        return code;
    }
    if (!watcher->settled_by)
        watcher->settled_by = follow_now() + SETTLE;
    return follow_now() < watcher->settled_by ? -1 : code;
}

static int loop(struct watcher *watcher, struct follow *follow, struct error *error)
{
    const struct watch_spec *watch = watcher->watch;
    _cleanup_(snapshot_done) struct snapshot snapshot = {0};

    for (int code = -1; code < 0;) {
        const struct value *request;
        bool is_changed;
        int r = follow_next(follow, next_deadline(watcher), &snapshot, &is_changed, error);

        if (r < 0)
            return r;
        if (!snapshot.spec)
            return gone(watch, error);
        request = watch->request ? find_release(&snapshot, watch->request) : NULL;
        if (watch->request && !request)
            return withdrawn(watch, error);
        code = settle(watcher, &snapshot, exit_of(watch, &snapshot, request));
        tell(watcher, &snapshot, request, code >= 0);
        tell_connection(watcher, &snapshot);
        if (code >= 0) {
            tell_end(watcher, &snapshot, request, code);
            return code;
        }
        if (follow_now() >= watcher->deadline)
            return timed_out(watcher, snapshot.spec, request, error);
        if (watcher->out->is_broken)
            return EXIT_ERROR;
    }
    return EXIT_DONE;
}

int watch_spec(struct session *session, const struct watch_spec *watch, struct error *error)
{
    struct cli *cli = session->cli;
    struct watcher watcher = {
        .session = session,
        .watch = watch,
        .out = &cli->out,
        .is_json = str_equal(cli->options.output, "json"),
        .was_connected = true,
        .deadline = watch->timeout ? follow_now() + watch->timeout : CLOCK_FOREVER,
    };
    _cleanup_(follow_free_p) struct follow *follow = NULL;
    int r;

    watcher.is_page = cli->out.is_terminal && !watcher.is_json && !watch->is_quiet;
    strmap_init(&watcher.told);
    r = follow_new(session, watch->target, NULL, &follow, error);
    if (r == 0)
        r = loop(&watcher, follow, error);
    if (watcher.is_page && cli->out.n_drawn)
        output_keep_frame(&cli->out);
    forget(&watcher);
    strmap_done(&watcher.told);
    free(watcher.head);
    free(watcher.told_of);
    return r;
}
