#include "engine/walk/walk.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "engine/base/heap.h"
#include "engine/base/mem.h"
#include "engine/threads/locked.h"

#define DEFAULT_RETRY 1000
#define NO_NODE       UINT32_MAX
#define N_OUTCOMES    (WALK_OUTCOME_TIMED_OUT + 1)

enum phase { BLOCKED, READY, VISITED, PARKED, ENDED };

/* Nodes in a row, linked by their `next`; first: NO_NODE if there is none. */
struct queue {
    uint32_t first, last;
};

/* The nodes of one rank in one group. */
struct rank {
    struct heap_item open; /* in its group's heap while it holds higher ranks back; key: the rank */
    struct group *group;
    struct queue ready;       /* for their first visits */
    uint32_t first_under_way; /* first visits that hold higher ranks back */
};

struct group {
    struct group *next_offer;
    bool is_offered; /* it is among the walk's offers */
    bool was_again;  /* the visit begun last was a revisit */
    struct heap open_ranks;
    struct queue again; /* ready for a revisit */
    unsigned under_way; /* without those that have yielded */
    unsigned yielded;
};

struct node {
    enum phase phase;
    enum walk_outcome outcome;
    struct rank *rank;
    struct heap_item parked; /* key: when it is due */
    struct heap_item first;  /* of a first visit that holds higher ranks back; key: until when */
    uint32_t next;           /* in a queue, or on the stack of skip_dependents() */
    uint32_t missing;        /* dependencies that have not released it */
    unsigned visits;
    bool is_woken;                /* since its last visit began */
    bool has_yielded;             /* its visit has */
    bool has_released_dependents; /* every node that ended DONE has, too */
};

struct walk {
    struct walk_config config;
    pthread_mutex_t lock; /* of all that follows */
    struct node *nodes;
    struct rank *ranks;
    struct group *groups;
    uint16_t n_groups;
    struct group *first_offer, *last_offer; /* groups of which a visit may begin, in turns */
    struct heap parked;
    struct heap first_visits; /* that hold higher ranks back */
    uint32_t n_under_way, n_left;
    uint32_t n_ended[N_OUTCOMES];
    bool is_stopped;
    enum walk_outcome stopped_as; /* of what had been visited */
};

/* ---- Queues ---- */

static void push(struct walk *walk, struct queue *queue, uint32_t node)
{
    walk->nodes[node].next = NO_NODE;
    if (queue->first == NO_NODE)
        queue->first = node;
    else
        walk->nodes[queue->last].next = node;
    queue->last = node;
}

static uint32_t pop(struct walk *walk, struct queue *queue)
{
    uint32_t node = queue->first;

    queue->first = walk->nodes[node].next;
    return node;
}

/* ---- Offers ---- */

/* Whose first visits are next; NULL: there is none to begin now. */
static struct rank *first_rank(const struct group *group)
{
    struct heap_item *item = heap_first(&group->open_ranks);
    struct rank *rank = item ? CONTAINER_OF(item, struct rank, open) : NULL;

    return rank && rank->ready.first != NO_NODE ? rank : NULL;
}

/* Once a visit may begin, it may until one does, or the walk is stopped: offers are never withdrawn
 * singly. */
static void offer(struct walk *walk, struct group *group)
{
    if (walk->is_stopped || group->is_offered || group->under_way >= walk->config.parallelism ||
        (group->again.first == NO_NODE && !first_rank(group)))
        return;
    group->is_offered = true;
    group->next_offer = NULL;
    if (walk->first_offer)
        walk->last_offer->next_offer = group;
    else
        walk->first_offer = group;
    walk->last_offer = group;
}

static void make_ready(struct walk *walk, uint32_t node)
{
    struct rank *rank = walk->nodes[node].rank;

    walk->nodes[node].phase = READY;
    push(walk, &rank->ready, node);
    heap_set(&rank->group->open_ranks, &rank->open, rank->open.key);
    offer(walk, rank->group);
}

static void make_ready_again(struct walk *walk, uint32_t node)
{
    struct group *group = walk->nodes[node].rank->group;

    heap_remove(&walk->parked, &walk->nodes[node].parked);
    walk->nodes[node].phase = READY;
    push(walk, &group->again, node);
    offer(walk, group);
}

