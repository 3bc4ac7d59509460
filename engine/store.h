/*
 * A store keeps documents that outlive the process: States, plans, recorded outcomes, and Releases
 * where there are no custom resources. All stores share one table of functions, store_ops.
 *
 * A store keeps bytes and does not interpret them. A document has an open part and a secret part;
 * one write replaces both. A store that supports append also keeps entries after them, until the
 * next write replaces the whole document. Entries are secret.
 *
 * Every store keeps this contract (test/unit/engine/store_contract.h checks it):
 *
 *   - read returns the last write that succeeded, and all entries appended since, in order. It
 *     never mixes two writes. If a part is missing or damaged, the error is ERR_CORRUPT and names
 *     the part; read never returns an empty document instead. ERR_NOT_FOUND means that the
 *     document was never written, or was removed.
 *   - write, append and remove are compare-and-swap: they change the document only if it is still
 *     as this handle last saw it (by its last read or its own last change). A handle that has seen
 *     nothing expects that there is no document. Otherwise they return ERR_CONFLICT and change
 *     nothing. A change is durable when it returns 0. If the process is killed during a change,
 *     the change has happened completely or not at all.
 *   - After ERR_UNAVAILABLE or ERR_TIMEOUT the change may have happened; over a network it may
 *     even happen a moment later. A read shows which, and brings the handle up to date.
 *   - A read that ends with ERR_CORRUPT counts as seen: the handle may write or remove the
 *     document, but an append is ERR_CORRUPT.
 *   - remove also deletes the leftovers of writes that did not finish. ERR_UNAVAILABLE
 *     STORE_OUTCOME_UNKNOWN: nothing was changed, because a create of this process, which was not
 *     answered, would bring the document back.
 *   - A handle opened with STORE_READ refuses changes with ERR_INVALID.
 *
 * Every change asks the call's permit immediately before it takes effect.
 *
 * Threads: several threads may use different handles at once; one handle serves one thread at a
 * time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "engine/base/buf.h"
#include "engine/base/error.h"
#include "engine/threads/cancel.h"
#include "engine/threads/permit.h"

/* ---- Names ---- */

/* A Spec's namespace and name, the key of its State, Releases and plans. Neither is empty. */
struct spec_key {
    const char *namespace_name, *name;
};

enum document_kind {
    DOCUMENT_STATE,   /* the State of a Spec; item: NULL */
    DOCUMENT_OUTCOME, /* outcomes of calls that could not be saved to State; item: the call's id */
    DOCUMENT_PLAN,    /* plans and results that are too long for a status; item: the Release's name
                         */
    DOCUMENT_APPROVAL, /* a plan that was shown for approval (approved_value.h); item: the
                          Release's name */
    DOCUMENT_SPEC,    /* what a Spec wanted, for rollbacks (recorded.h); item:
                         the digest of it */
    DOCUMENT_RELEASE, /* a Release; item: the revision */
    DOCUMENT_STORE, /* the store's identity (engine/store/identity.h); of no Spec, item: NULL */
    DOCUMENT_KINDS,
};

/* The name of a document. Each store chooses its own layout, in which different names never
 * collide. */
struct document_name {
    enum document_kind kind;
    struct spec_key spec;
    const char *item; /* NULL, or text of 1 to 253 bytes */
};

/* The kind as a word for paths and messages: "state", "outcome", … */
const char *document_kind_name(enum document_kind kind);

/* ---- What is kept ---- */

struct document {
    struct buf open, secret; /* `secret` is empty if the document has no secret part */
    struct buf *entries;     /* appended entries, oldest first */
    size_t n_entries;
};

#define DOCUMENT_INIT {.open = BUF_INIT, .secret = BUF_INIT}
void document_done(struct document *document);

/* The reason of a remove() that has to wait. */
#define STORE_OUTCOME_UNKNOWN "StateOutcomeUnknown"

/* ---- The table ---- */

/* All borrowed for the call. */
struct store_call {
    int64_t deadline;            /* ms, monotonic; 0: the store's default */
    struct cancel *cancel;       /* cancels a change only before it is sent */
    const struct permit *permit; /* NULL: allowed */
    enum permit_use use;
};

enum store_mode {
    STORE_READ,
    STORE_WRITE, /* takes the document's lock, if the store has locks */
};

struct store {
    const struct store_ops *ops; /* first member of every implementation */
};

/* One document, open; first member of every implementation's. */
struct store_file {
    struct store *store;
};

/* Called for each document; nonzero ends the listing and is returned. name is borrowed. */
typedef int store_on_name(void *arg, const struct document_name *name, struct error *error);

/* All are set, but for append where a store does not support it, tidy where it needs none, and
 * removal where no command of a shell does it. */
struct store_ops {
    const char *type; /* as the flag names it: "configmap", "file" */

    void (*free)(struct store *store);

    /* The document need not exist. ERR_CONFLICT StateLocked: another process has opened the
     * document for writing; the message names that process, if it is known. */
    int (*open)(struct store *store, const struct document_name *name, enum store_mode mode,
                const struct store_call *call, struct store_file **ret, struct error *error);
    void (*close)(struct store_file *file); /* Releases the lock. Accepts NULL. */

    /* *ret: initialised and owned by the caller. */
    int (*read)(struct store_file *file, const struct store_call *call, struct document *ret,
                struct error *error);
    /* Replaces the whole document and drops its appended entries. document->entries is ignored. */
    int (*write)(struct store_file *file, const struct store_call *call,
                 const struct document *document, struct error *error);
    /* Appends an entry. ERR_NOT_FOUND: the document does not exist. ERR_TOO_LARGE: there is no room
     * before the next write. */
    int (*append)(struct store_file *file, const struct store_call *call, const void *bytes,
                  size_t length, struct error *error);
    /* Returns 0 if the document does not exist and the handle saw none. */
    int (*remove)(struct store_file *file, const struct store_call *call, struct error *error);

    /* Lists the documents of a kind, of one Spec or (spec NULL) of all Specs, in no order. It names
     * also those whose removal failed or was killed halfway: they cannot be read.
     * ERR_CORRUPT: a damaged document whose name cannot be read. */
    int (*list)(struct store *store, enum document_kind kind, const struct spec_key *spec,
                store_on_name *fn, void *arg, const struct store_call *call, struct error *error);

    /* Removes what killed processes left of documents that they were about to write or to remove,
     * with the secrets in it. To be called from time to time, by one thread. */
    int (*tidy)(struct store *store, const struct store_call *call, struct error *error);

    /* The place of the document, for messages: "kusion-system/kusion-1f…"; free(). */
    char *(*describe)(struct store *store, const struct document_name *name);
    /* The shell command by which a person removes it, damaged or not; free(). */
    char *(*removal)(struct store *store, const struct document_name *name);
};

/* ---- Whole documents, by any store ---- */

/* Opens the document, reads it, and closes it. *ret: initialised and owned by the caller. */
int store_load(struct store *store, const struct document_name *name, const struct store_call *call,
               struct document *ret, struct error *error);
/* Writes the document, also where there is one, damaged or not. For what nobody else writes: after
 * a conflict it is read, and written once more. */
int store_replace(struct store_file *file, const struct store_call *call,
                  const struct document *document, struct error *error);
/* Removes the document, damaged or not. 0 also where there is none. */
int store_drop(struct store *store, const struct document_name *name, const struct store_call *call,
               struct error *error);
