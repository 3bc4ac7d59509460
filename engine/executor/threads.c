#include "engine/executor/private.h"
#include "engine/threads/condition.h"
#include "engine/threads/thread.h"

#define IDLE_THREADS 4 /* these stay; others that are idle for IDLE_FOR end */
#define IDLE_FOR \
    2000 /* ms: less than between the polls of what waits, so that a burst of them leaves none */

/* ---- Idle threads: a stack ---- */

static void push_idle(struct executor *executor, struct worker *worker)
{
    worker->above = NULL;
    worker->below = executor->idle_top;
    if (worker->below)
        worker->below->above = worker;
    else
        executor->idle_bottom = worker;
    executor->idle_top = worker;
    executor->n_idle++;
}

static void remove_idle(struct executor *executor, struct worker *worker)
{
    *(worker->above ? &worker->above->below : &executor->idle_top) = worker->below;
    *(worker->below ? &worker->below->above : &executor->idle_bottom) = worker->above;
    executor->n_idle--;
}

/* A thread that was woken before and has not looked for work yet will find this task. */
void executor_call_thread(struct executor *executor)
{
    struct worker *worker = executor->idle_top;

    if (executor->pieces.count + executor->n_called >= executor->threads)
        return;
    if (worker) {
        remove_idle(executor, worker);
        worker->is_called = true;
        executor->n_called++;
        pthread_cond_signal(&worker->wake);
    } else if (!executor->n_called) {
        executor_start_thread(executor);
    }
}

void executor_watch(struct executor *executor, int64_t until)
{
    struct worker *watch = executor->idle_bottom;

    if (!watch || watch->until <= until)
        return;
    watch->until = until;
    pthread_cond_signal(&watch->wake);
}

/* Queues the tasks that are due, and counts out the pieces that became long. */
static void notice(struct executor *executor, int64_t now)
{
    struct heap_item *item;

    while ((item = heap_first(&executor->timers)) && item->key <= now)
        task_want_turn(CONTAINER_OF(item, struct task, timer), now);
    while ((item = heap_first(&executor->pieces)) && item->key <= now) {
        heap_remove(&executor->pieces, item);
        if (executor->waiting.count)
            executor_call_thread(executor);
    }
}

static int64_t next_event(const struct executor *executor)
{
    const struct heap_item *timer = heap_first(&executor->timers);
    const struct heap_item *piece = heap_first(&executor->pieces);
    int64_t until = timer ? timer->key : CLOCK_FOREVER;

    return piece && piece->key < until ? piece->key : until;
}

/* Waits until the thread is woken or the executor closes. False: it was idle for too long. */
static bool wait_for_call(struct executor *executor, struct worker *worker, int64_t now)
{
    int64_t leaves = executor->n_idle < IDLE_THREADS ? CLOCK_FOREVER : now + IDLE_FOR;

    push_idle(executor, worker);
    for (;; now = executor->clock->monotonic(executor->clock)) {
        if (worker == executor->idle_bottom)
            notice(executor, now); /* may wake this thread, too */
        if (worker->is_called) {
            worker->is_called = false;
            executor->n_called--;
            return true;
        }
        if (executor->is_closing || now >= leaves) {
            remove_idle(executor, worker);
            return executor->is_closing;
        }
        worker->until = worker == executor->idle_bottom ? next_event(executor) : leaves;
        executor->clock->wait(executor->clock, &worker->wake, &executor->lock, worker->until);
    }
}

/* ---- Pieces of work ---- */

static struct share *namespace_of(const struct task *task)
{
    return task->turn.parent->turn.parent;
}

/* Blocks a namespace that has as many pieces under way as it may have, until one of them ends. */
static void count_piece(const struct executor *executor, const struct task *task)
{
    struct share *share = namespace_of(task);

    if (++share->n_running >= executor->max_per_namespace)
        share_block(share);
}

static void uncount_piece(const struct executor *executor, const struct task *task)
{
    struct share *share = namespace_of(task);

    if (share->n_running-- >= executor->max_per_namespace)
        share_unblock(share);
}

static struct task *take_turn(struct executor *executor, struct worker *worker, int64_t now)
{
    struct task *task;

    if (executor->pieces.count >= executor->threads)
        return NULL;
    task = (struct task *)turn_next(&executor->root);
    if (!task)
        return NULL;
    heap_set(&executor->waiting, &task->waiting, now);
    heap_set(&executor->pieces, &worker->piece, now + EXECUTOR_LONG_RUN);
    task->running++;
    executor->n_running++;
    count_piece(executor, task);
    return task;
}

/* Called before this thread begins a piece: wakes a thread for the next task that waits (perhaps
 * the same task), or starts one to watch the time. */
static void hand_over(struct executor *executor, const struct worker *worker)
{
    if (!executor->idle_top && !executor->n_called)
        executor_start_thread(executor);
    else
        executor_call_thread(executor);
    executor_watch(executor, worker->piece.key);
}

static void run_piece(struct executor *executor, struct worker *worker, struct task *task)
{
    struct task_answer answer;
    uint64_t news = task->news;

    hand_over(executor, worker);
    pthread_mutex_unlock(&executor->lock);
    answer = task->run(task->arg);
    pthread_mutex_lock(&executor->lock);
    heap_remove(&executor->pieces, &worker->piece);
    executor->n_running--;
    task->running--;
    uncount_piece(executor, task);
    task_take_answer(task, &answer, news, executor->clock->monotonic(executor->clock));
    task_bury(task);
}

/* ---- Threads ---- */

/* Each thread joins the one that ended before it; executor_end_threads() joins the last. Releases
 * the lock. */
static void end_thread(struct executor *executor)
{
    bool has_ended = executor->has_ended;
    pthread_t ended = executor->ended;

    executor->has_ended = true;
    executor->ended = pthread_self();
    if (--executor->n_threads == 0)
        pthread_cond_signal(&executor->closed);
    pthread_mutex_unlock(&executor->lock);
    if (has_ended)
        pthread_join(ended, NULL);
}

static void *work(void *arg)
{
    struct executor *executor = arg;
    struct worker worker = {0};
    bool stays = true;

    condition_init(&worker.wake);
    pthread_mutex_lock(&executor->lock);
    executor->n_called--;
    while (stays) {
        int64_t now = executor->clock->monotonic(executor->clock);
        struct task *task;

        notice(executor, now);
        task = take_turn(executor, &worker, now);
        if (task)
            run_piece(executor, &worker, task);
        else
            stays = !executor->is_closing && wait_for_call(executor, &worker, now);
    }
    pthread_cond_destroy(&worker.wake);
    end_thread(executor);
    return NULL;
}

bool executor_start_thread(struct executor *executor)
{
    pthread_t thread;

    if (executor->n_threads >= executor->max_threads)
        return false;
    if (thread_start("executor", THREAD_SMALL, work, executor, &thread, NULL) < 0)
        return false;
    executor->n_threads++;
    executor->n_called++;
    return true;
}

void executor_end_threads(struct executor *executor)
{
    pthread_mutex_lock(&executor->lock);
    executor->is_closing = true;
    for (struct worker *worker = executor->idle_top; worker; worker = worker->below)
        pthread_cond_signal(&worker->wake);
    while (executor->n_threads)
        pthread_cond_wait(&executor->closed, &executor->lock);
    pthread_mutex_unlock(&executor->lock);
    pthread_join(executor->ended, NULL);
}
