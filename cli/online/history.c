
#include "cli/frame/table.h"
#include "cli/online/names.h"
#include "cli/online/online.h"
#include "cli/online/operation.h"
#include "cli/online/plan_view.h"
#include "cli/online/revisions.h"
#include "engine/base/str.h"
#include "engine/base/timestamp.h"
#include "runtimes/io/clock.h"

/* ---- Cells ---- */

/* "+1 ~2 -1"; "-" of none. free(). */
static char *changes_of(const struct value *release)
{
    static const struct {
        const char *action, *sign;
    } signs[] = {
        {"create", "+"}, {"update", "~"}, {"adopt", "~"}, {"replace", "-/+"}, {"delete", "-"}};
    struct buf text = BUF_INIT;

    for (size_t i = 0; i < ARRAY_SIZE(signs); i++) {
        int64_t count = object_int(release, 0, "status", "plan", signs[i].action, NULL);

        if (count)
            buf_printf(&text, "%s%s%lld", text.length ? " " : "", signs[i].sign, (long long)count);
    }
    if (!text.length)
        buf_add_char(&text, '-');
    return buf_take(&text);
}

/* ---- The table ---- */

/* Requests are told by the records of what they asked for. */
static bool is_listed(const struct cli *cli, const struct value *release)
{
    bool is_preview = str_equal(object_text(release, "", "spec", "operation", NULL), "Preview");

    return is_preview ? cli->options.previews : release_is_record(release);
}

static void add_row(struct table *table, const struct value *release, int64_t in_force)
{
    int64_t revision = object_int(release, 0, "status", "revision", NULL);
    const char *phase = object_text(release, "-", "status", "phase", NULL);
    const char *summary = object_text(release, "", "status", "summary", NULL);
    _cleanup_free_ char *changes = changes_of(release), *took = operation_took(release);
    _cleanup_free_ char *operation = operation_name(release);
    _cleanup_free_ char *age =
        age_since(timestamp_parse(object_text(release, "", "metadata", "creationTimestamp", NULL)),
                  system_clock.now(&system_clock));

    table_add(table, STYLE_PLAIN, revision ? "%lld" : "-", (long long)revision);
    table_add(table, STYLE_PLAIN, "%s", operation);
    table_add(table, operation_style(phase), "%s", phase);
    table_add(table, STYLE_PLAIN, "%s", changes);
    table_add(table, STYLE_PLAIN, "%s", took);
    table_add(table, STYLE_PLAIN, "%s", age);
    table_add(table, STYLE_PLAIN, "%s",
              object_text(release, "-", "status", "approval", "approver", NULL));
    table_add(table, STYLE_PLAIN, "%s%s", summary,
              revision && revision == in_force ? "   <- in force" : "");
}

static void show_table(struct cli *cli, const struct value *spec, const struct objects *releases)
{
    int64_t in_force = object_int(spec, 0, "status", "lastAppliedRevision", NULL);
    int64_t left = cli->options.limit ? cli->options.limit : INT64_MAX;
    struct plan_view view = {cli->options.full, false};
    struct table table;

    table_init(&table, "REV OPERATION RESULT CHANGES TOOK AGE APPROVER SUMMARY");
    for (size_t i = releases->count; i-- > 0 && left > 0;)
        if (is_listed(cli, releases->items[i])) {
            add_row(&table, releases->items[i], in_force);
            left--;
        }
    table_write(&table, &cli->out);
    table_done(&table);
    left = cli->options.limit ? cli->options.limit : INT64_MAX;
    for (size_t i = releases->count; cli->options.plan && i-- > 0 && left > 0;)
        if (is_listed(cli, releases->items[i])) {
            output_end(&cli->out);
            output_paint(&cli->out, STYLE_BOLD, "%s", object_name(releases->items[i]));
            output_end(&cli->out);
            plan_view_results(&cli->out, releases->items[i], &view);
            left--;
        }
}

static void show_json(struct cli *cli, const struct objects *releases)
{
    for (size_t i = releases->count; i-- > 0;)
        if (is_listed(cli, releases->items[i])) {
            _cleanup_value_ const struct value *line =
                value_pack("{s:s, s:v, s:v}", "name", object_name(releases->items[i]), "spec",
                           value_get(releases->items[i], "spec"), "status",
                           value_get(releases->items[i], "status"));

            output_json(&cli->out, line, false);
        }
}

int run_history(struct cli *cli, struct error *error)
{
    _cleanup_(session_done) struct session session = {0};
    _cleanup_(target_done) struct target target = {0};
    _cleanup_(objects_done) struct objects releases = {0};
    _cleanup_value_ const struct value *spec = NULL;
    int r = spec_open(cli, &session, &target, &spec, error);

    if (r == 0)
        r = release_list(&session, &target, &releases, error);
    if (r < 0)
        return r;
    if (revisions_are_stored(spec, &releases))
        r = revisions_stored_error(&target, spec, error);
    if (r < 0 && !releases.count)
        return r;
    if (str_equal(cli->options.output, "json"))
        show_json(cli, &releases);
    else
        show_table(cli, spec, &releases);
    return r < 0 ? r : EXIT_DONE;
}
