#include "engine/executor/executor.h"

#include <stdlib.h>

#include "engine/base/limits.h"
#include "engine/base/mem.h"
#include "engine/executor/private.h"
#include "engine/threads/locked.h"

#define NAMESPACE_PART 4 /* a namespace gets one in so many of max_threads */

static unsigned max_per_namespace(const struct executor *executor)
{
    unsigned part = executor->max_threads / NAMESPACE_PART;

    return part > executor->threads ? part : executor->threads;
}

struct executor *executor_new(const struct executor_config *config)
{
    struct executor *executor = NEW(struct executor);

    executor->clock = config->clock;
    executor->threads = config->threads ? config->threads : LIMIT_PARALLELISM;
    executor->max_threads = config->max_threads ? config->max_threads : EXECUTOR_MAX_THREADS;
    executor->max_per_namespace =
        config->max_per_namespace ? config->max_per_namespace : max_per_namespace(executor);
    share_init_root(&executor->root);
    pthread_mutex_init(&executor->lock, NULL);
    pthread_cond_init(&executor->closed, NULL);
    LOCKED(&executor->lock);
    if (!executor_start_thread(executor))
        abort();
    return executor;
}

void executor_free(struct executor *executor)
{
    if (!executor)
        return;
    executor_end_threads(executor);
    pthread_cond_destroy(&executor->closed);
    pthread_mutex_destroy(&executor->lock);
    share_done_root(&executor->root);
    heap_done(&executor->waiting);
    heap_done(&executor->timers);
    heap_done(&executor->pieces);
    free(executor);
}

struct task *task_new(struct executor *executor, const struct spec_key *key, task_run *run,
                      void *arg)
{
    struct task *task = NEW(struct task);

    task->executor = executor;
    task->run = run;
    task->arg = arg;
    atomic_init(&task->pokers, 0);
    LOCKED(&executor->lock);
    turn_init_leaf(&task->turn,
                   share_get(share_get(&executor->root, key->namespace_name), key->name));
    return task;
}

/* With the lock, which is released while on_gone runs. */
void task_bury(struct task *task)
{
    struct executor *executor = task->executor;
    void (*on_gone)(void *arg) = task->on_gone;
    void *arg = task->gone_arg;

    if (!task->is_dropped || task->running || atomic_load(&task->pokers))
        return;
    turn_done_leaf(&task->turn);
    pthread_mutex_unlock(&executor->lock);
    free(task);
    on_gone(arg);
    pthread_mutex_lock(&executor->lock);
}

void task_drop(struct task *task, void (*on_gone)(void *arg), void *arg)
{
    struct executor *executor = task->executor;
    LOCKED(&executor->lock);

    task->is_dropped = true;
    task->on_gone = on_gone;
    task->gone_arg = arg;
    turn_leave(&task->turn);
    heap_remove(&executor->waiting, &task->waiting);
    heap_remove(&executor->timers, &task->timer);
    task_bury(task);
}

void task_want_turn(struct task *task, int64_t now)
{
    struct executor *executor = task->executor;

    task->news++;
    if (task->turn.waits)
        return;
    heap_remove(&executor->timers, &task->timer);
    heap_set(&executor->waiting, &task->waiting, now);
    turn_wait(&task->turn);
    executor_call_thread(executor);
}

void task_poke(struct task *task)
{
    struct executor *executor = task->executor;

    atomic_fetch_add(&task->pokers, 1);
    LOCKED(&executor->lock);
    if (!task->is_dropped)
        task_want_turn(task, executor->clock->monotonic(executor->clock));
    if (atomic_fetch_sub(&task->pokers, 1) == 1 && task->is_dropped)
        task_bury(task);
}

/* "No work" counts only if there was no news since run began. Otherwise run may have looked too
 * early, and is called once more. */
void task_take_answer(struct task *task, const struct task_answer *answer, uint64_t news,
                      int64_t now)
{
    struct executor *executor = task->executor;

    if (task->is_dropped)
        return;
    if (answer->ran) {
        task_want_turn(task, now);
        return;
    }
    if (task->news != news)
        return;
    turn_leave(&task->turn);
    heap_remove(&executor->waiting, &task->waiting);
    if (answer->due == CLOCK_FOREVER || (task->timer.place && task->timer.key <= answer->due))
        return;
    heap_set(&executor->timers, &task->timer, answer->due);
    executor_watch(executor, answer->due);
}

void executor_stats(struct executor *executor, struct executor_stats *ret)
{
    const struct heap_item *oldest;
    LOCKED(&executor->lock);

    oldest = heap_first(&executor->waiting);
    *ret = (struct executor_stats){
        .threads = executor->n_threads,
        .running = executor->n_running,
        .long_running = executor->n_running - executor->pieces.count,
        .ready = executor->waiting.count,
        .oldest = oldest ? oldest->key : 0,
    };
}
