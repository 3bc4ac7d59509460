/*
 * A table of objects: what a chain (store.h) needs of a server. A bucket of S3 is one, a folder of
 * a WebDAV server another.
 *
 * An object has a key and bytes, and never changes: it is created, read, and deleted. A key is a
 * path of segments between slashes, of the characters a-z 0-9 . _ - = ~, at most OBJECT_KEY_BYTES
 * long. The last segment has one ~, the others have none. No segment is empty, or made of dots.
 *
 * Every table keeps this contract (test/unit/runtimes/chain/objects_contract.h checks it):
 *
 *   - create makes the object, or is ERR_EXISTS and changes nothing, because there is one with that
 *     key. Of several creates of one key at once, by any number of processes, at most one returns
 *     0. An object is never seen in part.
 *   - What a create or a delete did before it returned is seen by each get and list that begins
 *     afterwards, in every process.
 *   - After ERR_UNAVAILABLE or ERR_TIMEOUT, a create or delete may have happened, or may happen
 *     later. A table does not repeat a create on its own: a repeated one could find its own object.
 *   - ERR_NOT_FOUND of a get means that there is no such object. That there is no bucket, or that
 *     the folder of all is missing, is ERR_UNAVAILABLE StoreNotFound, never an absent object.
 *   - list names each object that was there all the time exactly once. It may or may not name those
 *     that are created or deleted meanwhile.
 *
 * What killed creates leave behind is listed below OBJECT_UNFINISHED, and may be deleted when it is
 * older than a day.
 *
 * Errors, of all tables: ERR_UNAVAILABLE StoreUnreachable (nothing was sent), StoreInDoubt (a
 * change was, and there is no answer), StoreBusy (the server asks to try again later), StoreFull,
 * StoreNotFound, TLSVerification; ERR_TIMEOUT StoreSlow; ERR_FORBIDDEN StoreRefused (the
 * credentials, or what they may do); ERR_TOO_LARGE StoreFull (the server's own limit of an object);
 * ERR_INTERNAL UnexpectedAnswer. A message names the server's address and the key, and has no
 * credentials, signatures or bytes of an object.
 *
 * Threads: all functions are thread-safe.
 */
#pragma once

#include "engine/store.h"

#define OBJECT_KEY_BYTES  720
#define OBJECT_UNFINISHED "unfinished/"
/* The largest object that is read: two parts of LIMIT_DOCUMENT_BYTES, and what is around them. */
#define OBJECT_BYTES ((size_t)130 << 20)

struct objects {
    const struct object_ops *ops; /* first member of every implementation */
};

/* One object of a list; borrowed. modified: ms since 1970 by the server's clock; 0: unknown. A
 * nonzero result ends the list, and is returned. */
typedef int objects_on_key(void *arg, const char *key, int64_t modified, struct error *error);

/* Deadline, cancel and permit of a call are those of store.h; only create and delete ask the
 * permit. */
struct object_ops {
    const char *type; /* "s3", "webdav" */

    void (*free)(struct objects *objects);
    int (*create)(struct objects *objects, const char *key, const struct buf *bytes,
                  const struct store_call *call, struct error *error);
    /* Adds to an empty buffer, whose maximum is the caller's. */
    int (*get)(struct objects *objects, const char *key, struct buf *ret,
               const struct store_call *call, struct error *error);
    /* 0 also where there is none. */
    int (*delete)(struct objects *objects, const char *key, const struct store_call *call,
                  struct error *error);
    /* All objects whose keys begin with the prefix, which may end within a segment; in no order. */
    int (*list)(struct objects *objects, const char *prefix, objects_on_key *fn, void *arg,
                const struct store_call *call, struct error *error);
    /* Removes folders that are empty, below one ("v1/state/") that stays. NULL where there are
     * none. To be called by one thread; others may create meanwhile. */
    int (*prune)(struct objects *objects, const char *folder, const struct store_call *call,
                 struct error *error);
    /* The place of a key, for messages: "s3://bucket/prefix/v1/…"; free(). */
    char *(*describe)(struct objects *objects, const char *key);
};
