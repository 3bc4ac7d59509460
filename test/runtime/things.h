/*
 * The directory of things (cloud.h), as files. Writes are whole or not at all. Calls about one
 * thing come one at a time; others may be made by several threads and processes at once.
 */
#pragma once

#include <stdbool.h>

#include "engine/base/error.h"
#include "engine/value/value.h"

#define THING_ID_SIZE 17

/* Makes what the directory has to have. */
int things_init(const char *directory, struct error *error);

/* Returns a new id at each call. */
int thing_new_id(char ret[THING_ID_SIZE], struct error *error);

/* ERR_NOT_FOUND: there is none. */
int thing_read(const char *directory, const char *id, const struct value **ret,
               struct error *error);
int thing_write(const char *directory, const struct value *thing, struct error *error);
/* Returns 0 if the thing does not exist, too. */
int thing_remove(const char *directory, const char *id, struct error *error);

void things_log(const char *directory, const char *verb, const char *name);
bool things_hurry(const char *directory);
/* True if the resource of that name has this fault. */
bool things_have_fault(const char *directory, const char *name, const char *fault);
