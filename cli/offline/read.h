/*
 * What -f and -k name, read and made into Specs; and what is told about it.
 */
#pragma once

#include "cli/convert/convert.h"
#include "cli/frame/command.h"

/* Reads -f, -k and the arguments that are files. ERR_INVALID: there are none; else as input_add().
 */
int read_input(struct cli *cli, struct input *ret, struct error *error);

/* --order. ERR_INVALID InvalidOption. */
int read_order(const struct cli *cli, enum convert_order *ret, struct error *error);

/* The one Spec that -f and -k make. Errors go to standard error, and then it is ERR_INVALID. *ret:
 * a reference, with a name and a namespace. */
int read_spec(struct cli *cli, const struct value **ret, struct error *error);

/* Each finding as a line: FILE:LINE:COLUMN  error  Deployment/web  what is wrong. */
void tell_findings(struct output *out, struct findings *findings);

/* ERR_INVALID if there are errors. */
int check_findings(const struct findings *findings, struct error *error);
