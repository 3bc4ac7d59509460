/*
 * Values of secrets that were read, so that a check can ask for the version alone. In memory, and
 * nowhere else.
 *
 * A key says by whom and from where the value was read: so nobody gets one that another has read.
 * Thread-safe.
 */
#pragma once

#include "engine/secrets.h"

#define SECRET_CACHE_BYTES (4u << 20)
#define SECRET_CACHE_TIME  3600000 /* ms after its last use that a value is kept */

struct secret_cache;

struct secret_cache *secret_cache_new(void);
void secret_cache_free(struct secret_cache *cache);

/* now: ms, monotonic. False: it is not there. ret: the caller's. */
bool secret_cache_find(struct secret_cache *cache, const char *key, int64_t now,
                       struct secret *ret);
void secret_cache_put(struct secret_cache *cache, const char *key, int64_t now,
                      const struct secret *secret);
void secret_cache_drop(struct secret_cache *cache, const char *key);
