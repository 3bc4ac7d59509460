/*
 * One provider, from its sources to a copy of its package. Blocks.
 */
#ifndef RUNTIMES_TERRAFORM_FINDER_FETCH_H
#define RUNTIMES_TERRAFORM_FINDER_FETCH_H

#include "runtimes/terraform/finder.h"
#include "runtimes/terraform/wanted.h"

struct fetching {
    const struct finder_config *config;
    struct cache *cache;
    struct remote *remote;
    struct cancel *cancel;
};

/* The errors are those of finder_find(). *ret: found_done(). */
int fetch_provider(const struct fetching *fetching, const struct wanted *wanted, struct found *ret,
                   struct error *error);

#endif
