/*
 * validate: what is wrong with files, without a cluster; and what else is looked for.
 */
#pragma once

#include "cli/convert/convert.h"
#include "cli/frame/command.h"

/* Adds findings of its own. A negative code ends the command. */
typedef int validate_more(void *arg, const struct convert_source *source, struct findings *findings,
                          struct error *error);

/* more may be NULL. */
int validate(struct cli *cli, validate_more *more, void *arg, struct error *error);
