/*
 * Temporary folders: one for all processes of this operator, and in it one for each process, for
 * its socket and for what it writes.
 *
 * All processes have the same user, so no permission keeps one from another's socket. The name of a
 * process's folder has 80 random bits, and no process may list the operator's folder.
 *
 * A provider does not remove its socket when it is killed, and nobody removes anything when the
 * operator is. So the folder of an operator has a file that is locked as long as the operator
 * lives; the next operator removes folders whose lock is free.
 */
#pragma once

#include "engine/base/error.h"

/* Bytes of the path in which an operator makes its folder: with that, the paths of sockets fit into
 * struct sockaddr_un. */
#define FOLDER_LONGEST 52

/* Makes one for this operator in `parent`, and removes those that were left there. *ret_lock: to be
 * closed after folder_remove(). ERR_UNAVAILABLE. */
int folder_claim(const char *parent, char **ret, int *ret_lock, struct error *error);

/* Makes one for a process, in that of the operator. The same error. */
int folder_make(const char *parent, char **ret, struct error *error);
/* Removes a folder with all that is inside, as far as that can be done, and frees the path.
 * Symbolic links are not followed. Accepts NULL. */
void folder_remove(char *path);
DEFINE_CLEANUP(char *, folder_remove)
