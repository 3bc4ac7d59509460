/*
 * The folder on disk that a cache of packages is in (package/cache.h), without what the cache knows
 * of it. Nothing here is locked; threads and operators may do all of it at once.
 */
#pragma once

#include <stdint.h>
#include <time.h>

#include "engine/base/error.h"

#define SHELF_UNDER_WAY ".new-" /* what the names of copies in the making begin with */

/* Makes the folder, and the one that it is in, if they are missing. ERR_UNAVAILABLE
 * ProviderCacheFailed: it cannot be used, or others may write in it. */
int shelf_make(const char *shelf, struct error *error);

/* What is there: calls for each copy; removes what operators left under way that are gone
 * (package/staging.h). Errors as above. */
int shelf_read(const char *shelf,
               void (*on_copy)(void *arg, const char *name, uint64_t bytes, struct timespec used),
               void *arg, struct error *error);

/* The template of such a name, for mkdtemp(); free(). */
char *shelf_template(const char *shelf);

/* Takes a copy away at once: its name is free from then on. Its path, for folder_remove(), which
 * takes long and needs no lock. NULL: it is gone, or cannot be taken away. If nobody removes it,
 * the next operator does. */
char *shelf_put_aside(const char *shelf, const char *name);

/* ERR_UNAVAILABLE ProviderCacheFailed. */
int shelf_failed(const char *shelf, const char *why, struct error *error);
