/*
 * A walk whose visits do as a table says, and what they saw: for tests of the walk's order.
 */
#ifndef TEST_UNIT_ENGINE_WALK_STROLL_H
#define TEST_UNIT_ENGINE_WALK_STROLL_H

#include <pthread.h>

#include "engine/walk/walk.h"
#include "test/unit/engine/walk/test_clock.h"

#define STROLL_NODES 512

struct stroll {
    struct graph *graph;
    struct walk *walk;
    struct walk_counts counts;
    struct cancel *cancel;

    struct plan_of_node {
        unsigned parks; /* visits that park, before one that does not */
        int64_t retry_after;
        bool lets_go;
        bool fails;
        void (*during)(struct stroll *stroll, uint32_t node); /* a visit; may be NULL */
    } plan[STROLL_NODES];

    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    struct seen_of_node {
        unsigned visits, ends;
        bool under_way, first_is_over;
        enum walk_outcome outcome;
        uint32_t cause;
        int64_t due; /* when the next visit is, after one that parked */
    } seen[STROLL_NODES];
    uint32_t order[STROLL_NODES]; /* nodes, as their first visits began */
    uint32_t n_order;
    unsigned in_flight, most_in_flight;
    bool waits;      /* as the walk said last */
    unsigned waited; /* times that it said so */
    unsigned untrue; /* times that it said so while there was a first visit to make */
    unsigned early; /* visits before their time, or before or beside a lower rank's first */
    const struct clock_source *clock;
};

/* ranks: NULL for none. */
void stroll_init(struct stroll *stroll, uint32_t n, const struct graph_edge *edges, size_t n_edges,
                 const uint16_t *ranks);
void stroll_done(struct stroll *stroll);

struct stroll_config {
    unsigned parallelism;
    bool reverse;
    const struct clock_source *clock; /* NULL: test_clock */
    int64_t time;                     /* ms; 0: 20 s */
};
void stroll_run(struct stroll *stroll, const struct stroll_config *config);

/* "0 2 1": nodes, as their first visits began. */
const char *stroll_order(struct stroll *stroll);

#endif
