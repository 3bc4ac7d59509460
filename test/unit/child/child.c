/*
 * A program that tests start as a child: it tries what it is told, and prints how that went: "ok",
 * or the error's name, "EACCES".
 *
 *   child VERB [OPERAND]
 *
 * Without arguments it takes the same words from the environment, DO="VERB OPERAND": so a plugin
 * can be told. "complain_of VERB OPERAND" says it among its errors, and exits with 3.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SAID INT_MAX /* it has said what there is to say */

static int number(const char *operand)
{
    return (int)strtol(operand, NULL, 10);
}

/* ---- Files ---- */

static int do_read(const char *path)
{
    char byte;
    int fd = open(path, O_RDONLY);

    return fd < 0 || read(fd, &byte, 1) < 0 ? -1 : 0;
}

static int do_write(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0600);

    return fd < 0 || write(fd, "x", 1) != 1 ? -1 : 0;
}

static int do_open_to_write(const char *path)
{
    return open(path, O_WRONLY);
}

static int do_open_path(const char *path)
{
    return open(path, O_PATH);
}

static int do_list(const char *path)
{
    return open(path, O_RDONLY | O_DIRECTORY);
}

static int do_mkdir(const char *path)
{
    return mkdir(path, 0700);
}

static int do_remove(const char *path)
{
    return unlink(path);
}

static int do_truncate(const char *path)
{
    return truncate(path, 0);
}

static int do_symlink(const char *path)
{
    return symlink("/etc", path);
}

static int do_fifo(const char *path)
{
    return mkfifo(path, 0600);
}

/* Into its own folder, which is where it works. */
static int do_hard_link(const char *path)
{
    return link(path, "link");
}

static int do_steal(const char *path)
{
    return rename(path, "stolen");
}

static int do_move_within(const char *operand)
{
    (void)operand;
    return mkdir("a", 0700) < 0 || mkdir("b", 0700) < 0 || do_write("a/file") < 0
               ? -1
               : rename("a/file", "b/file");
}

static int do_watch(const char *path)
{
    return inotify_add_watch(inotify_init1(0), path, IN_ALL_EVENTS);
}

static int do_handle(const char *path)
{
    struct file_handle handle = {0};
    int id;
    int r = name_to_handle_at(AT_FDCWD, path, &handle, &id, 0);

    return r < 0 && errno == EOVERFLOW ? 0 : r; /* its size was asked for */
}

static int do_xattr(const char *path)
{
    return setxattr(path, "user.test", "x", 1, 0);
}

static int do_chown(const char *path)
{
    return chown(path, getuid(), getgid());
}

static int do_set_time(const char *path)
{
    return utimensat(AT_FDCWD, path, NULL, 0);
}

static int do_go_to(const char *path)
{
    return chdir(path);
}

static int do_go_to_open(const char *path)
{
    return fchdir(open(path, O_RDONLY | O_DIRECTORY));
}

/* Prints the mode that is there afterwards. */
static int do_chmod(const char *path)
{
    struct stat status;

    if (chmod(path, 0) < 0 || stat(path, &status) < 0)
        return -1;
    printf("%o\n", status.st_mode & 07777u);
    return SAID;
}

/* ---- Programs and processes ---- */

static int do_execute(const char *path)
{
    char *const arguments[] = {(char *)(uintptr_t)path, (char *)(uintptr_t) "print",
                               (char *)(uintptr_t) "ok", NULL};

    return execv(path, arguments);
}

static int do_execute_memory(const char *path)
{
    int fd = memfd_create("program", 0);
    char *const arguments[] = {(char *)(uintptr_t)path, NULL};

    return (int)syscall(SYS_execveat, fd, "", arguments, NULL, AT_EMPTY_PATH);
}

static int do_fork(const char *operand)
{
    pid_t child = fork();

    (void)operand;
    if (child == 0)
        _exit(0);
    return child < 0 || waitpid(child, NULL, 0) < 0 ? -1 : 0;
}

static void *nothing(void *arg)
{
    return arg;
}

static int do_thread(const char *operand)
{
    pthread_t thread;

    (void)operand;
    errno = pthread_create(&thread, NULL, nothing, NULL);
    return errno ? -1 : pthread_join(thread, NULL);
}

static int do_leave_group(const char *group)
{
    return setpgid(0, number(group));
}

/* It is not heard of again, but lives. */
static int do_leave_group_and_stay(const char *group)
{
    if (setpgid(0, number(group)) < 0)
        return -1;
    printf("ok\n");
    fflush(stdout);
    pause();
    return 0;
}

static int do_outlive(const char *operand)
{
    (void)operand;
    return prctl(PR_SET_PDEATHSIG, 0);
}

static int do_signal(const char *pid)
{
    return kill(number(pid), 0);
}

static int do_thread_signal(const char *pid)
{
    return (int)syscall(SYS_tgkill, number(pid), number(pid), 0);
}

static int do_tkill(const char *pid)
{
    return (int)syscall(SYS_tkill, number(pid), 0);
}

