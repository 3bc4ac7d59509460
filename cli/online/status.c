#include <string.h>

#include "cli/frame/table.h"
#include "cli/online/names.h"
#include "cli/online/objects.h"
#include "cli/online/online.h"
#include "cli/online/standing.h"
#include "engine/base/str.h"
#include "engine/base/timestamp.h"
#include "runtimes/io/clock.h"

static int64_t now(void)
{
    return system_clock.now(&system_clock);
}

/* ---- Many ---- */

static int compare_specs(const void *a, const void *b)
{
    const struct value *first = *(const struct value *const *)a;
    const struct value *second = *(const struct value *const *)b;
    int order = (int)standing_of(first, now()).rank - (int)standing_of(second, now()).rank;

    if (!order)
        order = strcmp(object_namespace(first), object_namespace(second));
    return order ? order : strcmp(object_name(first), object_name(second));
}

static void add_row(struct table *table, const struct value *spec, bool has_namespace)
{
    struct standing standing = standing_of(spec, now());
    int64_t revision = object_int(spec, 0, "status", "lastAppliedRevision", NULL);
    int64_t drift = object_int(spec, 0, "status", "driftCorrections", "count", NULL);
    _cleanup_free_ char *age = age_since(
        timestamp_parse(object_text(spec, "", "metadata", "creationTimestamp", NULL)), now());

    if (has_namespace)
        table_add(table, STYLE_PLAIN, "%s", object_namespace(spec));
    table_add(table, STYLE_PLAIN, "%s", object_name(spec));
    table_add(table, standing.style, "%s", standing.ready);
    table_add(table, STYLE_PLAIN, "%s", object_text(spec, "-", "status", "objects", NULL));
    table_add(table, STYLE_PLAIN, revision ? "%lld" : "-", (long long)revision);
    table_add(table, standing.style, "%s", standing.reason);
    table_add(table, STYLE_PLAIN, drift ? "%lld" : "-", (long long)drift);
    table_add(table, STYLE_PLAIN, "%s", age);
    table_add(table, STYLE_PLAIN, "%s", standing.summary);
}

static bool is_shown(const struct cli *cli, const struct value *spec)
{
    return !cli->options.failed || !condition_is(spec, "Ready", "True");
}

static void show_table(struct cli *cli, const struct objects *specs)
{
    bool has_namespace = cli->options.all_namespaces;
    struct table table;

    table_init(&table, has_namespace
                           ? "NAMESPACE NAME READY OBJECTS REVISION REASON DRIFT AGE STATUS"
                           : "NAME READY OBJECTS REVISION REASON DRIFT AGE STATUS");
    for (size_t i = 0; i < specs->count; i++)
        if (is_shown(cli, specs->items[i]))
            add_row(&table, specs->items[i], has_namespace);
    table_write(&table, &cli->out);
    table_done(&table);
}

static int show_many(struct session *session, struct error *error)
{
    struct cli *cli = session->cli;
    const char *namespace_name = cli->options.all_namespaces ? NULL : session->namespace_name;
    _cleanup_(objects_done) struct objects specs = {0};
    int r = spec_list(session, namespace_name, cli->options.selector, &specs, error);

    if (r < 0)
        return r;
    if (!specs.count) {
        output_line(&cli->err,
                    namespace_name ? "There are no Specs in the namespace %s."
                                   : "There are no Specs.",
                    namespace_name);
        return EXIT_DONE;
    }
    qsort(specs.items, specs.count, sizeof(*specs.items), compare_specs);
    show_table(cli, &specs);
    return EXIT_DONE;
}

int run_status(struct cli *cli, struct error *error)
{
    _cleanup_(session_done) struct session session;
    int r = session_open(cli, &session, error);

    if (r < 0)
        return r;
    return show_many(&session, error);
}