static uint32_t first_parked(const struct walk *walk)
{
    return (uint32_t)(CONTAINER_OF(heap_first(&walk->parked), struct node, parked) - walk->nodes);
}

static int64_t first_key(const struct heap *heap)
{
    const struct heap_item *item = heap_first(heap);

    return item ? item->key : CLOCK_FOREVER;
}

/* ---- Ends ---- */

static void end(struct walk *walk, uint32_t node, enum walk_outcome outcome, uint32_t cause)
{
    walk->nodes[node].phase = ENDED;
    walk->nodes[node].outcome = outcome;
    walk->n_left--;
    walk->n_ended[outcome]++;
    if (walk->config.on_end)
        walk->config.on_end(walk->config.arg, node, outcome, cause);
}

static void release_dependents(struct walk *walk, uint32_t node)
{
    const struct graph *graph = walk->config.graph;

    if (walk->nodes[node].has_released_dependents)
        return;
    walk->nodes[node].has_released_dependents = true;
    for (uint32_t e = graph->dependent_start[node]; e < graph->dependent_start[node + 1]; e++) {
        struct node *dependent = &walk->nodes[graph->dependents[e]];

        if (--dependent->missing == 0 && dependent->phase == BLOCKED)
            make_ready(walk, graph->dependents[e]);
    }
}

/* All that depends on a node which failed. Each is reached once, so the whole walk stays linear. */
static void skip_dependents(struct walk *walk, uint32_t cause)
{
    const struct graph *graph = walk->config.graph;
    uint32_t top = cause;

    if (walk->nodes[cause].has_released_dependents)
        return;
    walk->nodes[top].next = NO_NODE;
    while (top != NO_NODE) {
        uint32_t node = top;

        top = walk->nodes[node].next;
        for (uint32_t e = graph->dependent_start[node]; e < graph->dependent_start[node + 1]; e++) {
            uint32_t dependent = graph->dependents[e];

            if (walk->nodes[dependent].phase != BLOCKED)
                continue;
            end(walk, dependent, WALK_OUTCOME_SKIPPED, cause);
            walk->nodes[dependent].next = top;
            top = dependent;
        }
    }
}

/* ---- Visits ---- */

static uint32_t take_first(struct walk *walk, struct rank *rank, int64_t now)
{
    uint32_t node = pop(walk, &rank->ready);
    int64_t patience = walk->config.patience;

    rank->group->was_again = false;
    rank->first_under_way++;
    heap_set(&walk->first_visits, &walk->nodes[node].first,
             patience && now < CLOCK_FOREVER - patience ? now + patience : CLOCK_FOREVER);
    return node;
}

/* Its first visit is over, or has taken long. */
static void let_go_of_rank(struct walk *walk, struct node *node)
{
    struct rank *rank = node->rank;

    if (!node->first.place)
        return;
    heap_remove(&walk->first_visits, &node->first);
    if (--rank->first_under_way == 0 && rank->ready.first == NO_NODE)
        heap_remove(&rank->group->open_ranks, &rank->open);
}

static void let_go_of_due(struct walk *walk, int64_t now)
{
    while (first_key(&walk->first_visits) <= now) {
        struct node *node = CONTAINER_OF(heap_first(&walk->first_visits), struct node, first);

        let_go_of_rank(walk, node);
        offer(walk, node->rank->group);
    }
}

static uint32_t take_again(struct walk *walk, struct group *group)
{
    group->was_again = true;
    return pop(walk, &group->again);
}

/* A visit of the group that was offered first. */
static void begin(struct walk *walk, int64_t now, struct walk_visit *ret)
{
    struct group *group = walk->first_offer;
    struct rank *rank = first_rank(group);
    bool is_again = group->again.first != NO_NODE && !(rank && group->was_again);
    uint32_t number = is_again ? take_again(walk, group) : take_first(walk, rank, now);
    struct node *node = &walk->nodes[number];

    walk->first_offer = group->next_offer;
    group->is_offered = false;
    group->under_way++;
    walk->n_under_way++;
    node->phase = VISITED;
    node->is_woken = node->has_yielded = false;
    *ret =
        (struct walk_visit){.node = number, .count = node->visits++, .retry_after = DEFAULT_RETRY};
    offer(walk, group);
}

