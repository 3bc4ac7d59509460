/*
 * The executor is one pool of threads for all operations of the process.
 *
 * A task is a source of pieces of work, such as the walk of an operation. Threads take turns: round
 * robin between namespaces, within a namespace between its Specs, within a Spec between its tasks.
 * So no namespace gets more than its share while others wait. A task without work costs neither a
 * thread nor a turn.
 *
 * A piece of work may block for long; a call in flight occupies one small thread. Up to `threads`
 * short pieces run at once. A piece that runs for longer than EXECUTOR_LONG_RUN no longer counts,
 * and another thread takes its place, up to max_threads in all. Each namespace may have at most
 * max_per_namespace pieces under way, short or long. So calls that hang in one namespace leave
 * threads for the others.
 *
 * Thread-safe. No lock is held while a task runs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "engine/store.h"
#include "engine/threads/clock.h"

#define EXECUTOR_LONG_RUN    5000 /* ms */
#define EXECUTOR_MAX_THREADS 1000 /* default of max_threads */

struct executor_config {
    const struct clock_source *clock;
    unsigned threads;     /* pieces of work at once, without the long ones; 0: LIMIT_PARALLELISM */
    unsigned max_threads; /* threads in all; 0: EXECUTOR_MAX_THREADS */
    unsigned max_per_namespace; /* pieces of one namespace under way; 0: a quarter of max_threads,
                                   but at least `threads` */
};

struct executor;
struct task;

struct executor *executor_new(const struct executor_config *config);
void executor_free(struct executor *executor); /* when all its tasks are gone */
DEFINE_CLEANUP(struct executor *, executor_free)

struct task_answer {
    bool ran;    /* run did a piece of work: call it again in its turn */
    int64_t due; /* without work: call run again then (ms, monotonic); CLOCK_FOREVER: after the next
                    poke */
};

/* Does one piece of work, or finds none. Several threads call it at once until it finds none; a
 * task limits its own parallelism. The answer "none" is ignored if, since the call began, the task
 * was poked or another call did a piece. */
typedef struct task_answer task_run(void *arg);

/* key: copied. The task does not run before the first task_poke(). */
struct task *task_new(struct executor *executor, const struct spec_key *key, task_run *run,
                      void *arg);
/* Announces work: run will be called soon, at least once after this moment. Does not block. Any
 * thread may call it, and run itself, until task_drop() has returned; once task_drop() has begun,
 * it does nothing. */
void task_poke(struct task *task);
/* Frees the task. No new call of run begins afterwards. Those under way are not waited for:
 * on_gone(arg) is called when the last one has ended, at once or later by the thread that ran it.
 * run may call it. */
void task_drop(struct task *task, void (*on_gone)(void *arg), void *arg);

struct executor_stats {
    size_t threads, running, long_running; /* running: pieces under way, of which long_running are
                                              long */
    size_t ready; /* tasks that wait for a turn */
    int64_t oldest; /* ms, monotonic: since when the first of them waits; 0: none waits */
};
void executor_stats(struct executor *executor, struct executor_stats *ret);
