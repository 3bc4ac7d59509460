/*
 * The parts of a sandbox: files (Landlock) and calls (seccomp).
 */
#pragma once

#include <linux/filter.h>
#include <stddef.h>

#include "runtimes/io/sandbox.h"

/* ---- Files ---- */

/* The version of Landlock that the kernel has; 0: none, and errno says why. */
int landlock_version(void);

/* Makes the rules, for a version. *ret: a descriptor. The errors are those of sandbox_new(). */
int landlock_rules(const struct sandbox_config *config, int version, int *ret, struct error *error);
int landlock_enter(int rules);

/* What loads the program: the path of its dynamic loader. NULL: it needs none. free(). */
int program_loader(const char *program, char **ret, struct error *error);

/* ---- Calls ---- */

#define FILTER_SIZE 512 /* instructions */
#define FILTER_OWN  8   /* places that want the process's number */

/* A program for the kernel (linux/filter.h). */
struct call_filter {
    struct sock_filter items[FILTER_SIZE];
    size_t count;
    size_t own[FILTER_OWN];
    size_t n_own;
};

/* version: of Landlock; the filter refuses what that does not guard yet. */
void call_filter_make(int version, struct call_filter *ret);
/* For the process that calls it. */
int call_filter_enter(const struct call_filter *filter);

/* sandbox_new() with a version of Landlock that is not newer than the kernel's. */
int sandbox_new_for(const struct sandbox_config *config, int version, struct sandbox **ret,
                    struct error *error);
