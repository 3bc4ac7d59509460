/* graph: of a Spec in the cluster, or in files. */
#include "cli/offline/graph_view.h"
#include "cli/offline/read.h"
#include "cli/online/objects.h"
#include "cli/online/online.h"

static int graph_of_name(struct cli *cli, struct error *error)
{
    _cleanup_(session_done) struct session session = {0};
    _cleanup_(target_done) struct target target = {0};
    _cleanup_value_ const struct value *spec = NULL;
    int r = spec_open(cli, &session, &target, &spec, error);

    return r == 0 ? graph_show(cli, spec, error) : r;
}

int run_graph(struct cli *cli, struct error *error)
{
    bool has_files = cli->options.files.count || cli->options.kustomize;
    _cleanup_value_ const struct value *spec = NULL;
    int r;

    if (has_files == (cli->n_arguments > 0)) {
        err_set(error, ERR_INVALID, "InvalidArgument", "graph needs NAME, or -f FILE");
        err_hint(error, "kubectl kusion graph --help");
        return ERR_INVALID;
    }
    if (!has_files)
        return graph_of_name(cli, error);
    r = read_spec(cli, &spec, error);
    return r == 0 ? graph_show(cli, spec, error) : r;
}
