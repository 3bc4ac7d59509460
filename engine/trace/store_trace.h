/*
 * A decorator that logs each call of another store, at debug level: the call, the document, the
 * number of bytes, the duration and the result. It never logs the content of a document.
 */
#pragma once

#include "engine/store.h"
#include "engine/threads/clock.h"

/* Owns the traced store, and frees it with itself. clock: borrowed. */
struct store *store_trace_new(struct store *store, const struct clock_source *clock);
