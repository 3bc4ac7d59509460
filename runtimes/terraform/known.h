/*
 * Which packages of providers a Spec has used: what its State has of them (memory.h), and what its
 * context accepts beside that. A provider of a version that State knows has to have the hash that
 * State knows, for all resources of the Spec, also for new ones.
 *
 *   context.terraformProviderHashes    "h1:…", several with blanks between them, or a list
 *
 * Immutable, reference-counted.
 */
#pragma once

#include "engine/state/record.h"
#include "engine/value/value.h"

#define KNOWN_ACCEPTED "terraformProviderHashes"

struct known;

/* records: of the Spec, of any type. context: or NULL. */
struct known *known_new(const struct record *const *records, size_t n, const struct value *context);
struct known *known_ref(struct known *known);
void known_unref(struct known *known);
DEFINE_CLEANUP(struct known *, known_unref)

/* The versions of a provider, which may repeat, and the hashes of one: the i-th that State has.
 * NULL: there are no more, or known is NULL. Borrowed. */
const char *known_version(const struct known *known, const char *address, size_t i);
const char *known_hash(const struct known *known, const char *address, const char *version,
                       size_t i);

/* address: "registry.terraform.io/hashicorp/random"; name: for messages, "hashicorp/random 3.7.2".
 * ERR_FORBIDDEN ProviderChanged. known: NULL: everything will do. */
int known_check(const struct known *known, const char *address, const char *version,
                const char *name, const char *h1, struct error *error);
