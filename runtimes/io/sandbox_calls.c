/*
 * A seccomp filter: a table of system calls that are refused, and what is asked of some others'
 * arguments. All else is allowed, but for calls that are newer than this table.
 *
 * Only the lower half of an argument is looked at: the kernel takes those that are asked for as
 * 32 bits.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtimes/io/sandbox_private.h"

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "the numbers of system calls were not looked through for this architecture"
#endif
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the lower half of an argument is not where it is looked for"
#endif

/* The newest that was looked through: set_mempolicy_home_node (Linux 5.17). From 424 on, numbers
 * are the same for all architectures. The x32 calls of x86-64 are above it too. */
#define NEWEST_CALL 450

static const struct {
    int number;
    int code; /* the answer; 0: success, but nothing is done */
} refused[] = {
    /* Other processes, and processes of its own. */
    {SYS_ptrace, EPERM},
    {SYS_process_vm_readv, EPERM},
    {SYS_process_vm_writev, EPERM},
    {SYS_process_madvise, EPERM},
    {SYS_process_mrelease, EPERM},
    {SYS_kcmp, EPERM},
    {SYS_pidfd_getfd, EPERM},
    {SYS_pidfd_send_signal, EPERM},
    {SYS_tkill, EPERM},
    {SYS_rt_sigqueueinfo, EPERM},
    {SYS_rt_tgsigqueueinfo, EPERM},
    {SYS_setpriority, EPERM},
    {SYS_ioprio_set, EPERM},
    {SYS_sched_setaffinity, EPERM},
    {SYS_sched_setattr, EPERM},
    {SYS_sched_setparam, EPERM},
    {SYS_sched_setscheduler, EPERM},
    {SYS_migrate_pages, EPERM},
    {SYS_move_pages, EPERM},
    {SYS_setpgid, EPERM},
    {SYS_setsid, EPERM},
    {SYS_execveat, EPERM},
    {SYS_clone3, ENOSYS}, /* its flags cannot be seen; clone() is tried then */
    /* Files, past Landlock. Whoever watches a folder learns the names in it. */
    {SYS_inotify_init1, EPERM},
    {SYS_inotify_add_watch, EPERM},
    {SYS_fanotify_init, EPERM},
    {SYS_fanotify_mark, EPERM},
    {SYS_name_to_handle_at, EPERM},
    {SYS_open_by_handle_at, EPERM},
    {SYS_fchown, EPERM},
    {SYS_fchownat, EPERM},
    {SYS_utimensat, EPERM},
    /* From another folder, sockets have short names (sandbox.h). */
    {SYS_chdir, EPERM},
    {SYS_fchdir, EPERM},
    {SYS_setxattr, EPERM},
    {SYS_lsetxattr, EPERM},
    {SYS_fsetxattr, EPERM},
    {SYS_removexattr, EPERM},
    {SYS_lremovexattr, EPERM},
    {SYS_fremovexattr, EPERM},
    /* Permissions are its owner's alone, by its umask, and stay so. Programs that set them for
     * their own files must not fail. */
    {SYS_fchmod, 0},
    {SYS_fchmodat, 0},
    {SYS_chroot, EPERM},
    {SYS_mount, EPERM},
    {SYS_umount2, EPERM},
    {SYS_pivot_root, EPERM},
    {SYS_move_mount, EPERM},
    {SYS_open_tree, EPERM},
    {SYS_mount_setattr, EPERM},
    {SYS_fsopen, EPERM},
    {SYS_fsconfig, EPERM},
    {SYS_fsmount, EPERM},
    {SYS_fspick, EPERM},
    {SYS_quotactl, EPERM},
    {SYS_quotactl_fd, EPERM},
    /* Namespaces and identities. */
    {SYS_unshare, EPERM},
    {SYS_setns, EPERM},
    {SYS_setuid, EPERM},
    {SYS_setgid, EPERM},
    {SYS_setreuid, EPERM},
    {SYS_setregid, EPERM},
    {SYS_setresuid, EPERM},
    {SYS_setresgid, EPERM},
    {SYS_setfsuid, EPERM},
    {SYS_setfsgid, EPERM},
    {SYS_setgroups, EPERM},
    {SYS_capset, EPERM},
    {SYS_personality, EPERM},
    /* Parts of the kernel that have been ways out of sandboxes. */
    {SYS_bpf, EPERM},
    {SYS_perf_event_open, EPERM},
    {SYS_userfaultfd, EPERM},
    {SYS_io_uring_setup, ENOSYS},
    {SYS_io_uring_enter, ENOSYS},
    {SYS_io_uring_register, ENOSYS},
    {SYS_add_key, EPERM},
    {SYS_request_key, EPERM},
    {SYS_keyctl, EPERM},
    /* The machine. */
    {SYS_init_module, EPERM},
    {SYS_finit_module, EPERM},
    {SYS_delete_module, EPERM},
    {SYS_kexec_load, EPERM},
    {SYS_kexec_file_load, EPERM},
    {SYS_reboot, EPERM},
    {SYS_swapon, EPERM},
    {SYS_swapoff, EPERM},
    {SYS_acct, EPERM},
    {SYS_syslog, EPERM},
    {SYS_vhangup, EPERM},
    {SYS_settimeofday, EPERM},
    {SYS_clock_settime, EPERM},
    {SYS_clock_adjtime, EPERM},
    {SYS_adjtimex, EPERM},
    {SYS_sethostname, EPERM},
    {SYS_setdomainname, EPERM},
    {SYS_lookup_dcookie, EPERM},
    /* Memory, queues and semaphores that others find by a number or a name. */
    {SYS_shmget, EPERM},
    {SYS_shmat, EPERM},
    {SYS_shmctl, EPERM},
    {SYS_msgget, EPERM},
    {SYS_msgsnd, EPERM},
    {SYS_msgrcv, EPERM},
    {SYS_msgctl, EPERM},
    {SYS_semget, EPERM},
    {SYS_semop, EPERM},
    {SYS_semtimedop, EPERM},
    {SYS_semctl, EPERM},
    {SYS_mq_open, EPERM},
    {SYS_mq_unlink, EPERM},
#ifdef __x86_64__ /* older calls, which others have not */
    {SYS_fork, EPERM},
    {SYS_vfork, EPERM},
    {SYS_inotify_init, EPERM},
    {SYS_chmod, 0},
    {SYS_chown, EPERM},
    {SYS_lchown, EPERM},
    {SYS_utime, EPERM},
    {SYS_utimes, EPERM},
    {SYS_futimesat, EPERM},
    {SYS_modify_ldt, EPERM},
    {SYS_iopl, EPERM},
    {SYS_ioperm, EPERM},
    {SYS_uselib, EPERM},
    {SYS_sysfs, EPERM},
    {SYS_ustat, EPERM},
#endif
};

