/*
 * The ledger from inside: one job a file.
 *
 *   ledgers.c        the table of open ledgers: opening once, closing
 *   ledger_load.c    State from the store
 *   ledger.c         records and head; beginning and landing
 *   ledger_save.c    group commit: one thread at a time stores what waits
 *   ledger_batch.c   one save: what is in it, how it is sent, whether it happened
 *   ledger_told.c    told documents
 *   ledger_remove.c  State goes
 *
 * Locks: ledgers.lock before ledger.lock. Neither is held while the store
 * works. What the store is asked for is up to the thread that has set
 * ledger.working; all others wait for it on ledger.changed.
 *
 * Tickets order what lands and what begins: each call gets the next number.
 */
#ifndef ENGINE_STATE_LEDGER_PRIVATE_H
#define ENGINE_STATE_LEDGER_PRIVATE_H

#include <pthread.h>

#include "engine/state/changes.h"
#include "engine/state/codec.h"

/* ms between two saves of what lands LEDGER_SOON, counted from the end of the last try. */
#define SAVE_INTERVAL 1000

/* For how long (ms) one call tries to store what cannot be stored at the moment, and how long it
 * waits between two tries: twice as long each time. */
#define SAVE_PATIENCE   10000
#define SAVE_WAIT_FIRST 100
#define SAVE_WAIT_MOST  2000

/* A State whose snapshot is larger (bytes, as encoded) is saved by appending entries: so many,
 * then it is written anew. */
#define SNAPSHOT_SMALL   (64u << 10)
#define SNAPSHOT_ENTRIES 32

/* What landed and is not stored yet: one change, already in the records. */
struct landing {
    struct ledger_change change; /* owned, as in struct changes */
    uint64_t ticket;             /* all changes of one ledger_land() have the same */
    const struct record *mark;   /* the begin mark that it replaces, or NULL; a reference */
    bool told;
};

/* A ledger_begin() that waits, on its caller's stack. */
struct begin {
    const struct ledger_change *changes;
    size_t n;
    const struct record **before; /* what the changes replaced, while they are in the records */
    uint64_t ticket;
    bool is_applied, is_done;
    int r;
    struct error error;
    struct begin *next;
};

/* One save, from the moment its content is fixed until it is known whether it happened. */
struct batch {
    bool is_entry;
    struct state *state;    /* a snapshot's content; shares the records */
    struct changes changes; /* an entry's */
    struct state_head head;
    uint64_t ticket; /* the last that is in it */
    bool has_landings;
    struct begin *begins; /* that wait for it */
    bool is_withdrawn;    /* it had begins, which were told that it failed */
    bool is_encoded;
    struct document document;
    struct buf entry;
    bool is_in_doubt;  /* it was sent, and may have happened */
    bool was_in_doubt; /* an earlier try may still arrive */
};

enum ledger_phase { LEDGER_LOADING, LEDGER_OPEN, LEDGER_CLOSING };

struct ledger {
    struct ledgers *table;
    struct spec_key key; /* owned strings */
    char *key_text;

    /* Under the table's lock. */
    enum ledger_phase phase;
    size_t references;
    bool is_named; /* ledger_open() finds it */
    struct ledger *next, *previous;

    struct calls *calls;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* `working` ended, a begin was answered */
    pthread_cond_t never;   /* for waiting, which nobody cuts short */
    struct state *state;
    char *spec_uid; /* of the last that opened it */
    int64_t epoch;
    bool is_lost;
    struct error lost; /* why */

    /* What is stored. */
    bool is_stored;
    struct state_head saved;
    uint64_t saved_ticket;
    size_t snapshot_bytes, n_entries;
    bool wants_snapshot; /* an entry would not do */

    /* What is not. */
    struct landing *landed;
    size_t n_landed, landed_capacity;
    struct begin *begins; /* oldest first */
    struct batch *batch;  /* that is in doubt */
    bool wants_write;     /* what is stored has something that was withdrawn */
    bool head_changed;
    uint64_t tickets; /* given out */
    char **told;      /* calls with a document that we wrote */
    size_t n_told, told_capacity;

    /* The store's work. */
    bool working;
    size_t patient; /* threads that wait, and would have it tried for some seconds */
    struct store_file *file; /* this and the next: of the thread that works */
    bool removal_in_doubt;   /* the document may be gone */
    bool was_tried;
    int64_t tried_at;      /* the end of the last try, monotonic */
    uint64_t tries;        /* that ended */
    uint64_t tried_ticket; /* all up to this waited when the last began */
    struct error failure;  /* of the last; code 0: none */
};

