/*
 * The environment of a provider's process: what a Spec's context says.
 *
 * A member of the context whose name is written as variables are, [A-Z_][A-Z0-9_]*, is one:
 * "AWS_REGION". Its value is a string, a number or a boolean. Other members are not for providers.
 * Variables by which a process could be made to run or write something else are refused: those of
 * the C library (LD_*, MALLOC_*), of Go's runtime (GODEBUG, GOGC), of Terraform's and its plugins'
 * protocol (TF_*, PLUGIN_*), HOME, PATH and TMPDIR, and proxies (*_PROXY). There are
 * at most 64 KiB.
 */
#pragma once

#include "engine/base/error.h"
#include "engine/value/value.h"

#define ENVIRONMENT_VARIABLES 48 /* at most */

/* *ret: an object of strings, sensitive where the context is; a reference. NULL: there are none.
 * ERR_INVALID InvalidContext, ERR_UNSUPPORTED (`ref://`): they name the member. */
int environment_read(const struct value *context, const struct value **ret, struct error *error);

/* "NAME=value" of each, then NULL: at most ENVIRONMENT_VARIABLES. free() each, and the array.
 * environment: as it was read; may be NULL. */
char **environment_strings(const struct value *environment);
void environment_strings_free(char **strings);
DEFINE_CLEANUP(char **, environment_strings_free)
