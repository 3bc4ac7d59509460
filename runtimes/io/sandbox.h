/*
 * What a child process may do that is somebody else's program, and whose arguments others choose.
 *
 * It may read the program itself (and, if it is linked to shared libraries, those of the system),
 * the folder of files that came with it, certificates of public authorities, the resolver's files,
 * time zones, /dev/null and /dev/urandom; and write in a folder of its own. No other file can be
 * opened, listed, made or removed, in /proc neither. It can execute no program of the system but
 * itself (one that it made in memory stays in the sandbox).
 *
 * It may use the network: TCP and UDP, and no other protocol. It may listen on a TCP port that the
 * kernel chooses, but on no other; on any port of UDP; and on Unix sockets in its folder. It
 * reaches no other process: no signals, no tracing, no memory, limits or priorities of others, no
 * abstract Unix sockets.
 *
 * It has threads, but no processes of its own, and stays in its group: who kills it leaves nothing.
 * System calls that no such program needs are refused (sandbox_calls.c).
 *
 * Files are guarded by Landlock, calls by a seccomp filter. Versions of Landlock from 1 (Linux
 * 5.13) on are used. What one guards only later is refused by the filter, where that can be done;
 * what is left is: TCP ports before version 4 (Linux 6.7), abstract Unix sockets before 6 (6.12).
 *
 * Connections to Unix sockets are refused by the length of their address, which is all that can be
 * seen of it. So those with a path of more than 26 bytes are out of reach, and it cannot go to
 * another folder, from where they would have shorter ones. Shorter paths can be made to fit: a user
 * who may use Docker's socket, or a session's bus, must not run programs of others.
 */
#pragma once

#include <stdbool.h>

#include "engine/base/error.h"

struct sandbox;

/* Borrowed for the call. */
struct sandbox_config {
    const char *program; /* an absolute path */
    const char *files;   /* a folder that it may read, too; NULL: none */
    const char *folder;  /* in which it writes: an absolute path */
    bool without_files;  /* where the kernel cannot guard files, the rest is enough */
};

/* Whether the kernel guards files. Where it does not, *ret_why, if not NULL, says why (a
 * constant). */
bool sandbox_guards_files(const char **ret_why);

/* Prepares one for a process. ERR_UNSUPPORTED: the kernel cannot guard files; ERR_INVALID: the
 * program or the folder cannot be used; ERR_UNAVAILABLE. */
int sandbox_new(const struct sandbox_config *config, struct sandbox **ret, struct error *error);
/* Accepts NULL. */
void sandbox_free(struct sandbox *sandbox);
DEFINE_CLEANUP(struct sandbox *, sandbox_free)

/* For a child of one thread, between fork() and execve(), with no_new_privs: it cannot leave again.
 * Safe in the child of a process with threads. NULL, or what failed, with errno. */
const char *sandbox_enter(const struct sandbox *sandbox);
