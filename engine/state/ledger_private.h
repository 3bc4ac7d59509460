/*
 * The inside of the ledger. Each file has one job:
 *
 *   ledgers.c           the table of open ledgers: each Spec's State is opened once
 *   ledger_load.c       loads State from the store
 *   ledger.c            the records and the head; ledger_begin() and ledger_land()
 *   ledger_save.c       group commit: one thread at a time saves for all that wait
 *   ledger_batch.c      one save: its content, the write, and whether the write happened
 *   ledger_outcomes.c   outcome documents
 *   ledger_remove.c     removes State
 *
 * Locks: ledgers.lock is taken before ledger.lock. Neither is held while the store works. Only the
 * thread that has set ledger.working (the working thread) uses the store; all other threads wait on
 * ledger.changed.
 *
 * Tickets: every begin and every landing gets the next ticket number. A save covers all tickets up
 * to its own.
 *
 * The states of a ledger in the phase LEDGER_OPEN, while no thread works. `landed`, `in doubt` and
 * `withdrawn` may hold at the same time.
 *
 *   state      flags           meaning                               ends with
 *   saved      none of these   the store has all records; the head   a landing
 *                              may differ (head_changed)
 *   landed     n_landed        the records have outcomes that the    a save with their ticket
 *                              store does not have
 *   in doubt   batch           a save was sent and not answered      the next attempt, which first
 *                                                                    reads the store
 *   withdrawn  wants_write,    the store has changes of a begin      the next snapshot
 *              wants_snapshot  that was answered with an error
 *   lost       is_lost, no     another process changed State         nothing; the entry is freed
 *              file            meanwhile                             when all is written
 *   removed    is_removed, no  ledger_remove() removed State         nothing; the entry is freed
 *              file                                                  with the last reference
 *
 * A ledger is dirty in the states landed, in doubt and withdrawn, and, if it is lost, until its
 * outcomes are in outcome documents. It is closed when it has no references and is not dirty. The
 * flag wants_snapshot alone means that the last entry was too long for the store.
 */
#pragma once

#include <pthread.h>

#include "engine/state/codec.h"
#include "engine/state/ledger.h"

/* ms between two saves of LEDGER_SOON outcomes, counted from the end of the last attempt. */
#define SAVE_INTERVAL 1000

/* ms that a save waits for more changes while calls are under way. */
#define GATHER_TIME 2

/* ms. One call retries a failed save for SAVE_PATIENCE. The pause between two attempts doubles,
 * from SAVE_WAIT_FIRST up to SAVE_WAIT_MOST. */
#define SAVE_PATIENCE   10000
#define SAVE_WAIT_FIRST 100
#define SAVE_WAIT_MOST  2000

/* A State whose encoded snapshot is larger than SNAPSHOT_LARGE bytes is saved by appending entries;
 * one larger than SNAPSHOT_SMALL, if less than one in ENTRY_SHARE of its records changed. When the
 * entries are as large as the snapshot, and have at least ENTRIES_LARGE bytes, the next save writes
 * a new snapshot: so the cost of a save does not grow with State. */
#define SNAPSHOT_LARGE (64u << 10)
#define SNAPSHOT_SMALL (2u << 10)
#define ENTRY_SHARE    4
#define ENTRIES_LARGE  (64u << 10)

/* One landed change that is not saved yet. It is in the records already. */
struct landing {
    struct ledger_change change; /* owned, as in struct changes */
    uint64_t ticket;             /* the same for all changes of one ledger_land() */
    const struct record *mark;   /* a reference to the begin mark that this change ends, or NULL */
    bool is_written; /* to an outcome document */
};

/* A ledger_begin() that waits for its save. It lives on the caller's stack. */
struct begin {
    const struct ledger_change *changes;
    size_t n;
    const struct record **before; /* the records that the changes replaced, for an undo */
    uint64_t ticket;
    bool is_applied, is_done;
    struct error error;
    struct begin *next;
};

