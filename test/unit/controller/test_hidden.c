#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "test/unit/suite.h"

/* The operator, and another process of the same user. Root may look into any process, so none of
 * these has root's rights to that. */
static const unsigned rights_to_look[] = {CAP_SYS_PTRACE, CAP_SYS_ADMIN, CAP_PERFMON};

static char *program(const char *name)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

    CU_ASSERT_FATAL(length > 0);
    path[length] = '\0';
    return str_printf("%.*s/%s", (int)(strrchr(path, '/') - path), path, name);
}

/* to: of its output and errors. */
static pid_t start(char *const *arguments, int to)
{
    pid_t child = fork();

    if (child != 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i < ARRAY_SIZE(rights_to_look); i++)
        prctl(PR_CAPBSET_DROP, rights_to_look[i]);
    setenv("KUSION_TEST_HIDDEN", "1", 1);
    dup2(to, STDOUT_FILENO);
    dup2(to, STDERR_FILENO);
    execv(arguments[0], arguments);
    _exit(127);
}

static void stop(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static char *read_some(int from)
{
    char text[256];
    ssize_t length = read(from, text, sizeof(text) - 1);

    return str_new_n(text, length > 0 ? (size_t)length : 0);
}

/* What a process of the same user says that tries to look into this one. */
static char *look(pid_t at, const char *verb, const char *operand)
{
    _cleanup_free_ char *looker = program("child_static"), *what = str_printf(operand, (int)at);
    char *arguments[] = {looker, (char *)(uintptr_t)verb, what, NULL};
    int ends[2];
    char *said;
    pid_t child;

    CU_ASSERT_FATAL(pipe2(ends, O_CLOEXEC) == 0);
    child = start(arguments, ends[1]);
    close(ends[1]);
    said = read_some(ends[0]);
    close(ends[0]);
    waitpid(child, NULL, 0);
    return said;
}

static void look_at(pid_t process, bool is_hidden)
{
    static const struct {
        const char *verb, *operand, *seen, *hidden;
    } table[] = {
        {"read", "/proc/%d/environ", "ok\n", "EACCES\n"},
        {"read", "/proc/%d/maps", "ok\n", "EACCES\n"},
        {"read", "/proc/%d/mem", "EIO\n", "EACCES\n"},
        {"open_path", "/proc/%d/fd/2", "ok\n", "EACCES\n"},
        {"trace", "%d", "ok\n", "EPERM\n"},
        {"peek", "%d", "ok\n", "EPERM\n"},
        {"pidfd_take", "%d", "ok\n", "EPERM\n"},
        {"read", "/proc/%d/status", "ok\n", "ok\n"},
        {"read", "/proc/%d/stat", "ok\n", "ok\n"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_free_ char *said = look(process, table[i].verb, table[i].operand);

        EXPECT_STR(said, is_hidden ? table[i].hidden : table[i].seen, table[i].operand);
    }
}

static char *write_kubeconfig(void)
{
    static const char text[] = "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                               "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
                               "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\n"
                               "users: [{name: u, user: {token: secret}}]\n";
    char *path = str_new("/tmp/kusion-test-XXXXXX");
    int fd = mkstemp(path);

    CU_ASSERT_FATAL(fd >= 0 && write(fd, text, sizeof(text) - 1) > 0);
    close(fd);
    return path;
}

/* The same of a process that hides nothing: or this would show nothing. */
static void others_can_be_looked_into(void)
{
    _cleanup_free_ char *child = program("child_static");
    char *arguments[] = {child, (char *)(uintptr_t) "print_and_stay", (char *)(uintptr_t) "here",
                         NULL};
    _cleanup_free_ char *said = NULL;
    pid_t process;
    int ends[2];

    CU_ASSERT_FATAL(pipe2(ends, O_CLOEXEC) == 0);
    process = start(arguments, ends[1]);
    close(ends[1]);
    said = read_some(ends[0]);
    EXPECT_STR(said, "here\n", "it runs");
    look_at(process, false);
    stop(process);
    close(ends[0]);
}

static void the_operator_cannot_be_looked_into(void)
{
    _cleanup_free_ char *operator= program("kusion-operator"), *kubeconfig = write_kubeconfig();
    _cleanup_free_ char *flag = str_printf("--kubeconfig=%s", kubeconfig), *said = NULL;
    char *arguments[] = {operator, flag, (char *)(uintptr_t) "--metrics-bind-address=",
                         (char *)(uintptr_t) "--health-bind-address=", NULL};
    struct rlimit core = {.rlim_cur = 1, .rlim_max = 1};
    pid_t process;
    int ends[2];

    CU_ASSERT_FATAL(pipe2(ends, O_CLOEXEC) == 0);
    process = start(arguments, ends[1]);
    close(ends[1]);
    said = read_some(ends[0]);
    CU_ASSERT(strstr(said, "the API server does not answer yet") != NULL);
    look_at(process, true);
    CU_ASSERT(prlimit(process, RLIMIT_CORE, NULL, &core) == 0);
    CU_ASSERT(core.rlim_cur == 0 && core.rlim_max == 0);
    stop(process);
    close(ends[0]);
    unlink(kubeconfig);
}

SUITE(hidden, TEST(others_can_be_looked_into), TEST(the_operator_cannot_be_looked_into))
