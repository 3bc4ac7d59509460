#include <string.h>

#include "cli/frame/table.h"
#include "cli/online/follow.h"
#include "cli/online/names.h"
#include "cli/online/objects.h"
#include "cli/online/online.h"
#include "cli/online/spec_table.h"
#include "cli/online/spec_view.h"
#include "cli/online/standing.h"
#include "cli/online/watch_spec.h"
#include "engine/base/str.h"
#include "engine/base/timestamp.h"
#include "runtimes/io/clock.h"
#include "runtimes/kubernetes/objects/pod_cause.h"

/* ---- Pods that are not ready, and why ---- */

/* For --pods. */

#define MOST 10 /* Pods of one workload that are shown */

static const struct kube_kind kube_pods = {"v1", "Pod", "pods", true};

/* "a=b,c=d" of spec.selector; free(). NULL: it selects no Pods. A Job's is made by the server from
 * its name. */
static char *selector_of(const struct value *attributes)
{
    const struct value *labels = value_path(attributes, "spec", "selector", "matchLabels", NULL);
    _cleanup_buf_ struct buf text = BUF_INIT;

    if (str_equal(value_get_string(attributes, "kind"), "Job"))
        return str_printf("job-name=%s", object_name(attributes));
    for (size_t i = 0; i < value_count(labels); i++) {
        const char *label = value_string(value_member(labels, i));

        if (label)
            buf_printf(&text, "%s%s=%s", text.length ? "," : "", value_member_key(labels, i, NULL),
                       label);
    }
    return text.length ? buf_take(&text) : NULL;
}

/* Lines below a row: "Pod web-7f-x2   ImagePullBackOff: …". resource: of the Spec; nothing is shown
 * for kinds without Pods. Failures are a line, too: the rest of the page is of use without. */
static void pods_show(struct session *session, struct output *out, const struct value *resource)
{
    const struct value *attributes = value_get(resource, "attributes");
    _cleanup_free_ char *labels = selector_of(attributes);
    _cleanup_(objects_done) struct objects pods = {0};
    struct error error = {0};
    size_t n_shown = 0;
    int r;

    if (!labels)
        return;
    r = object_list(session,
                    (struct kube_ref){&kube_pods, object_namespace(attributes), NULL, NULL},
                    (struct kube_selector){.labels = labels}, &pods, &error);
    if (r < 0)
        output_line(out, "      Pods cannot be listed: %s", error.message);
    for (size_t i = 0; i < pods.count; i++) {
        struct pod_cause cause;

        if (!pod_cause(pods.items[i], &cause) || n_shown++ >= MOST)
            continue;
        output_add(out, "      ");
        output_paint(out, STYLE_BAD, "✗ ");
        output_line(out, "Pod %s   %s", object_name(pods.items[i]), cause.text);
    }
    if (n_shown > MOST)
        output_line(out, "      … and %zu more Pods", n_shown - MOST);
}

static int64_t now(void)
{
    return system_clock.now(&system_clock);
}

/* ---- A table ---- */

static int compare_specs(const void *a, const void *b)
{
    const struct value *first = *(const struct value *const *)a;
    const struct value *second = *(const struct value *const *)b;
    int order = (int)standing_of(first, now()).rank - (int)standing_of(second, now()).rank;

    if (!order)
        order = strcmp(object_namespace(first), object_namespace(second));
    return order ? order : strcmp(object_name(first), object_name(second));
}

static void add_wide(struct table *table, const struct value *spec)
{
    table_add(table, STYLE_PLAIN, "%s",
              object_text(spec, "-", "status", "policy", "serviceAccountName", NULL));
    table_add(table, STYLE_PLAIN, "%s",
              object_text(spec, "-", "status", "policy", "approval", "mode", NULL));
    table_add(table, STYLE_PLAIN, "%s",
              object_text(spec, "-", "status", "policy", "interval", NULL));
}

