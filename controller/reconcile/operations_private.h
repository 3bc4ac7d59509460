/*
 * Shared by the files of the table of operations: operations.c (attempts and their operations),
 * operations_told.c (what others tell about a key), operations_room.c (memory).
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
    uint64_t last_ticket;
    _Atomic size_t n_waiting; /* attempts that wait for room */
    _Atomic size_t parked;    /* bytes: the sum over the attempts */

    /* Taken last: calls land with the lock of their operation, which is cancelled with ours. */
    pthread_mutex_t landed_lock;
    struct strmap landed; /* keys of which a call has landed */
};

/* ---- operations_told.c ---- */

void object_version_done(struct object_version *version);

/* The object's version in the watch, if the key is new since it was asked last; free(). With the
 * table's lock. */
char *operations_take_new_version(struct operations *operations, const char *key);
void operations_free_listed(struct operations *operations);

/* on_landed() of an operation; arg: the table. */
void operations_on_landed(void *arg, const struct spec_key *spec);
void operations_forget_landing(struct operations *operations, const char *key);
void operations_free_landings(struct operations *operations);

/* With the table's lock. */
bool operations_is_outdated(const struct attempt *attempt);

/* ---- operations_room.c ---- */

/* What the attempt's operation holds while it is parked: bytes. Without any lock. */
void operations_account(struct attempt *attempt, size_t bytes);
/* on_park() of an operation; arg: the attempt. */
void operations_on_park(void *arg, size_t bytes);
/* The attempt waits for nothing, and keeps no turn. With the table's lock. */
void operations_forget_turn(struct attempt *attempt);
/* Chooses what is to be evicted, if parked operations hold too much. With the table's lock. */
void operations_choose(struct operations *operations);
/* Wakes the attempt that has waited for the longest, if there is room for it. With the table's lock. */
void operations_give_room(struct operations *operations);

#endif
