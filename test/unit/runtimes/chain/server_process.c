#include "test/unit/runtimes/chain/server_process.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"

static ssize_t read_bytes(const char *path, char *to, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, to, size - 1);

    if (length < 0)
        abort();
    to[length] = '\0';
    close(fd);
    return length;
}

void server_process_find(const char *folder, struct server_process *ret)
{
    char text[32], path[64], pid_file[256];
    int64_t pid;
    struct stat status;

    snprintf(pid_file, sizeof(pid_file), "%s/run.pid", folder);
    read_bytes(pid_file, text, sizeof(text));
    text[strcspn(text, "\n")] = '\0';
    if (!str_to_int64(text, &pid))
        abort();
    *ret = (struct server_process){.pid = (pid_t)pid};
    str_copy(ret->pid_file, sizeof(ret->pid_file), pid_file);
    snprintf(path, sizeof(path), "/proc/%d/cmdline", ret->pid);
    ret->arguments_length = read_bytes(path, ret->arguments, sizeof(ret->arguments));
    snprintf(path, sizeof(path), "/proc/%d/environ", ret->pid);
    ret->environment_length = read_bytes(path, ret->environment, sizeof(ret->environment));
    snprintf(path, sizeof(path), "/proc/%d", ret->pid);
    if (stat(path, &status) < 0)
        abort();
    ret->user = status.st_uid;
    ret->group = status.st_gid;
    snprintf(path, sizeof(path), "/proc/%d/cwd", ret->pid);
    if (readlink(path, ret->folder, sizeof(ret->folder) - 1) < 0)
        abort();
}

static char **words_of(char *text, ssize_t length)
{
    char **words = NEW_ARRAY(char *, (size_t)length + 2);
    size_t count = 0;

    for (char *at = text; at < text + length; at += strlen(at) + 1)
        words[count++] = at;
    return words;
}

/* nginx writes its title over its arguments: "nginx: master process PROGRAM -e …". */
static char **arguments_of(struct server_process *process)
{
    char *title = strstr(process->arguments, "master process ");
    char **words;

    if (!title)
        return words_of(process->arguments, process->arguments_length);
    title += strlen("master process ");
    for (char *c = title; *c; c++)
        if (*c == ' ')
            *c = '\0';
    words = words_of(title, process->arguments + process->arguments_length - title);
    for (char **word = words; *word; word++)
        if (!**word)
            *word = NULL;
    return words;
}

void server_process_restart(struct server_process *process)
{
    int fd;

    kill(-process->pid, SIGKILL);
    while (kill(-process->pid, 0) == 0) {
        waitpid(process->pid, NULL, WNOHANG); /* if it is a child of ours */
        usleep(2000);
    }
    process->pid = fork();
    if (process->pid < 0)
        abort();
    if (process->pid == 0) {
        char **arguments = arguments_of(process);

        fd = open("/dev/null", O_RDWR);
        dup2(fd, 0);
        dup2(fd, 1);
        dup2(fd, 2);
        setsid();
        if (chdir(process->folder) < 0 || setgroups(0, NULL) < 0 || setgid(process->group) < 0 ||
            setuid(process->user) < 0)
            _exit(126);
        execve(arguments[0], arguments,
               words_of(process->environment, process->environment_length));
        _exit(127);
    }
    fd = open(process->pid_file, O_WRONLY | O_TRUNC | O_CLOEXEC);
    dprintf(fd, "%d\n", process->pid);
    close(fd);
}
