#include "runtimes/io/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/buf.h"
#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "runtimes/io/process.h"
#include "runtimes/io/sandbox_private.h"
#include "test/unit/suite.h"

#define SOON 10000 /* ms */
#define NONE (-1)  /* no sandbox, instead of a version of Landlock */
#define ANY  ""    /* answer */

/* ---- The stage ---- */

/*
 *   FOLDER/token        of the operator
 *   FOLDER/other/       another tenant's, with a secret and a socket
 *   FOLDER/own/         the child's
 */
struct stage {
    struct processes *processes;
    char *folder, *own, *files, *program;
    int port, tcp; /* that somebody listens on */
    int unix_path, unix_abstract;
};

static void write_file(const char *folder, const char *name)
{
    _cleanup_free_ char *path = str_printf("%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    CU_ASSERT_FATAL(fd >= 0 && write(fd, "secret", 6) == 6);
    close(fd);
}

static char *make_folder(const char *folder, const char *name)
{
    char *path = str_printf("%s/%s", folder, name);

    CU_ASSERT_FATAL(mkdir(path, 0700) == 0);
    return path;
}

static int listen_on(const void *address, size_t length)
{
    int family = ((const struct sockaddr *)address)->sa_family;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    CU_ASSERT_FATAL(fd >= 0 && bind(fd, address, (socklen_t)length) == 0 && listen(fd, 64) == 0);
    return fd;
}

static int listen_on_unix(const char *path, bool is_abstract)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    memcpy(address.sun_path + is_abstract, path, strlen(path));
    return listen_on(&address, offsetof(struct sockaddr_un, sun_path) + is_abstract + strlen(path));
}

static void listen_on_tcp(struct stage *stage)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof(address);

    stage->tcp = listen_on(&address, sizeof(address));
    getsockname(stage->tcp, (struct sockaddr *)&address, &length);
    stage->port = ntohs(address.sin_port);
}

/* A program beside the test's own. */
static char *program_named(const char *name)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

    CU_ASSERT_FATAL(length > 0);
    path[length] = '\0';
    return str_printf("%.*s/%s", (int)(strrchr(path, '/') - path), path, name);
}

static void stage_init(struct stage *stage, const char *program)
{
    _cleanup_free_ char *other = NULL, *path = NULL, *abstract = NULL;

    *stage = (struct stage){.folder = str_new("/tmp/kusion-test-XXXXXX")};
    CU_ASSERT_FATAL(processes_new("test", &stage->processes, NULL) == 0);
    CU_ASSERT_FATAL(mkdtemp(stage->folder) != NULL);
    stage->own = make_folder(stage->folder, "own");
    other = make_folder(stage->folder, "other");
    stage->files = make_folder(stage->folder, "files");
    write_file(stage->files, "module");
    write_file(stage->folder, "token");
    write_file(other, "secret");
    path = str_printf("%s/socket", other);
    stage->unix_path = listen_on_unix(path, false);
    abstract = str_printf("%s/.", stage->folder);
    stage->unix_abstract = listen_on_unix(abstract, true);
    listen_on_tcp(stage);
    stage->program = program_named(program);
}

static void stage_done(struct stage *stage)
{
    const char *const arguments[] = {"/bin/rm", "-rf", stage->folder, NULL};
    struct process *process = NULL;

    if (process_start(stage->processes,
                      &(struct process_config){.arguments = arguments,
                                               .environment = arguments + 3,
                                               .directory = "/",
                                               .max_files = 64},
                      &process, NULL) == 0)
        process_wait_end(process, system_clock.monotonic(&system_clock) + SOON);
    process_free(process);
    processes_free(stage->processes);
    close(stage->tcp);
    close(stage->unix_path);
    close(stage->unix_abstract);
    free(stage->folder);
    free(stage->own);
    free(stage->files);
    free(stage->program);
}

