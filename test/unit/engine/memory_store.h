/*
 * A store in memory (engine/store.h), for tests of what stands above stores.
 *
 * The documents are in a medium; each store over it is as a process that uses it. What fails, is
 * slow or is killed is a store around it (faulty_store.h).
 *
 * Thread-safe.
 */
#pragma once

#include "engine/store.h"

struct memory_medium;

struct memory_medium_config {
    bool has_locks;     /* a document that is open to write is refused to others */
    bool cannot_append; /* ops->append is NULL */
    size_t max_entries; /* of a document, then append is ERR_TOO_LARGE; 0: any number */
};

struct memory_medium *memory_medium_new(
    const struct memory_medium_config *config);        /* may be NULL */
void memory_medium_free(struct memory_medium *medium); /* after its stores */
DEFINE_CLEANUP(struct memory_medium *, memory_medium_free)

struct store *memory_store_new(struct memory_medium *medium);
/* ---- Damage ---- */

/* The document's part is damaged: reading is ERR_CORRUPT, until it is written anew. */
void memory_damage(struct memory_medium *medium, const struct document_name *name,
                   const char *part);

/* The lock of a document is free, as if the file that it is had been deleted. */
void memory_break_lock(struct memory_medium *medium, const struct document_name *name);

/* ---- What happened ---- */

enum memory_call { MEMORY_READ, MEMORY_WRITE, MEMORY_APPEND, MEMORY_REMOVE, MEMORY_CALLS };

/* How many calls of a kind succeeded, or happened although they failed. */
size_t memory_count(struct memory_medium *medium, enum memory_call call);
size_t memory_documents(struct memory_medium *medium); /* how many there are */
