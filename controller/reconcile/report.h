/*
 * Plans and results as they stand in a status: bounded, redacted.
 */
#ifndef CONTROLLER_RECONCILE_REPORT_H
#define CONTROLLER_RECONCILE_REPORT_H

#include "engine/operation/operation.h"

/* Entries that a Release's status takes, and bytes. Where there are more, the others are counted in
 * `omitted`, and all of them are kept beside (plans.h). */
#define REPORT_RESULTS 2000
#define REPORT_BYTES   (400u << 10)
/* Failing resources that a Spec's status names. */
#define REPORT_FAILED 50
/* Resources that a Spec's inventory names, and bytes. */
#define REPORT_INVENTORY       100
#define REPORT_INVENTORY_BYTES (16u << 10)
/* Bytes of status.summary, with the NUL: a column of `kubectl get`. */
#define REPORT_SUMMARY_SIZE 101

/* {digest, create, update, …} */
const struct value *report_plan(const struct plan *plan, const char *digest);

/* Release's results, {id, action, fields, message, reason, duration}: of an operation, or (results
 * NULL) of a plan. *ret_omitted: how many did not fit. */
const struct value *report_results(const struct plan *plan, const struct operation_results *results,
                                   size_t *ret_omitted);

/* All of them. */
const struct value *report_all_results(const struct plan *plan,
                                       const struct operation_results *results);

/* {total, succeeded, failed, skipped, pending} */
const struct value *report_counts(const struct operation_results *results);

/* Spec's {total, ready, failed: [{id, reason, message}], omitted}. Resources that leave do not
 * count into total unless they fail. */
const struct value *report_resources(const struct operation_results *results);

/* The same where it is known that all of so many are as they should be. */
const struct value *report_all_ready(size_t n_resources);

/* Spec's {total, entries: [{id, type}], omitted}: the objects that exist, by State. */
const struct value *report_inventory(struct ledger *ledger);

/* The text of status.summary: `message`, cut if it is longer. With results of which some failed:
 * their number, and the message that most of them have ("50 of 59 failed: … (48x)"). */
void report_short(const char *message, const struct operation_results *results,
                  char ret[REPORT_SUMMARY_SIZE]);

/* A resource was waited for until `timeout` had passed, or not begun because it had. */
bool report_timed_out(const struct operation_results *results);
/* *failure stands for all results. If it may heal, but the failure of one resource may not, it gets
 * the code and the reason of that resource. */
void report_judge(const struct operation_results *results, struct error *failure);

/* "3 to create, 1 to update", or "nothing to do"; free() it. */
char *report_plan_summary(const struct plan *plan);

/* "3 created, 1 configured, 2 deleted", or "nothing to do"; free() it. */
char *report_summary(const struct operation_results *results);

#endif
