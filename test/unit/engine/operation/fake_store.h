/*
 * A store of one State in memory, which keeps store.h's contract: what is loaded is a copy of what
 * was saved, and who saves must have seen what is there. Saves go into the world's log as
 * "save a b?": the names of its records, an intent's with a question mark.
 */
#ifndef TEST_UNIT_ENGINE_OPERATION_FAKE_STORE_H
#define TEST_UNIT_ENGINE_OPERATION_FAKE_STORE_H

#include "engine/state/store.h"
#include "test/unit/engine/operation/fake_world.h"

struct fake_store {
    struct state_store base;
    struct fake_world *world;
    const struct value *stored; /* NULL: there is no State */
    unsigned version;

    unsigned saves;               /* asked for, since the last reset */
    unsigned conflict_at, fail_at; /* the n-th of them does not happen; 0: none */
    unsigned lose_at;             /* happens, and its answer is lost */
    bool damaged;
};

void fake_store_init(struct fake_store *store, struct fake_world *world);
void fake_store_done(struct fake_store *store);

/* A copy of what is stored; NULL: nothing. */
struct state *fake_store_state(const struct fake_store *store);
/* "a b?", or "none". */
char *fake_store_text(const struct fake_store *store);
/* Puts a State there, as if another had saved it. */
void fake_store_put(struct fake_store *store, const struct state *state);

#endif
