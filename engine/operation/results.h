/* The result of each change, and what runtimes say about it without the secrets. */
#pragma once

#include "engine/operation/node.h"
#include "engine/walk/walk.h"

/* ---- results.c: all under the lock ---- */

void operation_init_results(struct operation *operation);
void operation_clear_results(struct operation *operation);
/* Sets the action that the result shows. That of a replacement stays, and so does that of a call
 * whose answer was lost, if nothing is left to be done. Not under the lock. */
void operation_set_action(struct node *node, enum plan_action action);
/* Adds warnings, redacted, to those of a change, each once. NULL: none. Not under the lock. */
void operation_add_warnings(struct operation *operation, uint32_t change,
                            const struct value *warnings);
/* A change begins; waits for the world (the error says for what); ends. */
void operation_start_result(struct operation *operation, uint32_t change);
void operation_wait_result(struct operation *operation, uint32_t change, const struct error *error);
void operation_end_result(struct operation *operation, uint32_t change, enum result_status status,
                          const struct error *error);
/* For walk_config: a step has ended. Those that were skipped or stopped have no verdict of a visit;
 * they get their results here. arg: the operation. */
void operation_end_step(void *arg, uint32_t step, enum walk_outcome outcome, uint32_t cause);
/* A change is not what was approved: it has FAILED, nothing new begins, and what has not begun is
 * CANCELLED. Visits under way come to their end. Not under the lock. */
void operation_end_stale(struct operation *operation, uint32_t change, const struct error *error);
/* All changes that have not ended become CANCELLED, for this error. */
void operation_abandon_results(struct operation *operation, const struct error *error);

/* ---- waits.c ---- */

/* Into a copy of the results: what each waits for. Under the lock. */
void operation_find_waits(const struct operation *operation, struct operation_result *results);

/* ---- redact.c ---- */

/* Hides the secrets of a node's resource in an error of its visit. Every error of a runtime's call
 * passes here before anything outside of the visit sees it. Not under the lock. */
void operation_redact(struct node *node, struct error *error);
/* The same in warnings. A reference; NULL stays NULL. */
const struct value *operation_redact_warnings(struct node *node, const struct value *warnings);
/* The same in the reason and the diff of a change that was just planned. shown: the step that they
 * describe; or NULL. */
void operation_redact_change(struct node *node, const struct runtime_step *shown);
/* A result whose strings are sensitive where they quote a whole secret of the node's resource,
 * however they do (redaction.h), for a runtime that only State knows of, and whose platform answers
 * as it likes. It is sensitive as a whole if a key of an object quotes one. A reference; NULL stays
 * NULL. Not under the lock. */
const struct value *operation_mark_quotes(struct node *node, const struct value *result);
