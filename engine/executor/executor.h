/*
 * The executor: one pool of threads for all operations of the process.
 *
 * A task is something that has pieces of work now and then (an operation's
 * walk). Threads take pieces in turns: round robin between namespaces, within
 * a namespace between its Specs, within a Spec between its tasks, so that
 * nobody gets more than a share while others wait. A task that has nothing to
 * do costs no thread, and no turn.
 *
 * A piece of work may take long: a call in flight costs one small thread. Up
 * to `threads` pieces run at once; a piece that runs for longer than
 * LONG_RUN stops counting against that, and another thread takes its place,
 * up to max_threads in all. A namespace has a part of these: while as many of
 * its pieces are under way, long or not, it gets no turn, so that calls which
 * hang in one namespace leave threads to all others.
 *
 * Thread-safe. No lock is held while a task runs.
 */
#ifndef ENGINE_EXECUTOR_EXECUTOR_H
#define ENGINE_EXECUTOR_EXECUTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/clock.h"
#include "engine/store.h"

#define EXECUTOR_LONG_RUN    5000 /* ms */
#define EXECUTOR_MAX_THREADS 1000 /* by default */

struct executor_config {
    const struct clock_source *clock;
    unsigned threads;     /* pieces of work at once, but for long ones; 0: LIMIT_PARALLELISM */
    unsigned max_threads; /* of all; 0: EXECUTOR_MAX_THREADS */
    unsigned max_per_namespace; /* pieces of one namespace under way; 0: a quarter of max_threads,
                                   and not less than `threads` */
};

struct executor;
struct task;

struct executor *executor_new(const struct executor_config *config);
void executor_free(struct executor *executor); /* when it has no task */
DEFINE_CLEANUP(struct executor *, executor_free)

struct task_answer {
    bool ran;    /* it did a piece of work, and should be asked again in its turn */
    int64_t due; /* else, ms, monotonic: when to ask again unasked; CLOCK_FOREVER: when poked */
};

/* One piece of work, or none. Called by several threads at once, until it answers that there is
 * nothing: what bounds them is the task's own. That answer does not count where the task was poked,
 * or another call did a piece, since the call began. */
typedef struct task_answer task_run(void *arg);

/* key: copied. Nothing is run before task_poke(). */
struct task *task_new(struct executor *executor, const struct spec_key *key, task_run *run,
                      void *arg);
/* There may be something to do: run is called soon, and at least once from its beginning. Quick;
 * from any thread, also from run. Does nothing once task_free() has begun, and is waited for by it:
 * no call may begin after that has returned. */
void task_poke(struct task *task);
/* run is not called any more after it returns, and no call of it is left. Not from run. */
void task_free(struct task *task);
/* The same without waiting, also from run: run is not begun any more, and on_gone(arg) is called
 * when no call of it is left: at once, or by the thread that ends the last. */
void task_drop(struct task *task, void (*on_gone)(void *arg), void *arg);

struct executor_stats {
    size_t threads, running, long_running; /* pieces under way; long_running of them for long */
    size_t ready; /* tasks that wait for a turn: their first, or one more beside those they have */
    int64_t oldest; /* ms, monotonic: since when the one that waits longest does; 0: none waits */
};
void executor_stats(struct executor *executor, struct executor_stats *ret);

#endif
