#include "controller/reconcile/progress.h"

#include "controller/reconcile/run.h"
#include "engine/base/str.h"

static int64_t now(const struct run *run)
{
    return run->context->clock->monotonic(run->context->clock);
}

void progress_begin(struct run *run, const char *doing)
{
    run->progress.doing = doing;
    run->progress.due = now(run) + PROGRESS_FIRST;
    pthread_mutex_init(&run->progress.mutex, NULL);
}

void progress_end(struct run *run)
{
    if (!run->progress.doing)
        return;
    run->progress.doing = NULL;
    pthread_mutex_destroy(&run->progress.mutex);
}

static void say(struct run *run, const struct operation_result *result)
{
    _cleanup_free_ char *message = str_printf("%s: waiting for %s: %s", run->progress.doing,
                                              result->id, result->error.message);
    struct run_status status = {
        .verdict = {"Unknown", "Progressing", message, PROGRESS_RECONCILING, NULL}};

    run_begin_status(run, &status);
}

void progress_on_pending(void *arg, const struct operation_result *result)
{
    struct run *run = arg;

    /* Who finds another at it has nothing to add. */
    if (!run->progress.doing || pthread_mutex_trylock(&run->progress.mutex) != 0)
        return;
    if (now(run) >= run->progress.due) {
        say(run, result);
        run->progress.due = now(run) + PROGRESS_INTERVAL;
    }
    pthread_mutex_unlock(&run->progress.mutex);
}