enum walk_state walk_next(struct walk *walk, int64_t now, struct walk_visit *ret, int64_t *ret_due)
{
    enum walk_state state;
    LOCKED(&walk->lock);

    while (walk->parked.count && first_key(&walk->parked) <= now)
        make_ready_again(walk, first_parked(walk));
    if (walk->first_visits.count && now < CLOCK_FOREVER)
        let_go_of_due(walk, now);
    if (walk->first_offer) {
        begin(walk, now, ret);
        state = WALK_VISIT;
    } else if (walk->n_left) {
        *ret_due = first_key(&walk->parked);
        if (first_key(&walk->first_visits) < *ret_due)
            *ret_due = first_key(&walk->first_visits);
        state = walk->n_under_way ? WALK_BUSY : WALK_WAITING;
    } else {
        state = WALK_OVER;
    }
    return state;
}

static void park(struct walk *walk, const struct walk_visit *visit, int64_t now)
{
    struct node *node = &walk->nodes[visit->node];
    int64_t after = visit->retry_after > 0 ? visit->retry_after : 0;

    if (walk->is_stopped) {
        end(walk, visit->node, walk->stopped_as, NO_NODE);
        return;
    }
    if (node->is_woken) {
        make_ready_again(walk, visit->node);
    } else {
        node->phase = PARKED;
        heap_set(&walk->parked, &node->parked,
                 after < CLOCK_FOREVER - now ? now + after : CLOCK_FOREVER);
    }
    if (visit->releases_dependents)
        release_dependents(walk, visit->node);
}

static void leave(struct walk *walk, struct node *node)
{
    struct group *group = node->rank->group;

    assert(node->phase == VISITED);
    walk->n_under_way--;
    if (node->has_yielded)
        group->yielded--;
    else
        group->under_way--;
    let_go_of_rank(walk, node);
}

bool walk_end_visit(struct walk *walk, const struct walk_visit *visit, enum walk_verdict verdict,
                    int64_t now)
{
    LOCKED(&walk->lock);

    leave(walk, &walk->nodes[visit->node]);
    if (verdict == WALK_PARKED) {
        park(walk, visit, now);
    } else if (verdict == WALK_DONE) {
        end(walk, visit->node, WALK_OUTCOME_DONE, NO_NODE);
        release_dependents(walk, visit->node);
    } else {
        end(walk, visit->node, WALK_OUTCOME_FAILED, NO_NODE);
        skip_dependents(walk, visit->node);
    }
    offer(walk, walk->nodes[visit->node].rank->group);
    return walk->first_offer || !walk->n_left;
}

bool walk_yield(struct walk *walk, uint32_t number)
{
    struct node *node = &walk->nodes[number];
    struct group *group = node->rank->group;
    LOCKED(&walk->lock);

    if (!node->has_yielded && group->yielded < walk->config.parallelism) {
        node->has_yielded = true;
        group->yielded++;
        group->under_way--;
        offer(walk, group);
    }
    return walk->first_offer;
}

bool walk_wake(struct walk *walk, uint32_t node)
{
    bool was_parked;
    LOCKED(&walk->lock);

    was_parked = walk->nodes[node].phase == PARKED;
    walk->nodes[node].is_woken = true;
    if (was_parked)
        make_ready_again(walk, node);
    was_parked = was_parked && walk->first_offer;
    return was_parked;
}

/* What may begin, or is parked. Those that it holds up did not get their turn because of it. */
static void stop_open(struct walk *walk, uint32_t number)
{
    struct node *node = &walk->nodes[number];

    heap_remove(&walk->parked, &node->parked);
    end(walk, number, node->visits ? walk->stopped_as : WALK_OUTCOME_CANCELLED, NO_NODE);
    if (node->outcome == WALK_OUTCOME_TIMED_OUT)
        skip_dependents(walk, number);
}