static int do_queue(const char *pid)
{
    siginfo_t info = {.si_code = SI_QUEUE};

    return (int)syscall(SYS_rt_sigqueueinfo, number(pid), 0, &info);
}

static int do_pidfd_signal(const char *pid)
{
    return (int)syscall(SYS_pidfd_send_signal, syscall(SYS_pidfd_open, number(pid), 0), 0, NULL, 0);
}

static int do_own_signal(const char *operand)
{
    (void)operand;
    signal(SIGUSR1, SIG_IGN);
    return raise(SIGUSR1) || kill(getpid(), SIGUSR1) ? -1 : 0;
}

static int do_pidfd_take(const char *pid)
{
    return (int)syscall(SYS_pidfd_getfd, syscall(SYS_pidfd_open, number(pid), 0), 0, 0);
}

static int do_descriptor_owner(const char *pid)
{
    return fcntl(STDIN_FILENO, F_SETOWN, number(pid));
}

static int do_trace(const char *pid)
{
    return (int)ptrace(PTRACE_SEIZE, number(pid), NULL, NULL);
}

static int do_peek(const char *pid)
{
    char byte;
    struct iovec here = {&byte, 1}, there = {(void *)(uintptr_t)do_peek, 1};

    return (int)process_vm_readv(number(pid), &here, 1, &there, 1, 0) < 0 && errno != EFAULT ? -1
                                                                                             : 0;
}

static int do_limit(const char *pid)
{
    struct rlimit limit;

    return prlimit(number(pid), RLIMIT_NOFILE, NULL, &limit);
}

static int do_pin(const char *pid)
{
    cpu_set_t all;

    return sched_getaffinity(number(pid), sizeof(all), &all) < 0
               ? -1
               : sched_setaffinity(number(pid), sizeof(all), &all);
}

static int do_slow(const char *pid)
{
    return setpriority(PRIO_PROCESS, (id_t)number(pid),
                       getpriority(PRIO_PROCESS, (id_t)number(pid)));
}

/* ---- Sockets ---- */

static int connect_or_bind(const char *operand, bool binds)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)number(operand)),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    return (binds ? bind : connect)(fd, (const struct sockaddr *)&address, sizeof(address));
}

static int do_connect_tcp(const char *port)
{
    return connect_or_bind(port, false);
}

static int do_connect_tcp6(const char *port)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6,
                                   .sin6_port = htons((uint16_t)number(port)),
                                   .sin6_addr = IN6ADDR_LOOPBACK_INIT};

    return connect(socket(AF_INET6, SOCK_STREAM, 0), (const struct sockaddr *)&address,
                   sizeof(address));
}

static int do_bind_tcp(const char *port)
{
    return connect_or_bind(port, true);
}

/* @: abstract. */
static socklen_t unix_address(const char *name, struct sockaddr_un *ret)
{
    size_t length = strnlen(name, sizeof(ret->sun_path) - 1);

    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(ret->sun_path, name, length);
    if (name[0] == '@')
        ret->sun_path[0] = '\0';
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
}

static int do_connect_unix(const char *name)
{
    struct sockaddr_un address;
    socklen_t length = unix_address(name, &address);

    return connect(socket(AF_UNIX, SOCK_STREAM, 0), (const struct sockaddr *)&address, length);
}

/* As long as the address of an IPv6 socket, from the socket's own folder. */
static int do_connect_unix_short(const char *path)
{
    const char *slash = strrchr(path, '/');
    struct sockaddr_un address;

    if (chdir(strndupa(path, (size_t)(slash - path))) < 0)
        return -1;
    unix_address(slash + 1, &address);
    return connect(socket(AF_UNIX, SOCK_STREAM, 0), (const struct sockaddr *)&address,
                   sizeof(struct sockaddr_in6));
}

static int do_unix_datagram(const char *operand)
{
    (void)operand;
    return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

/* MiB, which it uses; then it says so, and stays. */
static int do_take_memory(const char *operand)
{
    size_t bytes = (size_t)number(operand) << 20;
    char *taken = malloc(bytes);

    if (!taken)
        return -1;
    memset(taken, 1, bytes);
    puts("ok");
    fflush(stdout);
    for (;;)
        pause();
}

static int do_pair(const char *type)
{
    int pair[2];

    return socketpair(AF_UNIX, number(type) | SOCK_CLOEXEC, 0, pair);
}

static int do_listen_unix(const char *name)
{
    struct sockaddr_un address;
    socklen_t length = unix_address(name, &address);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    return bind(fd, (const struct sockaddr *)&address, length) < 0 ? -1 : listen(fd, 1);
}

static int do_netlink(const char *protocol)
{
    return socket(AF_NETLINK, SOCK_RAW, number(protocol));
}

static int do_family(const char *family)
{
    return socket(number(family), SOCK_DGRAM, 0);
}

static int internet_socket(int family, const char *operand)
{
    return socket(family, number(operand), number(strchr(operand, ' ') + 1));
}

/* "TYPE PROTOCOL" */
static int do_internet(const char *operand)
{
    return internet_socket(AF_INET, operand);
}

static int do_internet6(const char *operand)
{
    return internet_socket(AF_INET6, operand);
}

/* ---- The kernel: arguments that it refuses for another reason, if it looks at them ---- */

static int do_new_user(const char *operand)
{
    (void)operand;
    return unshare(CLONE_NEWUSER);
}

static int do_clone_new_user(const char *operand)
{
    long child = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);

    (void)operand;
    if (child == 0)
        _exit(0);
    return child < 0 ? -1 : 0;
}

