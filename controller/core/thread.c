#include "controller/core/thread.h"

#include <limits.h>

#include "engine/base/log.h"

pthread_t thread_start(const char *name, void *(*run)(void *arg), void *arg)
{
    char cut[THREAD_NAME_SIZE];
    pthread_attr_t attributes;
    pthread_t thread;
    int failed;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, THREAD_STACK_BYTES);
    failed = pthread_create(&thread, &attributes, run, arg);
    pthread_attr_destroy(&attributes);
    if (failed) {
        log_error("a thread cannot be started", "thread", name, "error", strerror(failed), NULL);
        abort();
    }
    snprintf(cut, sizeof(cut), "%s", name);
    pthread_setname_np(thread, cut);
    return thread;
}