void walk_stop(struct walk *walk, bool time_is_up)
{
    uint32_t n = walk->config.graph->n_nodes;
    LOCKED(&walk->lock);

    if (!walk->is_stopped) {
        walk->is_stopped = true;
        walk->stopped_as = time_is_up ? WALK_OUTCOME_TIMED_OUT : WALK_OUTCOME_CANCELLED;
        walk->first_offer = NULL;
        for (uint32_t i = 0; i < n; i++)
            if (walk->nodes[i].phase == READY || walk->nodes[i].phase == PARKED)
                stop_open(walk, i);
        for (uint32_t i = 0; i < n; i++)
            if (walk->nodes[i].phase == BLOCKED)
                end(walk, i, WALK_OUTCOME_CANCELLED, NO_NODE);
    }
}

/* ---- What became of it ---- */

bool walk_is_over(struct walk *walk)
{
    LOCKED(&walk->lock);

    return !walk->n_left;
}

enum walk_outcome walk_outcome(struct walk *walk, uint32_t node)
{
    LOCKED(&walk->lock);

    return walk->nodes[node].outcome;
}

void walk_counts(struct walk *walk, struct walk_counts *ret)
{
    LOCKED(&walk->lock);

    *ret = (struct walk_counts){
        .done = walk->n_ended[WALK_OUTCOME_DONE],
        .failed = walk->n_ended[WALK_OUTCOME_FAILED],
        .skipped = walk->n_ended[WALK_OUTCOME_SKIPPED],
        .cancelled = walk->n_ended[WALK_OUTCOME_CANCELLED],
        .timed_out = walk->n_ended[WALK_OUTCOME_TIMED_OUT],
    };
}

/* ---- The whole ---- */

static int compare_places(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

    return (left > right) - (left < right);
}

/* One struct rank for each rank of each group that has nodes. Nodes are sorted by group, rank and
 * number, all in one integer. */
static void make_ranks(struct walk *walk)
{
    const struct walk_config *config = &walk->config;
    uint32_t n = config->graph->n_nodes, n_ranks = 0;
    _cleanup_free_ uint64_t *places = NEW_ARRAY(uint64_t, n + 1);

    for (uint32_t i = 0; i < n; i++) {
        uint64_t group = config->groups ? config->groups[i] : 0;
        uint64_t rank = config->graph->rank ? config->graph->rank[i] : 0;

        assert(group < walk->n_groups);
        places[i] = group << 48 | rank << 32 | i;
    }
    qsort(places, n, sizeof(*places), compare_places);
    for (uint32_t i = 0; i < n; i++)
        n_ranks += i == 0 || places[i] >> 32 != places[i - 1] >> 32;
    walk->ranks = NEW_ARRAY(struct rank, n_ranks + 1);
    n_ranks = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (i == 0 || places[i] >> 32 != places[i - 1] >> 32)
            walk->ranks[n_ranks++] = (struct rank){
                .open.key = (int64_t)(places[i] >> 32 & UINT16_MAX),
                .group = &walk->groups[places[i] >> 48],
                .ready.first = NO_NODE,
            };
        walk->nodes[(uint32_t)places[i]].rank = &walk->ranks[n_ranks - 1];
    }
}

struct walk *walk_new(const struct walk_config *config)
{
    const struct graph *graph = config->graph;
    struct walk *walk = NEW(struct walk);

    walk->config = *config;
    if (!walk->config.parallelism)
        walk->config.parallelism = 1;
    walk->n_groups = config->groups && config->n_groups ? config->n_groups : 1;
    walk->groups = NEW_ARRAY(struct group, walk->n_groups);
    for (uint16_t i = 0; i < walk->n_groups; i++)
        walk->groups[i].again.first = NO_NODE;
    walk->nodes = NEW_ARRAY(struct node, graph->n_nodes + 1);
    walk->n_left = graph->n_nodes;
    make_ranks(walk);
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        walk->nodes[i].missing = graph->dependency_start[i + 1] - graph->dependency_start[i];
        if (!walk->nodes[i].missing)
            make_ready(walk, i);
    }
    pthread_mutex_init(&walk->lock, NULL);
    return walk;
}

void walk_free(struct walk *walk)
{
    if (!walk)
        return;
    assert(!walk->n_under_way);
    pthread_mutex_destroy(&walk->lock);
    heap_done(&walk->parked);
    heap_done(&walk->first_visits);
    for (uint16_t i = 0; i < walk->n_groups; i++)
        heap_done(&walk->groups[i].open_ranks);
    free(walk->groups);
    free(walk->ranks);
    free(walk->nodes);
    free(walk);
}
