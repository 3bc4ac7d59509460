/*
 * What this process knows of the documents with recorded Specs (recorded.h): which one it kept
 * last, so that it is not written again, and how many it made. After a restart nothing is known.
 *
 * Thread-safe.
 */
#ifndef CONTROLLER_RECONCILE_RECORDED_KNOWN_H
#define CONTROLLER_RECONCILE_RECORDED_KNOWN_H

#include "engine/store.h"

struct recorded;

/* The last document that was kept of the Spec has this digest, and is still there. "": the Spec has
 * no documents. */
bool recorded_was_kept(struct recorded *recorded, const struct spec_key *spec, const char *digest);

void recorded_note_made(struct recorded *recorded, const struct spec_key *spec, const char *digest);
void recorded_note_dropped(struct recorded *recorded, const struct spec_key *spec);
/* The Spec has no documents any more. */
void recorded_note_none(struct recorded *recorded, const struct spec_key *spec);
/* The Spec is gone. */
void recorded_note_gone(struct recorded *recorded, const struct spec_key *spec);

/* More than `limit` documents were made since this was true last, or one, and it was never true in
 * this process: the caller sweeps now. */
bool recorded_sweep_is_due(struct recorded *recorded, const struct spec_key *spec, size_t limit);

#endif
