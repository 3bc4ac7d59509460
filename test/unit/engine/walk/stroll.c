#include "test/unit/engine/walk/stroll.h"

#include <stdio.h>
#include <stdlib.h>

#include "test/unit/suite.h"

/* ---- The model ---- */

static uint16_t group_of(const struct stroll *stroll, uint32_t node)
{
    return stroll->config.groups ? stroll->config.groups[node] : 0;
}

static bool depends_on_all_done(const struct stroll *stroll, uint32_t node)
{
    const struct graph *g = stroll->graph;

    for (uint32_t e = g->dependency_start[node]; e < g->dependency_start[node + 1]; e++) {
        const struct node_of_model *dependency = &stroll->model[g->dependencies[e]];

        if (dependency->outcome != WALK_OUTCOME_DONE && !dependency->has_released_dependents)
            return false;
    }
    return true;
}

/* For its first visit, or it is in it. */
static bool is_free(const struct stroll *stroll, uint32_t node)
{
    const struct node_of_model *model = &stroll->model[node];

    return (model->phase == MODEL_NEW || (model->phase == MODEL_VISITED && model->visits == 1)) &&
           depends_on_all_done(stroll, node);
}

/* Of its visits: as many have yielded, or have not, as may. */
static bool is_full(const struct stroll *stroll, uint16_t group, bool of_yielded)
{
    unsigned count = 0;

    for (uint32_t i = 0; i < stroll->config.n; i++)
        count += stroll->model[i].phase == MODEL_VISITED && group_of(stroll, i) == group &&
                 stroll->model[i].has_yielded == of_yielded;
    return count >= (stroll->config.parallelism ? stroll->config.parallelism : 1);
}

static bool may_begin(const struct stroll *stroll, uint32_t node)
{
    const struct node_of_model *model = &stroll->model[node];

    if (stroll->is_stopped || is_full(stroll, group_of(stroll, node), false))
        return false;
    if (model->phase == MODEL_PARKED)
        return model->is_woken || model->due <= stroll->now;
    if (model->phase != MODEL_NEW || !depends_on_all_done(stroll, node))
        return false;
    for (uint32_t i = 0; i < stroll->config.n; i++)
        if (group_of(stroll, i) == group_of(stroll, node) && is_free(stroll, i) &&
            stroll->graph->rank[i] < stroll->graph->rank[node])
            return false;
    return true;
}

static bool any_may_begin(const struct stroll *stroll)
{
    for (uint32_t i = 0; i < stroll->config.n; i++)
        if (may_begin(stroll, i))
            return true;
    return false;
}

static bool all_have_ended(const struct stroll *stroll)
{
    for (uint32_t i = 0; i < stroll->config.n; i++)
        if (stroll->model[i].phase != MODEL_ENDED)
            return false;
    return true;
}

/* And neither woken nor due since. */
static bool is_parked(const struct stroll *stroll, uint32_t node)
{
    const struct node_of_model *model = &stroll->model[node];

    return model->phase == MODEL_PARKED && !model->is_woken && model->due > stroll->now;
}

static int64_t first_due(const struct stroll *stroll)
{
    int64_t due = CLOCK_FOREVER;

    for (uint32_t i = 0; i < stroll->config.n; i++)
        if (is_parked(stroll, i) && stroll->model[i].due < due)
            due = stroll->model[i].due;
    return due;
}

static void end(struct stroll *stroll, uint32_t node, enum walk_outcome outcome, uint32_t cause)
{
    struct node_of_model *model = &stroll->model[node];

    model->phase = MODEL_ENDED;
    model->outcome = outcome;
    model->cause = cause;
}

/* Again and again, until there is no more to skip. */
static void skip(struct stroll *stroll, uint32_t cause)
{
    const struct graph *g = stroll->graph;
    bool again = !stroll->model[cause].has_released_dependents;

    while (again) {
        again = false;
        for (uint32_t i = 0; i < stroll->config.n; i++)
            for (uint32_t e = g->dependency_start[i]; e < g->dependency_start[i + 1]; e++) {
                const struct node_of_model *before = &stroll->model[g->dependencies[e]];

                if (stroll->model[i].phase != MODEL_NEW ||
                    (g->dependencies[e] != cause && before->outcome != WALK_OUTCOME_SKIPPED))
                    continue;
                end(stroll, i, WALK_OUTCOME_SKIPPED, cause);
                again = true;
            }
    }
}

