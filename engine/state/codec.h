/*
 * State as bytes: gzipped JSON of format 2, in a document of two parts.
 *
 * The open part is State with null for all that is sensitive, and the JSON
 * pointers to it ("sensitive"); the secret part is what was there, by
 * pointer, and the serial. Neither holds a digest of the other's content: a digest
 * without a key would tell what a short secret is. What does not fit together
 * is ERR_CORRUPT, and so is a part that is missing.
 *
 * A journal's entry holds the changes of one save: {format, serial, head (the
 * fields that changed), changes, sensitive}, and is secret as a whole.
 * Entries apply on top of the snapshot in their order; the serials leave no gap.
 *
 * A told document holds what became of one call: open, the call's id; secret,
 * changes.
 *
 * The same content is always the same bytes: a write of which the outcome is
 * not known is found again by comparing.
 */
#ifndef ENGINE_STATE_CODEC_H
#define ENGINE_STATE_CODEC_H

#include "engine/state/changes.h"
#include "engine/state/compress.h"

/* *ret: initialised, empty. ERR_TOO_LARGE; ERR_INTERNAL: something in it is unknown. */
int state_encode(const struct state *state, struct document *ret, struct error *error);
/* The snapshot with its entries. ERR_CORRUPT. */
int state_decode(const struct document *document, struct state **ret, struct error *error);

/* What leads from the head `before` to `head`, whose serial it gets, and the changes. */
int entry_encode(const struct state_head *before, const struct state_head *head,
                 const struct changes *changes, struct buf *ret, struct error *error);

int told_encode(const char *call, const struct changes *changes, struct document *ret,
                struct error *error);
/* ERR_CORRUPT also where it is of another call. */
int told_decode(const struct document *document, const char *call, struct changes *ret,
                struct error *error);

#endif
