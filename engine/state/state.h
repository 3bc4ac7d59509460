/*
 * State: what a Spec has in the world, as recorded when it was applied. The
 * only thing that prune and destroy need: identities, what depended on what,
 * and the attributes as they were sent, references resolved.
 *
 * A record is an INTENT from before its first create until the answer came,
 * then APPLIED. Intents count as prior: their objects may exist, and are told
 * by the owner label.
 *
 * Finding, adding and dropping a record take the same time however many there
 * are. In memory the last one takes the place of one that is dropped; a copy,
 * and what is stored, has them in the order recorded.
 *
 * A State is changed by one thread at a time. state_to_value() and
 * state_from_value() go through Kusion's shape, {resources: [{id, type,
 * attributes, dependsOn, extensions, record: {…}}], …}. What is sensitive of
 * attributes stays so on both ways, and is stored apart (codec.h).
 */
#ifndef ENGINE_STATE_STATE_H
#define ENGINE_STATE_STATE_H

#include <stdint.h>

#include "engine/base/error.h"
#include "engine/base/strmap.h"
#include "engine/base/value.h"

enum record_status { RECORD_INTENT, RECORD_APPLIED };

struct record {
    enum record_status status;
    char *id, *type;
    const struct value *attributes; /* as sent, namespace filled in; what is secret is sensitive */
    const struct value *extensions; /* or NULL */
    const struct value *dependencies; /* array of ids: explicit, by reference, by the API's demands */
    char *uid;                      /* NULL: not known (an intent) */
    char *digest;                   /* of the attributes as sent; NULL: an intent */
    char *footprint;                /* as the runtime gave it after apply; NULL: an intent */
    size_t place;                   /* in the State's records */
    uint64_t serial;                /* rises in the order recorded */
};

struct state {
    struct record **records; /* in the order recorded, until one is dropped */
    size_t n_records, capacity;
    uint64_t next_serial;
    struct strmap by_id;

    char *spec_namespace, *spec_name, *spec_uid;
    int64_t revision;   /* the last that was begun */
    int64_t applied_revision; /* the last whose apply succeeded; 0: none */
    int64_t generation; /* of the Spec, at that revision */
    int64_t epoch;      /* of the leader that wrote it (lease.h) */
    const struct value *policy; /* how to delete, as the Spec's fields said at that revision; or NULL */
};

struct state *state_new(const char *spec_namespace, const char *spec_name, const char *spec_uid);
void state_free(struct state *state);
DEFINE_CLEANUP(struct state *, state_free)

/* A copy that shares the values: what is done to one does not show in the other. */
struct state *state_copy(const struct state *state);

struct record *state_find(const struct state *state, const char *id); /* NULL: not there */
/* The record of this id, made (as an intent without content) where there is none. */
struct record *state_record(struct state *state, const char *id, const char *type);
void state_drop(struct state *state, const char *id); /* nothing where it is not there */

/* Sets a field, giving back what was there. */
void record_set_str(char **field, const char *s);

/* The digest of attributes as sent: sha256 over their canonical JSON, in hexadecimal; free(). */
char *attributes_digest(const struct value *attributes);

const struct value *state_to_value(const struct state *state);
int state_from_value(const struct value *value, struct state **ret, struct error *error);

#endif
