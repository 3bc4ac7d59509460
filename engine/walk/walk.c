#include "engine/walk/walk.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/limits.h"
#include "engine/base/mem.h"

#define THREAD_STACK  (512u << 10)
#define DEFAULT_RETRY 1000
#define NOBODY        UINT32_MAX

enum phase { BLOCKED, READY, RUNNING, PARKED, ENDED };

struct node {
    enum phase phase;
    enum walk_outcome outcome;
    uint32_t missing; /* nodes before it that have neither ended DONE nor let go */
    uint32_t next;    /* in its rank's queue */
    uint32_t heap;    /* place in the heap of parked nodes, from 1; 0: not there */
    unsigned visits;
    int64_t due;
    bool woken;      /* while it was being visited */
    bool has_let_go; /* of what comes after it */
};

struct queue {
    uint32_t first, last;
};

struct walk {
    struct walk_config config;
    struct node *nodes;
    struct queue *queues; /* of each rank; a revisit goes into `again` */
    struct queue again;
    uint32_t *under_way; /* of each rank: first visits that run */
    uint16_t n_ranks;
    uint32_t *parked; /* a heap by due time */
    uint32_t n_parked;
    uint32_t *reached; /* room for skip_afters() */
    uint32_t n_left;
    uint32_t n_fresh; /* ready for their first visit, or in it */
    bool waits;       /* as on_wait was told */
    struct walk_counts counts;
    bool started, stopped; /* stopped: no visit begins any more */
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

/* ---- The graph, in the walk's direction ---- */

static void befores(const struct walk *walk, uint32_t node, const uint32_t **ret, uint32_t *ret_n)
{
    const struct graph *g = walk->config.graph;
    const uint32_t *start = walk->config.reverse ? g->dependent_start : g->dependency_start;
    const uint32_t *list = walk->config.reverse ? g->dependents : g->dependencies;

    *ret = list + start[node];
    *ret_n = start[node + 1] - start[node];
}

static void afters(const struct walk *walk, uint32_t node, const uint32_t **ret, uint32_t *ret_n)
{
    const struct graph *g = walk->config.graph;
    const uint32_t *start = walk->config.reverse ? g->dependency_start : g->dependent_start;
    const uint32_t *list = walk->config.reverse ? g->dependencies : g->dependents;

    *ret = list + start[node];
    *ret_n = start[node + 1] - start[node];
}

static uint16_t rank_of(const struct walk *walk, uint32_t node)
{
    uint16_t rank = walk->config.graph->rank ? walk->config.graph->rank[node] : 0;

    return walk->config.reverse ? (uint16_t)(walk->n_ranks - 1 - rank) : rank;
}

/* ---- Queues and the heap ---- */

static void push(struct walk *walk, struct queue *queue, uint32_t node)
{
    walk->nodes[node].next = NOBODY;
    if (queue->first == NOBODY)
        queue->first = node;
    else
        walk->nodes[queue->last].next = node;
    queue->last = node;
}

static uint32_t pop(struct walk *walk, struct queue *queue)
{
    uint32_t node = queue->first;

    if (node != NOBODY)
        queue->first = walk->nodes[node].next;
    return node;
}

static void heap_place(struct walk *walk, uint32_t at, uint32_t node)
{
    walk->parked[at] = node;
    walk->nodes[node].heap = at;
}

static void heap_sift(struct walk *walk, uint32_t at)
{
    uint32_t node = walk->parked[at];
    int64_t due = walk->nodes[node].due;

    for (; at > 1 && walk->nodes[walk->parked[at / 2]].due > due; at /= 2)
        heap_place(walk, at, walk->parked[at / 2]);
    for (;;) {
        uint32_t child = 2 * at;

        if (child < walk->n_parked &&
            walk->nodes[walk->parked[child + 1]].due < walk->nodes[walk->parked[child]].due)
            child++;
        if (child > walk->n_parked || walk->nodes[walk->parked[child]].due >= due)
            break;
        heap_place(walk, at, walk->parked[child]);
        at = child;
    }
    heap_place(walk, at, node);
}

static void heap_add(struct walk *walk, uint32_t node)
{
    heap_place(walk, ++walk->n_parked, node);
    heap_sift(walk, walk->n_parked);
}

static void heap_remove(struct walk *walk, uint32_t node)
{
    uint32_t at = walk->nodes[node].heap, last = walk->parked[walk->n_parked--];

    walk->nodes[node].heap = 0;
    if (last == node)
        return;
    heap_place(walk, at, last);
    heap_sift(walk, at);
}

/* ---- Ends of nodes. All with the lock held. ---- */

static void make_ready(struct walk *walk, uint32_t node)
{
    walk->nodes[node].phase = READY;
    walk->n_fresh++;
    push(walk, &walk->queues[rank_of(walk, node)], node);
}

static void end(struct walk *walk, uint32_t node, enum walk_outcome outcome, uint32_t cause)
{
    static const size_t counters[] = {
        [WALK_OUTCOME_DONE] = offsetof(struct walk_counts, done),
        [WALK_OUTCOME_FAILED] = offsetof(struct walk_counts, failed),
        [WALK_OUTCOME_SKIPPED] = offsetof(struct walk_counts, skipped),
        [WALK_OUTCOME_CANCELLED] = offsetof(struct walk_counts, cancelled),
        [WALK_OUTCOME_TIMED_OUT] = offsetof(struct walk_counts, timed_out),
    };

    walk->nodes[node].phase = ENDED;
    walk->nodes[node].outcome = outcome;
    walk->n_left--;
    ++*(uint32_t *)((char *)&walk->counts + counters[outcome]);
    if (walk->config.on_end)
        walk->config.on_end(walk->config.arg, node, outcome, cause);
}

static void release_afters(struct walk *walk, uint32_t node)
{
    const uint32_t *list;
    uint32_t n;

    if (walk->nodes[node].has_let_go)
        return;
    walk->nodes[node].has_let_go = true;
    afters(walk, node, &list, &n);
    for (uint32_t i = 0; i < n; i++)
        if (--walk->nodes[list[i]].missing == 0 && walk->nodes[list[i]].phase == BLOCKED)
            make_ready(walk, list[i]);
}

/* All that comes after a node which did not end DONE. Each is reached once, so the whole walk
 * stays linear. */
static void skip_afters(struct walk *walk, uint32_t cause)
{
    uint32_t *stack = walk->reached;
    uint32_t depth = 0;

    stack[depth++] = cause;
    while (depth) {
        const uint32_t *list;
        uint32_t n;

        afters(walk, stack[--depth], &list, &n);
        for (uint32_t i = 0; i < n; i++)
            if (walk->nodes[list[i]].phase == BLOCKED) {
                end(walk, list[i], WALK_OUTCOME_SKIPPED, cause);
                stack[depth++] = list[i];
            }
    }
}

/* ---- What is next ---- */

static bool is_over(struct walk *walk)
{
    const struct walk_config *config = &walk->config;

    return walk->stopped || cancel_fired(config->cancel) ||
           config->clock->monotonic(config->clock) >= config->deadline;
}

static void move_due(struct walk *walk)
{
    int64_t now = walk->config.clock->monotonic(walk->config.clock);

    while (walk->n_parked && walk->nodes[walk->parked[1]].due <= now) {
        uint32_t node = walk->parked[1];

        heap_remove(walk, node);
        walk->nodes[node].phase = READY;
        push(walk, &walk->again, node);
    }
}

/* A first visit waits while one of lower rank is under way. */
static uint32_t next_first(struct walk *walk)
{
    for (uint16_t rank = 0; rank < walk->n_ranks; rank++) {
        if (walk->queues[rank].first != NOBODY)
            return pop(walk, &walk->queues[rank]);
        if (walk->under_way[rank])
            return NOBODY;
    }
    return NOBODY;
}

static uint32_t next(struct walk *walk)
{
    uint32_t node;

    move_due(walk);
    node = pop(walk, &walk->again);
    return node != NOBODY ? node : next_first(walk);
}

static void tell_of_waiting(struct walk *walk)
{
    bool waits = walk->n_left && !walk->n_fresh;

    if (waits == walk->waits)
        return;
    walk->waits = waits;
    if (walk->config.on_wait)
        walk->config.on_wait(walk->config.arg, waits);
}

/* ---- Visits ---- */

static void park(struct walk *walk, uint32_t node, int64_t retry_after)
{
    struct node *parked = &walk->nodes[node];
    int64_t now = walk->config.clock->monotonic(walk->config.clock);

    parked->phase = PARKED;
    if (parked->woken) {
        parked->woken = false;
        parked->phase = READY;
        push(walk, &walk->again, node);
        return;
    }
    parked->due = retry_after == CLOCK_FOREVER ? CLOCK_FOREVER : now + retry_after;
    heap_add(walk, node);
}

static void visit(struct walk *walk, uint32_t node)
{
    struct walk_visit visit = {
        .node = node, .count = walk->nodes[node].visits++, .retry_after = DEFAULT_RETRY};
    uint16_t rank = rank_of(walk, node);
    bool first = visit.count == 0;
    enum walk_verdict verdict;

    walk->nodes[node].phase = RUNNING;
    walk->nodes[node].woken = false;
    walk->under_way[rank] += first;
    pthread_mutex_unlock(&walk->lock);
    verdict = walk->config.visit(walk->config.arg, &visit);
    pthread_mutex_lock(&walk->lock);
    walk->under_way[rank] -= first;
    walk->n_fresh -= first;
    if (verdict == WALK_PARKED) {
        park(walk, node, visit.retry_after);
        if (visit.lets_go)
            release_afters(walk, node);
    } else if (verdict == WALK_DONE) {
        end(walk, node, WALK_OUTCOME_DONE, NOBODY);
        release_afters(walk, node);
    } else {
        end(walk, node, WALK_OUTCOME_FAILED, NOBODY);
        skip_afters(walk, node);
    }
    tell_of_waiting(walk);
    pthread_cond_broadcast(&walk->changed);
}

static void wait(struct walk *walk)
{
    int64_t until = walk->config.deadline;

    if (walk->n_parked && walk->nodes[walk->parked[1]].due < until)
        until = walk->nodes[walk->parked[1]].due;
    walk->config.clock->wait(walk->config.clock, &walk->changed, &walk->lock, until);
}

static void *work(void *arg)
{
    struct walk *walk = arg;

    pthread_mutex_lock(&walk->lock);
    while (walk->n_left && !is_over(walk)) {
        uint32_t node = next(walk);

        if (node == NOBODY)
            wait(walk);
        else
            visit(walk, node);
    }
    walk->stopped = true;
    pthread_cond_broadcast(&walk->changed);
    pthread_mutex_unlock(&walk->lock);
    return NULL;
}

/* ---- The whole ---- */

static uint16_t count_ranks(const struct graph *graph)
{
    uint16_t most = 0;

    for (uint32_t i = 0; graph->rank && i < graph->n_nodes; i++)
        if (graph->rank[i] > most)
            most = graph->rank[i];
    return (uint16_t)(most + 1);
}

struct walk *walk_new(const struct walk_config *config)
{
    struct walk *walk = NEW(struct walk);
    uint32_t n = config->graph->n_nodes;

