/*
 * Where State is kept, behind a table of functions.
 *
 * The contract that every store keeps:
 *   - load gives the whole of the last save that succeeded, never a mix of two.
 *     Where a part is missing or damaged it is ERR_CORRUPT, naming the part,
 *     and never an empty or partial State. ERR_NOT_FOUND only where nothing was
 *     ever saved or it was removed.
 *   - save replaces it, if it is still as `version` says (as loaded or saved
 *     last; NULL: there is none), else ERR_CONFLICT and nothing changes. It is
 *     durable when save returns 0. After ERR_UNAVAILABLE or ERR_TIMEOUT it may or
 *     may not have happened: load again. Killed anywhere inside, load gives the old
 *     or the new one.
 *   - remove takes it away, under the same condition. What saves left over
 *     unfinished goes too.
 * Thread-safe for different keys.
 */
#ifndef ENGINE_STATE_STORE_H
#define ENGINE_STATE_STORE_H

#include "engine/base/cancel.h"
#include "engine/spec/name.h"
#include "engine/state/state.h"

struct state_key {
    const char *spec_namespace, *spec_name;
};

struct state_store {
    const struct state_store_ops *ops; /* first member of every implementation */
};

struct state_store_ops {
    int (*load)(struct state_store *store, const struct state_key *key, struct cancel *cancel,
                struct state **ret, char **ret_version, struct error *error);
    /* *version is replaced by the new one. */
    int (*save)(struct state_store *store, const struct state_key *key, const struct state *state,
                struct cancel *cancel, char **version, struct error *error);
    int (*remove)(struct state_store *store, const struct state_key *key, const char *version,
                  struct cancel *cancel, struct error *error);
};

/* The key as a name for objects and labels: spec_hash_name(). */
#define STATE_NAME_SIZE SPEC_HASH_NAME_SIZE
void state_key_name(const struct state_key *key, char ret_name[STATE_NAME_SIZE]);

#endif
