/* What the files of the sealed store share: seal.h. */
#pragma once

#include "engine/store/implement.h"
#include "runtimes/seal/format.h"
#include "runtimes/seal/seeds.h"

struct sealed_store {
    struct store base;
    struct store_ops ops; /* the inner store's type, and what it lacks is NULL here, too */
    struct store *inner;
    struct seal_keys *keys;
    enum seal_scope scope;
};

/* What a handle knows of its document. */
enum sealed_seen {
    SEEN_NONE, /* there is none, or nothing was read yet */
    SEEN_SEALED,
    SEEN_UNSEALED, /* as it was before sealing was turned on, or with SEAL_NONE */
    SEEN_DAMAGED,
    SEEN_LOCKED,   /* its key is not at hand: it may not be changed */
    SEEN_IN_DOUBT, /* a change was not answered */
};

struct sealed_file {
    struct store_file base;
    struct store_file *file;
    struct own_name name;
    enum sealed_seen seen;
    unsigned char write[SEAL_WRITE_SIZE]; /* SEEN_SEALED: the write's id */
    uint64_t n_appended;                  /* SEEN_SEALED: since that write */
    struct error *locked;                 /* SEEN_LOCKED: why */
};

/* ---- opening.c ---- */

struct opened {
    bool is_sealed;
    unsigned char write[SEAL_WRITE_SIZE];
};

/* Opens what the inner store read; *stored is used up. *ret: initialised and empty, and stays so
 * after an error. */
int seal_open_document(const struct sealed_store *store, const struct document_name *name,
                       const struct store_call *call, struct document *stored, struct document *ret,
                       struct opened *ret_opened, struct error *error);

/* ---- sealing.c ---- */

/* What the inner store is to write. */
struct sealed {
    unsigned char write[SEAL_WRITE_SIZE];
    struct buf open; /* with SEAL_ALL; else it is written as it is */
    struct buf secret;
};
#define SEALED_INIT                          \
    {                                        \
        .open = BUF_INIT, .secret = BUF_INIT \
    }

/* carried: entries that become part of the write. *ret: initialised, and its buffers are to be
 * freed, also after an error. */
int seal_document(const struct sealed_store *store, const struct document_name *name,
                  const struct store_call *call, const struct document *document,
                  const struct buf *carried, size_t n_carried, struct sealed *ret,
                  struct error *error);
int seal_entry(const struct sealed_store *store, const struct document_name *name,
               const struct store_call *call, const unsigned char write[SEAL_WRITE_SIZE],
               uint64_t number, const void *bytes, size_t length, struct buf *ret,
               struct error *error);

/* ---- store.c ---- */

/* write() of the table, with entries that become part of the write. */
int sealed_write_carrying(struct sealed_file *file, const struct store_call *call,
                          const struct document *document, const struct buf *carried,
                          size_t n_carried, struct error *error);
