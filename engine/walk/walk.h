/*
 * A walk over a graph: visits every node after what it depends on (or, in
 * reverse, after what depends on it), several at a time, on threads of its own.
 *
 * A visit does its work on a worker thread and says how it went:
 *   DONE    the nodes that waited for it may go
 *   FAILED  the walk goes on elsewhere; what depends on it, near or far, is SKIPPED
 *   PARKED  not yet: visit again after a delay, or when walk_wake() says so. A
 *           parked node holds no thread, so that a stuck one stalls no other. One that
 *           may itself wait for what depends on it lets that go (lets_go).
 *
 * Among nodes that may go, lower ranks are visited first, and a node's first
 * visit waits while one of lower rank is under way or free to go. (In reverse:
 * higher ranks first.) Parked nodes hold back only what depends on them.
 *
 * When `cancel` fires or the deadline passes, no visit begins any more, those
 * under way end (they see the same token), and what is left is CANCELLED or,
 * where it was parked when time ran out, TIMED_OUT.
 *
 * visit runs on several threads at once, but once at a time for a node; the
 * walk's own locking makes what the visits of dependencies wrote visible to
 * those of dependents. on_end and on_wait run under the walk's lock, one at a
 * time.
 */
#ifndef ENGINE_WALK_WALK_H
#define ENGINE_WALK_WALK_H

#include "engine/base/cancel.h"
#include "engine/base/clock.h"
#include "engine/graph/graph.h"

enum walk_verdict { WALK_DONE, WALK_FAILED, WALK_PARKED };

enum walk_outcome {
    WALK_OUTCOME_NONE, /* not ended yet */
    WALK_OUTCOME_DONE,
    WALK_OUTCOME_FAILED,
    WALK_OUTCOME_SKIPPED,   /* something that it depends on did not end DONE */
    WALK_OUTCOME_CANCELLED, /* never ended: cancelled, or out of time before its first visit */
    WALK_OUTCOME_TIMED_OUT, /* parked when time ran out */
};

struct walk;

struct walk_visit {
    uint32_t node;
    unsigned count;      /* visits before this one */
    int64_t retry_after; /* set by a visit that parks: ms; default 1000; CLOCK_FOREVER: when woken */
    bool lets_go;        /* set by a visit that parks: as to what depends on it, it is DONE */
};

struct walk_config {
    const struct graph *graph;
    bool reverse;
    unsigned parallelism; /* 1 to LIMIT_PARALLELISM; threads are no more than nodes */
    const struct clock_source *clock;
    struct cancel *cancel;
    int64_t deadline; /* clock->monotonic(), or CLOCK_FOREVER */

    enum walk_verdict (*visit)(void *arg, struct walk_visit *visit);
    /* A node has ended. cause: of a SKIPPED one, the node that did not end DONE. May be NULL. */
    void (*on_end)(void *arg, uint32_t node, enum walk_outcome outcome, uint32_t cause);
    /* true: no node can be visited for the first time before a parked one ends; false: one can,
     * or the walk is over. In turns, beginning with true. May be NULL. */
    void (*on_wait)(void *arg, bool waits);
    void *arg;
};

struct walk_counts {
    uint32_t done, failed, skipped, cancelled, timed_out;
};

/* A walk may be woken before and while it runs, from any thread. */
struct walk *walk_new(const struct walk_config *config);
/* Blocks until every node has ended; once for each walk. */
void walk_run(struct walk *walk, struct walk_counts *ret);
void walk_wake(struct walk *walk, uint32_t node);
enum walk_outcome walk_outcome(struct walk *walk, uint32_t node);
void walk_free(struct walk *walk);
DEFINE_CLEANUP(struct walk *, walk_free)

#endif
