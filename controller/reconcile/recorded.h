/*
 * The Specs of revisions, as they were applied: what a rollback applies again.
 *
 * Each is a document of the store (DOCUMENT_SPEC): gzipped JSON of the fields that say what is
 * wanted, `resources`, `secretStore` and `context`. The Spec's other fields say how the operator
 * works; a rollback leaves them as they are. If they may hold secrets in clear, the document is
 * secret.
 *
 * The document's name is a keyed digest of its content, so that revisions with the same content
 * share it. The Release of the revision has the digest (release_head). A document goes with the
 * last Release that has its digest (retention.h).
 *
 * Thread-safe.
 */
#ifndef CONTROLLER_RECONCILE_RECORDED_H
#define CONTROLLER_RECONCILE_RECORDED_H

#include "engine/base/hash.h"
#include "engine/base/value.h"
#include "engine/store.h"

struct reconcile_context;
struct recorded;

struct recorded *recorded_new(void);
void recorded_free(struct recorded *recorded);
DEFINE_CLEANUP(struct recorded *, recorded_free)

/* The digest of what a Spec wants; "": it is too large. */
void recorded_digest(const struct reconcile_context *context, const struct value *object,
                     char ret[HASH_HEX_SIZE]);

/* Keeps what the Spec wants under its digest, unless that is known to be kept. */
int recorded_keep(const struct reconcile_context *context, const struct spec_key *spec,
                  const struct value *object, const char *digest, struct error *error);

/* The Spec `object` as it would be with what was recorded; a reference. ERR_NOT_FOUND, ERR_CORRUPT.
 */
int recorded_apply(const struct reconcile_context *context, const struct spec_key *spec,
                   const char *digest, const struct value *object, struct cancel *cancel,
                   const struct value **ret, struct error *error);

/* 0 also where there is none. */
int recorded_drop(const struct reconcile_context *context, const struct spec_key *spec,
                  const char *digest, struct error *error);
/* All of a Spec that is about to go. */
int recorded_drop_all(const struct reconcile_context *context, const struct spec_key *spec,
                      struct error *error);
/* All that may be left of a Spec that is gone. */
int recorded_forget(const struct reconcile_context *context, const struct spec_key *spec,
                    struct error *error);

#endif