static void add_row(struct table *table, const struct value *spec, const struct options *options)
{
    bool is_wide = str_equal(options->output, "wide");
    struct standing standing = standing_of(spec, now());
    int64_t revision = object_int(spec, 0, "status", "lastAppliedRevision", NULL);
    int64_t drift = object_int(spec, 0, "status", "driftCorrections", "count", NULL);
    _cleanup_free_ char *line = NULL;
    _cleanup_free_ char *age = age_since(
        timestamp_parse(object_text(spec, "", "metadata", "creationTimestamp", NULL)), now());

    if (options->all_namespaces)
        table_add(table, STYLE_PLAIN, "%s", object_namespace(spec));
    table_add(table, STYLE_PLAIN, "%s", object_name(spec));
    table_add(table, standing.style, "%s", standing.ready);
    table_add(table, STYLE_PLAIN, "%s", object_text(spec, "-", "status", "objects", NULL));
    table_add(table, STYLE_PLAIN, revision ? "%lld" : "-", (long long)revision);
    table_add(table, standing.style, "%s", standing.reason);
    table_add(table, STYLE_PLAIN, drift ? "%lld" : "-", (long long)drift);
    table_add(table, STYLE_PLAIN, "%s", age);
    if (is_wide)
        add_wide(table, spec);
    line = first_line(is_wide ? standing.message : standing.summary);
    table_add(table, STYLE_PLAIN, "%s", line);
}

static bool is_shown(const struct cli *cli, const struct value *spec)
{
    return !cli->options.failed || !condition_is(spec, "Ready", "True");
}

static void show_table(struct cli *cli, const struct objects *specs)
{
    bool is_wide = str_equal(cli->options.output, "wide");
    _cleanup_free_ char *header =
        str_printf("%sNAME READY OBJECTS REVISION REASON DRIFT AGE%s STATUS",
                   cli->options.all_namespaces ? "NAMESPACE " : "",
                   is_wide ? " ACCOUNT APPROVAL INTERVAL" : "");
    struct table table;

    table_init(&table, header);
    for (size_t i = 0; i < specs->count; i++)
        if (is_shown(cli, specs->items[i]))
            add_row(&table, specs->items[i], &cli->options);
    table_write(&table, &cli->out);
    table_done(&table);
}

/* ---- JSON ---- */

static void add_text(struct value_builder *b, const char *key, const char *text)
{
    value_key(b, key);
    value_add_string(b, text);
}

static void add_standing(struct value_builder *b, const struct value *spec)
{
    struct standing standing = standing_of(spec, now());
    const struct value *revision = value_path(spec, "status", "lastAppliedRevision", NULL);

    add_text(b, "namespace", object_namespace(spec));
    add_text(b, "name", object_name(spec));
    add_text(b, "ready", standing.ready);
    add_text(b, "reason", standing.reason);
    add_text(b, "message", standing.message);
    add_text(b, "objects", object_text(spec, NULL, "status", "objects", NULL));
    value_key(b, "generation");
    value_add(b, value_path(spec, "metadata", "generation", NULL));
    value_key(b, "revision");
    value_add(b, revision);
    value_key(b, "driftCorrections");
    value_add_int(b, object_int(spec, 0, "status", "driftCorrections", "count", NULL));
}

static void print_built(struct cli *cli, struct value_builder *b)
{
    _cleanup_value_ const struct value *value = NULL;

    if (value_builder_finish(b, &value, NULL) == 0)
        cli_print_data(cli, value);
}

static void show_many_json(struct cli *cli, const struct objects *specs)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    value_begin_object(b);
    value_key(b, "items");
    value_begin_array(b);
    for (size_t i = 0; i < specs->count; i++) {
        if (!is_shown(cli, specs->items[i]))
            continue;
        value_begin_object(b);
        add_standing(b, specs->items[i]);
        value_end_object(b);
    }
    value_end_array(b);
    value_end_object(b);
    print_built(cli, b);
}

static void show_names(struct cli *cli, const struct objects *specs)
{
    for (size_t i = 0; i < specs->count; i++)
        if (is_shown(cli, specs->items[i]))
            output_line(&cli->out, "spec.api.kusion.io/%s", object_name(specs->items[i]));
}

/* ---- Many ---- */

