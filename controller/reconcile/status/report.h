/*
 * Plans and results as they stand in a status: bounded, redacted.
 */
#pragma once

#include "engine/operation/operation.h"

/* Entries that a Release's status takes, and bytes, as the API server stores them. Where there are
 * more, the others are counted in `omitted`, and all of them are kept beside (plans.h). */
#define REPORT_RESULTS 2000
#define REPORT_BYTES   (400u << 10)
/* The same of a plan that waits for approval. The schema's limit, and what leaves room for the rest
 * of the Release below etcd's limit of 1.5 MiB. */
#define REPORT_RESULTS_TO_APPROVE 10000
#define REPORT_BYTES_TO_APPROVE   (1u << 20)
/* Failing resources that a Spec's status names. */
#define REPORT_FAILED 50
/* Bytes of status.summary, with the NUL: a column of `kubectl get`. A Release has more columns
 * beside it, which together are to fit into 120. */
#define REPORT_SUMMARY_SIZE         101
#define REPORT_RELEASE_SUMMARY_SIZE 61

/* {digest, create, update, …} */
const struct value *report_plan(const struct plan *plan, const char *digest);

/* What a Release's results are made of: an operation, or (results NULL) a plan. */
struct report_source {
    const struct plan *plan;
    const struct operation_results *results;
    bool to_approve; /* a person is to approve it: there is more room, and if that is not enough,
                        what stays unchanged goes first */
    int64_t epoch;   /* ms since 1970 of the operation's clock; 0: no times are told */
    const struct value *earlier; /* those that the status has already: the fields of what was done
                                    before a restart are taken from them. NULL: none */
};

/* Release's results, {id, action, outcome, fields, omittedFields, message, reason, warnings,
 * waitsFor, startedAt, duration}.
 * Where they do not fit, fields go first, then whole results. *ret_omitted: how many of these did
 * not fit. */
const struct value *report_results(const struct report_source *source, size_t *ret_omitted);

/* All of them. */
const struct value *report_all_results(const struct report_source *source);

/* What a person cannot read in the results of a plan that waits for approval. */
struct report_unseen {
    size_t changes;   /* that are not shown, or not all their fields, or not all of these */
    size_t fields;    /* of those changes that are shown in part */
    size_t sensitive; /* fields with values that nobody expects to see: of a Secret, say */
};
struct report_unseen report_unseen(const struct plan *plan);

/* {total, succeeded, failed, skipped, pending} */
const struct value *report_counts(const struct operation_results *results);

/* Spec's {total, ready, failed: [{id, reason, message}], omitted}. Resources that leave do not
 * count into total unless they fail. */
const struct value *report_resources(const struct operation_results *results);

/* The same where it is known that all of so many are as they should be. */
const struct value *report_all_ready(size_t n_resources);

/* "Deployment/web: Available: 0/1" of "apps/v1:Deployment:shop:web: Available: 0/1", for a column
 * of `kubectl get`, which has no room for the id; without words that say little. An id that is
 * quoted stays. free() it. */
char *report_brief(const char *what);

/* The text of status.summary: `message`, cut if it is longer than the size. With results of which
 * some failed: their number, and the message that most of them have ("50 of 59 failed: … (48x)")
 */
void report_short(const char *message, const struct operation_results *results, char *ret,
                  size_t size);

/* A resource was waited for until `timeout` had passed, or not begun because it had. */
bool report_timed_out(const struct operation_results *results);
/* What one resource needs was known only when what it refers to was applied: another plan does it.
 */
bool report_needs_plan(const struct operation_results *results);
/* *failure stands for all results. If it may heal, but the failure of one resource may not, it gets
 * the code and the reason of that resource. */
void report_judge(const struct operation_results *results, struct error *failure);

/* "3 to create, 1 to update", or "nothing to do"; free() it. */
char *report_plan_summary(const struct plan *plan);

/* "to revision 1: 1 to update", of a Rollback; the summary itself where revision is 0. Takes the
 * summary; free() the result. */
char *report_to_revision(char *summary, int64_t revision);

/* "3 created, 1 configured, 2 deleted; 1 warning", of what succeeded; or "nothing to do"; free()
 * it. */
char *report_summary(const struct operation_results *results);

/* "ID: what was warned of; ID: …", of what was changed; free() it. NULL: nothing. */
char *report_warnings(const struct operation_results *results);
