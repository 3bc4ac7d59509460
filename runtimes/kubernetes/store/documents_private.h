/* Declarations that the files of the store share: documents.h. */
#pragma once

#include <pthread.h>

#include "engine/base/hash.h"
#include "engine/base/strmap.h"
#include "engine/value/value.h"
#include "runtimes/kubernetes/store/documents.h"

#define DOCUMENT_CORRUPT  "StateCorrupt"  /* reason of ERR_CORRUPT */
#define DOCUMENT_CONFLICT "StateConflict" /* reason of ERR_CONFLICT */

#define TAG_SIZE 17 /* 16 hexadecimal digits */

struct documents {
    struct store base;
    struct kube_client *client;
    char *namespace_name;
    int64_t effect_time;       /* ms */
    pthread_mutex_t lock;      /* of the maps */
    struct strmap clean_heads; /* heads without garbage: name -> struct clean_head */
    struct strmap late;        /* documents with a create that was not answered: the head's name ->
                                  struct late_create */
    int64_t orphan_age;        /* ms */
    struct strmap orphans;     /* of kube_documents_tidy() alone: uid -> struct orphan */
};

/* One call of the store, with the data that all its requests need. */
struct task {
    struct documents *store;
    const struct store_call *call;
    int64_t deadline; /* ms, monotonic */
};

/* ---- A head ---- */

enum part { PART_OPEN, PART_SECRET, PARTS };

enum head_field {
    HEAD_FORMAT,
    HEAD_CHECKSUM,        /* of the open part: its sha256 in hexadecimal */
    HEAD_CHUNKS,          /* number of chunks; 0: the part is in the head itself */
    HEAD_TAG,             /* the tag in the chunks' names; missing without chunks */
    HEAD_SECRET_CHECKSUM, /* of the secret part, keyed; missing if that is empty */
    HEAD_SECRET_CHUNKS,
    HEAD_SECRET_TAG,
    HEAD_CHUNKED, /* "true": the document had chunks, so there may be garbage */
    HEAD_JOURNAL, /* the name of the first segment; missing: no entries */
    HEAD_REMOVED, /* "true": there is no such document, not yet or not any more, but perhaps garbage
                     of it */
    HEAD_FIELDS,
};

/* The values of the head's data, by key; NULL: missing. */
struct head {
    char *version; /* resourceVersion; NULL: there is no head */
    char *key;     /* of the secret part's checksums. It is in the chunks alone; NULL: none was
                      read */
    char *fields[HEAD_FIELDS];
};
void kube_head_init(struct head *head); /* a head of the format that this version writes */
void kube_head_done(struct head *head);

/* ---- Segments ---- */

struct segments {
    char **names; /* names of the chain's segments that are known */
    size_t count, capacity;
    /* The last segment. */
    char *version;      /* NULL: not known */
    struct buf entries; /* framed */
    bool is_closed;
};

/* ---- A document that is open ---- */

struct document_file {
    struct store_file base;
    struct document_name name; /* points to the strings below */
    char *namespace_name, *spec_name, *item;
    char head_name[KUBE_DOCUMENT_NAME_SIZE];
    enum store_mode mode;
    struct head seen;
    struct segments segments; /* of the head that was read */
    bool is_damaged;          /* the document was damaged when it was read: its parts are not reused
                               */
};

/* ---- documents_object.c: one object ---- */

void kube_draw_tag(char ret[TAG_SIZE]);
const char *kube_version_of(const struct value *object); /* or NULL */
int kube_object_get(const struct task *task, const struct kube_kind *kind, const char *name,
                    bool metadata_only, const struct value **ret, struct error *error);

/* Metadata of an object of the document. tag: of this write of the object. version: the one to
 * replace, or NULL. */
const struct value *kube_object_metadata(const struct document_file *file, const char *name,
                                         const char *tag, const char *version);

/* Reads a text of an object's data, as Secrets have it; free(). *ret NULL: the key is missing.
 * False: not base64. */
bool kube_object_text(const struct value *object, const char *key, char **ret);
/* Adds the bytes in an object to a buffer. ERR_CORRUPT names the object. */
int kube_object_bytes(const struct documents *store, const struct value *object, const char *kind,
                      const char *field, const char *key, struct buf *to, struct error *error);

/* A compare-and-swap of one object. */
struct swap {
    const char *method; /* POST, PUT, PATCH (a merge), DELETE */
    const struct kube_kind *kind;
    const char *name;
    const struct value *body;
    const char *version;  /* the resourceVersion to replace; NULL: no object (POST), or any (DELETE)
                           */
    const char *tag;      /* kube_object_metadata()'s; not for DELETE */
    const char *document; /* POST: the name of the document's head */
};
/* Retries until the outcome is known, or the deadline is near. *ret_version (may be NULL): the new
 * resourceVersion; free(). ERR_CONFLICT: another client changed the object. ERR_UNAVAILABLE,
 * ERR_TIMEOUT: the outcome is not known; or the API server reports conflicts, but the object is
 * unchanged. */