static void show_specs(struct cli *cli, struct objects *specs)
{
    if (specs->count)
        qsort(specs->items, specs->count, sizeof(*specs->items), compare_specs);
    if (cli_wants_data(cli))
        show_many_json(cli, specs);
    else if (str_equal(cli->options.output, "name"))
        show_names(cli, specs);
    else
        show_table(cli, specs);
}

static const char *place_of(const struct session *session)
{
    return session->cli->options.all_namespaces ? NULL : session->namespace_name;
}

static int show_many(struct session *session, struct error *error)
{
    struct cli *cli = session->cli;
    const char *place = place_of(session);
    _cleanup_(objects_done) struct objects specs = {0};
    int r = cli->options.output
                ? spec_list(session, place, cli->options.selector, &specs, error)
                : spec_list_table(session, place, cli->options.selector, &specs, error);

    if (r < 0)
        return r;
    if (specs.count || cli->options.output)
        show_specs(cli, &specs);
    else
        output_line(&cli->err, "There are no Specs%s%s%s.",
                    cli->options.selector ? " with these labels" : "",
                    place ? " in the namespace " : "", place ? place : "");
    return EXIT_DONE;
}

/* In a pipe: a line for each Spec that stands otherwise than before. */
static void tell_changed(struct cli *cli, const struct objects *before, const struct objects *specs)
{
    for (size_t i = 0; i < specs->count; i++) {
        const struct value *spec = specs->items[i];
        struct standing standing = standing_of(spec, now());
        _cleanup_free_ char *line = first_line(standing.message);
        const struct value *old = NULL;

        for (size_t n = 0; !old && n < before->count; n++)
            if (str_equal(object_text(before->items[n], "", "metadata", "uid", NULL),
                          object_text(spec, "", "metadata", "uid", NULL)))
                old = before->items[n];
        if (old && str_equal(standing_of(old, now()).reason, standing.reason) &&
            str_equal(standing_of(old, now()).message, standing.message))
            continue;
        output_paint(&cli->out, standing.style, "%s ", standing.mark);
        output_line(&cli->out, "%s/%s  %s  %s", object_namespace(spec), object_name(spec),
                    standing.reason, line);
    }
    output_flush(&cli->out);
}

static int watch_many(struct session *session, struct error *error)
{
    struct cli *cli = session->cli;
    struct target place = {.namespace_name = str_new(place_of(session))};
    _cleanup_(follow_free_p) struct follow *follow = NULL;
    _cleanup_(snapshot_done) struct snapshot snapshot = {0};
    _cleanup_(objects_done) struct objects before = {0};
    int r = follow_new(session, &place, cli->options.selector, &follow, error);

    target_done(&place);
    while (r == 0 && !cli->out.is_broken) {
        bool is_changed;

        r = follow_next(follow, cli->out.is_terminal ? follow_now() + 1000 : CLOCK_FOREVER,
                        &snapshot, &is_changed, error);
        if (r < 0)
            break;
        if (cli->out.is_terminal) {
            output_begin_frame(&cli->out);
            show_specs(cli, &snapshot.specs);
            output_end_frame(&cli->out);
        } else {
            tell_changed(cli, &before, &snapshot.specs);
        }
        objects_done(&before);
        before = snapshot.specs;
        snapshot.specs = (struct objects){0};
    }
    return r < 0 ? r : EXIT_ERROR;
}

/* ---- One ---- */

struct page {
    struct session *session;
    const struct value *spec;
};

static const struct value *resource_of(const struct value *spec, const char *id)
{
    const struct value *resources = value_path(spec, "spec", "resources", NULL);

    for (size_t i = 0; i < value_count(resources); i++)
        if (str_equal(value_get_string(value_at(resources, i), "id"), id))
            return value_at(resources, i);
    return NULL;
}

static void show_pods(void *arg, struct output *out, const struct row *row)
{
    const struct page *page = arg;

    pods_show(page->session, out, resource_of(page->spec, row->id));
}

