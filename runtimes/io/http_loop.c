#include "runtimes/io/http_loop.h"

#include <assert.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/threads/locked.h"
#include "engine/threads/thread.h"
#include "runtimes/io/clock.h"

#define DEFAULT_CONNECTIONS 4
#define DEFAULT_STREAMS     100

/* How long the loop sleeps when nothing is due. */
#define LONGEST_SLEEP_MS 60000

/*
 * curl 7.88 at times leaves bytes of an HTTP/2 answer in its own buffers, where poll() does not
 * see them, until something else wakes it. (Answers of 1.7 MB from a server on Node stood still
 * for 10 s.) So for a while after bytes came, the loop looks again every few milliseconds.
 */
#define LOOK_AGAIN_MS     10
#define LOOK_AGAIN_FOR_MS 1000

/*
 * After so many calls, when nothing came for a while, the memory that is free by now is given back
 * to the system: what answers took of it, and what was done with them.
 */
#define TRIM_AFTER_CALLS 100
#define TRIM_AFTER_MS    1000

static _Thread_local const struct http_loop *current;

/* curl fails here only if it was called wrongly or has no memory. */
static void must(CURLMcode code)
{
    if (code == CURLM_OK)
        return;
    fprintf(stderr, "http loop: %s\n", curl_multi_strerror(code));
    abort();
}

struct http_loop *loop_ref(struct http_loop *loop)
{
    atomic_fetch_add(&loop->references, 1);
    return loop;
}

void loop_unref(struct http_loop *loop)
{
    if (!loop || atomic_fetch_sub(&loop->references, 1) > 1)
        return;
    pthread_mutex_destroy(&loop->lock);
    heap_done(&loop->deadlines);
    free(loop);
}

bool loop_is_current(const struct http_loop *loop)
{
    return current == loop;
}

int64_t loop_time_after(int64_t ms)
{
    int64_t now = system_clock.monotonic(&system_clock);

    return ms > INT64_MAX - now ? INT64_MAX : now + (ms > 0 ? ms : 0);
}

/* With the lock. */
static void wake(struct http_loop *loop)
{
    if (!loop->asleep)
        return;
    loop->asleep = false;
    curl_multi_wakeup(loop->multi);
}

static void give_notice(struct task *task, enum task_notice notice)
{
    task->notices |= notice;
    if (task->in_inbox)
        return;
    task->in_inbox = true;
    TAILQ_INSERT_TAIL(&task->loop->inbox, task, inbox);
    wake(task->loop);
}

void task_init(struct task *task, const struct task_type *type, struct http_loop *loop)
{
    *task = (struct task){.type = type, .loop = loop};
    pthread_cond_init(&task->end, NULL);
}

void task_done(struct task *task)
{
    pthread_cond_destroy(&task->end);
}

bool task_submit(struct task *task)
{
    struct http_loop *loop = task->loop;
    bool taken;
    LOCKED(&loop->lock);

    taken = !loop->closed;
    if (taken) {
        task->submitted = true;
        give_notice(task, TASK_BEGIN);
    }
    return taken;
}

void task_notify(struct task *task, enum task_notice notice)
{
    struct http_loop *loop = task->loop;

    LOCKED(&loop->lock);
    if (!task->submitted)
        task->notices |= notice;
    else if (!task->ended)
        give_notice(task, notice);
}

void task_wait(struct task *task)
{
    struct http_loop *loop = task->loop;

    LOCKED(&loop->lock);
    while (task->submitted && !task->ended)
        pthread_cond_wait(&task->end, &loop->lock);
}

void task_set_deadline(struct task *task, int64_t at)
{
    heap_set(&task->loop->deadlines, &task->deadline, at);
}

void task_end(struct task *task)
{
    struct http_loop *loop = task->loop;

    heap_remove(&loop->deadlines, &task->deadline);
    LIST_REMOVE(task, all);
    LOCKED(&loop->lock);
    if (task->in_inbox)
        TAILQ_REMOVE(&loop->inbox, task, inbox);
    task->in_inbox = false;
    task->ended = true;
    pthread_cond_signal(&task->end);
}

/* Takes the next task from the inbox, with its notices. NULL: the inbox is empty. */
static struct task *next_noticed(struct http_loop *loop, unsigned *ret_notices)
{
    struct task *task;

    pthread_mutex_lock(&loop->lock);
    task = TAILQ_FIRST(&loop->inbox);
    if (task) {
        TAILQ_REMOVE(&loop->inbox, task, inbox);
        task->in_inbox = false;
        *ret_notices = task->notices;
        task->notices = 0;
    }
    pthread_mutex_unlock(&loop->lock);
    if (task && *ret_notices & TASK_BEGIN)
        LIST_INSERT_HEAD(&loop->tasks, task, all);
    return task;
}

static void read_inbox(struct http_loop *loop)
{
    struct task *task;
    unsigned notices;

    while ((task = next_noticed(loop, &notices)))
        task->type->notice(task, notices);
}

