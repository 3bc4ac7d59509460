/*
 * A store: where documents are kept that outlive the process (States, plans,
 * outcomes that were told, Releases where there are no custom resources),
 * behind one table of functions.
 *
 * A store keeps bytes, and knows nothing of what they mean. A document has
 * two parts, one that may be seen and one that is secret; they are replaced
 * as one. A store that can append keeps entries after them, too, until the
 * document is written anew: entries are secret as a whole.
 *
 * The contract that every store keeps (test/unit/engine/store_contract.h
 * checks it):
 *   - read gives the last write that succeeded with all entries appended
 *     since, in order; never a mix of two writes. A part that is missing or
 *     damaged is ERR_CORRUPT, naming it, and never an empty document.
 *     ERR_NOT_FOUND only where the document was never written, or removed.
 *   - write, append and remove change the document only if it is still as
 *     this handle saw it last (by read, or by its own change; without either:
 *     if there is none), else ERR_CONFLICT and nothing changes. They are
 *     durable when they return 0, and all or nothing when the process is
 *     killed inside them.
 *   - After ERR_UNAVAILABLE or ERR_TIMEOUT a change may have happened or not,
 *     now or (with a store that is reached over a network) a moment later:
 *     read tells, and brings the handle up to date.
 *   - A document that was read as ERR_CORRUPT counts as seen: it may be
 *     written anew or removed, but not appended to (ERR_CORRUPT).
 *   - remove takes away what unfinished writes left behind as well.
 *   - A handle that is open to read changes nothing: ERR_INVALID.
 * Every change asks the call's permit at the last moment. Different handles
 * may be used by several threads at once, one handle by one at a time.
 */
#ifndef ENGINE_STORE_H
#define ENGINE_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/buf.h"
#include "engine/base/cancel.h"
#include "engine/base/error.h"
#include "engine/base/permit.h"

/* ---- Names ---- */

/* Which Spec: what State, Releases and plans are kept under. Never empty. */
struct spec_key {
    const char *namespace_name, *name;
};

enum document_kind {
    DOCUMENT_STATE,   /* one of each Spec; item NULL */
    DOCUMENT_TOLD,    /* outcomes that could not be recorded in State; item: the call's id */
    DOCUMENT_PLAN,    /* plans and results that are too long for a status; item: the Release */
    DOCUMENT_RELEASE, /* item: the revision */
    DOCUMENT_KINDS,
};

/* How a store lays these out is its own affair; different names are different documents. */
struct document_name {
    enum document_kind kind;
    struct spec_key spec;
    const char *item; /* NULL, or not empty: at most 253 bytes of text */
};

/* "state", "told", … : a word for paths and messages. */
const char *document_kind_name(enum document_kind kind);

/* ---- What is kept ---- */

struct document {
    struct buf open, secret; /* secret: empty where there is none */
    struct buf *entries;     /* appended, oldest first */
    size_t n_entries;
};

#define DOCUMENT_INIT {.open = BUF_INIT, .secret = BUF_INIT}
void document_done(struct document *document);

/* ---- The table ---- */

/* All borrowed for the call. */
struct store_call {
    int64_t deadline;            /* ms, monotonic; 0: the store's own */
    struct cancel *cancel;       /* of a change: acts before it is sent, never after */
    const struct permit *permit; /* NULL: allowed */
    enum permit_use use;
};

enum store_mode {
    STORE_READ,
    STORE_WRITE, /* where the store has locks: takes the document's */
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

struct store_ops {
    const char *type; /* "kubernetes", "file": as flags have it */

    void (*free)(struct store *store);

    /* No document need be there. ERR_CONFLICT StateLocked: another process has it open to write;
     * the message says which, where that is known. */
    int (*open)(struct store *store, const struct document_name *name, enum store_mode mode,
                const struct store_call *call, struct store_file **ret, struct error *error);
    void (*close)(struct store_file *file); /* NULL: nothing. Gives the lock back. */

    /* *ret: initialised by the caller, who keeps it. */
    int (*read)(struct store_file *file, const struct store_call *call, struct document *ret,
                struct error *error);
    /* The whole: entries that were appended before are gone, those of document->entries are not
     * looked at. */
    int (*write)(struct store_file *file, const struct store_call *call,
                 const struct document *document, struct error *error);
    /* One more entry. ERR_NOT_FOUND: there is no document. ERR_TOO_LARGE: there is no room for it
     * until the document is written anew. NULL: this store cannot. */
    int (*append)(struct store_file *file, const struct store_call *call, const void *bytes,
                  size_t length, struct error *error);
    /* 0 also where there is no document, if the handle saw none. */
    int (*remove)(struct store_file *file, const struct store_call *call, struct error *error);

    /* All documents of a kind: of one Spec, or of all (spec NULL). In no order. ERR_CORRUPT: one
     * is damaged such that its name cannot be told. */
    int (*list)(struct store *store, enum document_kind kind, const struct spec_key *spec,
                store_on_name *fn, void *arg, const struct store_call *call, struct error *error);

    /* Where a person finds it, for messages: "kusion-system/kusion-1f…"; free(). */
    char *(*describe)(struct store *store, const struct document_name *name);
};

#endif
