/*
 * What a store keeps, as text for people.
 */
#pragma once

#include "controller/state/side.h"
#include "engine/base/buf.h"

/* The store's identity, and a line for each State: "team-a/web  revision 3  12 resources  4096
 * bytes". */
int state_list(const struct state_side *side, const struct store_call *call, struct buf *to,
               struct error *error);

/* The State of a Spec as JSON, with all that was appended to it. Sensitive values are null, and the
 * list `sensitive` names them; reveals: they are there. */
int state_show(const struct state_side *side, const struct spec_key *spec, bool reveals,
               const struct store_call *call, struct buf *to, struct error *error);

/* The Releases of a Spec, oldest first, as a JSON List of what the API server would have. Those
 * that are damaged, or sealed with a key that is not there, are left out; then the error names one.
 */
int state_releases(const struct state_side *side, const struct spec_key *spec,
                   const struct store_call *call, struct buf *to, struct error *error);

/* Reads all documents, and decodes each State. A line for each that is damaged; then ERR_CORRUPT.
 */
int state_verify(const struct state_side *side, const struct store_call *call, struct buf *to,
                 struct error *error);
