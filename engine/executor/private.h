/*
 * The executor's inside: tasks (executor.c) and threads (threads.c). Whatever
 * is here is under the executor's lock, save what is set once.
 *
 * Threads. One that has nothing to do is idle, on a stack: the one that became
 * idle last is called first, so that those below stay idle, and end after a
 * while if they are many. The thread at the bottom watches: it wakes when the
 * first timer is due, or the first piece under way becomes a long one. A
 * thread that begins a piece while none is idle starts another, so that there
 * is always one that watches, unless there are max_threads or the system gives
 * no more; then threads see to it between two pieces.
 */
#ifndef ENGINE_EXECUTOR_PRIVATE_H
#define ENGINE_EXECUTOR_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/base/heap.h"
#include "engine/executor/executor.h"
#include "engine/executor/turns.h"

struct task {
    struct turn turn; /* first member */
    struct executor *executor;
    task_run *run;
    void *arg;
    struct heap_item waiting; /* while its turn waits; key: since when */
    struct heap_item timer;   /* while it does not, and is due some time; key: when */
    uint64_t news;            /* counts pokes, and pieces done */
    unsigned running;         /* calls of run */
    atomic_uint pokers;       /* calls of task_poke(); changed without the lock, too */
    bool is_freed;
    pthread_cond_t left;        /* is_freed: there is no poker, or no call of run, any more */
    void (*on_gone)(void *arg); /* is_freed by task_drop(): called when it is gone */
    void *gone_arg;
};

struct worker {
    pthread_cond_t wake;
    struct heap_item piece; /* under way, and not for long; key: when it will be */
    bool is_called;
    int64_t until;                /* idle: it wakes then, at the latest */
    struct worker *above, *below; /* idle */
};

struct executor {
    const struct clock_source *clock;
    unsigned threads, max_threads, max_per_namespace;
    pthread_mutex_t lock;
    struct share root;
    struct heap waiting, timers; /* of tasks */
    struct heap pieces;          /* of workers: what counts against `threads` */
    unsigned n_running;          /* pieces, long ones too */
    unsigned n_threads;
    unsigned n_called; /* threads that have been called or started, and will look what there is */
    struct worker *idle_top, *idle_bottom;
    unsigned n_idle;
    bool is_closing;
    pthread_cond_t closed; /* n_threads is 0 */
    pthread_t ended;       /* the thread that ended last: joined by the next to end */
    bool has_ended;
};

/* ---- executor.c ---- */

/* There is news for the task: it waits for a turn. */
void task_want_turn(struct task *task, int64_t now);
/* What a call of run answered; news: task->news as it began. */
void task_take_answer(struct task *task, const struct task_answer *answer, uint64_t news,
                      int64_t now);

/* Frees a task that was dropped, if nothing is in it any more: the last thing done with it. */
void task_bury(struct task *task);

/* ---- threads.c ---- */

bool executor_start_thread(struct executor *executor); /* false: no thread more */
/* Something waits for a turn: a thread is called, if one more may run. */
void executor_call_thread(struct executor *executor);
/* Something is to be done then. */
void executor_watch(struct executor *executor, int64_t until);
/* All threads end; waits for them. */
void executor_end_threads(struct executor *executor);

#endif
