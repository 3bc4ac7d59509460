/* States for tests of the store. */
#ifndef TEST_UNIT_RUNTIMES_KUBERNETES_STATES_H
#define TEST_UNIT_RUNTIMES_KUBERNETES_STATES_H

#include "engine/state/state.h"

#define STATES_SECRET "aHVudGVyMg=="

/* One of a record, or with `bytes` more of what cannot be compressed. seed: which. secret: with a
 * Secret of STATES_SECRET and as many bytes again. */
struct state *states_make(const char *spec_namespace, const char *spec_name, unsigned seed,
                          size_t bytes, bool secret);

bool states_equal(const struct state *a, const struct state *b);

#endif