struct ledgers {
    struct ledgers_config config;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a phase */
    struct strmap by_key;   /* those that are named */
    struct ledger *all;     /* also those that are lost and have something to tell */
};

/* ---- ledgers.c ---- */

int64_t ledger_clock(const struct ledger *ledger);
/* Without the lock. */
void ledger_pause(struct ledger *ledger, int64_t ms);
/* For messages; free(). */
char *ledger_describe(const struct ledger *ledger, enum document_kind kind, const char *item);

/* ---- ledger_load.c ---- */

/* *opening's store file and State into the ledger, which nobody else uses yet. */
int ledger_load(struct ledger *ledger, const struct ledger_opening *opening, struct error *error);
/* Whether the leader that opens may work on this State. With the lock. */
int ledger_check_epoch(const struct ledger *ledger, int64_t epoch, struct error *error);

/* ---- ledger.c ---- */

/* Something landed that is neither stored nor told, or what is stored is to be put right. With the
 * lock. */
bool ledger_is_dirty(const struct ledger *ledger);
/* As ledger_land(), of what was told: it is not told again. */
int ledger_fold(struct ledger *ledger, const struct changes *changes, struct error *error);

/* ---- ledger_save.c: with the lock, which is let go of while the store works ---- */

struct store_call ledger_call(const struct ledger *ledger, enum permit_use use);
/* Waits until nobody works, and works then; the end of it. */
void ledger_work_begin(struct ledger *ledger);
void ledger_work_end(struct ledger *ledger);
/* Until what has the ticket, and all before it, is stored. */
int ledger_save(struct ledger *ledger, uint64_t ticket, int64_t patience, struct error *error);
/* All that is not stored, if there is anything. */
int ledger_save_all(struct ledger *ledger, int64_t patience, struct error *error);
/* Queues it, until it is answered. */
int ledger_save_begin(struct ledger *ledger, struct begin *begin, struct error *error);
/* What landed up to a ticket is stored. */
void ledger_forget_landed(struct ledger *ledger, uint64_t ticket);
/* Another process writes State. By the thread that works. */
void ledger_lose(struct ledger *ledger, const struct error *why);

/* ---- ledger_batch.c: by the thread that works ---- */

enum batch_outcome {
    BATCH_STORED,
    BATCH_FAILED, /* nothing was changed; or it is still in doubt (batch->is_in_doubt) */
    BATCH_LOST,   /* State is another's now */
};

/* All that waits. With the lock. */
struct batch *batch_new(struct ledger *ledger);
void batch_free(struct batch *batch);
/* Without the lock. *problem is set unless it is stored. */
enum batch_outcome batch_run(struct ledger *ledger, struct batch *batch, int64_t patience,
                             struct error *problem);
/* With the lock: it is stored. Its begins are left to the caller. */
void batch_commit(struct ledger *ledger, struct batch *batch);

enum stored {
    STORED_BEFORE,  /* what we saved last, or nothing where we saved nothing */
    STORED_BATCH,   /* what the batch wrote */
    STORED_NOTHING, /* what we saved is gone */
    STORED_OTHER,   /* anything else */
};
/* What is in the store. Brings the file up to date. batch: NULL, or one that was sent. Without the
 * lock. Negative: it could not be read. */
int batch_look(struct ledger *ledger, const struct batch *batch, struct error *error);
/* The error of a State that another process changed; returns its code. */
int batch_conflict(const struct ledger *ledger, struct error *error);

/* ---- ledger_told.c: by the thread that works ---- */

bool ledger_has_untold(const struct ledger *ledger); /* with the lock */
/* With the lock, which is let go of. What could not be told stays. */
void ledger_tell(struct ledger *ledger, int64_t patience);
/* With the lock, which is let go of: the documents that we wrote, of what is stored now. */
void ledger_untell(struct ledger *ledger);
/* Without the lock: what was told of State's begin marks is folded in. */
int ledger_fold_told(struct ledger *ledger, const struct store_call *call, struct error *error);
/* Without the lock: all told documents of the Spec. */
int ledger_remove_told(struct ledger *ledger, struct error *error);

#endif
