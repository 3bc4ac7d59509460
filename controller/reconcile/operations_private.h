/*
 * Shared by the files of the table of operations: operations.c (attempts and their operations),
 * operations_watch.c (what is observed of a key), operations_memory.c (reservations of memory,
 * Previews, eviction).
 */
#ifndef CONTROLLER_RECONCILE_OPERATIONS_PRIVATE_H
#define CONTROLLER_RECONCILE_OPERATIONS_PRIVATE_H

#include <pthread.h>

#include "controller/reconcile/operations.h"
#include "engine/base/strmap.h"

struct operations {
    struct operations_config config;
    pthread_mutex_t lock;
    struct strmap attempts;  /* by key */
    struct strmap listed;    /* by key: struct listed */
    const char *why_no_more; /* NULL: operations may be begun */
    struct strmap previews;  /* by namespace: struct previews, of those that live */
    struct budget budget;    /* of memory; with a lock of its own */

    /* Taken last: calls land with the lock of their operation, which is cancelled with ours. */
    pthread_mutex_t landed_lock;
    struct strmap landed; /* keys of which a call has landed */
};

/* ---- operations_watch.c ---- */

void object_version_done(struct object_version *version);

/* Sets what a reconcile that begins has to know of what the watch has shown. With the table's
 * lock. */
void operations_take_listed(struct attempt *attempt);
void operations_free_listed(struct operations *operations);

/* on_landed() of an operation; arg: the table. */
void operations_on_landed(void *arg, const struct spec_key *spec);
void operations_forget_landing(struct operations *operations, const char *key);
void operations_free_landings(struct operations *operations);

/* ---- operations_memory.c ---- */

/* Reserves so many bytes for the attempt's operation. False: the attempt waits. */
bool operations_reserve(struct attempt *attempt, size_t bytes);
/* The attempt reserves nothing, unless it waits. */
void operations_give_back(struct attempt *attempt);
/* The attempt reserves nothing, waits for nothing, and has no ticket. */
void operations_stop_waiting(struct attempt *attempt);
/* The attempt is no Preview any more. With the table's lock. */
void operations_forget_preview(struct attempt *attempt);
/* on_park() and reserve() of an operation; arg: the attempt. */
void operations_on_park(void *arg, size_t bytes);
int operations_grow(void *arg, size_t bytes, struct error *error);

#endif
