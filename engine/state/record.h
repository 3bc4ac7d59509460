/*
 * A record: what State knows of one object in the world.
 *
 * Immutable and reference-counted: a change is a new record in the place of
 * the old one, so that threads read records without locks, and a save writes
 * what was there when it began. What is secret of the values carries the
 * sensitive bit (value.h); memory is secret as a whole.
 *
 * Records are named by (id, deposed). An id may have several: the object in
 * force (deposed NULL), and objects that were replaced and are still to go.
 *
 * The life of one object (seams: * is durable before it goes on):
 *   INTENT    recorded before the first create of an operation; whether its
 *             object was made is told by the world (a label, a name)
 *   CREATING  a call that creates was begun, in a world that cannot be asked
 *             whether it did: until it is told, or `call.until` has passed,
 *             it is under way; after that its outcome is in doubt
 *   APPLIED   there, as recorded
 *   TAINTED   there, but its creation did not come to its end: to be replaced
 */
#ifndef ENGINE_STATE_RECORD_H
#define ENGINE_STATE_RECORD_H

#include <stdint.h>

#include "engine/base/cleanup.h"
#include "engine/base/value.h"
#include "engine/state/action.h"

enum record_status { RECORD_INTENT, RECORD_CREATING, RECORD_APPLIED, RECORD_TAINTED };

/* The call that a CREATING record waits for. */
struct record_call {
    const char *id; /* unique, of the process that began it; NULL: none */
    int64_t epoch;  /* of the leader that began it */
    int64_t until;  /* ms since 1970: it cannot have an effect after that; 0: not known */
};

struct record {
    enum record_status status;
    const char *id, *type;
    const char *deposed;              /* NULL: the object in force */
    const struct value *attributes;   /* as applied, references resolved */
    const struct value *extensions;   /* likewise, or NULL */
    const struct value *dependencies; /* array of the ids that it comes after, or NULL */
    const struct value *result;       /* as the runtime gave it, where State is the authority; or NULL */
    const struct value *memory;       /* the runtime's own, opaque; or NULL */
    const char *uid;                  /* of the object; NULL: not known */
    const char *footprint;            /* a digest of what is ours of it, as the runtime gave it; or NULL */
    int64_t revision;                 /* that changed it last */
    enum plan_action action;          /* what that did */
    struct record_call call;
};

/* A copy of all that it points to, with one reference. */
const struct record *record_new(const struct record *like);
const struct record *record_ref(const struct record *record);
void record_unref(const struct record *record);
DEFINE_CLEANUP(const struct record *, record_unref)

/* The same content; records of State that was stored and read again are equal. */
bool record_equal(const struct record *a, const struct record *b);

#endif