#define NO_VALUE  UINT32_MAX
#define OWN_VALUE (UINT32_MAX - 1) /* the number of the process itself */
#define VALUES    4

#define TYPE_OF_SOCKET 0xf /* without SOCK_CLOEXEC and SOCK_NONBLOCK */
#define IPV4_ADDRESS   sizeof(struct sockaddr_in)
#define IPV6_ADDRESS   sizeof(struct sockaddr_in6)

#define NAMESPACES                                                                                \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | \
     CLONE_NEWNET)

static const struct question {
    int number;
    unsigned argument;
    uint32_t mask;           /* of what is looked at; 0: all */
    uint32_t values[VALUES]; /* then NO_VALUE */
    bool refuses;            /* these values, not all others */
    int code;
} questions[] = {
    /* Threads, no processes. */
    {SYS_clone, 0, CLONE_THREAD | NAMESPACES, {CLONE_THREAD, NO_VALUE}, false, EPERM},
    {SYS_kill, 0, 0, {OWN_VALUE, NO_VALUE}, false, EPERM},
    {SYS_tgkill, 0, 0, {OWN_VALUE, NO_VALUE}, false, EPERM},
    {SYS_prlimit64, 0, 0, {0, OWN_VALUE, NO_VALUE}, false, EPERM},
    /* It ends with us. */
    {SYS_prctl, 0, 0, {PR_SET_PDEATHSIG, NO_VALUE}, true, EPERM},
    /* Signals that a descriptor sends to others, and input that is typed for them. */
    {SYS_fcntl, 1, 0, {F_SETOWN, F_SETOWN_EX, F_SETSIG, NO_VALUE}, true, EPERM},
    {SYS_ioctl, 1, 0, {FIOSETOWN, SIOCSPGRP, TIOCSTI, NO_VALUE}, true, EPERM},
    {SYS_socket, 0, 0, {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK}, false, EAFNOSUPPORT},
    /* No Unix sockets, by the lengths of other addresses (sandbox.h). */
    {SYS_connect, 2, 0, {IPV4_ADDRESS, IPV6_ADDRESS, NO_VALUE}, false, EPERM},
    /* Without connect(), a datagram goes anywhere. */
    {SYS_socketpair, 1, TYPE_OF_SOCKET, {SOCK_STREAM, NO_VALUE}, false, EPROTONOSUPPORT},
};

static const struct family {
    uint32_t family;
    unsigned argument;       /* of socket() */
    uint32_t mask;           /* of what is looked at */
    uint32_t values[VALUES]; /* then NO_VALUE */
} families[] = {
    {AF_UNIX, 1, TYPE_OF_SOCKET, {SOCK_STREAM, NO_VALUE}},
    /* Landlock guards the ports of TCP alone, not those of MPTCP and SMC. */
    {AF_INET, 1, TYPE_OF_SOCKET, {SOCK_STREAM, SOCK_DGRAM, NO_VALUE}},
    {AF_INET6, 1, TYPE_OF_SOCKET, {SOCK_STREAM, SOCK_DGRAM, NO_VALUE}},
    {AF_INET, 2, UINT32_MAX, {0, IPPROTO_TCP, IPPROTO_UDP, NO_VALUE}},
    {AF_INET6, 2, UINT32_MAX, {0, IPPROTO_TCP, IPPROTO_UDP, NO_VALUE}},
    /* Only routes: another protocol lists the Unix sockets of all processes. */
    {AF_NETLINK, 2, UINT32_MAX, {0, NO_VALUE}},
};