/* One save: from fixing its content until it is known whether the write happened. */
struct batch {
    bool is_entry;
    struct state *state;    /* content of a snapshot; shares the ledger's records */
    struct changes changes; /* content of an appended entry */
    struct state_head head;
    uint64_t ticket; /* the highest ticket that it covers */
    bool has_landings;
    struct begin *begins; /* the begins that wait for this save */
    bool is_withdrawn;    /* its begins were answered with an error, though the write may still
                             happen */
    bool is_encoded;
    struct document document;
    struct buf entry;
    bool is_in_doubt;  /* it was sent, and may have been written */
    bool was_in_doubt; /* an earlier attempt may still reach the store */
};

enum ledger_phase { LEDGER_LOADING, LEDGER_OPEN, LEDGER_CLOSING };

struct ledger {
    struct ledgers *table;
    struct spec_key key; /* owned strings */
    char *key_text;

    /* Under the table's lock. */
    enum ledger_phase phase;
    size_t references;
    bool is_named;   /* ledger_open() finds it */
    int64_t lost_at; /* ms since 1970: until then calls of a lost ledger may have been in flight,
                        whose outcomes State does not have; 0: there was none */
    struct ledger *next, *previous;

    struct calls *calls;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* `working` became false, or a begin was answered */
    pthread_cond_t never;   /* never signalled: for a pause of a fixed length */
    struct state *state;
    char *spec_uid; /* of the Spec, as the last ledger_open() gave it */
    int64_t epoch;
    bool is_lost;
    struct error lost; /* the error of all later calls */
    bool is_removed;

    /* The content of the store. */
    bool is_stored;
    struct state_head saved;
    uint64_t saved_ticket;
    size_t snapshot_bytes, entry_bytes, n_entries;
    bool wants_snapshot; /* the next save has to be a snapshot */

    /* Content that is not saved yet. */
    struct landing *landed;
    size_t n_landed, landed_capacity;
    struct begin *begins; /* oldest first */
    struct batch *batch;  /* the save whose outcome is not known; NULL: none */
    bool wants_write;     /* the store holds changes of a begin that failed; a new snapshot removes
                             them */
    bool head_changed;
    uint64_t tickets; /* the last ticket given out */
    char **written;   /* ids of the calls whose outcome documents this ledger wrote */
    size_t n_written, written_capacity;

    /* The attempts to save. */
    bool working;
    size_t patient; /* number of waiting threads that want SAVE_PATIENCE of retries */
    struct store_file *file; /* used by the working thread alone, as is removal_in_doubt */
    bool removal_in_doubt;   /* the document may have been removed */
    bool was_tried;
    int64_t tried_at;      /* ms, monotonic: the end of the last attempt */
    uint64_t tries;        /* number of attempts that ended */
    uint64_t tried_ticket; /* the highest ticket that waited when the last attempt began */
    struct error failure;  /* error of the last attempt; code 0: it succeeded */
    int64_t late_since;    /* ms, monotonic: the first attempt of those that did not succeed, or of
                              one under way; 0: nothing waits */
    char *late_why;        /* the last error since then; NULL: there was no answer yet */
};

struct ledgers {
    struct ledgers_config config;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a ledger's phase changed */
    struct strmap by_key;   /* the ledgers with is_named */
    struct ledger *all;     /* also lost ledgers that still have users or unwritten outcomes */
    int64_t lost_at;        /* ms since 1970: the last lost ledger was closed; 0: none was */
    struct strmap awaited;  /* keys (owned) of Specs of earlier terms that had no State */
};

/* ---- ledgers.c ---- */

int64_t ledger_clock(const struct ledger *ledger);
int64_t ledgers_effect_time(const struct ledgers_config *config);
/* There is no State, and a process of an earlier term may have sent the request that creates it. */
void ledger_expect_state(struct ledger *ledger);
/* That request may still be carried out. */
bool ledger_expects_state(struct ledger *ledger);
/* Without the lock. */
void ledger_pause(struct ledger *ledger, int64_t ms);
/* An attempt to save failed, and is repeated. Without the lock. */
void ledger_note_late(struct ledger *ledger, const struct error *why);
/* For messages; free(). */
char *ledger_describe(const struct ledger *ledger, enum document_kind kind, const char *item);

/* ---- ledger_load.c ---- */