static void end_in_model(struct stroll *stroll, const struct walk_visit *visit,
                         enum walk_verdict verdict)
{
    struct node_of_model *model = &stroll->model[visit->node];

    if (verdict == WALK_DONE) {
        end(stroll, visit->node, WALK_OUTCOME_DONE, UINT32_MAX);
    } else if (verdict == WALK_FAILED) {
        end(stroll, visit->node, WALK_OUTCOME_FAILED, UINT32_MAX);
        skip(stroll, visit->node);
    } else if (stroll->is_stopped) {
        end(stroll, visit->node,
            stroll->time_is_up ? WALK_OUTCOME_TIMED_OUT : WALK_OUTCOME_CANCELLED, UINT32_MAX);
    } else {
        model->phase = MODEL_PARKED;
        model->due =
            visit->retry_after == CLOCK_FOREVER ? CLOCK_FOREVER : stroll->now + visit->retry_after;
        model->has_released_dependents =
            model->has_released_dependents || visit->releases_dependents;
    }
}

/* ---- Walk and model ---- */

static void on_end(void *arg, uint32_t node, enum walk_outcome outcome, uint32_t cause)
{
    struct stroll *stroll = arg;
    struct node_of_model *model = &stroll->model[node];

    EXPECT(model->phase == MODEL_ENDED && !model->is_reported,
           "it has ended, and was not reported");
    model->is_reported = true;
    EXPECT_INT(outcome, model->outcome, "outcome, as reported");
    EXPECT_INT(cause, model->cause, "cause, as reported");
}

void stroll_init(struct stroll *stroll, const struct stroll_config *config)
{
    *stroll = (struct stroll){.config = *config};
    CU_ASSERT_FATAL(config->n <= STROLL_NODES && config->n_groups <= STROLL_GROUPS);
    CU_ASSERT_EQUAL_FATAL(graph_new(config->n, config->edges, config->n_edges, config->ranks, NULL,
                                    NULL, &stroll->graph, NULL),
                          0);
    stroll->walk = walk_new(&(struct walk_config){
        .graph = stroll->graph,
        .groups = config->groups,
        .n_groups = config->n_groups,
        .parallelism = config->parallelism,
        .on_end = on_end,
        .arg = stroll,
    });
}

void stroll_done(struct stroll *stroll)
{
    walk_free(stroll->walk);
    graph_free(stroll->graph);
}

static void wake_in_model(struct stroll *stroll, uint32_t node)
{
    struct node_of_model *model = &stroll->model[node];

    if (model->phase == MODEL_PARKED || model->phase == MODEL_VISITED)
        model->is_woken = true;
}

void stroll_wake(struct stroll *stroll, uint32_t node)
{
    bool was_parked = is_parked(stroll, node);

    wake_in_model(stroll, node);
    EXPECT_INT(walk_wake(stroll->walk, node), was_parked && any_may_begin(stroll), "wake");
}

void stroll_stop(struct stroll *stroll, bool time_is_up)
{
    if (!stroll->is_stopped) {
        stroll->is_stopped = true;
        stroll->time_is_up = time_is_up;
        for (uint32_t i = 0; time_is_up && i < stroll->config.n; i++)
            if (stroll->model[i].phase == MODEL_PARKED) {
                end(stroll, i, WALK_OUTCOME_TIMED_OUT, UINT32_MAX);
                skip(stroll, i);
            }
        for (uint32_t i = 0; i < stroll->config.n; i++)
            if (stroll->model[i].phase == MODEL_NEW || stroll->model[i].phase == MODEL_PARKED)
                end(stroll, i, WALK_OUTCOME_CANCELLED, UINT32_MAX);
    }
    walk_stop(stroll->walk, time_is_up);
}

static void yield(struct stroll *stroll, uint32_t node)
{
    stroll->model[node].has_yielded = !is_full(stroll, group_of(stroll, node), true);
    EXPECT_INT(walk_yield(stroll->walk, node), any_may_begin(stroll), "yield");
}

