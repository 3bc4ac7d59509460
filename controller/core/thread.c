#include "controller/core/thread.h"

#include <limits.h>

#include "engine/base/log.h"

static int start(const char *name, void *(*run)(void *arg), void *arg, pthread_t *ret)
{
    char cut[THREAD_NAME_SIZE];
    pthread_attr_t attributes;
    int failed;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, THREAD_STACK_BYTES);
    failed = pthread_create(ret, &attributes, run, arg);
    pthread_attr_destroy(&attributes);
    if (failed)
        return failed;
    snprintf(cut, sizeof(cut), "%s", name);
    pthread_setname_np(*ret, cut);
    return 0;
}

pthread_t thread_start(const char *name, void *(*run)(void *arg), void *arg)
{
    pthread_t thread;
    int failed = start(name, run, arg, &thread);

    if (failed) {
        log_error("a thread cannot be started", "thread", name, "error", strerror(failed), NULL);
        abort();
    }
    return thread;
}
