#include "cli/commands.h"

#include "cli/online/online.h"

const struct command cli_commands[] = {
    {
        .name = "status",
        .arguments = "[NAME]",
        .summary = "Shows how Specs are: one, those of the namespace, or all (-A), worst first",
        .options = "all-namespaces selector watch pods failed events",
        .formats = "json|wide|name",
        .example = "kubectl kusion status -A\n"
                   "kubectl kusion status web --pods\n"
                   "kubectl kusion status web --watch\n",
        .most = 1,
        .run = run_status,
    },
};
const size_t n_cli_commands = ARRAY_SIZE(cli_commands);
