/*
 * Child processes that serve us for a while, such as Terraform providers.
 *
 * A thread starts them, reads what they print, and reaps them. It lives as long as the set of
 * processes, because the kernel kills a child when the thread that started it ends
 * (PR_SET_PDEATHSIG): so no child outlives this process, however it ends.
 *
 * A child gets nothing of ours: an environment of its own, no file descriptors, /dev/null as its
 * input, no way to more privileges (no_new_privs), a process group and limits of its own, and a
 * sandbox if it is given one (sandbox.h). Where memory runs out, the kernel kills it before us
 * (oom_score_adj). When it ends or is freed, it and its whole group are
 * killed.
 *
 * What a child prints is read as it comes, because a child whose pipe is full stands still. The
 * first line of its output is kept, and the last bytes of its errors; the rest is dropped. Both may
 * contain secrets, and are not logged here.
 *
 * Thread-safe; a process belongs to one owner, who frees it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/base/error.h"
#include "engine/threads/cancel.h"
#include "runtimes/io/sandbox.h"

/* Bytes of the first line of output, and of the last errors, that are kept. */
#define PROCESS_LINE_BYTES   4096
#define PROCESS_ERRORS_BYTES 4096

struct processes;
struct process;

int processes_new(const char *thread_name, struct processes **ret, struct error *error);
/* After its processes were freed. */
void processes_free(struct processes *processes);
DEFINE_CLEANUP(struct processes *, processes_free)

/* Borrowed for the call. */
struct process_config {
    const char *const *arguments;   /* the first is the program's absolute path; then NULL */
    const char *const *environment; /* "NAME=value", then NULL */
    const char *directory;          /* to work in */
    uint64_t max_files;             /* open files */
    uint64_t max_file_bytes;        /* of one file that it writes */
    uint64_t max_memory; /* bytes that it may ask for (RLIMIT_DATA); 0: no limit. What is only
                            reserved does not count */
    const struct sandbox *sandbox;  /* NULL: none */
};

/* ERR_UNAVAILABLE, or ERR_INVALID if the program cannot be run. */
int process_start(struct processes *processes, const struct process_config *config,
                  struct process **ret, struct error *error);
/* Kills the process's group if it has not ended, and waits for that. Accepts NULL. */
void process_free(struct process *process);
DEFINE_CLEANUP(struct process *, process_free)

/* Waits for the first line of output, without its end. ERR_UNAVAILABLE: the process ended before
 * that; ERR_TOO_LARGE; ERR_TIMEOUT: the deadline (ms, monotonic) passed; ERR_CANCELLED. *ret:
 * free(). */
int process_wait_line(struct process *process, int64_t deadline, struct cancel *cancel, char **ret,
                      struct error *error);
/* Waits for its end. False: the deadline passed. */
bool process_wait_end(struct process *process, int64_t deadline);
bool process_has_ended(struct process *process);

/* How it ended: "exit status 2", "killed by signal 9 (Killed)". NULL: it has not ended. free(). */
char *process_describe_end(struct process *process);
/* The last that it printed to its errors. NULL: nothing, or it has not ended. free(). */
char *process_last_errors(struct process *process);
pid_t process_id(const struct process *process);
/* Whether it is a program of Go that ended as these do when they get no memory: by the runtime,
 * with words about itself, and without a panic. (They do so for few other reasons.) */
bool process_lacked_memory(struct process *process);
/* Kills it, and returns at once. */
void process_kill(struct process *process);
/* Bytes of memory that it has now (RSS); 0: not known, as of one that has ended. */
int64_t process_memory(const struct process *process);
