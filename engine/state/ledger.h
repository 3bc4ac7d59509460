/*
 * The ledger is the open State of one Spec. All operations of that Spec in this process share it.
 *
 * An operation may end while one of its calls is still in flight. The outcome of the call is
 * recorded in the ledger all the same; this is called landing. A landed outcome is never dropped:
 * if the store is down, the outcome stays in memory and the save is retried.
 *
 *   ledger_begin()  before changes are sent: records intents and begin marks. They are durable
 *                   when it returns 0. It fails if this process is fenced, or while a landed
 *                   outcome could not be saved.
 *   ledger_land()   after a change: records its outcome. LEDGER_NOW: durable when it returns 0.
 *                   LEDGER_SOON: durable within about a second, together with other outcomes,
 *                   or by ledger_flush().
 *
 * Group commit: changes of several threads share one write. The first thread that finds no write
 * under way writes for all threads that wait. While calls are under way, it gives them a few ms to
 * end, and to be in the same write. The ledger has no thread of its own.
 *
 * A save writes the whole document, or, if State is large and the store supports append, appends an
 * entry with the changed records. Each save is a compare-and-swap. If another process
 * wrote in between, this ledger is lost: all calls return ERR_CONFLICT StateConflict until the
 * ledger is opened again. That succeeds when the calls that it had in flight have ended. Their
 * outcomes are not in the new ledger, so an intent in State then may be of a create that still
 * takes effect. A fenced process cannot save either.
 *
 * If an outcome that ends a begin mark cannot be saved because the ledger is lost or fenced, it is
 * written to a document of its own (DOCUMENT_OUTCOME), with everything else that landed in the same
 * ledger_land(). No other process writes that document. The next ledger_open() that finds the begin
 * mark in State folds the document in.
 *
 * A save is retried for some seconds before a call fails. If the outcome of a write is not known,
 * the ledger first reads the store to find out, so no write happens twice.
 *
 * Thread-safe. No lock is held while the store works.
 */
#pragma once

#include "engine/base/arena.h"
#include "engine/state/calls.h"
#include "engine/state/changes.h"
#include "engine/store.h"
#include "engine/threads/clock.h"

/* ---- The open ledgers of this process, by Spec ---- */

/*
 * A term is the time in which one process may act. The ledger keeps creates of earlier terms in
 * mind: an INTENT of an earlier term gets call.until, because its create may have been sent before
 * the term ended. State without this would drop the intent of an object that then appears.
 */
struct ledgers_config {
    struct store *store; /* borrowed */
    const struct clock_source *clock;
    const struct permit *permit; /* borrowed; NULL: always allowed */
    int64_t term;        /* ms since 1970 at which this process began to act: it took the Lease, or
                            started without one. It names the term. 0: there was no earlier term */
    int64_t effect_time; /* ms after it was sent that a create may still take effect; 0: EFFECT_TIME
                          */
};

struct ledgers;

struct ledgers *ledgers_new(const struct ledgers_config *config);
/* Call it when no ledger is referenced any more. It tries once more to save what is not saved yet.
 * */
void ledgers_free(struct ledgers *ledgers);
DEFINE_CLEANUP(struct ledgers *, ledgers_free)

/* Tries once to save (or to write to outcome documents) what is not saved yet. Returns how many
 * ledgers still have unsaved outcomes. */
size_t ledgers_retry(struct ledgers *ledgers);
/* The same, for a process that shuts down. Once the process is fenced, an outcome in an outcome
 * document counts as saved. 0: nothing is left to do. */
size_t ledgers_drain(struct ledgers *ledgers);

/* ---- One ---- */

struct ledger;

struct ledger_opening {
    struct spec_key key;
    const char *spec_uid;
    int64_t spec_created_at; /* ms since 1970, by the second; 0: in this term. For a Spec of an
                                earlier term, State that does not exist may still be created by an
                                earlier process */
    int64_t epoch; /* of this process as the leader; 0: without leader election */
    struct cancel *cancel;
    int64_t deadline; /* ms, monotonic; 0: the store's default */
};

