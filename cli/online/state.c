/*
 * What the operator keeps of Specs: which objects it knows as theirs. That is in the status, for
 * all who may read the Spec.
 */
#include "cli/frame/table.h"
#include "cli/online/names.h"
#include "cli/online/objects.h"
#include "cli/online/online.h"
#include "engine/base/str.h"

static void add_row(struct table *table, const struct value *spec, bool has_namespace)
{
    if (has_namespace)
        table_add(table, STYLE_PLAIN, "%s", object_namespace(spec));
    table_add(table, STYLE_PLAIN, "%s", object_name(spec));
    table_add(table, STYLE_PLAIN, "%lld",
              (long long)object_int(spec, 0, "status", "inventory", "total", NULL));
    table_add(table, STYLE_PLAIN, "%lld",
              (long long)object_int(spec, 0, "status", "lastAppliedRevision", NULL));
    table_add(table, STYLE_PLAIN, "%s", object_text(spec, "-", "status", "owner", NULL));
}

int run_state_list(struct cli *cli, struct error *error)
{
    _cleanup_(session_done) struct session session = {0};
    _cleanup_(objects_done) struct objects specs = {0};
    bool has_namespace = cli->options.all_namespaces;
    struct table table;
    int r = session_open(cli, &session, error);

    if (r == 0)
        r = spec_list(&session, has_namespace ? NULL : session.namespace_name,
                      cli->options.selector, &specs, error);
    if (r < 0)
        return r;
    table_init(&table, has_namespace ? "NAMESPACE NAME OBJECTS REVISION OWNER"
                                     : "NAME OBJECTS REVISION OWNER");
    for (size_t i = 0; i < specs.count; i++)
        add_row(&table, specs.items[i], has_namespace);
    table_write(&table, &cli->out);
    table_done(&table);
    return EXIT_DONE;
}

static void show(struct cli *cli, const struct value *spec)
{
    const struct value *entries = value_path(spec, "status", "inventory", "entries", NULL);
    int64_t omitted = object_int(spec, 0, "status", "inventory", "omitted", NULL);
    struct table table;

    output_paint(&cli->out, STYLE_BOLD, "%s/%s", object_namespace(spec), object_name(spec));
    output_line(&cli->out, "   %lld objects, as of revision %lld   label api.kusion.io/owner=%s",
                (long long)object_int(spec, 0, "status", "inventory", "total", NULL),
                (long long)object_int(spec, 0, "status", "lastAppliedRevision", NULL),
                object_text(spec, "?", "status", "owner", NULL));
    table_init(&table, "TYPE NAME ID");
    for (size_t i = 0; i < value_count(entries); i++) {
        const char *id = object_text(value_at(entries, i), "", "id", NULL);
        _cleanup_free_ char *name = name_of_id(id, object_namespace(spec));

        table_add(&table, STYLE_PLAIN, "%s", object_text(value_at(entries, i), "-", "type", NULL));
        table_add(&table, STYLE_PLAIN, "%s", name);
        table_add(&table, STYLE_DIM, "%s", id);
    }
    table_write(&table, &cli->out);
    table_done(&table);
    if (omitted)
        output_line(&cli->out, "… and %lld more, which only State lists", (long long)omitted);
}

int run_state_show(struct cli *cli, struct error *error)
{
    _cleanup_(session_done) struct session session = {0};
    _cleanup_(target_done) struct target target = {0};
    _cleanup_value_ const struct value *spec = NULL;
    int r = spec_open(cli, &session, &target, &spec, error);

    if (r < 0)
        return r;
    if (cli_wants_data(cli))
        cli_print_data(cli, value_path(spec, "status", "inventory", NULL));
    else
        show(cli, spec);
    return EXIT_DONE;
}