/* "$own/file": with what it stands for. */
static char *expand(const struct stage *stage, const char *text)
{
    _cleanup_free_ char *parent = str_printf("%d", getpid());
    _cleanup_free_ char *group = str_printf("%d", getpgid(0));
    _cleanup_free_ char *port = str_printf("%d", stage->port);
    const struct {
        const char *name, *value;
    } names[] = {{"$own", stage->own}, {"$folder", stage->folder}, {"$self", stage->program},
                 {"$parent", parent},  {"$group", group},          {"$port", port}};
    _cleanup_buf_ struct buf result = BUF_INIT;

    while (*text) {
        size_t i = 0;

        while (i < ARRAY_SIZE(names) && !str_has_prefix(text, names[i].name))
            i++;
        if (i < ARRAY_SIZE(names)) {
            buf_add_str(&result, names[i].value);
            text += strlen(names[i].name);
        } else {
            buf_add_char(&result, *text++);
        }
    }
    return buf_take(&result);
}

static int start(const struct stage *stage, const struct sandbox *sandbox, const char *verb,
                 const char *operand, struct process **ret, struct error *error)
{
    const char *const arguments[] = {stage->program, verb, operand, NULL};

    return process_start(stage->processes,
                         &(struct process_config){.arguments = arguments,
                                                  .environment = arguments + 3,
                                                  .directory = stage->own,
                                                  .max_files = 64,
                                                  .max_file_bytes = 1 << 20,
                                                  .sandbox = sandbox},
                         ret, error);
}

/* What the child says of its try, or how it ended without a word. */
static char *attempt(const struct stage *stage, int version, const char *verb, const char *operand)
{
    _cleanup_(sandbox_free_p) struct sandbox *sandbox = NULL;
    _cleanup_(process_free_p) struct process *process = NULL;
    _cleanup_free_ char *expanded = expand(stage, operand);
    struct sandbox_config config = {
        .program = stage->program, .files = stage->files, .folder = stage->own};
    int64_t deadline = system_clock.monotonic(&system_clock) + SOON;
    struct error error = {0};
    char *line = NULL;

    if (version != NONE && sandbox_new_for(&config, version, &sandbox, &error) < 0)
        return str_new(error.message);
    if (start(stage, sandbox, verb, expanded, &process, &error) < 0)
        return str_new(error.message);
    if (process_wait_line(process, deadline, NULL, &line, &error) >= 0)
        return line;
    return process_wait_end(process, deadline) ? process_describe_end(process)
                                               : str_new(error.message);
}

/* ---- What it tries ---- */

