/*
 * The inside of the loop: for the code that runs on the loop's thread. All other code uses http.h.
 *
 * A task is a request (http_call.c) or a timer (http_timer.c). Any thread may send a notice to a
 * task: the task is put into the inbox, and the loop is woken if it sleeps. Everything else about
 * tasks, and curl_multi, belongs to the loop's thread alone.
 *
 * A task lives in its owner's memory. The owner may free it after it ended: task_end() is the
 * loop's last access. Owners wait for the end under the loop's lock. The loop is reference-counted:
 * code that may take the loop's lock after http_loop_free() holds a reference.
 */
#pragma once

#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "engine/base/heap.h"
#include "runtimes/io/http.h"

enum task_notice {
    TASK_BEGIN = 1 << 0,  /* given by task_submit() */
    TASK_CANCEL = 1 << 1, /* its cancel fired */
    TASK_STOP = 1 << 2,   /* its owner frees it: no more callbacks */
};

struct task;

/* Called on the loop's thread, without its lock. A task that gives curl a handle is the handle's
 * CURLOPT_PRIVATE. */
struct task_type {
    void (*notice)(struct task *task, unsigned notices);
    void (*expire)(struct task *task);                /* its deadline passed */
    void (*finish)(struct task *task, CURLcode code); /* curl is done with its handle */
    void (*shut)(struct task *task);                  /* the loop ends: must task_end() */
};

struct task {
    const struct task_type *type;
    struct http_loop *loop;

    /* Under the loop's lock. */
    unsigned notices;
    bool in_inbox;
    bool submitted;
    bool ended;
    TAILQ_ENTRY(task) inbox;
    pthread_cond_t end;

    /* The loop's thread only. */
    struct heap_item deadline; /* key: of system_clock.monotonic() */
    LIST_ENTRY(task) all;
};

TAILQ_HEAD(task_queue, task);
LIST_HEAD(task_list, task);

struct http_loop {
    pthread_t thread;
    CURLM *multi;
    atomic_uint references;

    pthread_mutex_t lock;
    struct task_queue inbox;
    bool asleep;   /* in curl_multi_poll(), or about to be */
    bool stopping; /* http_loop_free() was called */
    bool closed;   /* takes no more tasks */

    /* The loop's thread only. */
    struct task_list tasks;
    struct heap deadlines;
    int64_t now;    /* of system_clock.monotonic(), when the loop last woke */
    int64_t heard;  /* the same, when bytes of any answer last came */
    unsigned calls; /* number of calls that curl is working on */
    unsigned ended; /* number of calls that ended since memory was last given back */
};

struct http_loop *loop_ref(struct http_loop *loop);
void loop_unref(struct http_loop *loop);
bool loop_is_current(const struct http_loop *loop);
/* The time in `ms` milliseconds, on system_clock.monotonic(); limited to its maximum. */
int64_t loop_time_after(int64_t ms);

void task_init(struct task *task, const struct task_type *type, struct http_loop *loop);
/* Frees a task that has ended or was never submitted. */
void task_done(struct task *task);

/* False: the loop is closed, and has not taken the task. */
bool task_submit(struct task *task);
void task_notify(struct task *task, enum task_notice notice);
/* Blocks until the task ended. Not on the loop's thread. */
void task_wait(struct task *task);

/* On the loop's thread. */
void task_set_deadline(struct task *task, int64_t at);
void task_end(struct task *task);
