#include <assert.h>
#include <stdlib.h>

#include "engine/base/mem.h"
#include "runtimes/io/http_loop.h"

struct http_timer {
    struct task task;
    int64_t at; /* of system_clock.monotonic() */
    void (*fn)(void *arg);
    void *arg;
};

/* The task is a timer's first member. */
static struct http_timer *timer_of(struct task *task)
{
    return (struct http_timer *)task;
}

static void timer_notice(struct task *task, unsigned notices)
{
    if (notices & TASK_STOP)
        task_end(task);
    else
        task_set_deadline(task, timer_of(task)->at);
}

static void timer_expire(struct task *task)
{
    struct http_timer *timer = timer_of(task);

    timer->fn(timer->arg);
    task_end(task);
}

static const struct task_type timer_type = {
    .notice = timer_notice,
    .expire = timer_expire,
    .shut = task_end,
};

struct http_timer *http_timer_new(struct http_loop *loop, int64_t delay, void (*fn)(void *arg),
                                  void *arg)
{
    struct http_timer *timer = NEW(struct http_timer);

    task_init(&timer->task, &timer_type, loop_ref(loop));
    timer->at = loop_time_after(delay);
    timer->fn = fn;
    timer->arg = arg;
    task_submit(&timer->task);
    return timer;
}

void http_timer_free(struct http_timer *timer)
{
    struct http_loop *loop;

    if (!timer)
        return;
    loop = timer->task.loop;
    assert(!loop_is_current(loop) || timer->task.ended);
    task_notify(&timer->task, TASK_STOP);
    task_wait(&timer->task);
    task_done(&timer->task);
    free(timer);
    loop_unref(loop);
}
