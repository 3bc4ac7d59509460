/* Objects of which State does not tell whether they are there: creations whose outcome was never
 * recorded, and what was lost with State. */
#pragma once

#include "engine/base/timestamp.h"
#include "engine/operation/node.h"
#include "engine/spec/import_id.h"
#include "engine/spec/not_created.h"

/* The time (ms since 1970) until which a create of the record's object may still take effect; 0:
 * there is no such create. record: NULL is allowed. */
int64_t operation_late_create(const struct operation *operation, const struct record *record);
/* The creation of the record's object was begun, and may still take effect, and no person has said
 * what became of it. */
bool operation_is_in_flight(const struct node *node, const struct record *record);
/* A format: how a person settles such a creation without waiting. Takes its revision. */
#define OPERATION_SETTLE_AT_ONCE                                                                \
    "Who has looked for it settles this at once: by extensions[" IMPORT_ID "] if it is there, " \
    "by extensions[" NOT_CREATED "]: %lld if it is not"
/* The time after which that creation cannot take effect, as text. */
void operation_in_flight_until(const struct record *record, char ret_text[TIMESTAMP_SIZE]);
/* Settles a record whose creation was begun, and whose outcome was never recorded, by a read, or by
 * what a person says of it. *record is replaced; NULL: there is no object. Where it cannot be
 * found, the record stays as it is: doubtful. ERR_CONFLICT OutcomeUnknown: the object may still be
 * made, and is not looked for yet. */
int operation_settle_doubt(struct node *node, const struct record **record, struct error *error);
/* Nobody but a person can tell whether the record's object is there. record: NULL is allowed. */
bool operation_is_doubtful(const struct record *record);
/* ERR_CONFLICT OutcomeUnknown, StateLost: what a person has to do. */
int operation_hold_doubtful(const struct record *record, struct error *error);
/* Whether the step may be carried out for a resource whose record is doubtful. It was planned as
 * if there were no record: to take over the object that the resource names makes nothing, and
 * anything else needs a word in the extensions that the object is not there. ERR_CONFLICT
 * OutcomeUnknown, StateLost. */
int operation_check_doubtful(const struct record *record, const struct value *extensions,
                             const struct runtime_step *step, struct error *error);
/* The record is older than the Spec, and its object, which leaves, is not there: it may have been
 * replaced by one that is not known. ERR_CONFLICT StateLost, unless a person says that there is
 * none. */
int operation_check_lost(const struct node *node, const struct record *record,
                         const struct runtime_step *step, struct error *error);
