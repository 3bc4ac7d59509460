/*
 * What the runtimes follow for a Spec (runtime_follow_ops), and how long it needs no check.
 *
 * A Spec is at rest from the end of an operation that left it Ready until anything happens: the
 * watch of Specs shows it changed, somebody asks for something, a late call lands, or a runtime
 * tells drift. The regular check of a Spec at rest asks nobody for anything, as long as all that it
 * has is followed, and whole; but its values are verified from time to time.
 *
 * Where an operation failed, what people say on the objects (runtime_follow_ops.listen) has the
 * next try at once, which comes by itself in any case.
 *
 * Drift has a check at once, ten times in a row, and then once a second: an object that changes all
 * the time does not keep the operator busy.
 *
 * Threads: as the desk; a reconcile alone begins, settles and ends.
 */
#pragma once

#include "engine/runtime.h"

struct desk;
struct desk_entry;

#define DRIFT_BURST 10   /* checks of drift at once */
#define DRIFT_EACH  1000 /* ms: then one each */

/* Of the runtimes that follow. The array is theirs in order, and lasts until desk_unfollow().
 * n_runtimes at most 64. An operation is about to begin: the Spec is at rest no more. */
struct runtime_following *const *desk_follow(struct desk_entry *entry,
                                             struct runtime *const *runtimes, size_t n_runtimes);
/* Nothing is followed any more. */
void desk_unfollow(struct desk_entry *entry);

struct desk_rest {
    bool is_followed;   /* all that the Spec has */
    bool ignores_drift; /* nobody wants to know what others do: nothing is followed or verified */
    bool has_failed;    /* desk_listen(): it has another try whenever one is due */
    int64_t interval;   /* ms until the next regular check */
    int64_t verify_at;  /* ms, monotonic: its values are to be verified then; 0: never */
    int64_t drift_wait; /* ms before which drift is not looked at */
};
/* An operation left the Spec Ready; what it has is followed by now. */
void desk_set_rest(struct desk_entry *entry, const struct desk_rest *rest);
/* An operation failed. */
void desk_listen(struct desk_entry *entry);
/* verify_at of the last rest; 0: there was none. */
int64_t desk_verify_at(const struct desk_entry *entry);
/* Whether it was at rest before, and all is whole. why: unless it is. */
enum runtime_whole desk_following_state(struct desk_entry *entry, struct error *why);

/* For the reconcile of a key that has no attempt: true if there is nothing to do for *ret_after.
 * is_whole: a change of what the Spec is read from, besides itself, is told as well. */
bool desk_is_at_rest(struct desk *desk, const char *key, bool is_whole, int64_t *ret_after);
