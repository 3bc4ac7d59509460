/*
 * A store that logs each call of another, at debug level: what was called, of which document, how
 * many bytes, how long it took, and what came of it. Never what is in a document.
 */
#ifndef ENGINE_TRACE_STORE_TRACE_H
#define ENGINE_TRACE_STORE_TRACE_H

#include "engine/base/clock.h"
#include "engine/store.h"

/* Takes the store over: it is freed with this one. clock: borrowed. */
struct store *store_trace_new(struct store *store, const struct clock_source *clock);

#endif
