/* Shared by the files of the desk. Everything is read and changed with its lock. */
#pragma once

#include <sys/queue.h>

#include "controller/desk/desk.h"
#include "controller/desk/following.h"
#include "controller/desk/requests.h"
#include "engine/base/hash.h"
#include "engine/base/strmap.h"
#include "engine/threads/locked.h"

/* The entries of one kind. */
struct desk_table {
    struct desk *desk;
    enum desk_kind kind;
    struct strmap entries; /* by key */
    struct budget budget;  /* of memory; with a lock of its own */
};

struct desk {
    struct desk_config config;
    pthread_mutex_t lock;
    struct desk_table tables[DESK_KINDS];
    struct strmap previews;  /* by namespace: struct previews, where some run */
    const char *why_no_more; /* NULL: operations may be begun */
    bool knows_documents;
    int64_t since; /* ms, monotonic: when it was made */
};

/* A request, as long as its Release may be read and added again. */
struct asked {
    struct request request;
    bool has_ended;
    struct asked *next;
};

/* A document under a Release's name. */
struct kept {
    enum document_kind kind;
    struct desk_entry *release, *spec;
    struct kept *next, *next_of_spec;
};

/* A Spec that another one depends on. */
struct need {
    struct desk_entry *of, *on;
    LIST_ENTRY(need) of_on; /* in needed_by */
};

struct desk_entry {
    struct desk_table *table;
    char *key;   /* "namespace/name" */
    char *names; /* what `object` borrows */
    struct spec_key object;

    /* What the watch shows. */
    bool is_listed, is_deleting;
    char *version;              /* resourceVersion; NULL: not known */
    bool is_new;                /* and no reconcile has begun since */
    int64_t refused_since;      /* ms, monotonic: answers that are older; 0: there was none */
    const char *ready, *reason; /* of its condition Ready, as labels; NULL: not noted */
    char *bypassed; /* uid of the one that was removed past its finalizer; NULL: none was */

    /* The try. */
    struct attempt *attempt;
    char *shown; /* `version` when the reconcile began; only the reconcile reads these two */
    bool was_new;
    struct object_version read, observed; /* their uids are owned */
    bool was_observed, has_left;
    bool is_asked_for;
    struct operation *operation;
    struct desk_entry *preview_of; /* the Spec */
    bool has_landed;

    /* Of a Spec: what is followed, and its rest (following.h). */
    struct desk_following *following; /* only the reconcile sets it; NULL: nothing is */
    struct desk_rest rest;            /* the last one */
    bool is_at_rest;
    int64_t drift_at; /* ms, monotonic: drift is looked at from then on */

    /* Of a Spec. */
    struct asked *asked; /* newest first */
    struct kept *documents_of_spec;
    bool knows_recorded;
    char recorded[HASH_HEX_SIZE]; /* if that is known: the last one that was kept; "": none is */
    size_t n_recorded;            /* since the last sweep */
    bool was_swept;               /* by this process */
    bool is_collected;
    char *exported; /* NULL: nothing is known */
    unsigned n_previews;
    bool knows_needs; /* the Spec was read since it was listed */
    char *user;       /* that it acts as, or NULL */
    struct need *needs;
    size_t n_needs;
    LIST_HEAD(, need) needed_by;
    bool is_held;                    /* it waits for other Specs */
    struct object_version readiness; /* uid, and the generation that has become ready */
    struct desk_entry **finished;    /* Releases */
    size_t n_finished, finished_capacity;

    /* Of a Release. */
    struct desk_entry *asks; /* the Spec that has its request */
    struct kept *documents;
    struct desk_entry *finished_of; /* the Spec; "namespace/" of those whose Spec did not exist */
    int64_t ended_at;               /* ms since 1970 */
    bool is_surplus;                /* it has ended, and is to go */
};

/* ---- With the lock ---- */

/* NULL: nothing is known of it. */
struct desk_entry *desk_find(struct desk *desk, enum desk_kind kind, const struct spec_key *object);
/* The same; made if there is none. */
struct desk_entry *desk_get(struct desk *desk, enum desk_kind kind, const struct spec_key *object);
/* NULL: the key is not "namespace/name". */
struct desk_entry *desk_get_key(struct desk *desk, enum desk_kind kind, const char *key);
/* Frees the entry if there is nothing to know of it. NULL is accepted. */
void desk_tidy(struct desk_entry *entry);

/* desk_dependencies.c: the watch shows another version of the Spec, or is about to show it no more.
 */
void desk_tell_related(struct desk_entry *entry);
void desk_drop_needs(struct desk_entry *entry);
/* desk_following.c */
void desk_free_following(struct desk_entry *entry);

/* Puts the key into the queue: somebody asks for it. */
void desk_ask(struct desk_entry *entry);

void object_version_done(struct object_version *version);
void asked_free(struct asked *asked);
