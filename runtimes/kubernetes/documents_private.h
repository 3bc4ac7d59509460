/* What the files of the store share: documents.h. */
#ifndef RUNTIMES_KUBERNETES_DOCUMENTS_PRIVATE_H
#define RUNTIMES_KUBERNETES_DOCUMENTS_PRIVATE_H

#include <pthread.h>

#include "engine/base/hash.h"
#include "engine/base/strmap.h"
#include "engine/base/value.h"
#include "runtimes/kubernetes/documents.h"

#define DOCUMENT_CORRUPT  "StateCorrupt"  /* the reason that goes with ERR_CORRUPT */
#define DOCUMENT_CONFLICT "StateConflict" /* with ERR_CONFLICT */

#define TAG_SIZE 17 /* 16 hexadecimal digits */

struct documents {
    struct store base;
    struct kube_client *client;
    char *namespace_name;
    pthread_mutex_t lock;
    /* Heads without leftovers: name to struct swept. */
    struct strmap swept;
};

/* A call of the store, with what all of its requests need. */
struct task {
    struct documents *store;
    const struct store_call *call;
    int64_t deadline; /* ms, monotonic */
};

/* ---- A head ---- */

enum part { PART_OPEN, PART_SECRET, PARTS };

enum head_field {
    HEAD_FORMAT,
    HEAD_CHECKSUM, /* of the open part: sha256, in hexadecimal */
    HEAD_CHUNKS,   /* their number; 0: the head holds the part itself */
    HEAD_TAG,      /* in the chunks' names; none without chunks */
    HEAD_SECRET_CHECKSUM, /* of the secret part; none where that is empty */
    HEAD_SECRET_CHUNKS,
    HEAD_SECRET_TAG,
    HEAD_CHUNKED, /* "true": there were chunks, so there may be garbage */
    HEAD_JOURNAL, /* the name of the first segment; none: no entries */
    HEAD_FIELDS,
};

/* Keys of the head's data, and what they say; NULL: nothing. */
struct head {
    char *version; /* NULL: there is no head */
    char *fields[HEAD_FIELDS];
};
void kube_head_init(struct head *head); /* of the format that is written */
void kube_head_done(struct head *head);

/* ---- Segments ---- */

struct segments {
    char **names; /* of the chain, as far as it is known */
    size_t count, capacity;
    /* The last one. */
    char *version;      /* NULL: not known */
    struct buf entries; /* framed */
    bool is_closed;
};

/* ---- A document that is open ---- */

struct document_file {
    struct store_file base;
    struct document_name name; /* of the strings below */
    char *namespace_name, *spec_name, *item;
    char head_name[KUBE_DOCUMENT_NAME_SIZE];
    enum store_mode mode;
    struct head seen;
    struct segments segments; /* of the head that was seen */
    bool is_damaged;          /* as it was seen: nothing of it is used again */
};

/* ---- documents_object.c: one object ---- */

void kube_draw_tag(char ret[TAG_SIZE]);
const char *kube_version_of(const struct value *object); /* or NULL */
int kube_object_get(const struct task *task, const struct kube_kind *kind, const char *name,
                    bool metadata_only, const struct value **ret, struct error *error);

/* Metadata of an object of the document; tag: of this write of it. version: to be replaced, or
 * NULL. */
const struct value *kube_object_metadata(const struct document_file *file, const char *name,
                                         const char *tag, const char *version);

/* The bytes in an object, added to a buffer. ERR_CORRUPT, naming it: none that can be read. */
int kube_object_bytes(const struct documents *store, const struct value *object, const char *kind,
                      const char *field, const char *key, struct buf *to, struct error *error);

/* Makes an object whose name no other has. */
int kube_object_create(const struct task *task, const struct kube_kind *kind,
                       const struct value *body, struct error *error);
/* 0 also where there is none. */
int kube_object_delete(const struct task *task, const struct kube_kind *kind, const char *name,
                       struct error *error);

