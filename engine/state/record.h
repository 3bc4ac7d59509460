/*
 * A record: the knowledge that State has of one object.
 *
 * Records are immutable and reference-counted. A change puts a new record in place of the old one,
 * so threads read records without locks, and a save writes the records that were there when it
 * began. Sensitive values carry the sensitive bit (value.h); memory is secret as a whole.
 *
 * A record's name is (id, deposed). One id may have several records: that of the current object
 * (deposed NULL), and those of replaced objects that are still to be deleted.
 *
 * The status of a record:
 *
 *   INTENT    A create is planned. The record is durable before the operation's first create. The
 *             platform can be asked whether the object exists (by a label or a name). While
 *             `call.until` is in the future, an object that is absent may still appear.
 *   CREATING  A create was begun on a platform that cannot be asked for the object. The record (the
 *             begin mark) is durable before the create is sent. The create is in flight until its
 *             outcome is recorded or `call.until` has passed; after that its outcome is in doubt.
 *             With lost_revision: the object was there, and State, which alone knew which one it
 *             is, was lost.
 *   APPLIED   The object exists, as recorded. Of an object that is adopted on a platform that
 *             cannot be asked for it, the record is durable before a change of it is sent: with the
 *             memory, and without a result.
 *   TAINTED   The object exists, but its creation did not complete: it has to be replaced.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/cleanup.h"
#include "engine/state/action.h"
#include "engine/value/value.h"

/* ms after it was sent that a request may still take effect, unless configured otherwise: the
 * default of the API server's --request-timeout. */
#define EFFECT_TIME 60000

enum record_status { RECORD_INTENT, RECORD_CREATING, RECORD_APPLIED, RECORD_TAINTED };

/* The create of an object: of a CREATING record, the one that is in flight. Of an APPLIED record
 * only `until` is set, if an earlier attempt of the create was not answered: after a deletion, that
 * attempt may make the object again. */
struct record_call {
    const char *id; /* of a CREATING record: unique; NULL: no call */
    int64_t term;   /* of the process that began it, or is about to (ledger.h) */
    int64_t until;  /* ms since 1970: the call cannot have an effect after that; 0: not known */
};

struct record {
    enum record_status status;
    const char *id, *type;
    const char *deposed;              /* NULL: the current object */
    const struct value *attributes;   /* as applied, references resolved */
    const struct value *extensions;   /* as applied, or NULL */
    const struct value *dependencies; /* array of the ids that it depends on, or NULL */
    const struct value *result;       /* the runtime's result, with RUNTIME_IS_RECORDED; or NULL */
    const struct value *memory;       /* opaque data of the runtime; or NULL */
    const char *uid;                  /* the live object's; NULL: not known */
    const char *fields_digest;        /* the runtime's digest of the fields that we manage; or NULL
                                         */
    int64_t revision;                 /* the revision that last changed the record */
    enum plan_action action;          /* the action of that revision. Of an INTENT `delete`: the
                                         object was deleted, and a create that was sent before may
                                         make it again */
    struct record_call call;
    int64_t lost_revision;            /* State was lost, or is older than this revision, at whose
                                         end the object is known to have been there: that the
                                         object is not found does not mean that there is none.
                                         CREATING: nothing but the id and the type is known.
                                         0: State is whole. Only with RUNTIME_IS_RECORDED */
    bool is_done;                     /* the object was as it has to be, and removes itself when it
                                         has done its work: if it is absent, nothing is missing */
    bool is_only_read;                /* the object is not ours: the resource only reads it, anew
                                         for each plan. The record is APPLIED, and has what a
                                         deletion goes by: the dependencies. It has no result, no
                                         memory and no uid */
};

/* A deep copy of *like, with one reference. */
const struct record *record_new(const struct record *like);
const struct record *record_ref(const struct record *record);
void record_unref(const struct record *record);
DEFINE_CLEANUP(const struct record *, record_unref)

/* True for equal content. Storing and loading a record keeps it equal. */
bool record_equal(const struct record *a, const struct record *b);