int kube_object_swap(const struct task *task, const struct swap *swap, char **ret_version,
                     struct error *error);
/* Deletes an object at any version. Returns 0 if the object does not exist, too. */
int kube_object_delete(const struct task *task, const struct kube_kind *kind, const char *name,
                       struct error *error);

int kube_document_conflict(const struct document_file *file, const char *message,
                           struct error *error);
/* kube_object_swap() with the error of kube_document_conflict(). */
int kube_document_swap(const struct task *task, const struct document_file *file,
                       const struct swap *swap, char **ret_version, struct error *error);

/* ---- documents_head.c ---- */

/* ERR_CORRUPT, naming the head. */
int kube_head_parse(const struct document_file *file, const struct value *object, struct head *ret,
                    struct error *error);
void kube_head_set(struct head *head, enum head_field field, const char *value);
/* The number of chunks of a part; -1: the head's value is not a valid number. */
int64_t kube_head_chunks(const struct head *head, enum part part);
/* True if the head says that there is a document. */
bool kube_head_exists(const struct head *head);
/* True if the part is in the head itself. */
bool kube_head_is_inline(const struct head *head, enum part part);
void kube_head_copy(struct head *to, const struct head *from);
/* The head as an object; open: the open part, if it is in the head. */
const struct value *kube_head_body(const struct document_file *file, const struct head *head,
                                   const struct buf *open, const char *tag, const char *version);
/* A merge patch from the head that was read to `head`, with the tag of this write. */
const struct value *kube_head_patch(const struct document_file *file, const struct head *head,
                                    const char *tag, const char *version);
int kube_head_corrupt(const struct document_file *file, const char *how, struct error *error);

/* ---- documents_file.c ---- */

/* A document opened for reading, not read yet. */
struct document_file *kube_document_new(struct documents *store, const struct document_name *name);
void kube_document_free(struct document_file *file);
/* Resets the document to not read. */
void kube_document_forget(struct document_file *file);
void kube_segments_done(struct segments *segments);

/* True if the head that was read is known to have no garbage, which is objects of the document that
 * no head refers to. */
bool kube_document_is_clean(const struct document_file *file);
void kube_document_set_clean(const struct document_file *file, bool is_clean);
struct clean_head;
void kube_clean_head_free(struct clean_head *head);

/* A create of an object of the document was sent, and not answered. */
void kube_document_expect_create(struct documents *store, const char *head_name);
/* Such a create may still be carried out. */
bool kube_document_has_late_create(const struct document_file *file);
/* The document was removed: no create is expected any more. */
void kube_document_expect_nothing(const struct document_file *file);
struct late_create;
void kube_late_create_free(struct late_create *late);

/* Notes the head's version after a change of our own. Takes ownership of the string. */
void kube_document_moved(struct document_file *file, char *version);

/* ---- documents_chunks.c ---- */

/* Reads a part as the head describes it; object: the head itself. Sets the head's key. */
int kube_part_read(const struct task *task, const struct document_file *file, struct head *head,
                   const struct value *object, enum part part, struct buf *to, struct error *error);
/* True if these bytes are not written into the head itself. */
bool kube_part_has_chunks(enum part part, const struct buf *bytes);
/* Writes the chunks of a part, unless the head that was read has the same content. Sets the part's
 * fields in the new head. */
int kube_part_write(const struct task *task, const struct document_file *file, enum part part,
                    const struct buf *bytes, struct head *head, struct error *error);

/* Objects of the document that its head does not reach, or will not reach after this write. */
struct garbage {
    char **names[PARTS]; /* ConfigMaps, Secrets */
    size_t count[PARTS], capacity[PARTS];
};
void kube_garbage_done(struct garbage *garbage);
bool kube_garbage_is_empty(const struct garbage *garbage);
/* Finds all objects of the document except its head and the chunks of `keep` (NULL: none). */
int kube_garbage_find(const struct task *task, const struct document_file *file,
                      const struct head *keep, struct garbage *ret, struct error *error);
/* Adds the chunks of a head, except those that the other head has, too. */
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
/* Closes the last segment: nobody can append without changing the head first. */
int kube_journal_close(const struct task *task, struct document_file *file, struct error *error);

/* ---- documents_orphans.c ---- */

struct orphan;
void kube_orphan_free(struct orphan *orphan);
int kube_documents_tidy(struct store *store, const struct store_call *call, struct error *error);

/* ---- documents_list.c ---- */

int kube_documents_list(struct store *store, enum document_kind kind, const struct spec_key *spec,
                        store_on_name *fn, void *arg, const struct store_call *call,
                        struct error *error);