static void show_events(struct session *session, const struct value *spec)
{
    struct output *out = &session->cli->out;
    _cleanup_free_ char *fields =
        str_printf("involvedObject.kind=Spec,involvedObject.name=%s", object_name(spec));
    _cleanup_(objects_done) struct objects events = {0};
    struct error error = {0};
    int r =
        object_list(session, (struct kube_ref){&kube_events, object_namespace(spec), NULL, NULL},
                    (struct kube_selector){.fields = fields}, &events, &error);

    output_end(out);
    output_paint(out, STYLE_BOLD, "Events");
    output_end(out);
    if (r < 0)
        output_line(out, "  cannot be listed: %s", error.message);
    objects_sort_by_age(&events);
    for (size_t i = 0; i < events.count; i++) {
        const struct value *event = events.items[i];
        _cleanup_free_ char *age =
            age_since(timestamp_parse(object_text(event, "", "lastTimestamp", NULL)), now());
        _cleanup_free_ char *line = first_line(object_text(event, "", "message", NULL));

        output_line(out, "  %-5s %-8s %s: %s", age, object_text(event, "", "type", NULL),
                    object_text(event, "", "reason", NULL), line);
    }
}

static void show_one_json(struct cli *cli, const struct value *spec, const struct rows *rows)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    value_begin_object(b);
    add_standing(b, spec);
    value_key(b, "resources");
    value_begin_array(b);
    for (size_t i = 0; i < rows->count; i++) {
        value_begin_object(b);
        row_add_members(b, &rows->items[i]);
        value_end_object(b);
    }
    value_end_array(b);
    value_end_object(b);
    print_built(cli, b);
}

static void show_page(struct session *session, const struct value *spec,
                      const struct objects *releases)
{
    struct cli *cli = session->cli;
    const struct value *record = latest_record(releases, 0);
    struct page page = {session, spec};
    struct rows rows;
    struct spec_view view = {
        .spec = spec,
        .record = record,
        .rows = &rows,
        .is_failed_only = cli->options.failed,
        .below = cli->options.pods ? show_pods : NULL,
        .arg = &page,
    };

    rows_init(&rows, spec, record);
    if (cli_wants_data(cli)) {
        show_one_json(cli, spec, &rows);
    } else {
        spec_view_head(&cli->out, spec, record);
        spec_view_rows(&cli->out, &view);
        spec_view_foot(&cli->out, spec, rows_have_failed(&rows));
        if (cli->options.events)
            show_events(session, spec);
    }
    rows_done(&rows);
}

static int show_one(struct session *session, const char *name, struct error *error)
{
    _cleanup_(target_done) struct target target = {0};
    _cleanup_value_ const struct value *spec = NULL;
    _cleanup_(objects_done) struct objects releases = {0};
    int r = target_parse(session, name, &target, error);

    if (r == 0)
        r = spec_find(session, &target, &spec, NULL, error);
    if (r == 0 && session->cli->options.watch) {
        struct watch_spec watch = {.target = &target, .goal = WATCH_FOREVER};

        return watch_spec(session, &watch, error);
    }
    if (r == 0)
        r = release_list(session, &target, &releases, error);
    if (r < 0)
        return r;
    show_page(session, spec, &releases);
    return EXIT_DONE;
}

/* What would be left out of the page without a word. */
static int check_options(const struct cli *cli, struct error *error)
{
    const struct options *options = &cli->options;
    bool has_details = options->pods || options->events;

    if (cli->n_arguments && (options->all_namespaces || options->selector))
        return err_set(error, ERR_INVALID, "InvalidArgument",
                       "-A and -l are of many Specs, and go without NAME");
    if (!cli->n_arguments && has_details)
        return err_set(error, ERR_INVALID, "InvalidArgument",
                       "--pods and --events are of one Spec: status takes its NAME then");
    if (options->watch && has_details)
        return err_set(error, ERR_INVALID, "InvalidArgument",
                       "--pods and --events are shown once, without --watch");
    return 0;
}

int run_status(struct cli *cli, struct error *error)
{
    _cleanup_(session_done) struct session session = {0};
    int r = check_options(cli, error);

    if (r == 0)
        r = session_open(cli, &session, error);
    if (r < 0)
        return r;
    if (cli->n_arguments)
        return show_one(&session, cli->arguments[0], error);
    return cli->options.watch ? watch_many(&session, error) : show_many(&session, error);
}
