/*
 * Objects that the Spec does not own, and that have to be healthy (spec.h: health_checks).
 *
 * They are looked at in a walk of their own, when all steps have ended well: what has left the Spec
 * is gone then. They are read and judged as the Spec's own objects are, with its identity, and
 * waited for whatever its `wait` says. An operation that only corrects does not look at them.
 */
#pragma once

#include "engine/operation/private.h"

/* All steps have ended. True: there are checks, and the operation's walk is over them now. Not
 * under the lock. */
bool operation_begin_health_checks(struct operation *operation);
/* Under the lock, which is released meanwhile. */
void operation_visit_health_check(struct operation *operation, struct walk_visit *visit);
/* One error for all that are not healthy; 0: all are, or there are none. Under the lock. */
int operation_health_checks_error(const struct operation *operation, struct error *error);
/* Adds "ID: MESSAGE" of one that is waited for, and returns its error; NULL: there is none. Under
 * the lock. */
const struct error *operation_waiting_health_check(const struct operation *operation,
                                                   struct buf *to);
void operation_free_health_checks(struct operation *operation);
