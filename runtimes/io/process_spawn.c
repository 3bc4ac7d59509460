/*
 * Starts one child. Between fork() and execve() the child calls only what is safe there: other
 * threads may have held any lock when it was forked.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtimes/io/process_private.h"

#define EXIT_NOT_RUN 127

enum { READ_END, WRITE_END };

/* Of the child, and what failed in it. */
struct failure {
    int code;      /* errno */
    char step[24]; /* "execve" */
};

static void close_pair(int pair[2])
{
    for (int i = 0; i < 2; i++)
        if (pair[i] >= 0)
            close(pair[i]);
}

/* ---- The child ---- */

_Noreturn static void give_up(int report, const char *step)
{
    struct failure failure = {.code = errno};
    ssize_t written;

    memcpy(failure.step, step, strnlen(step, sizeof(failure.step) - 1));
    written = write(report, &failure, sizeof(failure));
    _exit(written < 0 ? EXIT_NOT_RUN + 1 : EXIT_NOT_RUN);
}

static bool limit(__rlimit_resource_t what, uint64_t bound)
{
    struct rlimit limit = {.rlim_cur = bound, .rlim_max = bound};

    return setrlimit(what, &limit) == 0;
}

static bool reset_signals(void)
{
    sigset_t none;

    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL); /* some cannot be set */
    sigemptyset(&none);
    return sigprocmask(SIG_SETMASK, &none, NULL) == 0;
}

/* report: becomes the descriptor 3, which execve() closes. */
static bool set_descriptors(int output, int errors, int report)
{
    int input = open("/dev/null", O_RDONLY | O_CLOEXEC);

    /* The pipes are above the standard descriptors (above_standard()). */
    return input >= 0 && dup2(input, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
           dup2(errors, STDERR_FILENO) >= 0 && dup3(report, STDERR_FILENO + 1, O_CLOEXEC) >= 0 &&
           syscall(SYS_close_range, STDERR_FILENO + 2, ~0U, 0) == 0;
}

/* Where memory runs out, it goes before its parent. It is no failure if it cannot be set: /proc may
 * not be there. */
static void go_first(void)
{
    static const char most[] = "1000";
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (fd >= 0 && write(fd, most, sizeof(most) - 1) >= 0)
        close(fd);
}

/* What it never gets back. */
static const char *confine(const struct sandbox *sandbox)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return "PR_SET_NO_NEW_PRIVS";
    return sandbox ? sandbox_enter(sandbox) : NULL;
}

_Noreturn static void run_child(const struct process_config *config, pid_t parent, int output,
                                int errors, int report)
{
    const char *failed;

    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        give_up(report, "PR_SET_PDEATHSIG");
    if (getppid() != parent) /* it ended before that */
        _exit(EXIT_NOT_RUN);
    if (setpgid(0, 0) < 0)
        give_up(report, "setpgid");
    if (!reset_signals())
        give_up(report, "sigprocmask");
    if (chdir(config->directory) < 0)
        give_up(report, "chdir");
    go_first();
    failed = confine(config->sandbox); /* before its descriptors are closed */
    if (failed)
        give_up(report, failed);
    if (!set_descriptors(output, errors, report))
        give_up(report, "its descriptors");
    report = STDERR_FILENO + 1;
    if (!limit(RLIMIT_CORE, 0) || !limit(RLIMIT_NOFILE, config->max_files) ||
        !limit(RLIMIT_FSIZE, config->max_file_bytes) ||
        (config->max_memory && !limit(RLIMIT_DATA, config->max_memory)))
        give_up(report, "setrlimit");
    umask(077);
    execve(config->arguments[0], (char *const *)(uintptr_t)config->arguments,
           (char *const *)(uintptr_t)config->environment);
    give_up(report, "execve");
}

/* ---- The parent ---- */

static int failed(struct error *error, const char *what, int code)
{
    return err_set(error, ERR_UNAVAILABLE, NULL, "%s: %s", what, strerrordesc_np(code));
}

/* The child's standard descriptors must not be the pipes themselves. */
static bool above_standard(int *fd)
{
    int moved;

    if (*fd > STDERR_FILENO + 1)
        return true;
    moved = fcntl(*fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 2);
    if (moved < 0)
        return false;
    close(*fd);
    *fd = moved;
    return true;
}

static bool make_pipe(int ret[2])
{
    return pipe2(ret, O_CLOEXEC) == 0 && above_standard(&ret[READ_END]) &&
           above_standard(&ret[WRITE_END]);
}

/* Waits until the child executes its program, or tells why it cannot. */
static int await_program(const struct process_config *config, int report, struct error *error)
{
    struct failure failure;
    ssize_t n;

    do
        n = read(report, &failure, sizeof(failure));
    while (n < 0 && errno == EINTR);
    if (n == 0)
        return 0;
    if (n != sizeof(failure))
        return failed(error, "the child's report", EPIPE);
    failure.step[sizeof(failure.step) - 1] = '\0';
    return err_set(error, ERR_INVALID, NULL, "%s cannot be run: %s: %s", config->arguments[0],
                   failure.step, strerrordesc_np(failure.code));
}

static int start(const struct process_config *config, int output[2], int errors[2], int report[2],
                 struct spawned *ret, struct error *error)
{
    pid_t parent = getpid();
    int r;

    ret->pid = fork();
    if (ret->pid < 0)
        return failed(error, "fork", errno);
    if (ret->pid == 0)
        run_child(config, parent, output[WRITE_END], errors[WRITE_END], report[WRITE_END]);
    setpgid(ret->pid, ret->pid); /* as the child does: whichever is first */
    close(report[WRITE_END]);
    report[WRITE_END] = -1;
    ret->pidfd = (int)syscall(SYS_pidfd_open, ret->pid, 0);
    r = ret->pidfd < 0 ? failed(error, "pidfd_open", errno)
                       : await_program(config, report[READ_END], error);
    if (r < 0) {
        kill(ret->pid, SIGKILL);
        waitpid(ret->pid, NULL, 0);
        if (ret->pidfd >= 0)
            close(ret->pidfd);
    }
    return r;
}

int process_spawn(const struct process_config *config, struct spawned *ret, struct error *error)
{
    int output[2] = {-1, -1}, errors[2] = {-1, -1}, report[2] = {-1, -1};
    int r = make_pipe(output) && make_pipe(errors) && make_pipe(report)
                ? start(config, output, errors, report, ret, error)
                : failed(error, "pipe", errno);

    if (r >= 0) {
        ret->output = output[READ_END];
        ret->errors = errors[READ_END];
        output[READ_END] = errors[READ_END] = -1;
        fcntl(ret->output, F_SETFL, O_NONBLOCK);
        fcntl(ret->errors, F_SETFL, O_NONBLOCK);
    }
    close_pair(output);
    close_pair(errors);
    close_pair(report);
    return r;
}
