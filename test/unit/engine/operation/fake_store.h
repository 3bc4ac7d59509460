/*
 * Where the processes of a stage keep State: a medium in memory (memory_store.h) that outlives
 * them, and the ways in which their saves go wrong.
 *
 * What is changed goes into the world's log as "save a b? c* d! e'" (State's records: an intent,
 * one that is being created, a tainted one, a deposed one), "remove State", "tell" and "untell"
 * (an outcome that could not be recorded). A save whose answer is lost is "lose".
 *
 * A program may have a real store in place of the medium: test/random/real_store.c.
 */
#pragma once

#include "engine/state/state.h"
#include "engine/store.h"
#include "test/unit/engine/faulty_store.h"
#include "test/unit/engine/memory_store.h"
#include "test/unit/engine/operation/fake_world.h"

struct fake_store {
    struct fake_world *world;
    bool is_real; /* in place of the medium */
    struct memory_medium *medium;
    struct store_faults *faults;
    struct store *store;  /* of the process that runs, or NULL */
    struct store *reader; /* the test's own */

    unsigned saves;                /* asked for, since the last reset */
    unsigned conflict_at, fail_at; /* the n-th of them does not happen; 0: none */
    unsigned lose_at;              /* happens, and its answer is lost */
    bool is_down;                  /* nothing is answered */
    _Atomic bool is_held;          /* nothing happens before this is false */
};

/* Attaches to the one place that there is. NULL, in programs without it. */
struct store *real_store_attach(void) __attribute__((weak));

void fake_store_init(struct fake_store *store, struct fake_world *world);
void fake_store_done(struct fake_store *store);

/* Of a process that begins, and that has ended. */
struct store *fake_store_attach(struct fake_store *store);
void fake_store_detach(struct fake_store *store);

/* Whether nothing is answered to this process. */
void fake_store_cut(struct fake_store *store, bool is_down);

/* What is stored; NULL: nothing. */
struct state *fake_store_state(const struct fake_store *store);
/* "a b?", or "none". */
char *fake_store_text(const struct fake_store *store);
/* Puts a State there, as if another had saved it; no process runs. */
void fake_store_put(struct fake_store *store, const struct state *state);
void fake_store_damage(struct fake_store *store);
/* The parts of all documents that may be seen, as JSON. */
char *fake_store_open_text(const struct fake_store *store);
/* The same with the parts that may not be seen. */
char *fake_store_whole_text(const struct fake_store *store);
