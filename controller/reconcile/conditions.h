/*
 * A verdict about an object, and the conditions that say it (peers.md).
 *
 * Ready is always there; Reconciling and Stalled only when True, and never
 * both. A condition's lastTransitionTime changes with its status alone, so that
 * saying the same again is no change.
 */
#ifndef CONTROLLER_RECONCILE_CONDITIONS_H
#define CONTROLLER_RECONCILE_CONDITIONS_H

#include <stdint.h>

#include "engine/base/error.h"
#include "engine/base/value.h"

enum progress { PROGRESS_SETTLED, PROGRESS_RECONCILING, PROGRESS_STALLED };

struct verdict {
    const char *ready; /* "True", "False", "Unknown" */
    const char *reason, *message;
    enum progress progress;
    const char *healthy; /* "True", "False"; NULL: not known, no condition */
};

/* What an error means: Stalled if waiting will not mend it, else Reconciling. */
struct verdict verdict_of_error(const struct error *error);

/* old: the conditions that are there, or NULL. now: Unix ms. */
const struct value *conditions_make(const struct value *old, const struct verdict *verdict,
                                    int64_t generation, int64_t now);

/* The condition of a type, or NULL. */
const struct value *conditions_find(const struct value *conditions, const char *type);

#endif