static void begin_visit(struct stroll *stroll, const struct walk_visit *visit)
{
    struct node_of_model *model = &stroll->model[visit->node];

    EXPECT(may_begin(stroll, visit->node), "it may be visited");
    EXPECT_INT(visit->count, model->visits, "visits before");
    EXPECT_INT(visit->retry_after, 1000, "after a second, if it does not say");
    EXPECT(!visit->releases_dependents, "lets go only if it says so");
    model->phase = MODEL_VISITED;
    model->visits++;
    model->is_woken = model->has_yielded = false;
    stroll->under_way[stroll->n_under_way++] = *visit;
    if (stroll->n_under_way > stroll->most_under_way)
        stroll->most_under_way = stroll->n_under_way;
    CU_ASSERT_FATAL(stroll->n_order < ARRAY_SIZE(stroll->order));
    stroll->order[stroll->n_order++] = visit->node;
    if (stroll->plan[visit->node].yields)
        yield(stroll, visit->node);
}

static void end_visit(struct stroll *stroll, uint32_t at)
{
    struct walk_visit visit = stroll->under_way[at];
    const struct plan_of_node *plan = &stroll->plan[visit.node];
    bool parks = visit.count < plan->parks;
    enum walk_verdict verdict = parks ? WALK_PARKED : plan->fails ? WALK_FAILED : WALK_DONE;

    if (plan->during)
        plan->during(stroll, visit.node);
    if (parks && plan->retry_after)
        visit.retry_after = plan->retry_after;
    visit.releases_dependents = plan->releases_dependents;
    for (stroll->n_under_way--; at < stroll->n_under_way; at++)
        stroll->under_way[at] = stroll->under_way[at + 1];
    end_in_model(stroll, &visit, verdict);
    EXPECT_INT(walk_end_visit(stroll->walk, &visit, verdict, stroll->now),
               any_may_begin(stroll) || all_have_ended(stroll), "news at a visit's end");
}

/* Ends a visit, or lets time go on. False: the stroll is over. */
static bool go_on(struct stroll *stroll, unsigned seed, int64_t due)
{
    if (stroll->n_under_way && (!seed || due == CLOCK_FOREVER || rand() % 4)) {
        end_visit(stroll, seed ? (uint32_t)rand() % stroll->n_under_way : 0);
        return true;
    }
    if (due != CLOCK_FOREVER) {
        stroll->now = due;
        return true;
    }
    if (!stroll->when_stuck)
        return false;
    stroll->when_stuck(stroll);
    return true;
}

static bool step(struct stroll *stroll, unsigned seed)
{
    struct walk_visit visit;
    int64_t due = -1;

    switch (walk_next(stroll->walk, stroll->now, &visit, &due)) {
    case WALK_VISIT:
        begin_visit(stroll, &visit);
        return !seed || !stroll->n_under_way || rand() % 2 || go_on(stroll, seed, CLOCK_FOREVER);
    case WALK_BUSY:
        EXPECT(stroll->n_under_way, "busy");
        break;
    case WALK_WAITING:
        EXPECT(!stroll->n_under_way, "waiting");
        break;
    case WALK_OVER:
        EXPECT(all_have_ended(stroll), "over");
        return false;
    }
    EXPECT(!any_may_begin(stroll), "there is nothing to begin");
    EXPECT(!all_have_ended(stroll), "it is not over");
    EXPECT_INT(due, first_due(stroll), "due");
    return go_on(stroll, seed, due);
}

void stroll_run(struct stroll *stroll, unsigned seed)
{
    uint32_t n_ended = 0;

    if (seed)
        srand(seed);
    while (step(stroll, seed))
        ;
    walk_counts(stroll->walk, &stroll->counts);
    for (uint32_t i = 0; i < stroll->config.n; i++) {
        const struct node_of_model *model = &stroll->model[i];

        EXPECT_INT(walk_outcome(stroll->walk, i), model->outcome, "outcome");
        EXPECT_INT(model->is_reported, model->phase == MODEL_ENDED, "its end was reported of");
        n_ended += model->phase == MODEL_ENDED;
    }
    EXPECT_INT(walk_is_over(stroll->walk), n_ended == stroll->config.n, "is over");
    EXPECT_INT(stroll->counts.done + stroll->counts.failed + stroll->counts.skipped +
                   stroll->counts.cancelled + stroll->counts.timed_out,
               n_ended, "counts");
}

const char *stroll_order(const struct stroll *stroll)
{
    static char text[4096];
    size_t length = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < stroll->n_order && length < sizeof(text) - 16; i++)
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%u", i ? " " : "",
                                   stroll->order[i]);
    return text;
}
