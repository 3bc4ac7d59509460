/*
 * A walk that is driven by hand: visits do as a table says, time goes on when
 * there is nothing else to do, and a seed decides which visit ends next. A
 * second, slow implementation of the rules in walk.h goes along, and every
 * answer of the walk is compared with it.
 */
#pragma once

#include "engine/walk/walk.h"

#define STROLL_NODES  120
#define STROLL_GROUPS 8

struct stroll_config {
    uint32_t n;
    const struct graph_edge *edges;
    size_t n_edges;
    const uint16_t *ranks, *groups; /* NULL: none */
    uint16_t n_groups;
    unsigned parallelism;
};

struct stroll {
    struct graph *graph;
    struct walk *walk;
    struct stroll_config config;

    struct plan_of_node {
        unsigned parks;      /* visits that park, before one that does not */
        int64_t retry_after; /* 0: not set */
        bool releases_dependents;
        bool fails;
        bool yields; /* each visit, as soon as it has begun */
        void (*during)(struct stroll *stroll, uint32_t node); /* a visit; may be NULL */
    } plan[STROLL_NODES];
    void (*when_stuck)(struct stroll *stroll); /* nothing is due, ever; NULL: the stroll ends */

    int64_t now;
    struct node_of_model {
        enum { MODEL_NEW, MODEL_VISITED, MODEL_PARKED, MODEL_ENDED } phase;
        enum walk_outcome outcome;
        uint32_t cause;
        unsigned visits;
        int64_t due;
        bool is_woken, has_yielded, has_released_dependents, is_reported;
    } model[STROLL_NODES];
    bool is_stopped, time_is_up;

    struct walk_visit under_way[STROLL_NODES];
    uint32_t n_under_way;
    unsigned most_under_way;
    uint32_t order[16 * STROLL_NODES]; /* nodes, as their visits began */
    uint32_t n_order;
    struct walk_counts counts; /* when it was over */
};

void stroll_init(struct stroll *stroll, const struct stroll_config *config);
void stroll_done(struct stroll *stroll);

/* Until the walk is over, or stuck. seed 0: visits go on as long as more can be begun, and the
 * oldest ends first. */
void stroll_run(struct stroll *stroll, unsigned seed);

/* For `during` and `when_stuck`: of walk and model. */
void stroll_wake(struct stroll *stroll, uint32_t node);
void stroll_stop(struct stroll *stroll, bool time_is_up);

/* "0 2 1 0": nodes, as their visits began. */
const char *stroll_order(const struct stroll *stroll);
