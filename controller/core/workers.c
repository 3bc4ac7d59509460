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
    pthread_t threads[];
};

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

static void *run(void *arg)
{
    struct workers *workers = arg;
    const struct workers_config *config = &workers->config;

    for (char *key; (key = workqueue_get(config->queue)); free(key)) {
        struct cancel *cancel = begin(workers, key);
        struct reconcile_result result = config->reconcile(config->arg, key, cancel);

        if (end(workers, key, cancel))
            workqueue_add(config->queue, key);
        else
            follow_up(config->queue, key, result);
        workqueue_done(config->queue, key);
    }
    return NULL;
}

struct workers *workers_new(const struct workers_config *config)
{
    struct workers *workers =
        mem_new(sizeof(*workers) + config->count * sizeof(workers->threads[0]));

    workers->config = *config;
    workers->stop = cancel_new(config->cancel);
    pthread_mutex_init(&workers->mutex, NULL);
    strmap_init(&workers->running);
    for (unsigned i = 0; i < config->count; i++) {
        _cleanup_free_ char *name = str_printf("%s-%u", config->name, i);

        workers->threads[i] = thread_start(name, run, workers);
    }
    return workers;
}

void workers_stop(struct workers *workers)
{
    if (!workers)
        return;
    workqueue_shut_down(workers->config.queue);
    cancel_fire(workers->stop, "Shutdown");
    for (unsigned i = 0; i < workers->config.count; i++)
        pthread_join(workers->threads[i], NULL);
    cancel_free(workers->stop);
    strmap_done(&workers->running);
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