/* A compare-and-swap of one object. */
struct swap {
    const char *method; /* POST, PUT, PATCH (a merge), DELETE */
    const struct kube_kind *kind;
    const char *name;
    const struct value *body;
    const char *version; /* as it is before; NULL: there is none (POST) */
    const char *tag;     /* kube_object_metadata()'s; not for DELETE */
};
/* Tries until it is known whether it happened, or the deadline is near. ret_version (may be NULL):
 * the object's; free(). ERR_CONFLICT: it was changed by another. */
int kube_object_swap(const struct task *task, const struct swap *swap, char **ret_version,
                     struct error *error);

int kube_document_conflict(const struct document_file *file, const char *message,
                           struct error *error);

/* ---- documents_head.c ---- */

/* ERR_CORRUPT, naming the head. */
int kube_head_parse(const struct document_file *file, const struct value *object, struct head *ret,
                    struct error *error);
void kube_head_set(struct head *head, enum head_field field, const char *value);
/* How many chunks a part has. -1: what the head says is no number of chunks. */
int64_t kube_head_chunks(const struct head *head, enum part part);
/* Does the head hold the part itself? */
bool kube_head_is_inline(const struct head *head, enum part part);
void kube_head_copy(struct head *to, const struct head *from);
/* The document's object; open: the part, where the head holds it itself. */
const struct value *kube_head_body(const struct document_file *file, const struct head *head,
                                   const struct buf *open, const char *tag, const char *version);
/* What a merge changes of the head that was seen: its tag, and what `head` says otherwise. */
const struct value *kube_head_patch(const struct document_file *file, const struct head *head,
                                    const char *tag, const char *version);
int kube_head_corrupt(const struct document_file *file, const char *how, struct error *error);

/* ---- documents_file.c ---- */

/* A document that is open to read, of which nothing was seen. */
struct document_file *kube_document_new(struct documents *store, const struct document_name *name);
void kube_document_free(struct document_file *file);
/* Nothing was seen of it again. */
void kube_document_forget(struct document_file *file);
void kube_segments_done(struct segments *segments);

/* Whether the head that was seen has no leftovers: objects of the document that it does not reach. */
bool kube_document_is_swept(const struct document_file *file);
void kube_document_set_swept(const struct document_file *file, bool is_known);
struct swept;
void kube_swept_free(struct swept *swept);

/* This file changed the head: it is of another version now. The version is taken over. */
void kube_document_moved(struct document_file *file, char *version);

/* ---- documents_chunks.c ---- */

/* Reads a part, as the head says; object: the head itself. */
int kube_part_read(const struct task *task, const struct document_file *file,
                   const struct head *head, const struct value *object, enum part part,
                   struct buf *to, struct error *error);
/* Writes the chunks of a part, if the head that was seen does not have the same, and sets what
 * the new head says of it. */
int kube_part_write(const struct task *task, const struct document_file *file, enum part part,
                    const struct buf *bytes, struct head *head, struct error *error);

/* Objects of the document that its head does not reach, or soon will not. */
struct garbage {
    char **names[PARTS]; /* ConfigMaps, Secrets */
    size_t count[PARTS], capacity[PARTS];
};
void kube_garbage_done(struct garbage *garbage);
/* All objects of the document but for its head, and for the chunks of a head (NULL: none). */
int kube_garbage_find(const struct task *task, const struct document_file *file,
                      const struct head *keep, struct garbage *ret, struct error *error);
/* The chunks of a head, but for those that another has too. */
void kube_garbage_add_chunks(const struct document_file *file, const struct head *of,
                             const struct head *keep, struct garbage *to);
void kube_garbage_add(struct garbage *to, enum part part, const char *name);
int kube_garbage_remove(const struct task *task, const struct garbage *garbage,
                        struct error *error);

/* ---- documents_journal.c ---- */

int kube_journal_read(const struct task *task, const struct document_file *file, const char *first,
                      struct segments *ret, struct document *to, struct error *error);
int kube_journal_append(const struct task *task, struct document_file *file, const void *bytes,
                        size_t length, struct error *error);
/* No one can append any more, but who touches the head. */
int kube_journal_close(const struct task *task, struct document_file *file, struct error *error);

/* ---- documents_list.c ---- */

int kube_documents_list(struct store *store, enum document_kind kind, const struct spec_key *spec,
                        store_on_name *fn, void *arg, const struct store_call *call,
                        struct error *error);

#endif
