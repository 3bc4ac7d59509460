/*
 * What State keeps of a resource for its provider, in the record's `memory`:
 *
 *   {"provider": "registry.terraform.io/hashicorp/random", "version": "3.7.2",
 *    "hash": "h1:…", "type": "random_password", "schemaVersion": 3, "private": "<base64>",
 *    "state": {…}, "sensitive": [PATH…], "sensitiveBySchema": [PATH…]}
 *
 * and, of a type whose provider says what identifies an object,
 *
 *    "identity": {…}, "identitySchemaVersion": 0
 *
 * `hash` is that of the package that wrote it (known.h).
 *
 * `state` is the JSON of Terraform's own state files, which a provider reads again even if its
 * schema has changed since. It has all values, so that State keeps it secret. `sensitive` is there
 * if something is that the schema does not call so: tf_sensitive_paths() of the Spec's attributes.
 * `sensitiveBySchema` is there for state files, which name both, and are written without a schema.
 */
#pragma once

#include "runtimes/terraform/resource.h"

/* sensitive: as above, or NULL. *ret: a reference. ERR_INVALID: the state cannot be read. */
int memory_make(const struct resource_type *type, const struct tf_state *state,
                const struct value *sensitive, const struct value **ret, struct error *error);

/* The same package of the provider wrote it, for this type. */
bool memory_is_of(const struct resource_type *type, const struct value *memory);

/* Brings the state up to the provider's version, and its private data; that of another type is
 * moved by the provider. ERR_UNSUPPORTED CannotBeFound: there is no memory; ERR_UNSUPPORTED
 * NewerState: a newer version wrote it; ERR_INVALID MoveFailed: it is of another type, and stays
 * so. */
int memory_load(const struct resource_type *type, const struct value *memory, struct tf_state *ret,
                struct error *error);
