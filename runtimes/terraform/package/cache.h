/*
 * The operator's own copies of providers' packages, in a folder that nobody else writes: what was
 * hashed is what runs, whatever becomes of the mirror or the archive that it came from.
 *
 *   FOLDER/kusion-packages/zh-<SHA-256>.h1-<…>/…    of an archive
 *   FOLDER/kusion-packages/h1-<…>/…                 of an unpacked folder
 *   FOLDER/kusion-packages/.new-XXXXXX/…            under way
 *
 * A copy is made beside the others and renamed, so that it is there as a whole or not at all. What
 * a killed operator left under way is removed by the next: a lock on it says that it is somebody's.
 * Copies of an earlier operator are hashed before they are used, since a machine that lost its
 * power may have lost parts of them.
 *
 * Above the bound on bytes, the copy that was not used for the longest time is removed; those in
 * use stay. Where these leave no room for a new one, none is removed for it. A copy that somebody
 * else has removed is made anew, as is the folder.
 *
 * Thread-safe. No lock is held while files are hashed or removed.
 */
#pragma once

#include "runtimes/terraform/package/staging.h"
#include "runtimes/terraform/package/writer.h"

#define CACHE_FULL "ProviderCacheFull"

struct cache;

/* Reads what is there. folder: absolute; made if it is missing. ERR_UNAVAILABLE: it cannot be used,
 * or belongs to somebody else. */
int cache_new(const char *folder, uint64_t most_bytes, struct cache **ret, struct error *error);
/* After its packages are given back. What is in the folder stays. Accepts NULL. */
void cache_free(struct cache *cache);

/* A copy in use. It stays until it is given back by all who have it. */
struct package {
    const char *folder; /* absolute */
    const char *name;   /* of the copy, for cache_find() */
    const char *h1;
    const char *zh; /* of the archive that it is of, hexadecimal; NULL: of a folder */
};

/* NULL: there is no such copy, or it is damaged or gone. */
struct package *cache_find(struct cache *cache, const char *name);
struct package *cache_find_archive(struct cache *cache, const char *zh);
struct package *cache_find_files(struct cache *cache, const char *h1);
/* Of an archive, or of an unpacked folder. */
struct package *cache_find_hash(struct cache *cache, const char *h1);
/* Any thread. Accepts NULL. */
void package_give_back(struct package *package);
DEFINE_CLEANUP(struct package *, package_give_back)

/* A copy in the making: staging_done() also after an error. */
int cache_begin(struct cache *cache, struct staging *ret, struct error *error);
/* How many bytes of files one package may have. */
uint64_t cache_room(const struct cache *cache);

/* Whether there is room for a package of so many bytes, or would be if these uses of copies were
 * given back, too. */
bool cache_fits(struct cache *cache, uint64_t bytes, struct package *const *given_back, size_t n);

/* Makes its files a copy. zh: NULL: of no archive. ERR_UNAVAILABLE CACHE_FULL: those in use leave
 * no room; then the files stay where they are. */
int cache_keep(struct cache *cache, struct staging *staging, const char *zh,
               const struct package_writer *writer, const char *h1, struct package **ret,
               struct error *error);
