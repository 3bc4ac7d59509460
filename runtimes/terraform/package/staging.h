/*
 * A copy of a package in the making, in the folder of a cache (package/cache.h): a folder for its
 * files, and one for what is needed meanwhile. A lock on it says that it is somebody's: the next
 * operator removes what nobody has locked.
 */
#pragma once

#include "engine/base/error.h"

#define STAGING_FILES "files"

struct staging {
    char *folder; /* of all */
    int lock;     /* a descriptor of it */
    int files;    /* a descriptor of the folder for files, which is STAGING_FILES in it */
};
#define STAGING_INIT {.lock = -1, .files = -1}

/* shelf: the cache's folder. ERR_UNAVAILABLE ProviderCacheFailed. staging_done() also after an
 * error. */
int staging_begin(const char *shelf, struct staging *ret, struct error *error);
void staging_done(struct staging *staging); /* removes what was not kept */
