/*
 * The identity of an object: by what its provider tells it from all others of its type, wherever
 * they are. Newer providers give one beside each state, have it back with the next call, and say
 * what it is made of (provider_identity()). Terraform's state has it as JSON.
 */
#ifndef RUNTIMES_TERRAFORM_IDENTITY_H
#define RUNTIMES_TERRAFORM_IDENTITY_H

#include "runtimes/terraform/resource.h"

/* As JSON, of the schema that the provider has now. A reference; NULL: there is none, or it cannot
 * be read. Nothing fails for want of it. */
const struct value *identity_read(const struct resource_type *type, const struct buf *identity);

/* What a provider is handed back, of the JSON that was written by that version of the schema: the
 * provider brings it up to its own. The type has none any more: *ret stays empty. */
int identity_load(const struct resource_type *type, const struct value *json, int64_t version,
                  struct buf *ret, struct error *error);

#endif
