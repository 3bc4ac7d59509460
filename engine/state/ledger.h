/*
 * The ledger: the open State of one Spec, shared by all that work on it.
 *
 * Operations come and go; what a call did in the world lands here, whether
 * the operation that made the call is still there or not. A landing is never
 * dropped: where the store is down it stays in memory, and is tried again.
 *
 *   ledger_begin()  before changes: intents and begin marks, durable when it
 *                   returns. Refused when fenced, and while something that
 *                   landed could not be stored.
 *   ledger_land()   after a change: what became of it. LEDGER_NOW: durable
 *                   when it returns 0; LEDGER_SOON: within a second or so,
 *                   with what lands meanwhile, or by ledger_flush().
 *
 * Changes of several threads share one write (group commit): whoever finds
 * nobody writing writes for all that wait. There is no thread of its own.
 *
 * A save replaces the document, or appends an entry with the records that
 * changed, where the store can and State is large. It swaps: if another
 * process wrote in between, the ledger is lost (ERR_CONFLICT StateConflict for
 * all that follows, until it is opened anew). A process that is fenced saves
 * nothing either. What lands for a begin mark then goes into a document of
 * its own (DOCUMENT_TOLD), with all that landed by the same call, which nobody
 * else writes, and which the next ledger_open() that finds the mark folds in.
 *
 * The store is tried again for some seconds before anything fails, and a
 * write of which the outcome is not known is looked for first: it happens once.
 *
 * Thread-safe. No lock is held while the store works.
 */
#ifndef ENGINE_STATE_LEDGER_H
#define ENGINE_STATE_LEDGER_H

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/state/calls.h"
#include "engine/state/state.h"
#include "engine/store.h"

/* ---- All that are open in this process, by Spec ---- */

struct ledgers_config {
    struct store *store; /* borrowed */
    const struct clock_source *clock;
    const struct permit *permit; /* borrowed; NULL: everything is allowed */
};

struct ledgers;

struct ledgers *ledgers_new(const struct ledgers_config *config);
/* When nobody has one open. What could not be stored yet is tried once more. */
void ledgers_free(struct ledgers *ledgers);
DEFINE_CLEANUP(struct ledgers *, ledgers_free)

/* Tries once to store, or tell, what is not stored yet. How many ledgers still hold something. */
size_t ledgers_retry(struct ledgers *ledgers);
/* The same, of a process that ends: once it may not store anything any more, what it has told is
 * held no longer. 0: it has done all that it can. */
size_t ledgers_drain(struct ledgers *ledgers);

/* ---- One ---- */

struct ledger;

struct ledger_opening {
    struct spec_key key;
    const char *spec_uid;
    int64_t epoch; /* of the leader that we are; 0: none */
    struct cancel *cancel;
    int64_t deadline; /* ms, monotonic; 0: the store's own */
};

/*
 * The one that is open, or State from the store; one that does not exist is
 * empty. ERR_CORRUPT: it is damaged. ERR_CONFLICT StateOfLaterLeader,
 * StateLocked. ERR_UNAVAILABLE also where something that landed before cannot
 * be stored yet.
 */
int ledger_open(struct ledgers *ledgers, const struct ledger_opening *opening, struct ledger **ret,
                struct error *error);
struct ledger *ledger_ref(struct ledger *ledger);
/* With the last reference it is closed; with something that is not stored yet it stays open, until
 * ledgers_retry() or the next ledger_open() has stored it. Does not use the store but to close. */
void ledger_unref(struct ledger *ledger);
DEFINE_CLEANUP(struct ledger *, ledger_unref)

/* False: there is none in the store (yet). */
bool ledger_is_stored(struct ledger *ledger);
/* State was made under another uid of the Spec: a restored backup, say. Until the next
 * ledger_set_head() with our own. */
bool ledger_is_inherited(struct ledger *ledger);

/* The calls that are under way for the Spec. */
struct calls *ledger_calls(struct ledger *ledger);

/* A reference, or NULL. */
const struct record *ledger_get(struct ledger *ledger, const char *id, const char *deposed);

/* All records in the order recorded. */
struct ledger_records {
    const struct record **items; /* a reference each */
    size_t count;
};
struct ledger_records ledger_records(struct ledger *ledger);
void ledger_records_done(struct ledger_records *records);

/* A copy of the head, in the arena (strings) and referenced by it (policy: borrowed from the
 * ledger until its next ledger_set_head). */
void ledger_head(struct ledger *ledger, struct arena *arena, struct state_head *ret);
/* Stored with the next change, or ledger_flush(); the Spec's name, serial and epoch are the
 * ledger's own. */
void ledger_set_head(struct ledger *ledger, const struct state_head *head);

/* The operation that is under way, by the head's progressed_at, makes progress now. So does each
 * landing, which need not be told. Stored as the head is. */
void ledger_progress(struct ledger *ledger);

/* One change of the records: put, or drop (put NULL) what is named. */
struct ledger_change {
    const struct record *put; /* borrowed */
    const char *id, *deposed;
};

enum ledger_when { LEDGER_SOON, LEDGER_NOW };

/* All or none of them, durable when it returns 0. n 0: State is written all the same, which proves
 * that nobody else works on it. What could not be begun is not in the records. */
int ledger_begin(struct ledger *ledger, const struct ledger_change *changes, size_t n,
                 struct error *error);
/* They are in the records when it returns, whatever it returns. An error says why they are not
 * stored yet. */
int ledger_land(struct ledger *ledger, const struct ledger_change *changes, size_t n,
                enum ledger_when when, struct error *error);
/* Stores all that landed, and the head. */
int ledger_flush(struct ledger *ledger, struct error *error);
/* 0; or why nothing may be begun: something that landed could not be stored, or the ledger is
 * lost. */
int ledger_check(struct ledger *ledger, struct error *error);

/* State goes from the store, with all of its records, and what was told. Also where there is none:
 * what killed writes left behind goes. */
int ledger_remove(struct ledger *ledger, struct error *error);

#endif
