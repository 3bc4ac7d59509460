#include "engine/threads/thread.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/log/log.h"

/* A thread's own faults end the process in any case; blocked, they would end it without a report.
 */
static void fill_with_signals(sigset_t *ret)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};

    sigfillset(ret);
    for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
        sigdelset(ret, faults[i]);
}

int thread_start(const char *name, size_t stack, void *(*run)(void *arg), void *arg, pthread_t *ret,
                 struct error *error)
{
    char cut[THREAD_NAME_SIZE];
    pthread_attr_t attributes;
    sigset_t all, before;
    int failed;

    fill_with_signals(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = pthread_create(ret, &attributes, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (failed)
        return err_set(error, ERR_UNAVAILABLE, "ThreadNotStarted",
                       "the thread %s cannot be started: %s", name, strerrordesc_np(failed));
    snprintf(cut, sizeof(cut), "%s", name);
    pthread_setname_np(*ret, cut);
    return 0;
}

pthread_t thread_must_start(const char *name, void *(*run)(void *arg), void *arg)
{
    struct error error = {0};
    pthread_t thread;

    if (thread_start(name, THREAD_LARGE, run, arg, &thread, &error) < 0) {
        log_error("a thread cannot be started", "thread", name, "error", error.message, NULL);
        abort();
    }
    return thread;
}
