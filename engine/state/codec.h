/*
 * State as bytes: gzipped JSON of format 2, in a document of two parts.
 *
 * The open part is State as JSON in which every sensitive value is null, and a list of JSON
 * pointers to these values ("sensitive"). The secret part holds the sensitive values by pointer,
 * and the serial. Neither part holds a digest of the other: a digest without a key would reveal a
 * short secret. Parts that do not belong together, or a missing part, are ERR_CORRUPT.
 *
 * An entry of the journal holds the changes of one save: {format, serial, head (the fields that
 * changed), changes, sensitive}. The whole entry is secret. Entries apply to the snapshot in their
 * order, and their serials leave no gap.
 *
 * An outcome document holds the outcome of one call: the open part is the call's id, the secret
 * part the changes.
 *
 * Encoding is deterministic: equal content gives equal bytes. After a write with an unknown
 * outcome, the ledger compares the stored bytes with its own.
 */
#pragma once

#include "engine/state/changes.h"
#include "engine/state/compress.h"
#include "engine/store.h"

/* *ret: initialised, empty. ERR_TOO_LARGE; ERR_INTERNAL: State contains VALUE_UNKNOWN. */
int state_encode(const struct state *state, struct document *ret, struct error *error);
/* Reads the snapshot and applies its entries. ERR_CORRUPT. */
int state_decode(const struct document *document, struct state **ret, struct error *error);

/* An entry: the fields in which `head` differs from `before`, head's serial, and the changes. */
int entry_encode(const struct state_head *before, const struct state_head *head,
                 const struct changes *changes, struct buf *ret, struct error *error);

int outcome_encode(const char *call, const struct changes *changes, struct document *ret,
                   struct error *error);
/* ERR_CORRUPT, also if the document belongs to another call. */
int outcome_decode(const struct document *document, const char *call, struct changes *ret,
                   struct error *error);
