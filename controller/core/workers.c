#include "controller/core/workers.h"

#include "controller/core/thread.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"

struct workers {
    struct workers_config config;
    struct cancel *stop; /* parent of all reconciles' */
    pthread_mutex_t mutex;
    struct strmap running; /* key to its cancel; a key is out once */

    /* A thread without a turn neither takes a key nor reconciles. A lock of their own: a reconcile
     * that waits gives its turn away with locks held which firing its cancel takes. */
    pthread_mutex_t turns_mutex; /* of all below */
    pthread_cond_t turn_free;
    bool is_stopping;
    unsigned turns;   /* that are taken */
    unsigned waiting; /* reconciles that gave theirs away */
    unsigned n_threads;
    pthread_t threads[]; /* count + WORKERS_WAITING of them at most */
};

/* ---- Turns ---- */

/* False: there are none any more. */
static bool take_turn(struct workers *workers)
{
    bool taken;

    pthread_mutex_lock(&workers->turns_mutex);
    while (!workers->is_stopping && workers->turns >= workers->config.count)
        pthread_cond_wait(&workers->turn_free, &workers->turns_mutex);
    taken = !workers->is_stopping;
    workers->turns += taken;
    pthread_mutex_unlock(&workers->turns_mutex);
    return taken;
}

static void give_turn(struct workers *workers)
{
    pthread_mutex_lock(&workers->turns_mutex);
    workers->turns--;
    pthread_cond_signal(&workers->turn_free);
    pthread_mutex_unlock(&workers->turns_mutex);
}

/* ---- One reconcile ---- */

static struct cancel *begin(struct workers *workers, const char *key)
{
    struct cancel *cancel = cancel_new(workers->stop);

    pthread_mutex_lock(&workers->mutex);
    strmap_put(&workers->running, key, cancel);
    pthread_mutex_unlock(&workers->mutex);
    return cancel;
}

/* Says whether it was cancelled. After this nobody else knows the cancel. */
static bool end(struct workers *workers, const char *key, struct cancel *cancel)
{
    bool was_cancelled;

    pthread_mutex_lock(&workers->mutex);
    strmap_remove(&workers->running, key);
    was_cancelled = cancel_fired(cancel);
    pthread_mutex_unlock(&workers->mutex);
    cancel_free(cancel);
    return was_cancelled;
}

static void follow_up(struct workqueue *queue, const char *key, struct reconcile_result result)
{
    switch (result.kind) {
    case RECONCILE_DONE:
        workqueue_forget(queue, key);
        break;
    case RECONCILE_RETRY:
        workqueue_add_rate_limited(queue, key);
        break;
    case RECONCILE_AFTER:
        workqueue_forget(queue, key);
        workqueue_add_after(queue, key, result.after);
        break;
    }
}

static void reconcile(struct workers *workers, const char *key)
{
    const struct workers_config *config = &workers->config;
    struct cancel *cancel = begin(workers, key);
    struct reconcile_result result = config->reconcile(config->arg, key, cancel);

    if (end(workers, key, cancel))
        workqueue_add(config->queue, key);
    else
        follow_up(config->queue, key, result);
    workqueue_done(config->queue, key);
}

/* ---- Threads ---- */

static void *run(void *arg)
{
    struct workers *workers = arg;

    while (take_turn(workers)) {
        _cleanup_free_ char *key = workqueue_get(workers->config.queue);

        if (key)
            reconcile(workers, key);
        give_turn(workers);
    }
    return NULL;
}

static char *next_name(const struct workers *workers)
{
    return str_printf("%s-%u", workers->config.name, workers->n_threads);
}

static void start_threads(struct workers *workers)
{
    while (workers->n_threads < workers->config.count) {
        _cleanup_free_ char *name = next_name(workers);

        workers->threads[workers->n_threads++] = thread_start(name, run, workers);
    }
}

/* Turns' lock held. Where there can be no more threads, others do without. */
static void add_thread(struct workers *workers)
{
    _cleanup_free_ char *name = next_name(workers);

    if (thread_try_start(name, run, workers, &workers->threads[workers->n_threads]))
        workers->n_threads++;
}

/* Turns' lock held. One for each turn, and one for each reconcile that waits. */
static bool lacks_thread(const struct workers *workers)
{
    unsigned waiting = workers->waiting < WORKERS_WAITING ? workers->waiting : WORKERS_WAITING;

    return !workers->is_stopping && workers->n_threads < workers->config.count + waiting;
}

void workers_wait(struct workers *workers, bool waits)
{
    pthread_mutex_lock(&workers->turns_mutex);
    if (waits) {
        workers->turns--;
        workers->waiting++;
        if (lacks_thread(workers))
            add_thread(workers);
        pthread_cond_signal(&workers->turn_free);
    } else {
        workers->turns++;
        workers->waiting--;
    }
    pthread_mutex_unlock(&workers->turns_mutex);
}

/* ---- Lifetime ---- */

struct workers *workers_new(const struct workers_config *config)
{
    struct workers *workers =
        mem_new(sizeof(*workers) + (config->count + WORKERS_WAITING) * sizeof(workers->threads[0]));

    workers->config = *config;
    workers->stop = cancel_new(config->cancel);
    pthread_mutex_init(&workers->mutex, NULL);
    pthread_mutex_init(&workers->turns_mutex, NULL);
    pthread_cond_init(&workers->turn_free, NULL);
    strmap_init(&workers->running);
    pthread_mutex_lock(&workers->turns_mutex);
    start_threads(workers);
    pthread_mutex_unlock(&workers->turns_mutex);
    return workers;
}

static void end_turns(struct workers *workers)
{
    pthread_mutex_lock(&workers->turns_mutex);
    workers->is_stopping = true;
    pthread_cond_broadcast(&workers->turn_free);
    pthread_mutex_unlock(&workers->turns_mutex);
}

void workers_stop(struct workers *workers)
{
    if (!workers)
        return;
    end_turns(workers);
    workqueue_shut_down(workers->config.queue);
    cancel_fire(workers->stop, "Shutdown");
    for (unsigned i = 0; i < workers->n_threads; i++)
        pthread_join(workers->threads[i], NULL);
    cancel_free(workers->stop);
    strmap_done(&workers->running);
    pthread_cond_destroy(&workers->turn_free);
    pthread_mutex_destroy(&workers->turns_mutex);
    pthread_mutex_destroy(&workers->mutex);
    free(workers);
}

void workers_cancel_key(struct workers *workers, const char *key, const char *reason)
{
    /* Under the lock, so that the reconcile cannot end and free its cancel meanwhile. */
    pthread_mutex_lock(&workers->mutex);
    cancel_fire(strmap_get(&workers->running, key), reason);
    pthread_mutex_unlock(&workers->mutex);
}