static int do_mount(const char *operand)
{
    return mount("none", operand, "no-such-kind", 0, NULL);
}

static int do_chroot(const char *path)
{
    return chroot(path);
}

static int do_shared_memory(const char *operand)
{
    (void)operand;
    return shmctl(0, IPC_INFO, (struct shmid_ds *)&(struct shminfo){0});
}

static int do_call(const char *operand)
{
    return (int)syscall(number(operand), -1, -1, -1, -1, -1, -1);
}

/* getpid() by its number in 32-bit programs. */
static int do_old_call(const char *operand)
{
#ifdef __x86_64__
    long result;

    __asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory");
    (void)operand;
    return result > 0 ? 0 : -1;
#else
    (void)operand;
    errno = ENOSYS;
    return -1;
#endif
}

/* ---- What it says ---- */

static int do_print(const char *text)
{
    printf("%s\n", text);
    return SAID;
}

static int do_complain(const char *text)
{
    fprintf(stderr, "%s\n", text);
    exit(3);
}

static int do_print_and_stay(const char *text)
{
    printf("%s\n", text);
    fflush(stdout);
    pause();
    return SAID;
}

/* As a provider does that cannot be called. */
static int do_greet(const char *operand)
{
    (void)operand;
    printf("1|5|unix|%s/nowhere|grpc|\n", getenv("TMPDIR"));
    fflush(stdout);
    pause();
    return SAID;
}

static int do_stay(const char *operand)
{
    (void)operand;
    return pause();
}

static int do_pour(const char *operand)
{
    (void)operand;
    for (int i = 0; i < 10000; i++)
        putchar('x');
    return SAID;
}

static const struct {
    const char *verb;
    int (*run)(const char *operand); /* negative: errno; SAID */
} table[] = {
#define VERB(name)       \
    {                    \
#name, do_##name \
    }
    VERB(read),
    VERB(write),
    VERB(open_to_write),
    VERB(open_path),
    VERB(list),
    VERB(mkdir),
    VERB(remove),
    VERB(truncate),
    VERB(symlink),
    VERB(fifo),
    VERB(hard_link),
    VERB(steal),
    VERB(move_within),
    VERB(watch),
    VERB(handle),
    VERB(xattr),
    VERB(chown),
    VERB(chmod),
    VERB(set_time),
    VERB(go_to),
    VERB(go_to_open),
    VERB(execute),
    VERB(execute_memory),
    VERB(fork),
    VERB(thread),
    VERB(leave_group),
    VERB(leave_group_and_stay),
    VERB(outlive),
    VERB(signal),
    VERB(thread_signal),
    VERB(tkill),
    VERB(queue),
    VERB(pidfd_signal),
    VERB(own_signal),
    VERB(pidfd_take),
    VERB(descriptor_owner),
    VERB(trace),
    VERB(peek),
    VERB(limit),
    VERB(pin),
    VERB(slow),
    VERB(connect_tcp),
    VERB(connect_tcp6),
    VERB(bind_tcp),
    VERB(connect_unix),
    VERB(connect_unix_short),
    VERB(unix_datagram),
    VERB(pair),
    VERB(take_memory),
    VERB(listen_unix),
    VERB(netlink),
    VERB(family),
    VERB(internet),
    VERB(internet6),
    VERB(new_user),
    VERB(clone_new_user),
    VERB(mount),
    VERB(chroot),
    VERB(shared_memory),
    VERB(call),
    VERB(old_call),
    VERB(print),
    VERB(complain),
    VERB(print_and_stay),
    VERB(greet),
    VERB(stay),
    VERB(pour),
#undef VERB
};

static const char *attempt(const char *verb, const char *operand)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        int r;

        if (strcmp(verb, table[i].verb) != 0)
            continue;
        r = table[i].run(operand);
        return r == SAID ? NULL : r < 0 ? strerrorname_np(errno) : "ok";
    }
    return "there is no such verb";
}

/* Cuts "VERB OPERAND". */
static const char *cut(char *words)
{
    char *space = strchr(words, ' ');

    if (!space)
        return "";
    *space = '\0';
    return space + 1;
}

static int run(char *words)
{
    const char *said, *operand;
    bool complains = strncmp(words, "complain_of ", 12) == 0;

    words += complains ? 12 : 0;
    operand = cut(words);
    said = attempt(words, operand);
    if (said)
        fprintf(complains ? stderr : stdout, "%s\n", said);
    return complains ? 3 : 0;
}

int main(int argc, char **argv)
{
    char *words = getenv("DO");
    const char *said;

    if (argc < 2)
        return words ? run(words) : 2;
    said = attempt(argv[1], argc > 2 ? argv[2] : "");
    if (said)
        printf("%s\n", said);
    return 0;
}
