/*
 * A command of kubectl-kusion, and what it is called with. The table of all commands is
 * cli/commands.c. Help, completion and man pages are made from it.
 */
#pragma once

#include "cli/frame/options.h"
#include "cli/frame/output.h"
#include "engine/base/error.h"

/* Exit codes. */
enum exit_code {
    EXIT_DONE = 0,    /* done, or there is no change */
    EXIT_ERROR = 1,   /* did not work, or what it asked for is wrong */
    EXIT_CHANGES = 2, /* with --detailed-exitcode: there are changes */
    EXIT_TIMED_OUT = 3,
    EXIT_WAITS = 4, /* a plan waits for approval */
};

struct cli;

struct command {
    const char *name;      /* "status"; "state show": two words */
    const char *arguments; /* as the usage shows them: "[NAME]" */
    const char *summary;   /* one line, without a full stop */
    const char *about;     /* sentences; NULL: the summary says all */
    const char *options;   /* names of its own options, with blanks between: "watch failed" */
    const char *formats;   /* that -o takes: "json|wide"; NULL: it has no -o */
    const char *example;   /* lines of commands, with their comments (#) */
    bool is_offline;       /* it asks no API server, and has no options for that */
    unsigned least, most;  /* number of arguments */
    /* An enum exit_code; or a negative error code, with the error. */
    int (*run)(struct cli *cli, struct error *error);
};

struct cli {
    const struct command *commands; /* all, in the order of the help */
    size_t n_commands;
    const struct command *command; /* this one */
    struct options options;
    const char **arguments; /* beside options and the command's name */
    size_t n_arguments;
    struct output out; /* standard output */
    struct output err; /* standard error */
};

/*
 * Reads the command line; words point into argv. cli: with commands; out and err are opened here.
 * ERR_INVALID UnknownCommand, UnknownOption, InvalidOption, with a hint. cli->command is NULL if
 * there is none: then help is wanted.
 */
int cli_parse(struct cli *cli, int argc, char **argv, struct error *error);
void cli_done(struct cli *cli);

/* Whether the command has this option, of its own or as all have it. */
bool command_takes(const struct command *command, const struct option *option);

/* Prints the help of all commands (command NULL) or of one. */
void help_show(struct cli *cli, const struct command *command);

/* -o json or yaml: a value is printed instead of text for people. */
bool cli_wants_data(const struct cli *cli);
void cli_print_data(struct cli *cli, const struct value *value);

/* Prints an error: a line, and what to do next. */
void cli_show_error(struct cli *cli, const struct error *error);
