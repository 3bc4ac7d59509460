/*
 * A provider from the operator's own copies, as State recorded it: for when no source can be
 * reached.
 *
 * Of the versions that the Spec has used (known.h) and that will do, it is the newest, and none
 * else: an older one might not read what a newer one wrote. Its copy has to have a hash that State
 * recorded with that version, and has to be listed by the lock file if that lists the provider. A
 * copy is hashed before an operator uses it first (package/cache.h).
 */
#pragma once

#include "runtimes/terraform/finder_fetch.h"
#include "runtimes/terraform/known.h"

/* ERR_NOT_FOUND: there is none. *ret: found_done(). */
int recorded_find(struct cache *cache, const struct wanted *wanted, const struct known *known,
                  const struct locked *locked, struct found *ret);
