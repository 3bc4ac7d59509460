/*
 * A provider's program that is a script: its first line names what runs it, as the kernel reads it:
 *
 *   #!python/bin/python3 -I    a relative path is one of the package
 *   #!/usr/bin/python3         the system's, which is no part of the package's hash
 *
 * The kernel would look for a relative path in the folder where the process works. So the
 * interpreter is started by us.
 */
#pragma once

#include "engine/base/error.h"

#define SCRIPT_ARGUMENTS 3

/* The command of a program: itself, or interpreter, argument (if there is one), script; then NULL.
 */
struct script_command {
    char *arguments[SCRIPT_ARGUMENTS + 1]; /* owned */
};
void script_command_done(struct script_command *command);

/* program: an absolute path. ERR_INVALID: it cannot be read, or its first line is none of these. */
int script_command(const char *program, struct script_command *ret, struct error *error);
