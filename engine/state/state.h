/*
 * State: what a Spec has in the world, as recorded when it was applied. The
 * only thing that prune and destroy need: which objects, what depended on
 * what, and the attributes as they were applied.
 *
 * A State is a head and its records, in the order in which they were first
 * recorded. Finding, putting and dropping a record take the same time however
 * many there are. Not thread-safe: the ledger (ledger.h) has the lock.
 */
#ifndef ENGINE_STATE_STATE_H
#define ENGINE_STATE_STATE_H

#include "engine/base/error.h"
#include "engine/base/strmap.h"
#include "engine/state/record.h"

struct state_head {
    const char *spec_namespace, *spec_name;
    const char *spec_uid;         /* of the Spec that it was made for */
    int64_t revision;             /* the last that was begun */
    int64_t applied_revision;     /* the last whose apply succeeded; 0: none */
    int64_t generation;           /* of the Spec, at `revision`; 0: all was to go */
    int64_t progressed_at;        /* ms since 1970: when the operation at `revision`, which has not come to
                                     its end, made progress last; 0: none is under way */
    int64_t epoch;                /* of the leader that wrote it last */
    uint64_t serial;              /* rises with each save */
    const struct value *policy;   /* how to delete, as the Spec's fields said at `revision`; or NULL */
};

/* A copy of all that it points to. */
void state_head_copy(struct state_head *ret, const struct state_head *head);
void state_head_done(struct state_head *head);

struct state;

struct state *state_new(const struct state_head *head); /* copied */
void state_free(struct state *state);
DEFINE_CLEANUP(struct state *, state_free)

const struct state_head *state_head(const struct state *state);
void state_set_head(struct state *state, const struct state_head *head); /* copied */
/* The head's progressed_at alone, if an operation is under way. False: none is. */
bool state_progress(struct state *state, int64_t at);

size_t state_count(const struct state *state);
/* In the order recorded; until the next change. */
const struct record *state_at(struct state *state, size_t index);

/* The same one by one, without changing State: from *at, which begins as 0. NULL: no more. */
const struct record *state_next(const struct state *state, size_t *at);

const struct record *state_find(const struct state *state, const char *id, const char *deposed);
/* References it; in place of the one of the same name, if there is. */
void state_put(struct state *state, const struct record *record);
void state_drop(struct state *state, const char *id, const char *deposed); /* nothing where it is not */

/* Shares the records. */
struct state *state_copy(const struct state *state);

/* Kusion's shape, {resources: [{id, type, attributes, dependsOn, extensions, record: {…}}], …};
 * what is secret carries the sensitive bit. ERR_CORRUPT, naming the place. */
const struct value *state_to_value(const struct state *state);
int state_from_value(const struct value *value, struct state **ret, struct error *error);

#endif
