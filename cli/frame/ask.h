/*
 * Questions to the person at the terminal.
 */
#pragma once

#include "cli/frame/command.h"

/* The answer, without blanks around it; free(). ERR_INVALID NoTerminal: standard input is none (a
 * question would be answered by whatever stands in a pipe). */
int ask(struct cli *cli, const char *question, char **ret, struct error *error);

/* Without --yes, asks; *ret: whether the answer is yes. */
int ask_yes(struct cli *cli, const char *question, bool *ret, struct error *error);
/* Without --yes, lets the person type this word. */
int ask_word(struct cli *cli, const char *word, bool *ret, struct error *error);
