/*
 * A walk over a graph: which node may be visited next, and what became of
 * each. A passive structure without threads: whoever has time asks for a
 * visit, makes it, and says how it went (engine/executor does that for many
 * walks at once).
 *
 * A node is visited after all that it depends on. A visit ends as
 *   DONE    the nodes that waited for it may be visited
 *   FAILED  the walk goes on elsewhere; what depends on it, near or far, is SKIPPED
 *   PARKED  not yet: visit again after a delay, or when walk_wake() says so. It
 *           may release its dependents (releases_dependents): they go on, however the
 *           node itself ends.
 *
 * Groups are resources of one runtime: each has its own ranks, and a bound on
 * how many visits of it may be under way, so that slow ones of one group do
 * not hold up another. Groups that have something to visit take turns. Within
 * a group first visits and revisits take turns. The first visit of a node
 * waits while a node of lower rank in the same group is on its first visit or
 * free for it. A first visit that takes longer than `patience` does not hold
 * higher ranks back any more. Parked nodes hold back only what depends on them.
 *
 * A visit that has done its work, and waits until that is recorded, may yield: another visit of its
 * group begins in its place. The nodes that wait for it go on waiting for its end.
 *
 * When the walk is stopped no visit begins any more. What is not being visited
 * ends at once, CANCELLED, or, where it was visited before, TIMED_OUT if the
 * walk was stopped for that; what depends on such a node is SKIPPED. Visits
 * under way come to their end; DONE and FAILED count, PARKED is the same end as
 * for the others.
 *
 * Thread-safe. on_end runs under the walk's lock, one at a time: it is quick
 * and does not call the walk. What the visits of dependencies wrote is visible
 * to those of dependents.
 */
#pragma once

#include "engine/graph/graph.h"
#include "engine/threads/clock.h"

enum walk_verdict { WALK_DONE, WALK_FAILED, WALK_PARKED };

enum walk_outcome {
    WALK_OUTCOME_NONE, /* not ended yet */
    WALK_OUTCOME_DONE,
    WALK_OUTCOME_FAILED,
    WALK_OUTCOME_SKIPPED,   /* something that it depends on FAILED, or TIMED_OUT */
    WALK_OUTCOME_CANCELLED, /* stopped before its end */
    WALK_OUTCOME_TIMED_OUT, /* stopped for time_is_up, after it had been visited */
};

struct walk;

/* One visit: from walk_next() to walk_end_visit(). */
struct walk_visit {
    uint32_t node;
    unsigned count;      /* visits of the node before this one */
    int64_t retry_after; /* set by a visit that parks: ms (1000 if not set); CLOCK_FOREVER: when
                            woken */
    bool releases_dependents; /* set by a visit that parks: to what depends on it, it is DONE */
};

struct walk_config {
    const struct graph *graph; /* borrowed; its ranks are used, lower ones first */
    const uint16_t *groups; /* of each node, below n_groups; read by walk_new(); NULL: all in 0 */
    uint16_t n_groups;      /* 0: 1 */
    unsigned parallelism;   /* visits under way at once, of each group, and as many that have
                               yielded; 0: 1 */
    int64_t patience; /* ms for which a first visit holds higher ranks back; 0: without end */
    /* A node has ended, by its own visit's verdict or otherwise. cause: of SKIPPED, the node that
     * failed or timed out, near or far; else UINT32_MAX. May be NULL. */
    void (*on_end)(void *arg, uint32_t node, enum walk_outcome outcome, uint32_t cause);
    void *arg;
};

struct walk_counts {
    uint32_t done, failed, skipped, cancelled, timed_out;
};

struct walk *walk_new(const struct walk_config *config);
void walk_free(struct walk *walk); /* when no visit is under way */
DEFINE_CLEANUP(struct walk *, walk_free)

enum walk_state {
    WALK_VISIT,   /* *ret is to be visited now, and its end to be reported */
    WALK_BUSY,    /* nothing to begin before a visit under way ends, or a node is woken or due */
    WALK_WAITING, /* none is under way: nothing happens before a node is woken or due */
    WALK_OVER,    /* every node has ended */
};

/* now: monotonic, ms. *ret_due (BUSY, WAITING): when the first parked node is due, or a visit under
 * way will hold nothing back any more; CLOCK_FOREVER: nothing is due. */
enum walk_state walk_next(struct walk *walk, int64_t now, struct walk_visit *ret, int64_t *ret_due);

/* How it went; now: as above. True: there is a visit to begin now, or the walk is over. */
bool walk_end_visit(struct walk *walk, const struct walk_visit *visit, enum walk_verdict verdict,
                    int64_t now);

/* The visit of the node yields, unless as many visits of its group as may be under way at once have
 * yielded and not ended. True: there is a visit to begin now. */
bool walk_yield(struct walk *walk, uint32_t node);

/* The node is visited again soon: at once if it is parked; after that, if it is being visited and
 * parks. Of other nodes: nothing. True: the node was parked, and there is a visit to begin now. */
bool walk_wake(struct walk *walk, uint32_t node);

/* From now on no visit begins. time_is_up: TIMED_OUT for what had been visited. Only the first call
 * counts. Linear in nodes. */
void walk_stop(struct walk *walk, bool time_is_up);

bool walk_is_over(struct walk *walk);
enum walk_outcome walk_outcome(struct walk *walk, uint32_t node);
void walk_counts(struct walk *walk, struct walk_counts *ret);
