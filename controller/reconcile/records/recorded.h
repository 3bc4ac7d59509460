/*
 * The Specs of revisions, as they were applied: what a rollback applies again.
 *
 * Recorded are the fields that say what is wanted: `resources`, `secretStore` and `context`. The
 * Spec's other fields say how the operator works; a rollback leaves them as they are.
 *
 * The Release of an Apply has the resources itself (release_head.resources) if they are short, are
 * all that is recorded, and are objects that who views the Spec's namespace sees
 * (runtime_ops.exposure): more people can read Releases than Specs. Else there is a document in the
 * store (DOCUMENT_SPEC): gzipped JSON, and secret if it may hold secrets in clear. Revisions with
 * the same content share a document. It goes with the last Release that names it (retention.h). The
 * Release of a Rollback always names a document.
 *
 * The digest of what is recorded is keyed, and of one Spec alone. The Release has it
 * (release_head.spec_digest); it is also the document's name. People may create Releases, but
 * without the key they cannot make up resources that have a digest.
 *
 * Resources of `resourcesFrom` (sources.h) are among them, and so is what of them is sensitive.
 *
 * Thread-safe.
 */
#pragma once

#include "engine/base/hash.h"
#include "engine/store.h"
#include "engine/value/value.h"

struct reconcile_context;

/* Bytes of resources as JSON; longer ones are a document. */
#define RECORDED_IN_RELEASE (4u << 10)

/* The digest of what a Spec wants; "": it is too large. */
void recorded_digest(const struct reconcile_context *context, const struct value *object,
                     char ret[HASH_HEX_SIZE]);

/* The resources of the Spec, if its Release is to have them; borrowed. NULL: a document has them,
 * which recorded_keep() makes. */
const struct value *recorded_resources(const struct reconcile_context *context,
                                       const struct value *object);

/* Keeps what the Spec wants as the document of that digest, unless that is known to be kept. */
int recorded_keep(const struct reconcile_context *context, const struct spec_key *spec,
                  const struct value *object, const char *digest, struct error *error);

/* The Spec `object` as it would be with what was recorded; a reference. resources: those in the
 * Release; NULL: a document has them. ERR_NOT_FOUND, ERR_CORRUPT. */
int recorded_apply(const struct reconcile_context *context, const struct spec_key *spec,
                   const char *digest, const struct value *resources, const struct value *object,
                   struct cancel *cancel, const struct value **ret, struct error *error);

/* Removes a document; 0 also where there is none. */
int recorded_drop(const struct reconcile_context *context, const struct spec_key *spec,
                  const char *digest, struct error *error);
/* All documents of a Spec that is about to go. */
int recorded_drop_all(const struct reconcile_context *context, const struct spec_key *spec,
                      struct error *error);

/* People can delete Releases, and their documents stay then. Once more than `limit` documents were
 * made since the last time, removes those of the Spec that is_needed() does not want. */
typedef bool recorded_is_needed(const void *arg, const char *digest);
int recorded_sweep(const struct reconcile_context *context, const struct spec_key *spec,
                   size_t limit, recorded_is_needed *is_needed, const void *arg,
                   struct error *error);
