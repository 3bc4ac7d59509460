/* __complete -- WORD…: what may come next, one a line, for the scripts of `completion`. */
#include "cli/offline/complete.h"

#include "cli/online/objects.h"
#include "cli/online/online.h"
#include "engine/base/str.h"

#define PATIENCE 2000 /* ms: a person waits */

static void show_candidate(void *arg, const char *candidate)
{
    output_line(arg, "%s", candidate);
}

/* -n NAMESPACE among the words. */
static const char *find_namespace(const struct cli *cli)
{
    for (size_t i = 0; i + 1 < cli->n_arguments; i++)
        if (str_equal(cli->arguments[i], "-n") || str_equal(cli->arguments[i], "--namespace"))
            return cli->arguments[i + 1];
    return NULL;
}

/* Without a cluster there are no names, and no error: a shell would show it. */
static void show_specs(struct cli *cli)
{
    const char *word = cli->arguments[cli->n_arguments - 1];
    _cleanup_(session_done) struct session session = {0};
    _cleanup_(objects_done) struct objects specs = {0};

    cli->options.namespace_name = find_namespace(cli);
    cli->options.request_timeout = PATIENCE;
    if (session_open(cli, &session, NULL) < 0 ||
        spec_list(&session, session.namespace_name, NULL, &specs, NULL) < 0)
        return;
    for (size_t i = 0; i < specs.count; i++)
        if (str_has_prefix(object_name(specs.items[i]), word))
            output_line(&cli->out, "%s", object_name(specs.items[i]));
}

int run_complete(struct cli *cli, struct error *error)
{
    (void)error;
    if (complete_words(cli, cli->arguments, cli->n_arguments, show_candidate, &cli->out) ==
            COMPLETE_SPECS &&
        cli->n_arguments)
        show_specs(cli);
    return EXIT_DONE;
}
