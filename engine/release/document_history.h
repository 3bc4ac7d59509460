/*
 * A history in a store: engine/release/history.h.
 *
 * Each record is a document of its own (DOCUMENT_RELEASE, its item the revision), gzipped JSON in
 * the open part: its head, its status, and how often it was written. A version is a checksum of
 * that.
 *
 * What the store says of a document that is locked (ERR_CONFLICT StateLocked) or damaged
 * (ERR_CORRUPT) is passed on. One that is damaged can be removed, and nothing else.
 */
#ifndef ENGINE_RELEASE_DOCUMENT_HISTORY_H
#define ENGINE_RELEASE_DOCUMENT_HISTORY_H

#include "engine/release/history.h"

/* store: borrowed. */
struct release_history *document_history_new(struct store *store);

#endif
