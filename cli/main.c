/* kubectl-kusion: reads the command line, runs the command, tells its error. */
#include <signal.h>
#include <stdlib.h>

#include "cli/commands.h"
#include "cli/frame/command.h"
#include "engine/base/error.h"

/* An error without a hint of its own gets one by its code, so that each says what to do next. */
static void hint(const struct cli *cli, struct error *error)
{
    if (*err_hints(error->message))
        return;
    if (error->code == ERR_FORBIDDEN && cli->options.all_namespaces)
        err_hint(error, "kubectl kusion %s -n NAMESPACE, of one that you may read",
                 cli->command->name);
    else if (error->code == ERR_FORBIDDEN)
        err_hint(error,
                 cli->options.namespace_name ? "kubectl auth can-i --list -n %s"
                                             : "kubectl auth can-i --list",
                 cli->options.namespace_name);
    else if (error->code == ERR_UNAUTHENTICATED)
        err_hint(error, "kubectl auth whoami");
    else if (error->code == ERR_UNAVAILABLE || error->code == ERR_TIMEOUT)
        err_hint(error, "kubectl kusion doctor");
    else if (cli->command)
        err_hint(error, "kubectl kusion %s --help", cli->command->name);
    else
        err_hint(error, "kubectl kusion help");
}

static int run(struct cli *cli, struct error *error)
{
    if (cli->options.help || !cli->command) {
        help_show(cli, cli->command);
        return EXIT_DONE;
    }
    return cli->command->run(cli, error);
}

int main(int argc, char **argv)
{
    _cleanup_(cli_done) struct cli cli = {.commands = cli_commands, .n_commands = n_cli_commands};
    struct error error = {0};
    int r;

    signal(SIGPIPE, SIG_IGN);  /* a write tells */
    unsetenv("SSLKEYLOGFILE"); /* libcurl would write the keys of every TLS session to it */
    r = cli_parse(&cli, argc, argv, &error);
    if (r == 0)
        r = run(&cli, &error);
    if (r < 0) {
        hint(&cli, &error);
        cli_show_error(&cli, &error);
        r = r == ERR_TIMEOUT ? EXIT_TIMED_OUT : EXIT_ERROR;
    }
    return r;
}
