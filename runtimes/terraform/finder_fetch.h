/*
 * One provider, from its sources to a copy of its package. Blocks.
 */
#pragma once

#include "runtimes/terraform/lock_file.h"
#include "runtimes/terraform/package/cache.h"
#include "runtimes/terraform/remote.h"
#include "runtimes/terraform/wanted.h"

/* Borrowed; lives longer. */
struct finder_config {
    const char *mirror;         /* mirror.h; NULL: none */
    const char *network_mirror; /* network_mirror.h; NULL: none */
    struct remote_config remote;
    const struct lock_file *locked; /* NULL: none */
    const char *cache;          /* an absolute path */
    uint64_t cache_bytes;
    int64_t patience;           /* ms that a caller waits at most; 0: 15 s */
    /* Gives back copies that are in use, but need not be, so that a package of so many bytes has
     * room. False: they are not enough, and none was. By a thread of the finder, without a lock.
     * NULL: there are none. */
    bool (*make_room)(void *arg, struct cache *cache, uint64_t bytes);
    void *arg;
};

/* A provider that is ready to run. */
struct found {
    struct package *package;
    char *version;
    char *program; /* an absolute path in the package */
    bool is_locked; /* the lock file lists its hash */
};
void found_done(struct found *found); /* accepts one that is all zeroes */

struct fetching {
    const struct finder_config *config;
    struct cache *cache;
    struct remote *remote;
    struct cancel *cancel;
};

/* The errors are those of finder_find() (finder.h). *ret: found_done(). */
int fetch_provider(const struct fetching *fetching, const struct wanted *wanted, struct found *ret,
                   struct error *error);
