#include "runtimes/io/process.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/threads/condition.h"
#include "engine/threads/locked.h"
#include "engine/threads/thread.h"
#include "runtimes/io/clock.h"
#include "runtimes/io/process_private.h"

#define READ_BYTES 4096
#define GO_FATAL   2   /* exit status of programs of Go that their runtime ends */
#define MOST_READS 256 /* at a time: what a pipe holds at most; others want their turn */

enum process_phase { PROCESS_WANTED, PROCESS_FAILED, PROCESS_RUNS, PROCESS_ENDED };

struct process {
    struct processes *all;
    TAILQ_ENTRY(process) entry;

    /* Under the lock of all. */
    enum process_phase phase;
    const struct process_config *config; /* of the caller of process_start(), who waits */
    struct error *error;                 /* the same */
    struct buf line;                     /* the first line, or its beginning */
    bool has_line;
    char *last; /* of its errors: a ring of PROCESS_ERRORS_BYTES */
    size_t n_errors;
    bool has_fatal_words, has_panicked;
    int status; /* of wait() */

    /* The thread's. */
    struct spawned child; /* descriptors: -1 when closed */
};

TAILQ_HEAD(process_list, process);

struct processes {
    pthread_t thread;
    int wakeup; /* eventfd */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct process_list list;
    bool stopping;
};

static void wake(const struct processes *all)
{
    uint64_t one = 1;

    if (write(all->wakeup, &one, sizeof(one)) < 0)
        return; /* it is awake: the counter is full */
}

/* ---- The thread: with the lock, but for the waiting and the starting ---- */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void start(struct processes *all, struct process *process)
{
    struct error error = {0};
    struct spawned child;
    int r;

    pthread_mutex_unlock(&all->lock);
    r = process_spawn(process->config, &child, &error);
    pthread_mutex_lock(&all->lock);
    if (r >= 0)
        process->child = child;
    else
        err_copy(process->error, &error);
    process->phase = r >= 0 ? PROCESS_RUNS : PROCESS_FAILED;
    pthread_cond_broadcast(&all->changed);
}

static void keep_output(struct process *process, const char *data, size_t length)
{
    const char *end = memchr(data, '\n', length);

    if (process->has_line)
        return;
    buf_add(&process->line, data, end ? (size_t)(end - data) : length);
    process->has_line = end || buf_overflowed(&process->line);
    if (process->has_line)
        pthread_cond_broadcast(&process->all->changed);
}

static bool has_words(const char *data, size_t length, const char *words)
{
    return memmem(data, length, words, strlen(words));
}

/* The runtime of Go writes such words at once, and its stack after them. */
static void keep_errors(struct process *process, const char *data, size_t length)
{
    process->has_fatal_words =
        process->has_fatal_words || has_words(data, length, "out of memory") ||
        has_words(data, length, "cannot allocate memory") || has_words(data, length, "SIGSEGV");
    process->has_panicked = process->has_panicked || has_words(data, length, "panic: ");
    for (size_t i = 0; i < length; i++)
        process->last[process->n_errors++ % PROCESS_ERRORS_BYTES] = data[i];
}

/* Reads what is there. A process that goes on printing is read again in its next turn. */
static void drain(struct process *process, int *fd,
                  void (*keep)(struct process *process, const char *data, size_t length))
{
    char data[READ_BYTES];
    ssize_t n = 1;

    if (*fd < 0)
        return;
    for (int i = 0; i < MOST_READS && (n = read(*fd, data, sizeof(data))) > 0; i++)
        keep(process, data, (size_t)n);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        close_fd(fd);
}

/* While the process is not reaped, nothing else can have its number. It may have left its group. */
static void kill_all(const struct process *process)
{
    kill(-process->child.pid, SIGKILL);
    kill(process->child.pid, SIGKILL);
}

