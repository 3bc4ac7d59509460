/* The targets of runtime calls. */
#pragma once

#include "engine/operation/node.h"

/* The record to pass as `prior`; NULL for a resource that is only read, since its runtime does not
 * use one. */
const struct record *operation_prior(const struct record *record);
/* The target of a runtime call: the resource with its references as far as they are resolved; of
 * one that leaves, what is recorded. id and prior are borrowed. */
struct runtime_target operation_target(struct node *node, const struct record *prior);
/* The target of a deletion. All is borrowed. */
struct runtime_target operation_removal_target(const struct record *record);
void operation_target_done(struct runtime_target *target); /* of operation_target() */
#define _cleanup_target_ _cleanup_(operation_target_done)
