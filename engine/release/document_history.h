/*
 * A history (engine/release/history.h) in a store.
 *
 * Each record is a document (DOCUMENT_RELEASE, item: the revision). The open part is JSON: the
 * head, the status, and a count of writes. It is not compressed, so that a store with a language
 * for queries can look into it; gzipped JSON, which earlier versions wrote, is read. A version is a
 * checksum of the open part.
 *
 * A locked document is ERR_CONFLICT StateLocked, a damaged one ERR_CORRUPT. A damaged record can
 * only be removed.
 */
#pragma once

#include "engine/release/history.h"

/* store: borrowed. */
struct release_history *document_history_new(struct store *store);
