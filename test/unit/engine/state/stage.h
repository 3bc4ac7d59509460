/*
 * A stage for ledgers: a medium of stores in memory, a clock that is stepped
 * (who waits moves it on), a permit that can be withdrawn. A process is a
 * store with ledgers of its own; there may be several over one medium.
 */
#pragma once

#include <stdatomic.h>

#include "engine/state/ledger.h"
#include "test/unit/engine/faulty_store.h"
#include "test/unit/engine/memory_store.h"
#include "test/unit/engine/state/records.h"

struct stage_clock {
    struct clock_source source; /* first */
    _Atomic int64_t now;
};

struct process {
    struct store *store;
    atomic_bool is_fenced; /* may not act */
    atomic_bool is_mute;   /* may not tell either */
    struct permit permit;
    struct ledgers *ledgers;
};

struct stage {
    struct memory_medium *medium;
    struct store_faults *faults; /* of all processes */
    struct stage_clock clock;
};

extern const struct spec_key stage_key;

void stage_init(struct stage *stage, const struct memory_medium_config *config);
void stage_done(struct stage *stage);

void process_init(struct process *process, struct stage *stage);
void process_done(struct process *process);
/* It does nothing more; its ledgers are closed. */
void process_kill(struct process *process, struct ledger *ledger);

/* The Spec's ledger, as its leader of that epoch. */
int open_at(struct process *process, int64_t epoch, struct ledger **ret, struct error *error);
/* The same, which must succeed. */
struct ledger *opened(struct process *process, int64_t epoch);

/* One change; the record is taken over. */
int begin_put(struct ledger *ledger, const struct record *record, struct error *error);
int land_put(struct ledger *ledger, const struct record *record, enum ledger_when when,
             struct error *error);
int land_drop(struct ledger *ledger, const char *id, enum ledger_when when, struct error *error);

/* The number of record_of(); -1: there is no such record. */
int64_t number_of(struct ledger *ledger, const char *id);
/* The same in what is stored, as another process reads it. */
int64_t stored_number(struct stage *stage, const char *id);
/* What is stored; NULL: nothing. */
struct state *stored_state(struct stage *stage);
size_t writes(struct stage *stage);