#define TEXT(text)   #text
#define NUMBER(call) TEXT(call)
/* A system call with arguments that are refused for another reason where it is allowed. */
#define CALL(name, code)                                \
    {                                                   \
        "call", NUMBER(SYS_##name), NULL, code, 0, NULL \
    }

static const struct attempt {
    const char *verb, *operand;
    const char *without; /* the sandbox; NULL: anything else than within */
    const char *within;
    int from; /* the version of Landlock from which on that holds; 0: by the filter alone */
    const char *earlier; /* what earlier ones answer; NULL: as without; or ANY */
} attempts[] = {
    /* What it must be able to do. */
    {"read", "$self", "ok", "ok", 0, NULL},
    {"list", "$folder/files", "ok", "ok", 0, NULL},
    {"read", "$folder/files/module", "ok", "ok", 0, NULL},
    {"read", "/etc/ssl/certs/ca-certificates.crt", "ok", "ok", 0, NULL},
    {"list", "/etc/ssl/certs", "ok", "ok", 0, NULL},
    {"read", "/etc/resolv.conf", "ok", "ok", 0, NULL},
    {"read", "/etc/hosts", "ok", "ok", 0, NULL},
    {"read", "/etc/nsswitch.conf", "ok", "ok", 0, NULL},
    {"read", "/dev/urandom", "ok", "ok", 0, NULL},
    {"read", "/dev/null", "ok", "ok", 0, NULL},
    {"write", "/dev/null", "ok", "ok", 0, NULL},
    {"list", "$own", "ok", "ok", 0, NULL},
    {"write", "$own/file", "ok", "ok", 0, NULL},
    {"mkdir", "$own/folder", "ok", "ok", 0, NULL},
    {"fifo", "$own/fifo", "ok", "ok", 0, NULL},
    {"move_within", "", "ok", "ok", 2, ANY},
    {"listen_unix", "$own/socket", "ok", "ok", 0, NULL},
    {"pair", "1", "ok", "ok", 0, NULL},
    {"connect_tcp", "$port", "ok", "ok", 0, NULL},
    {"connect_tcp6", "1", "ECONNREFUSED", "ECONNREFUSED", 0, NULL}, /* nobody listens */
    {"bind_tcp", "0", "ok", "ok", 0, NULL},
    {"netlink", "0", "ok", "ok", 0, NULL}, /* the machine's addresses */
    {"thread", "", "ok", "ok", 0, NULL},
    {"own_signal", "", "ok", "ok", 0, NULL},
    {"limit", "0", "ok", "ok", 0, NULL},
    {"execute", "$self", "ok", "ok", 0, NULL},

    /* What came with it, it only reads. */
    {"write", "$folder/files/module", "ok", "EACCES", 1, NULL},
    {"write", "$folder/files/file", "ok", "EACCES", 1, NULL},

    /* Files of the operator, of others, of the system. */
    {"read", "$folder/token", "ok", "EACCES", 1, NULL},
    {"write", "$folder/token", "ok", "EACCES", 1, NULL},
    {"remove", "$folder/token", "ok", "EACCES", 1, NULL},
    {"truncate", "$folder/token", "ok", "EACCES", 3, "EPERM"},
    {"hard_link", "$folder/token", "ok", "EXDEV", 1, NULL},
    {"steal", "$folder/token", "ok", "EACCES", 1, NULL},
    {"symlink", "$own/link", "ok", "EACCES", 1, NULL},
    {"list", "$folder", "ok", "EACCES", 1, NULL},
    {"watch", "$folder", "ok", "EPERM", 0, NULL},
    {"handle", "$folder/token", "ok", "EPERM", 0, NULL},
    {"list", "$folder/other", "ok", "EACCES", 1, NULL},
    {"read", "$folder/other/secret", "ok", "EACCES", 1, NULL},
    {"read", "$own/../other/secret", "ok", "EACCES", 1, NULL},
    {"write", "$folder/other/file", "ok", "EACCES", 1, NULL},
    {"write", "$folder/file", "ok", "EACCES", 1, NULL},
    {"write", "/tmp/kusion-test-of-the-sandbox", "ok", "EACCES", 1, NULL},
    {"write", "/dev/shm/kusion-test-of-the-sandbox", "ok", "EACCES", 1, NULL},
    {"open_to_write", "/etc/resolv.conf", "ok", "EACCES", 1, NULL},
    {"open_to_write", "/etc/ssl/certs/ca-certificates.crt", "ok", "EACCES", 1, NULL},
    {"read", "/etc/passwd", "ok", "EACCES", 1, NULL},
    {"list", "/etc/ssl", "ok", "EACCES", 1, NULL},
    {"list", "/", "ok", "EACCES", 1, NULL},
    {"list", "/tmp", "ok", "EACCES", 1, NULL},
    {"list", "/usr/lib", "ok", "EACCES", 1, NULL},
    {"chmod", "$own", "0", "700", 0, NULL},
    {"chmod", "$folder", "0", "700", 0, NULL},
    {"chown", "$folder", "ok", "EPERM", 0, NULL},
    {"xattr", "$folder/token", NULL, "EPERM", 0, NULL},
    {"set_time", "$folder/token", "ok", "EPERM", 0, NULL},

    /* The operator's process, and what /proc says of all. */
    {"list", "/proc", "ok", "EACCES", 1, NULL},
    {"read", "/proc/self/status", "ok", "EACCES", 1, NULL},
    {"read", "/proc/$parent/environ", "ok", "EACCES", 1, NULL},
    {"read", "/proc/$parent/cmdline", "ok", "EACCES", 1, NULL},
    {"read", "/proc/$parent/maps", "ok", "EACCES", 1, NULL},
    {"read", "/proc/$parent/mem", "EIO", "EACCES", 1, NULL},
    {"list", "/proc/$parent/fd", "ok", "EACCES", 1, NULL},
    {"read", "/proc/$parent/root/etc/passwd", "ok", "EACCES", 1, NULL},
    {"read", "/proc/net/unix", "ok", "EACCES", 1, NULL},
    {"open_path", "/proc/$parent/fd/0", "ok", "EACCES", 1, NULL},
    {"trace", "$parent", "ok", "EPERM", 0, NULL},
    {"peek", "$parent", "ok", "EPERM", 0, NULL},
    {"pidfd_take", "$parent", "ok", "EPERM", 0, NULL},
    {"signal", "$parent", "ok", "EPERM", 0, NULL},
    {"signal", "0", "ok", "EPERM", 0, NULL},
    {"signal", "-1", "ok", "EPERM", 0, NULL},
    {"thread_signal", "$parent", "ok", "EPERM", 0, NULL},
    {"tkill", "$parent", "ok", "EPERM", 0, NULL},
    {"queue", "$parent", "ok", "EPERM", 0, NULL},
    {"pidfd_signal", "$parent", "ok", "EPERM", 0, NULL},
    {"descriptor_owner", "$parent", "ok", "EPERM", 0, NULL},
    {"limit", "$parent", "ok", "EPERM", 0, NULL},
    {"pin", "$parent", "ok", "EPERM", 0, NULL},
    {"slow", "$parent", "ok", "EPERM", 0, NULL},

    /* Programs, and processes that live on. */
    {"execute", "/bin/sh", NULL, "EACCES", 1, NULL},
    {"execute", "/bin/true", NULL, "EACCES", 1, NULL},
    {"execute_memory", "x", "ENOEXEC", "EPERM", 0, NULL},
    {"fork", "", "ok", "EPERM", 0, NULL},
    {"leave_group", "$group", "ok", "EPERM", 0, NULL},
    {"outlive", "", "ok", "EPERM", 0, NULL},

    /* Sockets. */
    {"bind_tcp", "$port", NULL, "EACCES", 4, NULL},
    {"connect_unix", "@$folder/.", "ok", "EPERM", 6, NULL}, /* as long as what is allowed */
    {"connect_unix", "@$folder", "ECONNREFUSED", "EPERM", 0, NULL},
    {"connect_unix", "$folder/other/socket", "ok", "EPERM", 0, NULL},
    {"unix_datagram", "", "ok", "EPROTONOSUPPORT", 0, NULL},
    {"pair", "2", "ok", "EPROTONOSUPPORT", 0, NULL},
    {"netlink", "4", NULL, "EPROTONOSUPPORT", 0, NULL}, /* lists all sockets, with their paths */
    {"family", "17", "ok", "EAFNOSUPPORT", 0, NULL},    /* AF_PACKET */
    {"connect_unix_short", "$folder/other/socket", "ok", "EPERM", 0, NULL}, /* by its last name */
    {"go_to", "$own", "ok", "EPERM", 0, NULL},
    {"go_to_open", "$own", "ok", "EPERM", 0, NULL},
    {"internet", "1 6", "ok", "ok", 0, NULL},                /* TCP */
    {"internet", "2 17", "ok", "ok", 0, NULL},               /* UDP */
    {"internet", "1 262", NULL, "EPROTONOSUPPORT", 0, NULL}, /* MPTCP: its ports are not guarded */
    {"internet", "2 1", NULL, "EPROTONOSUPPORT", 0, NULL},   /* ICMP */
    {"internet", "3 6", NULL, "EPROTONOSUPPORT", 0, NULL},   /* raw */
    {"internet6", "1 6", "ok", "ok", 0, NULL},
    {"internet6", "1 262", NULL, "EPROTONOSUPPORT", 0, NULL},
    {"internet6", "3 17", NULL, "EPROTONOSUPPORT", 0, NULL},

    /* The kernel. */
    {"new_user", "", NULL, "EPERM", 0, NULL},
    {"clone_new_user", "", NULL, "EPERM", 0, NULL},
    {"mount", "$own", "ENODEV", "EPERM", 0, NULL},
    {"chroot", "$own", "ok", "EPERM", 0, NULL},
    {"shared_memory", "", "ok", "EPERM", 0, NULL},
    CALL(clone3, "ENOSYS"),
    CALL(io_uring_setup, "ENOSYS"),
    CALL(io_uring_enter, "ENOSYS"),
    CALL(bpf, "EPERM"),
    CALL(perf_event_open, "EPERM"),
    CALL(userfaultfd, "EPERM"),
    CALL(add_key, "EPERM"),
    CALL(request_key, "EPERM"),
    CALL(keyctl, "EPERM"),
    CALL(setns, "EPERM"),
    CALL(umount2, "EPERM"),
    CALL(pivot_root, "EPERM"),
    CALL(move_mount, "EPERM"),
    CALL(open_tree, "EPERM"),
    CALL(fsopen, "EPERM"),
    CALL(mount_setattr, "EPERM"),
    CALL(open_by_handle_at, "EPERM"),
    CALL(fanotify_init, "EPERM"),
    CALL(kcmp, "EPERM"),
    CALL(process_vm_writev, "EPERM"),
    CALL(process_madvise, "EPERM"),
    CALL(sched_setscheduler, "EPERM"),
    CALL(ioprio_set, "EPERM"),
    CALL(setuid, "EPERM"),
    CALL(setresgid, "EPERM"),
    CALL(setgroups, "EPERM"),
    CALL(capset, "EPERM"),
    CALL(personality, "EPERM"),
    CALL(init_module, "EPERM"),
    CALL(kexec_load, "EPERM"),
    CALL(reboot, "EPERM"),
    CALL(swapon, "EPERM"),
    CALL(syslog, "EPERM"),
    CALL(clock_settime, "EPERM"),
    CALL(sethostname, "EPERM"),
    CALL(io_uring_register, "ENOSYS"),
    CALL(process_mrelease, "EPERM"),
    CALL(sched_setattr, "EPERM"),
    CALL(sched_setparam, "EPERM"),
    CALL(migrate_pages, "EPERM"),
    CALL(move_pages, "EPERM"),
    CALL(fanotify_mark, "EPERM"),
    CALL(fchown, "EPERM"),
    CALL(fchownat, "EPERM"),
    CALL(lsetxattr, "EPERM"),
    CALL(fsetxattr, "EPERM"),
    CALL(removexattr, "EPERM"),
    CALL(lremovexattr, "EPERM"),
    CALL(fremovexattr, "EPERM"),
    CALL(fsconfig, "EPERM"),
    CALL(fsmount, "EPERM"),
    CALL(fspick, "EPERM"),
    CALL(quotactl, "EPERM"),
    CALL(quotactl_fd, "EPERM"),
    CALL(setgid, "EPERM"),
    CALL(setreuid, "EPERM"),
    CALL(setregid, "EPERM"),
    CALL(setresuid, "EPERM"),
    CALL(setfsuid, "EPERM"),
    CALL(setfsgid, "EPERM"),
    CALL(finit_module, "EPERM"),
    CALL(delete_module, "EPERM"),
    CALL(kexec_file_load, "EPERM"),
    CALL(swapoff, "EPERM"),
    CALL(acct, "EPERM"),
    CALL(settimeofday, "EPERM"),
    CALL(clock_adjtime, "EPERM"),
    CALL(adjtimex, "EPERM"),
    CALL(setdomainname, "EPERM"),
    CALL(msgsnd, "EPERM"),
    CALL(msgrcv, "EPERM"),
    CALL(msgctl, "EPERM"),
    CALL(semget, "EPERM"),
    CALL(semop, "EPERM"),
    CALL(semtimedop, "EPERM"),
    CALL(semctl, "EPERM"),
    CALL(shmget, "EPERM"),
    CALL(shmat, "EPERM"),
    CALL(mq_open, "EPERM"),
    CALL(mq_unlink, "EPERM"),
};

static char *note_of(const struct attempt *attempt, int version)
{
    return str_printf("%s %s, version %d", attempt->verb, attempt->operand, version);
}

static void check_without(const struct stage *stage, const struct attempt *row)
{
    _cleanup_free_ char *said = attempt(stage, NONE, row->verb, row->operand);
    _cleanup_free_ char *note = note_of(row, NONE);

    if (row->without)
        EXPECT_STR(said, row->without, note);
    else
        EXPECT(!str_equal(said, row->within), note);
}

static void check_within(const struct stage *stage, const struct attempt *row, int version)
{
    _cleanup_free_ char *said = attempt(stage, version, row->verb, row->operand);
    _cleanup_free_ char *note = note_of(row, version);
    const char *earlier = row->earlier ? row->earlier : geteuid() == 0 ? row->without : NULL;

    if (version >= row->from)
        EXPECT_STR(said, row->within, note);
    else if (earlier && !str_equal(earlier, ANY))
        EXPECT_STR(said, earlier, note);
}

/* Nothing is left where others look. */
static void clean_up(void)
{
    unlink("/tmp/kusion-test-of-the-sandbox");
    unlink("/dev/shm/kusion-test-of-the-sandbox");
}

/* What the filter alone decides is the same for all versions. */
static void try_all(int version, bool is_newest)
{
    for (size_t i = 0; i < ARRAY_SIZE(attempts); i++) {
        struct stage stage;

        if (!is_newest && !attempts[i].from)
            continue;

        stage_init(&stage, "child_static");
        if (version == NONE)
            check_without(&stage, &attempts[i]);
        else
            check_within(&stage, &attempts[i], version);
        stage_done(&stage);
        clean_up();
    }
}

static void without_it_all_is_possible(void)
{
    if (geteuid() != 0)
        printf("skipped: only root may do all of this without a sandbox\n");
    else
        try_all(NONE, true);
}

/* 0: what needs it is skipped. */
static int landlock_here(void)
{
    int version = landlock_version();

    if (version == 0)
        printf("skipped: the kernel has no Landlock\n");
    return version;
}

static void nobody_gets_out(void)
{
    int version = landlock_here();

    for (int v = 1; v <= version; v++)
        try_all(v, v == version);
}

/* Where the kernel cannot guard files, the filter does what it can. */
static void the_filter_alone(void)
{
    try_all(0, true);
}

/* A system call of another kind of program ends it: the filter knows only the numbers of one. */
static void calls_of_other_architectures(void)
{
    struct stage stage;
    _cleanup_free_ char *without = NULL, *within = NULL;

    stage_init(&stage, "child_static");
    without = attempt(&stage, NONE, "old_call", "");
    if (str_equal(without, "ok")) {
        within = attempt(&stage, 0, "old_call", "");
        EXPECT_STR(within, "killed by signal 31 (Bad system call)", "int 0x80");
    } else {
        printf("skipped: the kernel has no 32-bit system calls\n");
    }
    stage_done(&stage);
}

/* It needs its loader and libraries, and gets no more by that. */
static void a_program_with_shared_libraries(void)
{
    static const char *const table[][3] = {
        {"read", "/etc/resolv.conf", "ok"},  {"write", "$own/file", "ok"},
        {"execute", "$self", "ok"},          {"thread", "", "ok"},
        {"execute", "/bin/sh", "EACCES"},    {"read", "/bin/sh", "EACCES"},
        {"read", "$folder/token", "EACCES"}, {"open_to_write", "/etc/ld.so.cache", "EACCES"},
    };
    int version = landlock_here();

    for (size_t i = 0; version && i < ARRAY_SIZE(table); i++) {
        _cleanup_free_ char *said = NULL;
        struct stage stage;

        stage_init(&stage, "child_shared");
        said = attempt(&stage, version, table[i][0], table[i][1]);
        EXPECT_STR(said, table[i][2], table[i][0]);
        stage_done(&stage);
    }
}

/* ---- What cannot be sandboxed ---- */

static void what_is_not_there(void)
{
    static const struct {
        const char *program, *folder, *message;
    } table[] = {
        {"/nowhere/program", "/tmp", "/nowhere/program: No such file or directory"},
        {"/bin/true", "/nowhere", "/nowhere: No such file or directory"},
    };

    for (size_t i = 0; landlock_here() && i < ARRAY_SIZE(table); i++) {
        struct sandbox_config config = {.program = table[i].program, .folder = table[i].folder};
        struct sandbox *sandbox = NULL;
        struct error error = {0};

        EXPECT_INT(sandbox_new(&config, &sandbox, &error), ERR_INVALID, table[i].message);
        EXPECT_STR(error.message, table[i].message, table[i].program);
        EXPECT(!sandbox, table[i].message);
    }
}

/* Its interpreter is another program. */
static void scripts_are_not_run(void)
{
    _cleanup_(sandbox_free_p) struct sandbox *sandbox = NULL;
    struct process *process = NULL;
    struct error error = {0};
    struct stage stage;
    FILE *file;

    if (!landlock_here())
        return;
    stage_init(&stage, "child_static");
    free(stage.program);
    stage.program = str_printf("%s/script", stage.folder);
    file = fopen(stage.program, "we");
    CU_ASSERT_FATAL(file != NULL);
    fprintf(file, "#!/bin/sh\necho hello\n");
    fclose(file);
    chmod(stage.program, 0700);
    CU_ASSERT(sandbox_new(&(struct sandbox_config){.program = stage.program, .folder = stage.own},
                          &sandbox, NULL) == 0);
    CU_ASSERT(start(&stage, sandbox, "", "", &process, &error) == ERR_INVALID);
    CU_ASSERT(str_has_suffix(error.message, "script cannot be run: execve: Permission denied"));
    process_free(process);
    stage_done(&stage);
}

/* As a kernel or a container does that has no Landlock. */
static void answer_landlock_with(int code)
{
    struct sock_filter items[] = {
        {.code = BPF_LD | BPF_W | BPF_ABS, .k = offsetof(struct seccomp_data, nr)},
        {.code = BPF_JMP | BPF_JEQ | BPF_K, .jf = 1, .k = SYS_landlock_create_ruleset},
        {.code = BPF_RET | BPF_K, .k = SECCOMP_RET_ERRNO | (uint32_t)code},
        {.code = BPF_RET | BPF_K, .k = SECCOMP_RET_ALLOW},
    };
    struct sock_fprog program = {.len = ARRAY_SIZE(items), .filter = items};

    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

/* In a process of its own: 0, or the number of what is not so. */
static int try_without_landlock(int code, const char *message)
{
    struct sandbox_config config = {.program = "/bin/true", .folder = "/tmp"};
    struct sandbox *sandbox = NULL;
    struct error error = {0};

    answer_landlock_with(code);
    if (sandbox_guards_files(NULL))
        return 1;
    if (sandbox_new(&config, &sandbox, &error) != ERR_UNSUPPORTED || sandbox)
        return 2;
    if (!strstr(error.message, message))
        return 3;
    config.without_files = true;
    return sandbox_new(&config, &sandbox, &error) == 0 && sandbox ? 0 : 4;
}

static void a_kernel_without_landlock(void)
{
    static const struct {
        int code;
        const char *message;
    } table[] = {
        {ENOSYS, "Linux 5.13"},
        {EOPNOTSUPP, "lsm="},
        {EPERM, "the container's seccomp profile"},
        {EIO, "refuses"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        int status = -1;
        pid_t child = fork();

        if (child == 0)
            _exit(try_without_landlock(table[i].code, table[i].message));
        waitpid(child, &status, 0);
        EXPECT_INT(status, 0, table[i].message);
    }
}

SUITE(sandbox, TEST(without_it_all_is_possible), TEST(nobody_gets_out), TEST(the_filter_alone),
      TEST(calls_of_other_architectures), TEST(a_program_with_shared_libraries),
      TEST(what_is_not_there), TEST(scripts_are_not_run), TEST(a_kernel_without_landlock))