static void reap(struct process *process)
{
    siginfo_t info = {0};

    if (waitid(P_PIDFD, (id_t)process->child.pidfd, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
        !info.si_pid)
        return;
    kill_all(process);
    waitpid(process->child.pid, &process->status, 0);
    drain(process, &process->child.output, keep_output);
    drain(process, &process->child.errors, keep_errors);
    close_fd(&process->child.output);
    close_fd(&process->child.errors);
    close_fd(&process->child.pidfd);
    process->phase = PROCESS_ENDED;
    pthread_cond_broadcast(&process->all->changed);
}

/* Starts what is wanted, reads and reaps. A process that is started while the lock is free may be
 * freed then, so the list is read from its beginning again. */
static void attend(struct processes *all)
{
    struct process *process;

again:
    TAILQ_FOREACH(process, &all->list, entry) {
        if (process->phase == PROCESS_WANTED) {
            start(all, process);
            goto again;
        }
        if (process->phase != PROCESS_RUNS)
            continue;
        drain(process, &process->child.output, keep_output);
        drain(process, &process->child.errors, keep_errors);
        reap(process);
    }
}

static size_t list_descriptors(struct processes *all, struct pollfd **ret, size_t *capacity)
{
    struct process *process;
    size_t n = 0;

#define LISTEN(descriptor)                                                   \
    do {                                                                     \
        *ret = mem_grow(*ret, n, capacity, sizeof(**ret));                   \
        (*ret)[n++] = (struct pollfd){.fd = (descriptor), .events = POLLIN}; \
    } while (0)
    LISTEN(all->wakeup);
    TAILQ_FOREACH(process, &all->list, entry) {
        if (process->phase != PROCESS_RUNS)
            continue;
        LISTEN(process->child.output); /* poll() ignores -1 */
        LISTEN(process->child.errors);
        LISTEN(process->child.pidfd);
    }
#undef LISTEN
    return n;
}

static void *run(void *arg)
{
    struct processes *all = arg;
    _cleanup_free_ struct pollfd *descriptors = NULL;
    size_t capacity = 0;

    pthread_mutex_lock(&all->lock);
    while (!all->stopping) {
        size_t n = list_descriptors(all, &descriptors, &capacity);
        uint64_t count;

        pthread_mutex_unlock(&all->lock);
        poll(descriptors, n, -1);
        if (descriptors[0].revents && read(all->wakeup, &count, sizeof(count)) < 0)
            count = 0; /* nothing was there */
        pthread_mutex_lock(&all->lock);
        attend(all);
    }
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

/* ---- All processes ---- */

int processes_new(const char *thread_name, struct processes **ret, struct error *error)
{
    struct processes *all = NEW(struct processes);
    int r;

    all->wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (all->wakeup < 0) {
        free(all);
        return err_set(error, ERR_UNAVAILABLE, NULL, "eventfd: %s", strerrordesc_np(errno));
    }
    pthread_mutex_init(&all->lock, NULL);
    condition_init(&all->changed);
    TAILQ_INIT(&all->list);
    r = thread_start(thread_name, THREAD_SMALL, run, all, &all->thread, error);
    if (r < 0) {
        close(all->wakeup);
        free(all);
        return r;
    }
    *ret = all;
    return 0;
}

void processes_free(struct processes *all)
{
    if (!all)
        return;
    pthread_mutex_lock(&all->lock);
    all->stopping = true;
    pthread_mutex_unlock(&all->lock);
    wake(all);
    pthread_join(all->thread, NULL);
    close(all->wakeup);
    pthread_cond_destroy(&all->changed);
    pthread_mutex_destroy(&all->lock);
    free(all);
}

/* ---- One process ---- */

static void done(struct process *process)
{
    TAILQ_REMOVE(&process->all->list, process, entry);
    buf_done(&process->line);
    free(process->last);
    free(process);
}

int process_start(struct processes *all, const struct process_config *config, struct process **ret,
                  struct error *error)
{
    struct process *process = NEW(struct process);
    struct error failure = {0};

    process->all = all;
    process->config = config;
    process->error = &failure;
    process->last = mem_new(PROCESS_ERRORS_BYTES);
    buf_init(&process->line, PROCESS_LINE_BYTES);
    pthread_mutex_lock(&all->lock);
    TAILQ_INSERT_TAIL(&all->list, process, entry);
    wake(all);
    while (process->phase == PROCESS_WANTED)
        pthread_cond_wait(&all->changed, &all->lock);
    process->config = NULL;
    process->error = NULL;
    if (failure.code)
        done(process);
    else
        *ret = process;
    pthread_mutex_unlock(&all->lock);
    return err_copy(error, &failure);
}

void process_free(struct process *process)
{
    struct processes *all;

    if (!process)
        return;
    all = process->all;
    LOCKED(&all->lock);
    if (process->phase == PROCESS_RUNS)
        kill_all(process);
    while (process->phase == PROCESS_RUNS)
        pthread_cond_wait(&all->changed, &all->lock);
    done(process);
}

static void on_cancel(void *arg)
{
    struct processes *all = arg;

    LOCKED(&all->lock);
    pthread_cond_broadcast(&all->changed);
}

static int line_of(struct process *process, char **ret, struct error *error)
{
    if (process->has_line && buf_overflowed(&process->line))
        return err_set(error, ERR_TOO_LARGE, NULL,
                       "its first line of output has more than %d bytes", PROCESS_LINE_BYTES);
    if (process->has_line) {
        *ret = str_new_n(process->line.data, process->line.length);
        return 0;
    }
    if (process->phase == PROCESS_ENDED)
        return err_set(error, ERR_UNAVAILABLE, NULL, "it ended before its first output");
    return 1;
}

int process_wait_line(struct process *process, int64_t deadline, struct cancel *cancel, char **ret,
                      struct error *error)
{
    struct processes *all = process->all;
    struct cancel_listener *listener = cancel_listen(cancel, on_cancel, all);
    int r;

    pthread_mutex_lock(&all->lock);
    while ((r = line_of(process, ret, error)) > 0) {
        if (cancel_fired(cancel))
            r = err_set(error, ERR_CANCELLED, cancel_reason(cancel), "cancelled: %s",
                        cancel_reason(cancel));
        else if (system_clock.monotonic(&system_clock) >= deadline)
            r = err_set(error, ERR_TIMEOUT, NULL, "it printed nothing in time");
        if (r < 0)
            break;
        system_clock.wait(&system_clock, &all->changed, &all->lock, deadline);
    }
    pthread_mutex_unlock(&all->lock);
    cancel_unlisten(cancel, listener);
    return r;
}

void process_kill(struct process *process)
{
    LOCKED(&process->all->lock);
    if (process->phase == PROCESS_RUNS)
        kill_all(process);
}

bool process_wait_end(struct process *process, int64_t deadline)
{
    struct processes *all = process->all;
    bool ended;
    LOCKED(&all->lock);

    while (!(ended = process->phase == PROCESS_ENDED) &&
           system_clock.monotonic(&system_clock) < deadline)
        system_clock.wait(&system_clock, &all->changed, &all->lock, deadline);
    return ended;
}

bool process_has_ended(struct process *process)
{
    return process_wait_end(process, 0);
}

pid_t process_id(const struct process *process)
{
    return process->child.pid;
}

int64_t process_memory(const struct process *process)
{
    _cleanup_free_ char *path = str_printf("/proc/%d/statm", (int)process->child.pid);
    FILE *file = fopen(path, "re");
    long long size, resident = 0;

    if (!file)
        return 0;
    if (fscanf(file, "%lld %lld", &size, &resident) != 2)
        resident = 0;
    fclose(file);
    return resident * sysconf(_SC_PAGESIZE);
}

char *process_describe_end(struct process *process)
{
    int status;

    if (!process_has_ended(process))
        return NULL;
    /* From here on the thread does not touch it. */
    status = process->status;
    return WIFSIGNALED(status) ? str_printf("killed by signal %d (%s)", WTERMSIG(status),
                                            sigdescr_np(WTERMSIG(status)))
                               : str_printf("exit status %d", WEXITSTATUS(status));
}

bool process_lacked_memory(struct process *process)
{
    return process_has_ended(process) && WIFEXITED(process->status) &&
           WEXITSTATUS(process->status) == GO_FATAL && process->has_fatal_words &&
           !process->has_panicked;
}

char *process_last_errors(struct process *process)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    size_t kept;

    if (!process_has_ended(process) || !process->n_errors)
        return NULL;
    kept = process->n_errors < PROCESS_ERRORS_BYTES ? process->n_errors : PROCESS_ERRORS_BYTES;
    for (size_t i = process->n_errors - kept; i < process->n_errors; i++)
        buf_add_char(&text, process->last[i % PROCESS_ERRORS_BYTES]);
    return buf_take(&text);
}