/* Calls finish() of the tasks whose handles curl has finished. */
static void collect(struct http_loop *loop)
{
    CURLMsg *message;
    struct task *task;
    int left;

    while ((message = curl_multi_info_read(loop->multi, &left))) {
        assert(message->msg == CURLMSG_DONE);
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&task);
        task->type->finish(task, message->data.result);
    }
}

static void expire(struct http_loop *loop)
{
    struct heap_item *deadline;
    struct task *task;

    while ((deadline = heap_first(&loop->deadlines)) && deadline->key <= loop->now) {
        heap_remove(&loop->deadlines, deadline);
        task = CONTAINER_OF(deadline, struct task, deadline);
        task->type->expire(task);
    }
}

static bool has_memory_to_give(const struct http_loop *loop)
{
    return !loop->calls && loop->ended >= TRIM_AFTER_CALLS;
}

static void give_memory_back(struct http_loop *loop)
{
    if (!has_memory_to_give(loop) || loop->now < loop->heard + TRIM_AFTER_MS)
        return;
    malloc_trim(0);
    loop->ended = 0;
}

static int sleep_limit(const struct http_loop *loop)
{
    const struct heap_item *deadline = heap_first(&loop->deadlines);
    int64_t left = deadline ? deadline->key - loop->now : LONGEST_SLEEP_MS;
    int64_t most = LONGEST_SLEEP_MS;

    if (loop->calls && loop->now < loop->heard + LOOK_AGAIN_FOR_MS)
        most = LOOK_AGAIN_MS;
    else if (has_memory_to_give(loop))
        most = TRIM_AFTER_MS;
    if (left < 0)
        return 0;
    return (int)(left < most ? left : most);
}

/* Sleeps until there is something to do. False: the loop has to end. */
static bool rest(struct http_loop *loop)
{
    int limit;
    bool stopping;

    loop->now = system_clock.monotonic(&system_clock);
    give_memory_back(loop);
    limit = sleep_limit(loop);
    pthread_mutex_lock(&loop->lock);
    stopping = loop->stopping;
    loop->asleep = TAILQ_EMPTY(&loop->inbox) && !stopping;
    if (!loop->asleep)
        limit = 0;
    pthread_mutex_unlock(&loop->lock);
    if (stopping)
        return false;
    must(curl_multi_poll(loop->multi, NULL, 0, limit, NULL));
    pthread_mutex_lock(&loop->lock);
    loop->asleep = false;
    pthread_mutex_unlock(&loop->lock);
    loop->now = system_clock.monotonic(&system_clock);
    return true;
}

static void shut(struct http_loop *loop)
{
    struct task *task;
    unsigned notices;

    pthread_mutex_lock(&loop->lock);
    loop->closed = true;
    pthread_mutex_unlock(&loop->lock);
    while (next_noticed(loop, &notices))
        ; /* from here on they are in loop->tasks */
    while ((task = LIST_FIRST(&loop->tasks)))
        task->type->shut(task);
    must(curl_multi_cleanup(loop->multi));
}

static void *run(void *arg)
{
    struct http_loop *loop = arg;
    int running;

    current = loop;
    while (rest(loop)) {
        read_inbox(loop);
        must(curl_multi_perform(loop->multi, &running));
        collect(loop);
        expire(loop);
    }
    shut(loop);
    return NULL;
}

static void start_curl(void)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        abort();
}

static CURLM *multi_new(const struct http_loop_config *config)
{
    unsigned connections = config->max_connections ? config->max_connections : DEFAULT_CONNECTIONS;
    unsigned streams = config->max_streams ? config->max_streams : DEFAULT_STREAMS;
    CURLM *multi = curl_multi_init();

    if (!multi)
        abort();
    must(curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, (long)connections));
    must(curl_multi_setopt(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, (long)streams));
    must(curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS,
                           config->max_idle ? (long)config->max_idle : (long)connections * 4));
    return multi;
}

int http_loop_new(const struct http_loop_config *config, struct http_loop **ret,
                  struct error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct http_loop *loop;
    int r;

    pthread_once(&once, start_curl);
    loop = NEW(struct http_loop);
    atomic_init(&loop->references, 1);
    pthread_mutex_init(&loop->lock, NULL);
    TAILQ_INIT(&loop->inbox);
    LIST_INIT(&loop->tasks);
    loop->multi = multi_new(config);
    r = thread_start(config->name ? config->name : "http", THREAD_SMALL, run, loop, &loop->thread,
                     error);
    if (r < 0) {
        curl_multi_cleanup(loop->multi);
        loop_unref(loop);
        return r;
    }
    *ret = loop;
    return 0;
}

void http_loop_free(struct http_loop *loop)
{
    if (!loop)
        return;
    assert(!loop_is_current(loop));
    pthread_mutex_lock(&loop->lock);
    loop->stopping = true;
    wake(loop);
    pthread_mutex_unlock(&loop->lock);
    pthread_join(loop->thread, NULL);
    loop_unref(loop);
}
