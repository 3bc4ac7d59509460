/* Declarations that the files of the store share: store.h. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "engine/base/hash.h"
#include "engine/store/implement.h"
#include "runtimes/chain/store.h"

#define CHAIN_IN_DOUBT "StoreInDoubt"
#define CHAIN_BUSY     "StoreBusy"

#define KEPT      3  /* newest objects of a chain that a write leaves */
#define ANCESTORS 8  /* write ids that an object names */
#define ID_SIZE   33 /* 32 hexadecimal digits */
#define DAY_MS    (INT64_C(24) * 3600 * 1000)
/* What a handle saw is looked at again after a day. Tombstones are closed after two, and what
 * closes them is deleted after another two. */
#define GOOD_MS DAY_MS
#define KEPT_MS (2 * DAY_MS)

struct chain_store {
    struct store base;
    struct store_ops ops; /* with the type of the objects */
    struct objects *objects;
    const struct clock_source *clock;
    pthread_mutex_t lock; /* of the proof */
    atomic_bool is_proved;
};

/* ---- key.c ---- */

/* "v1/KIND/", "v1/KIND/NAMESPACE/NAME/" (spec not NULL); free(). */
char *chain_folder(enum document_kind kind, const struct spec_key *spec);
/* What the keys of a chain begin with: "v1/KIND/NAMESPACE/NAME/ITEM~"; free(). */
char *chain_prefix(const struct document_name *name);
char *chain_key(const char *prefix, int64_t number);
/* The number of a key, and the length of its prefix. False: it is no key of a chain. */
bool chain_key_parse(const char *key, int64_t *ret_number, size_t *ret_length);

/* The document's name, as the prefix of its chain has it. 1; 0: a part was cut, so that only the
 * objects have the name; -1: it is no such prefix. */
int chain_prefix_parse(const char *prefix, struct own_name *ret);
/* Escapes a text to one word of a head, and back (NULL: it is not valid); free(). */
char *chain_word(const char *text);
char *chain_unword(const char *word);

/* ---- object.c ---- */

/* What an object says of itself. */
struct object_head {
    struct own_name name;
    int64_t number;
    int64_t written; /* ms since 1970 */
    char id[ID_SIZE];
    char ancestors[ANCESTORS][ID_SIZE]; /* of the object before it, and before that */
    size_t n_ancestors;
    bool is_removed; /* a tombstone: it has no sections */
    bool is_closed;  /* a tombstone that nothing is written after */
    struct {
        size_t length;
        char checksum[HASH_HEX_SIZE];
    } open, secret;
    size_t length; /* of the head itself: the sections follow it, the open one first */
};
void object_head_done(struct object_head *head);

/* Adds an object to an empty buffer. document: NULL for a tombstone. */
void object_write(struct buf *to, const struct document_name *name, const struct object_head *head,
                  const struct document *document);
/* False: the head is damaged, or of another format. */
bool object_head_parse(const struct buf *object, struct object_head *ret);
/* Copies the sections. NULL, or what is damaged: "the open section", "the secret section". */
const char *object_sections(const struct buf *object, const struct object_head *head,
                            struct document *ret);

/* ---- chain.c: the rules of store.h ---- */

/* The keys of one chain, as a list has them. */
struct chain_list {
    int64_t *numbers; /* ascending */
    size_t count, capacity;
};
void chain_list_done(struct chain_list *list);
void chain_list_add(struct chain_list *list, int64_t number);
int chain_list_read(struct chain_store *store, const char *prefix, const struct store_call *call,
                    struct chain_list *ret, struct error *error);

/* What a handle saw as the newest object of its chain. */
struct chain_seen {
    int64_t number;  /* 0: there is no chain */
    int64_t written; /* ms since 1970; 0: unknown, as its head is damaged */
    int64_t looked;  /* before it was asked for, ms since 1970 */
    bool is_removed, is_closed;
    bool is_damaged;
    char ids[ANCESTORS][ID_SIZE]; /* its write id, and those of the objects before it */
    size_t n_ids;
};

/* Whether a new chain has to begin. */
bool chain_is_at_end(const struct chain_seen *seen);
/* Whether it is the tombstone that a chain begins with. */
bool chain_is_beginning(const struct chain_seen *seen);
/* The number of the next object. */
int64_t chain_next(const struct chain_seen *seen);

/* Reads the newest object. ret_bytes, ret_head: its bytes and head, if seen->number is not 0. The
 * head of a damaged one is empty. ERR_CORRUPT: *ret_seen is set. */
int chain_read_newest(struct chain_store *store, const struct document_name *name,
                      const char *prefix, const struct store_call *call,
                      struct chain_seen *ret_seen, struct buf *ret_bytes,
                      struct object_head *ret_head, struct error *error);
/* Of one object. ERR_CORRUPT: its head is damaged; the errors of a get. */
int chain_read_head(struct chain_store *store, const char *key, const struct store_call *call,
                    struct object_head *ret, struct error *error);
/* Creates the next object after *seen, which is then seen. document: NULL for a tombstone.
 * *ret_list: the chain after it, which chain_purge() takes. */
int chain_extend(struct chain_store *store, const struct document_name *name, const char *prefix,
                 struct chain_seen *seen, const struct document *document,
                 const struct store_call *call, struct chain_list *ret_list, struct error *error);
/* Writes after a tombstone that nobody else may write after it. */
int chain_close(struct chain_store *store, const struct object_head *tombstone, const char *prefix,
                const struct store_call *call, struct error *error);
/* Deletes those with lower numbers, the lowest first. Best effort: nothing is wrong if some are
 * left. */
void chain_purge(struct chain_store *store, const char *prefix, const struct chain_list *list,
                 int64_t below, const struct store_call *call);
/* The lowest number that a write leaves. */
int64_t chain_lowest_kept(const struct chain_list *list);

int chain_damaged(const struct chain_store *store, const char *key, const char *what,
                  struct error *error);
/* The call with the store's default deadline. */
struct store_call chain_call(const struct chain_store *store, const struct store_call *call);

/* ---- proof.c ---- */

/* Proves the server, once. The errors of chain_store_new(). */
int chain_prove(struct chain_store *store, const struct store_call *call, struct error *error);

/* ---- list.c ---- */

int chain_documents(struct store *store, enum document_kind kind, const struct spec_key *spec,
                    store_on_name *fn, void *arg, const struct store_call *call,
                    struct error *error);
int chain_tidy(struct store *store, const struct store_call *call, struct error *error);
