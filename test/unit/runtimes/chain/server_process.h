/*
 * A server of hack/stores, as its process can be killed and started again: its arguments, its
 * environment and its user are those that it has.
 */
#pragma once

#include <sys/types.h>

struct server_process {
    pid_t pid;
    char arguments[8192], environment[16384], folder[256], pid_file[256];
    ssize_t arguments_length, environment_length;
    uid_t user;
    gid_t group;
};

/* folder: of the server, which has run.pid. */
void server_process_find(const char *folder, struct server_process *ret);
/* Kills its whole group, and starts it again. */
void server_process_restart(struct server_process *process);
