/*
 * The table of all commands, in the order of the help.
 */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/frame/command.h"

extern const struct command cli_commands[];
extern const size_t n_cli_commands;

#endif
