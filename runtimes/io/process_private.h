/*
 * The parts of process.c.
 */
#pragma once

#include "runtimes/io/process.h"

/* A child that was started. */
struct spawned {
    pid_t pid;
    int pidfd;
    int output, errors; /* the read ends of its pipes, non-blocking */
};

/* Forks and executes. The child is killed when the calling thread ends. */
int process_spawn(const struct process_config *config, struct spawned *ret, struct error *error);