/*
 * Returns the open ledger of the Spec, or loads State from the store; a State that does not exist
 * is empty. ERR_CORRUPT: State is damaged. ERR_CONFLICT StateOfLaterLeader, StateLocked.
 * ERR_UNAVAILABLE also if an outcome that landed earlier still cannot be saved, or if a ledger of
 * the Spec was lost that has calls in flight.
 */
int ledger_open(struct ledgers *ledgers, const struct ledger_opening *opening, struct ledger **ret,
                struct error *error);
struct ledger *ledger_ref(struct ledger *ledger);
/* Dropping the last reference closes the ledger. A ledger with unsaved outcomes stays open until
 * ledgers_retry() or the next ledger_open() has saved them. The only call of the store is to close
 * the document. */
void ledger_unref(struct ledger *ledger);
DEFINE_CLEANUP(struct ledger *, ledger_unref)

/* False: the store has no State of this Spec yet. */
bool ledger_is_stored(struct ledger *ledger);
/* The revision that State in the store has: the last one that began, and was saved since. */
int64_t ledger_saved_revision(struct ledger *ledger);
/* The Spec in State has another uid: the Spec was restored from a backup, say. True until
 * ledger_set_head() records the current uid. */
bool ledger_is_inherited(struct ledger *ledger);

/* The term of this process, for the creates that it is about to begin. */
int64_t ledger_term(const struct ledger *ledger);

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

/* A copy of the head. Its strings are in the arena; its policy and its hold are borrowed from the
 * ledger, until the next ledger_set_head(). */
void ledger_head(struct ledger *ledger, struct arena *arena, struct state_head *ret);
/* Saved with the next change, or by ledger_flush(). The ledger ignores the Spec's name, the serial
 * and the epoch in `head`: it keeps its own. */
void ledger_set_head(struct ledger *ledger, const struct state_head *head);

/* Sets the head's progressed_at to now, if an operation is under way. Each landing does the same.
 * Saved as the head is. */
void ledger_progress(struct ledger *ledger);

enum ledger_when { LEDGER_SOON, LEDGER_NOW };

/* Records all changes or none; they are durable when it returns 0, and undone when it fails. n 0:
 * writes State all the same, which proves that no other process writes it. */
int ledger_begin(struct ledger *ledger, const struct ledger_change *changes, size_t n,
                 struct error *error);
/* The changes are in the ledger when it returns, also after an error. An error says why they are
 * not saved yet. */
int ledger_land(struct ledger *ledger, const struct ledger_change *changes, size_t n,
                enum ledger_when when, struct error *error);
/* Saves all landed outcomes and the head. */
int ledger_flush(struct ledger *ledger, struct error *error);
/* ms for which changes wait to be saved, because the store fails or does not answer; 0: nothing
 * waits. ret: the last error's message, cut to size; "": there was no answer yet. */
int64_t ledger_late_for(struct ledger *ledger, char *ret, size_t size);
/* Returns 0 if a change may begin. Otherwise the error says why not: a landed outcome could not be
 * saved, or the ledger is lost. */
int ledger_check(struct ledger *ledger, struct error *error);

/* Removes State with all its records, and all outcome documents, from the store. If there is none,
 * it removes the leftovers of killed writes. When it returns 0, this ledger is over: an operation
 * that has ended may still be about to write, and that would bring State back. So ledger_begin()
 * and ledger_land() fail with ERR_CONFLICT StateRemoved; the next ledger_open() loads anew.
 * ERR_UNAVAILABLE UnderWay: calls are in flight. ERR_UNAVAILABLE STORE_OUTCOME_UNKNOWN: a request
 * that creates State was not answered, or an earlier process may have sent one before it ended;
 * carried out after the removal, it would bring State back. */
int ledger_remove(struct ledger *ledger, struct error *error);
/* There is no State because an earlier process removed it: no request that creates it is left. */
void ledger_was_removed(struct ledger *ledger);