/* ---- Instructions ---- */

#define AT(member) ((uint32_t)offsetof(struct seccomp_data, member))

static void emit(struct call_filter *filter, unsigned code, uint32_t value, size_t if_true,
                 size_t if_false)
{
    if (filter->count == FILTER_SIZE)
        abort(); /* the tables are larger than FILTER_SIZE */
    filter->items[filter->count++] = (struct sock_filter){
        .code = (uint16_t)code, .jt = (uint8_t)if_true, .jf = (uint8_t)if_false, .k = value};
}

static void load(struct call_filter *filter, uint32_t offset)
{
    emit(filter, BPF_LD | BPF_W | BPF_ABS, offset, 0, 0);
}

/* How many instructions are skipped if what was loaded is equal, and if it is not. */
static void compare(struct call_filter *filter, uint32_t value, size_t if_equal, size_t if_not)
{
    emit(filter, BPF_JMP | BPF_JEQ | BPF_K, value, if_equal, if_not);
}

static void answer(struct call_filter *filter, uint32_t action)
{
    emit(filter, BPF_RET | BPF_K, action, 0, 0);
}

static void refuse(struct call_filter *filter, int code)
{
    answer(filter, SECCOMP_RET_ERRNO | (uint32_t)code);
}

static void compare_value(struct call_filter *filter, uint32_t value, size_t if_equal)
{
    if (value == OWN_VALUE)
        filter->own[filter->n_own++] = filter->count;
    compare(filter, value, if_equal, 0);
}

static size_t count_values(const uint32_t values[VALUES])
{
    size_t n = 0;

    while (n < VALUES && values[n] != NO_VALUE)
        n++;
    return n;
}

/* What passes goes on with the call's number loaded again. */
static void ask(struct call_filter *filter, const struct question *question)
{
    bool has_mask = question->mask != 0;
    size_t n = count_values(question->values);

    compare(filter, (uint32_t)question->number, 0, n + has_mask + 4);
    load(filter, AT(args) + question->argument * 8);
    if (has_mask)
        emit(filter, BPF_ALU | BPF_AND | BPF_K, question->mask, 0, 0);
    for (size_t i = 0; i < n; i++) /* to the refusal, or past it */
        compare_value(filter, question->values[i], n - i + (question->refuses ? 0 : 1));
    emit(filter, BPF_JMP | BPF_JA, question->refuses ? 1 : 0, 0, 0);
    refuse(filter, question->code);
    load(filter, AT(nr));
}

/* The argument, where the first one is the family. */
static void ask_family(struct call_filter *filter, const struct family *family)
{
    size_t n = count_values(family->values);

    compare(filter, SYS_socket, 0, n + 6);
    load(filter, AT(args));
    compare(filter, family->family, 0, n + 3);
    load(filter, AT(args) + family->argument * 8);
    emit(filter, BPF_ALU | BPF_AND | BPF_K, family->mask, 0, 0);
    for (size_t i = 0; i < n; i++) /* past the refusal */
        compare(filter, family->values[i], n - i, 0);
    refuse(filter, EPROTONOSUPPORT);
    load(filter, AT(nr));
}

void call_filter_make(int version, struct call_filter *filter)
{
    *filter = (struct call_filter){0};
    load(filter, AT(arch));
    compare(filter, ARCHITECTURE, 1, 0);
    answer(filter, SECCOMP_RET_KILL_PROCESS);
    load(filter, AT(nr));
    emit(filter, BPF_JMP | BPF_JGT | BPF_K, NEWEST_CALL, 0, 1);
    refuse(filter, ENOSYS);
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        compare(filter, (uint32_t)refused[i].number, 0, 1);
        refuse(filter, refused[i].code);
    }
    if (version < 3) { /* Landlock does not guard it yet */
        compare(filter, SYS_truncate, 0, 1);
        refuse(filter, EPERM);
    }
    for (size_t i = 0; i < ARRAY_SIZE(questions); i++)
        ask(filter, &questions[i]);
    for (size_t i = 0; i < ARRAY_SIZE(families); i++)
        ask_family(filter, &families[i]);
    answer(filter, SECCOMP_RET_ALLOW);
}

int call_filter_enter(const struct call_filter *filter)
{
    struct sock_filter items[FILTER_SIZE];
    struct sock_fprog program = {.len = (unsigned short)filter->count, .filter = items};
    pid_t own = getpid();

    memcpy(items, filter->items, sizeof(items));
    for (size_t i = 0; i < filter->n_own; i++)
        items[filter->own[i]].k = (uint32_t)own;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}
