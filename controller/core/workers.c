#include "controller/core/workers.h"

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/threads/thread.h"

struct workers {
    struct workers_config config;
    struct cancel *stop;
    pthread_t threads[];
};

static void follow_up(struct workqueue *queue, const char *key, struct reconcile_result result)
{
    switch (result.kind) {
    case RECONCILE_DONE:
        workqueue_forget(queue, key);
        break;
    case RECONCILE_RETRY:
        if (result.is_new_failure)
            workqueue_forget(queue, key);
        workqueue_add_rate_limited(queue, key, result.after ? result.after : RETRY_AFTER);
        if (result.most > 0) /* of two times, the earlier counts */
            workqueue_add_after(queue, key, result.most, WORKQUEUE_RETRY);
        break;
    case RECONCILE_AFTER:
        workqueue_forget(queue, key);
        workqueue_add_after(queue, key, result.after, result.priority);
        break;
    case RECONCILE_WAITING:
        if (result.after > 0)
            workqueue_add_after(queue, key, result.after, WORKQUEUE_CHANGE);
        break;
    }
}

static void *run(void *arg)
{
    struct workers *workers = arg;
    const struct workers_config *config = &workers->config;

    for (char *key; (key = workqueue_get(config->queue)); free(key)) {
        follow_up(config->queue, key, config->reconcile(config->arg, key, workers->stop));
        workqueue_done(config->queue, key);
    }
    return NULL;
}

struct workers *workers_new(const struct workers_config *config)
{
    struct workers *workers =
        mem_new(sizeof(*workers) + config->count * sizeof(workers->threads[0]));

    workers->config = *config;
    workers->stop = cancel_new(NULL);
    for (unsigned i = 0; i < config->count; i++) {
        _cleanup_free_ char *name = str_printf("%s-%u", config->name, i);

        workers->threads[i] = thread_must_start(name, run, workers);
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
    free(workers);
}
