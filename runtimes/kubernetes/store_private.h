/*
 * What the files of the store share: chunks, the objects beside the head.
 *
 * A chunk is named by its head, by the checksum of the part of State that it is a
 * piece of, and by its place in it. It says the checksum of its own bytes, so that
 * a damaged one can be named, and is immutable: what is in a chunk is in it for good.
 */
#ifndef RUNTIMES_KUBERNETES_STORE_PRIVATE_H
#define RUNTIMES_KUBERNETES_STORE_PRIVATE_H

#include <pthread.h>

#include "engine/base/strmap.h"
#include "engine/state/codec.h"
#include "runtimes/kubernetes/store.h"

#define STATE_CORRUPT "StateCorrupt" /* the reason that goes with ERR_CORRUPT */
#define KEY_DATA      "state"        /* the bytes, in an object's data */

struct kube_store {
    struct state_store base;
    struct kube_client *client;
    char *namespace_name;
    pthread_mutex_t mutex;
    struct strmap tidy; /* heads known to have no chunks at all; each its own value */
};

/* The two parts of a State: where their chunks are, and what the head calls them. */
struct part {
    const char *plural, *kind, *field; /* of the chunks */
    const char *checksum, *chunks;     /* keys of the head's data */
    char suffix;                       /* in chunks' names */
};
extern const struct part store_open_part, store_secret_part;

/* ---- store_object.c: one object of the store's ---- */

char *store_path(const struct kube_store *store, const char *plural, const char *name);
int store_do(struct kube_store *store, const char *method, const char *path,
             const struct value *body, bool idempotent, struct cancel *cancel,
             const struct value **ret, struct error *error);

/* version: the one to be replaced; NULL: none. annotation: one more (key, value), or NULL. */
const struct value *store_metadata(const struct kube_store *store, const char *name,
                                   const char *head, const struct state_key *key,
                                   const char *annotation[2], const char *version);

/* Adds the bytes that an object of ours holds. ERR_CORRUPT, naming it. */
int store_bytes(const struct kube_store *store, const struct value *object, const char *kind,
                const char *field, const char *name, struct buf *to, struct error *error);

/* ---- store_chunks.c ---- */

/* Adds the bytes of `count` chunks. ERR_CORRUPT, naming the one that is missing or damaged. */
int chunks_read(struct kube_store *store, const struct part *part, const char *head,
                const char *checksum, size_t count, struct cancel *cancel, struct buf *to,
                struct error *error);

int chunks_write(struct kube_store *store, const struct part *part, const char *head,
                 const struct state_key *key, const struct payload *payload, struct cancel *cancel,
                 struct error *error);

/*
 * Chunks that no head will name: those that are there, but for those of the checksums to be
 * kept. They are listed before the head is swapped and removed after: a chunk that another
 * writer makes for the head that follows is not among them.
 */
struct leftovers {
    char **names[2]; /* of the open part's, of the secret part's */
    size_t count[2];
};
int leftovers_find(struct kube_store *store, const char *head, const char *keep_open,
                   const char *keep_secret, struct leftovers *ret, struct error *error);
int leftovers_remove(struct kube_store *store, const struct leftovers *leftovers,
                     struct error *error);
void leftovers_done(struct leftovers *leftovers);

#endif
