/*
 * The commands that ask the API server. Each is in a file of its name; struct command has what they
 * return.
 */
#ifndef CLI_ONLINE_ONLINE_H
#define CLI_ONLINE_ONLINE_H

#include "cli/frame/command.h"

int run_status(struct cli *cli, struct error *error);

#endif