    walk->config = *config;
    walk->n_ranks = count_ranks(config->graph);
    walk->nodes = NEW_ARRAY(struct node, n + 1);
    walk->parked = NEW_ARRAY(uint32_t, n + 2);
    walk->reached = NEW_ARRAY(uint32_t, n + 1);
    walk->queues = NEW_ARRAY(struct queue, walk->n_ranks);
    walk->under_way = NEW_ARRAY(uint32_t, walk->n_ranks);
    walk->n_left = n;
    walk->again.first = NOBODY;
    for (uint16_t rank = 0; rank < walk->n_ranks; rank++)
        walk->queues[rank].first = NOBODY;
    pthread_mutex_init(&walk->lock, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&walk->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return walk;
}

static void on_cancel(void *arg)
{
    struct walk *walk = arg;

    pthread_mutex_lock(&walk->lock);
    pthread_cond_broadcast(&walk->changed);
    pthread_mutex_unlock(&walk->lock);
}

static void run_threads(struct walk *walk)
{
    uint32_t n = walk->config.parallelism, started = 0;
    pthread_t threads[LIMIT_PARALLELISM];
    pthread_attr_t attributes;

    if (n > LIMIT_PARALLELISM)
        n = LIMIT_PARALLELISM;
    if (n > walk->config.graph->n_nodes)
        n = walk->config.graph->n_nodes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, THREAD_STACK);
    while (started < n && pthread_create(&threads[started], &attributes, work, walk) == 0)
        started++;
    pthread_attr_destroy(&attributes);
    if (!started)
        work(walk);
    for (uint32_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}

/* What never came to its end. */
static void end_rest(struct walk *walk)
{
    bool cancelled = cancel_fired(walk->config.cancel);

    pthread_mutex_lock(&walk->lock);
    for (uint32_t i = 0; i < walk->config.graph->n_nodes; i++)
        if (walk->nodes[i].phase != ENDED)
            end(walk, i,
                !cancelled && walk->nodes[i].visits ? WALK_OUTCOME_TIMED_OUT
                                                    : WALK_OUTCOME_CANCELLED,
                NOBODY);
    tell_of_waiting(walk);
    pthread_mutex_unlock(&walk->lock);
}

void walk_run(struct walk *walk, struct walk_counts *ret)
{
    struct cancel_listener *listener = cancel_listen(walk->config.cancel, on_cancel, walk);
    uint32_t n = walk->config.graph->n_nodes;

    pthread_mutex_lock(&walk->lock);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t *list;

        befores(walk, i, &list, &walk->nodes[i].missing);
        if (!walk->nodes[i].missing)
            make_ready(walk, i);
    }
    pthread_mutex_unlock(&walk->lock);
    if (n)
        run_threads(walk);
    cancel_unlisten(walk->config.cancel, listener);
    end_rest(walk);
    *ret = walk->counts;
}

void walk_wake(struct walk *walk, uint32_t node)
{
    struct node *woken = &walk->nodes[node];

    pthread_mutex_lock(&walk->lock);
    if (woken->phase == RUNNING)
        woken->woken = true;
    if (woken->phase == PARKED) {
        heap_remove(walk, node);
        woken->phase = READY;
        push(walk, &walk->again, node);
        pthread_cond_broadcast(&walk->changed);
    }
    pthread_mutex_unlock(&walk->lock);
}

enum walk_outcome walk_outcome(struct walk *walk, uint32_t node)
{
    enum walk_outcome outcome;

    pthread_mutex_lock(&walk->lock);
    outcome = walk->nodes[node].outcome;
    pthread_mutex_unlock(&walk->lock);
    return outcome;
}

void walk_free(struct walk *walk)
{
    if (!walk)
        return;
    pthread_cond_destroy(&walk->changed);
    pthread_mutex_destroy(&walk->lock);
    free(walk->nodes);
    free(walk->parked);
    free(walk->reached);
    free(walk->queues);
    free(walk->under_way);
    free(walk);
}
