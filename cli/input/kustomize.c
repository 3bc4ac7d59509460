/* A kustomization: what kubectl or kustomize prints of it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/input/input.h"
#include "engine/base/buf.h"
#include "engine/base/limits.h"

#define SAID_BYTES (16u << 10) /* of its standard error */

extern char **environ;

/* A program's output, and what it says on standard error. */
struct run {
    pid_t pid;
    int fds[2];
    struct buf texts[2];
};

static int start(struct run *run, char *const *arguments)
{
    int pipes[2][2];
    posix_spawn_file_actions_t actions;
    int r;

    if (pipe2(pipes[0], O_CLOEXEC) < 0)
        return errno;
    if (pipe2(pipes[1], O_CLOEXEC) < 0) {
        r = errno;
        close(pipes[0][0]);
        close(pipes[0][1]);
        return r;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, pipes[0][1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, pipes[1][1], STDERR_FILENO);
    r = posix_spawnp(&run->pid, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    for (int i = 0; i < 2; i++) {
        close(pipes[i][1]);
        run->fds[i] = pipes[i][0];
    }
    return r;
}

/* Reads both until they end. What is past a bound is read, and not kept: a program that cannot
 * write would wait for ever. */
static void read_all(struct run *run)
{
    struct pollfd polls[2] = {{.fd = run->fds[0], .events = POLLIN},
                              {.fd = run->fds[1], .events = POLLIN}};
    char block[65536];

    while (polls[0].fd >= 0 || polls[1].fd >= 0) {
        if (poll(polls, 2, -1) < 0)
            continue;
        for (int i = 0; i < 2; i++) {
            ssize_t n = polls[i].revents ? read(run->fds[i], block, sizeof(block)) : 1;

            if (n == 0 || (n < 0 && errno != EINTR))
                polls[i].fd = -1;
            else if (n > 0 && polls[i].revents)
                buf_add(&run->texts[i], block, (size_t)n);
        }
    }
}

/* Its exit code; -1: a signal ended it. */
static int finish(const struct run *run)
{
    int status;

    while (waitpid(run->pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int take_output(struct input *input, const char *folder, struct run *run,
                       struct error *error)
{
    int code;

    read_all(run);
    code = finish(run);
    if (code != 0)
        return err_set(error, ERR_INVALID, "KustomizeFailed", "%s: kustomize: %s", folder,
                       run->texts[1].length ? run->texts[1].data : "it failed without a word");
    if (buf_overflowed(&run->texts[0]))
        return err_set(error, ERR_TOO_LARGE, "FileTooLarge",
                       "%s: kustomize prints more than %u MiB", folder, LIMIT_DOCUMENT_BYTES >> 20);
    return input_add_text(input, folder, run->texts[0].data, run->texts[0].length, error);
}

int input_add_kustomization(struct input *input, const char *folder, struct error *error)
{
    const char *const programs[][4] = {{"kubectl", "kustomize", folder, NULL},
                                       {"kustomize", "build", folder, NULL}};
    int r = ENOENT;

    for (size_t i = 0; r == ENOENT && i < ARRAY_SIZE(programs); i++) {
        struct run run = {.fds = {-1, -1}};
        int taken = 0;

        buf_init(&run.texts[0], LIMIT_DOCUMENT_BYTES);
        buf_init(&run.texts[1], SAID_BYTES);
        r = start(&run, (char *const *)(uintptr_t)programs[i]);
        if (r == 0)
            taken = take_output(input, folder, &run, error);
        for (int k = 0; k < 2; k++) {
            if (run.fds[k] >= 0)
                close(run.fds[k]);
            buf_done(&run.texts[k]);
        }
        if (r == 0)
            return taken;
    }
    err_set(error, ERR_UNAVAILABLE, "KustomizeNotFound",
            "%s: neither kubectl nor kustomize can be run: %s", folder, strerror(r));
    err_hint(error, "kustomize build FOLDER | kubectl kusion COMMAND -f -");
    return ERR_UNAVAILABLE;
}
