/*
 * A store in memory (engine/store.h), for tests of what stands above stores.
 *
 * The documents are in a medium; each store over it is as a process that uses it. Faults are
 * the medium's: one of the next changes fails, or a callback decides about each call. A store
 * that is killed does nothing more; its locks are free.
 *
 * Thread-safe; callbacks are called without the medium's lock.
 */
#ifndef TEST_UNIT_ENGINE_MEMORY_STORE_H
#define TEST_UNIT_ENGINE_MEMORY_STORE_H

#include "engine/store.h"

struct memory_medium;

struct memory_medium_config {
    bool has_locks;     /* a document that is open to write is refused to others */
    bool cannot_append; /* ops->append is NULL */
    size_t max_entries; /* of a document, then append is ERR_TOO_LARGE; 0: any number */
};

struct memory_medium *memory_medium_new(const struct memory_medium_config *config); /* may be NULL */
void memory_medium_free(struct memory_medium *medium); /* after its stores */
DEFINE_CLEANUP(struct memory_medium *, memory_medium_free)

struct store *memory_store_new(struct memory_medium *medium);
/* From now on each of its calls is ERR_UNAVAILABLE and changes nothing. May be called by a
 * callback: what is asked before a call does not happen then, what is asked after it did. */
void memory_store_kill(struct store *store);

/* ---- Faults ---- */

enum memory_call { MEMORY_READ, MEMORY_WRITE, MEMORY_APPEND, MEMORY_REMOVE, MEMORY_CALLS };

enum memory_fault {
    MEMORY_NO_FAULT,
    MEMORY_FAIL_BEFORE, /* ERR_UNAVAILABLE, and it did not happen */
    MEMORY_FAIL_AFTER,  /* ERR_UNAVAILABLE, and it did happen */
    MEMORY_CONFLICT,    /* ERR_CONFLICT: another one changed the document first (to the same) */
};

/* Of the changes from now on, the nth fails (from 1: the next); 0: none does any more. */
void memory_fail(struct memory_medium *medium, size_t nth, enum memory_fault fault);

struct memory_event {
    enum memory_call call;
    const struct document_name *name;
    struct store *store;
    bool is_done; /* false: about to happen */
};
/* What is returned for an event that is done is not looked at. */
typedef enum memory_fault memory_on_call(void *arg, const struct memory_event *event);
/* Asked before and after each read and change; NULL: no one. */
void memory_watch(struct memory_medium *medium, memory_on_call *fn, void *arg);

/* The document's part is damaged: reading is ERR_CORRUPT, until it is written anew. */
void memory_damage(struct memory_medium *medium, const struct document_name *name,
                   const char *part);

/* The lock of a document is free, as if the file that it is had been deleted. */
void memory_break_lock(struct memory_medium *medium, const struct document_name *name);

/* ---- What happened ---- */

/* How many calls of a kind succeeded, or happened although they failed. */
size_t memory_count(struct memory_medium *medium, enum memory_call call);
size_t memory_documents(struct memory_medium *medium); /* how many there are */

#endif
