/*
 * The versions of providers that a pool knows (provider.h), and how many use each.
 *
 * A version that nobody has used for a while is forgotten: the schemas of one may have 100 MB, and
 * Specs go on to the next. Where it is wanted again, a process is asked for them anew.
 *
 * Not locked.
 */
#pragma once

#include "runtimes/terraform/provider.h"

struct providers {
    struct strmap by_key; /* provider_key() -> struct provider */
};

void providers_init(struct providers *providers);
void providers_done(struct providers *providers); /* when nobody uses them */

/* The one whose program this is, known from now on, with one more user. Several addresses may have
 * the same program, and State keeps by which one an object was made. */
struct provider *providers_use(struct providers *providers, const struct source *source,
                               const struct found *found);
/* Whom providers_use() gave it to uses it no more. now: ms. Accepts NULL. */
void provider_leave(struct provider *provider, int64_t now);
/* One that nobody has used since before that, and that is not known any more: provider_free(),
 * which may take a while. NULL: there is none. */
struct provider *providers_forget(struct providers *providers, int64_t before);
