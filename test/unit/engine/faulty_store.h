/*
 * A store around another that fails as a test wants it: so that what stands above stores meets
 * answers that are lost, conflicts, slow calls and processes that are killed, whatever the store.
 *
 * Faults belong to all stores that share them (as processes over one medium do): one of the next
 * changes fails, or a callback decides about each call, and may take its time. A store that is
 * killed does nothing more; its locks are free.
 *
 * Thread-safe; callbacks are called without a lock. Calls that the other store would refuse (by the
 * permit, the cancel, the mode) are none of those that are asked about.
 */
#pragma once

#include "engine/base/cleanup.h"
#include "engine/store.h"

struct store_faults;

struct store_faults *store_faults_new(void);
void store_faults_free(struct store_faults *faults); /* after its stores */
DEFINE_CLEANUP(struct store_faults *, store_faults_free)

/* Takes the store over: it is freed with this one. */
struct store *faulty_store_new(struct store_faults *faults, struct store *store);
/* From now on each of its calls is ERR_UNAVAILABLE and changes nothing. May be called by a
 * callback: what is asked before a call does not happen then, what is asked after it did. */
void faulty_store_kill(struct store *store);

enum faulty_call { FAULTY_READ, FAULTY_WRITE, FAULTY_APPEND, FAULTY_REMOVE };

enum store_fault {
    FAULT_NONE,
    FAULT_BEFORE,   /* ERR_UNAVAILABLE, and it did not happen */
    FAULT_AFTER,    /* ERR_UNAVAILABLE, and it did happen */
    FAULT_CONFLICT, /* ERR_CONFLICT: another one changed the document first (to the same) */
};

/* Of the changes from now on, the nth fails (from 1: the next); 0: none does any more. */
void store_faults_fail(struct store_faults *faults, size_t nth, enum store_fault fault);

struct faulty_event {
    enum faulty_call call;
    const struct document_name *name;
    struct store *store;
    bool is_done; /* false: about to happen */
};
/* What is returned for an event that is done is not looked at; of a read any fault is BEFORE. */
typedef enum store_fault store_on_call(void *arg, const struct faulty_event *event);
/* Asked before and after each read and change; NULL: no one. */
void store_faults_watch(struct store_faults *faults, store_on_call *fn, void *arg);
