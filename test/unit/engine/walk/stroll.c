#include "test/unit/engine/walk/stroll.h"

#include <stdio.h>

#include "engine/base/mem.h"
#include "test/unit/suite.h"

static bool reverse; /* of the stroll under way; there is one at a time */

void stroll_init(struct stroll *stroll, uint32_t n, const struct graph_edge *edges, size_t n_edges,
                 const uint16_t *ranks)
{
    *stroll = (struct stroll){0};
    CU_ASSERT_FATAL(n <= STROLL_NODES);
    CU_ASSERT_EQUAL_FATAL(graph_new(n, edges, n_edges, ranks, NULL, NULL, &stroll->graph, NULL), 0);
    pthread_mutex_init(&stroll->lock, NULL);
    pthread_cond_init(&stroll->changed, NULL);
}

void stroll_done(struct stroll *stroll)
{
    walk_free(stroll->walk);
    graph_free(stroll->graph);
    cancel_free(stroll->cancel);
    pthread_mutex_destroy(&stroll->lock);
    pthread_cond_destroy(&stroll->changed);
}

static bool ranks_below(const struct graph *graph, uint32_t a, uint32_t b)
{
    return reverse ? graph->rank[a] > graph->rank[b] : graph->rank[a] < graph->rank[b];
}

/* For its first visit, or it is in it. */
static bool is_free(const struct stroll *stroll, uint32_t node)
{
    const struct graph *g = stroll->graph;
    const uint32_t *start = reverse ? g->dependent_start : g->dependency_start;
    const uint32_t *list = reverse ? g->dependents : g->dependencies;
    bool is_free = !stroll->seen[node].first_is_over && !stroll->seen[node].ends;

    for (uint32_t e = start[node]; e < start[node + 1]; e++)
        is_free = is_free && stroll->seen[list[e]].outcome == WALK_OUTCOME_DONE;
    return is_free;
}

/* A first visit beside another of lower rank, or before one that is free to go, is early. */
static bool is_early(const struct stroll *stroll, uint32_t node)
{
    for (uint32_t i = 0; i < stroll->graph->n_nodes; i++)
        if (is_free(stroll, i) && ranks_below(stroll->graph, i, node))
            return true;
    return false;
}

static void begin(struct stroll *stroll, uint32_t node)
{
    struct seen_of_node *seen = &stroll->seen[node];

    if (!seen->visits++) {
        stroll->order[stroll->n_order++] = node;
        stroll->early += is_early(stroll, node);
    }
    stroll->early += seen->under_way; /* twice at once */
    stroll->early += stroll->clock->monotonic(stroll->clock) < seen->due;
    seen->under_way = true;
    if (++stroll->in_flight > stroll->most_in_flight)
        stroll->most_in_flight = stroll->in_flight;
    pthread_cond_broadcast(&stroll->changed);
}

static enum walk_verdict visit(void *arg, struct walk_visit *visit)
{
    struct stroll *stroll = arg;
    const struct plan_of_node *plan = &stroll->plan[visit->node];
    struct seen_of_node *seen = &stroll->seen[visit->node];
    bool parks = visit->count < plan->parks;

    pthread_mutex_lock(&stroll->lock);
    begin(stroll, visit->node);
    pthread_mutex_unlock(&stroll->lock);
    if (plan->during)
        plan->during(stroll, visit->node);
    if (parks && plan->retry_after)
        visit->retry_after = plan->retry_after;
    visit->lets_go = plan->lets_go;
    pthread_mutex_lock(&stroll->lock);
    seen->due = parks && plan->retry_after != CLOCK_FOREVER
                    ? stroll->clock->monotonic(stroll->clock) + visit->retry_after
                    : 0;
    seen->under_way = false;
    seen->first_is_over = true;
    stroll->in_flight--;
    pthread_cond_broadcast(&stroll->changed);
    pthread_mutex_unlock(&stroll->lock);
    return parks ? WALK_PARKED : plan->fails ? WALK_FAILED : WALK_DONE;
}

static void on_end(void *arg, uint32_t node, enum walk_outcome outcome, uint32_t cause)
{
    struct stroll *stroll = arg;

    pthread_mutex_lock(&stroll->lock);
    stroll->seen[node].ends++;
    stroll->seen[node].outcome = outcome;
    stroll->seen[node].cause = cause;
    pthread_cond_broadcast(&stroll->changed);
    pthread_mutex_unlock(&stroll->lock);
}

static void on_wait(void *arg, bool waits)
{
    struct stroll *stroll = arg;

    pthread_mutex_lock(&stroll->lock);
    stroll->untrue += waits == stroll->waits;
    stroll->waits = waits;
    stroll->waited += waits;
    for (uint32_t i = 0; waits && i < stroll->graph->n_nodes; i++)
        stroll->untrue += is_free(stroll, i);
    pthread_mutex_unlock(&stroll->lock);
}

void stroll_run(struct stroll *stroll, const struct stroll_config *config)
{
    int64_t time = config->time ? config->time : 20000;

    reverse = config->reverse;
    stroll->clock = config->clock ? config->clock : &test_clock;
    stroll->walk = walk_new(&(struct walk_config){
        .graph = stroll->graph,
        .reverse = config->reverse,
        .parallelism = config->parallelism,
        .clock = stroll->clock,
        .cancel = stroll->cancel,
        .deadline = stroll->clock->monotonic(stroll->clock) + time,
        .visit = visit,
        .on_end = on_end,
        .on_wait = on_wait,
        .arg = stroll,
    });
    walk_run(stroll->walk, &stroll->counts);
    EXPECT_INT(stroll->untrue, 0, "it waits where there is nothing else to do");
    EXPECT(!stroll->waits, "over");
    for (uint32_t i = 0; i < stroll->graph->n_nodes; i++) {
        EXPECT_INT(stroll->seen[i].ends, 1, "each node ends once");
        EXPECT_INT(stroll->seen[i].outcome, walk_outcome(stroll->walk, i), "outcome");
    }
}

const char *stroll_order(struct stroll *stroll)
{
    static char text[4096];
    size_t length = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < stroll->n_order && length < sizeof(text); i++)
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%u", i ? " " : "",
                                   stroll->order[i]);
    return text;
}
