/*
 * The table of all commands, in the order of the help.
 */
#pragma once

#include "cli/frame/command.h"

extern const struct command cli_commands[];
extern const size_t n_cli_commands;
