/*
 * A store, as the commands of this folder use it.
 */
#pragma once

#include "engine/release/history.h"
#include "engine/store.h"

/* All borrowed. */
struct state_side {
    struct store *base;  /* which has the identity */
    struct store *store; /* of all other documents: the same, or one around it */
    struct release_history *history;
    const char *place;
    bool has_releases; /* the store has them as documents */
};