/* Opens the store's document and loads State into the ledger, which no other thread uses yet. */
int ledger_load(struct ledger *ledger, const struct ledger_opening *opening, struct error *error);
/* ERR_CONFLICT StateOfLaterLeader if a later leader than `epoch` wrote State. With the lock. */
int ledger_check_epoch(const struct ledger *ledger, int64_t epoch, struct error *error);

/* ---- ledger.c ---- */

/* An outcome is neither saved nor in an outcome document, or the stored document needs a new
 * snapshot. With the lock. */
bool ledger_is_dirty(const struct ledger *ledger);
/* As ledger_land(), for changes that were read from an outcome document. They get no new one. */
int ledger_fold(struct ledger *ledger, const struct changes *changes, struct error *error);

/* ---- ledger_save.c: with the lock, which is released while the store works ---- */

struct store_call ledger_call(const struct ledger *ledger, enum permit_use use);
/* Waits until no thread works, then makes this thread the working one; ledger_work_end() ends that.
 * */
void ledger_work_begin(struct ledger *ledger);
void ledger_work_end(struct ledger *ledger);
/* Returns when all tickets up to this one are saved. */
int ledger_save(struct ledger *ledger, uint64_t ticket, int64_t patience, struct error *error);
/* Saves all unsaved changes, if there are any. */
int ledger_save_all(struct ledger *ledger, int64_t patience, struct error *error);
/* Queues the begin, and waits until it is answered. */
int ledger_save_begin(struct ledger *ledger, struct begin *begin, struct error *error);
/* Drops the landings up to a ticket: they are saved. */
void ledger_forget_landed(struct ledger *ledger, uint64_t ticket);
/* Marks the ledger as lost: another process writes State. Called by the working thread. */
void ledger_lose(struct ledger *ledger, const struct error *why);
/* Marks the ledger as removed: what waits to begin is refused. Called by the working thread. */
void ledger_set_removed(struct ledger *ledger);
/* Sets ERR_CONFLICT StateRemoved and returns it. */
int ledger_refuse_removed(struct error *error);

/* ---- ledger_batch.c: by the thread that works ---- */

enum batch_outcome {
    BATCH_STORED,
    BATCH_FAILED, /* nothing was written; or the outcome is not known (batch->is_in_doubt) */
    BATCH_LOST,   /* another process changed State */
};

/* A batch of everything that waits to be saved. With the lock. */
struct batch *batch_new(struct ledger *ledger);
void batch_free(struct batch *batch);
/* Writes the batch, with retries. *problem is set unless the outcome is BATCH_STORED. Without the
 * lock. */
enum batch_outcome batch_run(struct ledger *ledger, struct batch *batch, int64_t patience,
                             struct error *problem);
/* Notes that the batch is saved. The caller answers its begins. With the lock. */
void batch_commit(struct ledger *ledger, struct batch *batch);

enum stored {
    STORED_BEFORE,  /* our last save; or no document, if we never saved */
    STORED_BATCH,   /* the content of the batch */
    STORED_NOTHING, /* no document, though we saved one */
    STORED_OTHER,   /* anything else */
};
/* Reads the store and compares. Brings the file handle up to date. batch: NULL, or a batch that was
 * sent. Negative: the read failed. Without the lock. */
int batch_look(struct ledger *ledger, const struct batch *batch, struct error *error);
/* Sets ERR_CONFLICT StateConflict and returns it. */
int batch_conflict(const struct ledger *ledger, struct error *error);

/* ---- ledger_outcomes.c: by the thread that works ---- */

/* An outcome of a begin mark is neither saved nor in an outcome document. With the lock. */
bool ledger_has_unwritten_outcomes(const struct ledger *ledger);
/* Writes outcome documents for the outcomes of begin marks. What cannot be written stays unwritten.
 * Releases the lock meanwhile. */
void ledger_write_outcomes(struct ledger *ledger, int64_t patience);
/* Removes the outcome documents that this ledger wrote, once State has their outcomes. Releases the
 * lock meanwhile. */
void ledger_remove_written_outcomes(struct ledger *ledger);
/* Folds the outcome documents of State's begin marks into State. Without the lock. */
int ledger_fold_outcomes(struct ledger *ledger, const struct store_call *call, struct error *error);
/* Removes all outcome documents of the Spec. Without the lock. */
int ledger_remove_outcomes(struct ledger *ledger, struct error *error);
