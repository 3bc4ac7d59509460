/*
 * The commands that need no API server. Each is in a file of its name; struct command has what they
 * return.
 */
#pragma once

#include "cli/frame/command.h"

int run_convert(struct cli *cli, struct error *error);
int run_explain(struct cli *cli, struct error *error);
int run_completion(struct cli *cli, struct error *error);
int run_man(struct cli *cli, struct error *error);
