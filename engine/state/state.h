/*
 * State: the objects that a Spec has created or adopted, as recorded when they were applied. It is
 * all that prune and destroy need: the objects, their dependencies, and their attributes as
 * applied.
 *
 * A State consists of a head and records, in the order in which the records were first added.
 * Finding, putting and dropping a record take constant time. Not thread-safe: the ledger (ledger.h)
 * has the lock.
 */
#pragma once

#include "engine/base/error.h"
#include "engine/base/strmap.h"
#include "engine/state/record.h"

struct state_head {
    const char *spec_namespace, *spec_name;
    const char *spec_uid;         /* uid of the Spec that State was written for */
    int64_t revision;             /* the last revision that began */
    int64_t applied_revision;     /* the last revision whose apply succeeded; 0: none */
    int64_t recalled_revision;    /* State was lost, or older than this revision, and has what else
                                     is known of it by now (operation_recall()); 0: never */
    int64_t generation;           /* the Spec's generation at `revision`; 0: a destroy */
    int64_t progressed_at;        /* ms since 1970: the last progress of the operation at
                                     `revision`; 0: no operation is under way */
    const char *operation_uid;    /* uid of the Spec whose operation that is; NULL: spec_uid */
    const char *place;            /* which platform has the objects, if a runtime has several, as
                                     that runtime says it (runtime_ops.place); or NULL */
    int64_t epoch;                /* of the leader that last wrote State */
    uint64_t serial;              /* rises with each save */
    const struct value *policy;   /* the deletion policy in the Spec at `revision`; or NULL */
    const struct value *hold;     /* what is in force in place of the Spec, as the controller noted
                                     it (hold.h); NULL: nothing */
};

/* A deep copy. */
void state_head_copy(struct state_head *ret, const struct state_head *head);
void state_head_done(struct state_head *head);

struct state;

struct state *state_new(const struct state_head *head); /* copied */
void state_free(struct state *state);
DEFINE_CLEANUP(struct state *, state_free)

const struct state_head *state_head(const struct state *state);
void state_set_head(struct state *state, const struct state_head *head); /* copied */
/* Sets the head's progressed_at, if an operation is under way. False: none is. */
bool state_progress(struct state *state, int64_t at);

size_t state_count(const struct state *state);
/* By index, in the order of adding. Borrowed until the next change. */
const struct record *state_at(struct state *state, size_t index);

/* The same, one after another, without changing State: *at begins as 0. NULL: no more. */
const struct record *state_next(const struct state *state, size_t *at);

const struct record *state_find(const struct state *state, const char *id, const char *deposed);
/* Adds the record, or replaces the one of the same name. Takes a reference. */
void state_put(struct state *state, const struct record *record);
/* Does nothing if there is no such record. */
void state_drop(struct state *state, const char *id, const char *deposed);

/* The copy shares the records. */
struct state *state_copy(const struct state *state);

/* State in Kusion's shape, {resources: [{id, type, attributes, dependsOn, extensions, record:
 * {…}}], …}; secrets carry the sensitive bit. ERR_CORRUPT names the place. */
const struct value *state_to_value(const struct state *state);
int state_from_value(const struct value *value, struct state **ret, struct error *error);
