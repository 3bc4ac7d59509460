/*
 * Makes the Releases of one history in another one: copy.h.
 */
#ifndef CONTROLLER_STATE_COPY_RELEASES_H
#define CONTROLLER_STATE_COPY_RELEASES_H

#include "controller/state/side.h"
#include "engine/store/names.h"

/* Of the Specs that `names` has documents of, and those that have Releases as documents. *count: is
 * added to. */
int copy_releases(const struct state_side *from, const struct state_side *to,
                  const struct store_call *call, const struct names *names, size_t *count,
                  struct error *error);

#endif
