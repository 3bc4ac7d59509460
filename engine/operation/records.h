/* What State gets: records of resources, and its head. */
#pragma once

#include "engine/operation/node.h"

/* ---- records.c ---- */

/* When the outcome of a node's call has to be durable. */
enum ledger_when operation_ledger_when(const struct node *node);
/* What State has under a node's id by now. A reference, or NULL. */
const struct record *operation_known(const struct node *node);
/* State gets a record like this. It is not an error of the call if the ledger cannot store it now.
 */
void operation_land(struct node *node, const struct record *like);
/* Array of the ids that a resource of the Spec comes after. */
const struct value *operation_dependencies(const struct node *node);
/* Whether the record of an object that is as wanted is what this UNCHANGED step would write. */
bool operation_is_recorded(const struct node *node, const struct runtime_step *step);
/* A copy that State can have: null in place of what is not known, which nothing that was made
 * should be any more. A reference; NULL stays NULL. */
const struct value *operation_storable(const struct value *value);
/* The record of a resource before it is made: the attributes as planned, or as written where the
 * planned ones are not known yet. late_create: of the record before it (operation_late_create()). A
 * reference. */
const struct record *operation_intent(const struct node *node, enum plan_action action,
                                      int64_t late_create);
/* The record of an object that goes on under a name of its own, so that its id is free for another
 * one. A reference. */
const struct record *operation_depose(struct node *node);

/* ---- state_head.c ---- */

enum moment { AT_BEGIN, AT_END, AT_SUCCESS };
void operation_set_head(struct operation *operation, enum moment moment);
/* ms without progress that an earlier operation under this revision, which did not come to its end,
 * had waited when it is continued now; negative: there was none. */
int64_t operation_time_lost(struct operation *operation, int64_t revision);
/* Whether an earlier operation of this Spec succeeded under this revision: it was killed after
 * State was saved, and before its owner was notified. */
bool operation_was_done(struct operation *operation, int64_t revision);
