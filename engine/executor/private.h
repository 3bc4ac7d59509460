/*
 * The inside of the executor: tasks (executor.c) and threads (threads.c). Everything here is under
 * the executor's lock, except fields that are set once.
 *
 * Threads. Idle threads form a stack. The thread that became idle last is woken first, so the
 * threads at the bottom stay idle, and end after a while if there are many. The thread at the
 * bottom watches the time: it wakes when the first timer is due, or when the first piece becomes a
 * long one. A thread that begins a piece while no thread is idle starts another, so there is always
 * a thread that watches. If max_threads run, or the system gives no more threads, the threads check
 * the time between two pieces.
 */
#pragma once

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
    struct heap_item waiting; /* while the task waits for a turn; key: since when */
    struct heap_item timer;   /* while the task does not wait but is due later; key: when */
    uint64_t news;            /* counts pokes and finished pieces */
    unsigned running;         /* calls of run under way */
    atomic_uint pokers;       /* calls of task_poke() under way; changed without the lock, too */
    bool is_dropped;
    void (*on_gone)(void *arg); /* of task_drop() */
    void *gone_arg;
};

struct worker {
    pthread_cond_t wake;
    struct heap_item piece; /* a short piece under way; key: when it becomes a long one */
    bool is_called;
    int64_t until;                /* idle: the latest time to wake */
    struct worker *above, *below; /* neighbours in the stack of idle threads */
};

struct executor {
    const struct clock_source *clock;
    unsigned threads, max_threads, max_per_namespace;
    pthread_mutex_t lock;
    struct share root;
    struct heap waiting, timers; /* of tasks */
    struct heap pieces;          /* the short pieces under way, which count against `threads` */
    unsigned n_running;          /* pieces under way, long ones too */
    unsigned n_threads;
    unsigned n_called; /* threads that were woken or started and have not looked for work yet */
    struct worker *idle_top, *idle_bottom;
    unsigned n_idle;
    bool is_closing;
    pthread_cond_t closed; /* signalled when n_threads is 0 */
    pthread_t ended;       /* the thread that ended last; the next one to end joins it */
    bool has_ended;
};

/* ---- executor.c ---- */

/* The task may have work: it waits for a turn from now on. */
void task_want_turn(struct task *task, int64_t now);
/* Handles the answer of a call of run; news: task->news when the call began. */
void task_take_answer(struct task *task, const struct task_answer *answer, uint64_t news,
                      int64_t now);

/* Frees a dropped task when no thread uses it any more. The caller must not use it afterwards. */
void task_bury(struct task *task);

/* ---- threads.c ---- */

bool executor_start_thread(struct executor *executor); /* false: no thread could be started */
/* A task waits for a turn: wakes a thread, if one more may run. */
void executor_call_thread(struct executor *executor);
/* Makes the watching thread wake at `until`, at the latest. */
void executor_watch(struct executor *executor, int64_t until);
/* Ends all threads, and waits for them. */
void executor_end_threads(struct executor *executor);
