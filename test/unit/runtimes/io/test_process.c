#include <limits.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "runtimes/io/process.h"
#include "test/unit/suite.h"

#define SOON 10000 /* ms */

static int64_t in(int64_t ms)
{
    return system_clock.monotonic(&system_clock) + ms;
}

static struct processes *make(void)
{
    struct processes *processes = NULL;

    CU_ASSERT_FATAL(processes_new("test", &processes, NULL) == 0);
    return processes;
}

/* The program that tests start (test/unit/child). */
static char *beside_us(void)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

    CU_ASSERT_FATAL(length > 0);
    path[length] = '\0';
    return str_printf("%.*s/child_static", (int)(strrchr(path, '/') - path), path);
}

static int start(struct processes *processes, const char *script, struct process **ret,
                 struct error *error)
{
    static const char *const environment[] = {"GREETING=hello", NULL};
    const char *const arguments[] = {"/bin/sh", "-c", script, NULL};
    struct process_config config = {.arguments = arguments,
                                    .environment = environment,
                                    .directory = "/",
                                    .max_files = 64,
                                    .max_file_bytes = 1 << 20};

    return process_start(processes, &config, ret, error);
}

/* ---- What it gets ---- */

static void a_child_gets_nothing_of_ours(void)
{
    static const struct {
        const char *script, *expected;
    } table[] = {
        {"echo $GREETING", "hello"},
        {"env | sort | grep -v -e ^_= -e ^PWD= -e ^SHLVL= | tr '\\n' ' '; echo", "GREETING=hello "},
        {"pwd", "/"},
        {"umask", "0077"},
        {"ulimit -c", "0"},
        {"ulimit -n", "64"},
        {"cat /proc/self/oom_score_adj", "1000"}, /* it goes before us */
        {"cat; echo nothing", "nothing"},
        {"ls /proc/self/fd | tr '\\n' ' '; echo", "0 1 2 3 "}, /* 3: of ls itself */
        {"grep NoNewPrivs /proc/self/status | tr -d '\\t'", "NoNewPrivs:1"},
        {"grep -e SigBlk -e SigIgn /proc/$$/status | cut -f2 | tr '\\n' ' '; echo",
         "0000000000000000 0000000000000000 "},
        {"test $(cut -d' ' -f5 /proc/$$/stat) = $$ && echo a group of its own",
         "a group of its own"},
    };
    _cleanup_(processes_free_p) struct processes *processes = make();

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_(process_free_p) struct process *process = NULL;
        _cleanup_free_ char *line = NULL;

        EXPECT_INT(start(processes, table[i].script, &process, NULL), 0, table[i].script);
        EXPECT_INT(process_wait_line(process, in(SOON), NULL, &line, NULL), 0, table[i].script);
        EXPECT_STR(line, table[i].expected, table[i].script);
    }
}

static void its_memory_is_measured(void)
{
    _cleanup_(processes_free_p) struct processes *processes = make();
    _cleanup_(process_free_p) struct process *process = NULL;
    _cleanup_free_ char *line = NULL;
    int64_t before;

    EXPECT_INT(start(processes, "echo; kill -STOP $$", &process, NULL), 0, "start");
    EXPECT_INT(process_wait_line(process, in(SOON), NULL, &line, NULL), 0, "it runs");
    before = process_memory(process);
    EXPECT(before > 0 && before < 100 << 20, "a shell");
    kill(process_id(process), SIGKILL);
    EXPECT(process_wait_end(process, in(SOON)), "killed");
    EXPECT_INT(process_memory(process), 0, "it has ended");
}

static void it_gets_no_more_memory_than_it_may(void)
{
    static const struct {
        const char *mib;
        uint64_t limit;
        const char *said;
    } rows[] = {{"64", 0, "ok"}, {"64", 128 << 20, "ok"}, {"256", 128 << 20, "ENOMEM"}};
    _cleanup_(processes_free_p) struct processes *processes = make();
    _cleanup_free_ char *program = beside_us();

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const char *const arguments[] = {program, "take_memory", rows[i].mib, NULL};
        const struct process_config config = {.arguments = arguments,
                                              .environment = arguments + 3,
                                              .directory = "/",
                                              .max_files = 64,
                                              .max_memory = rows[i].limit};
        _cleanup_(process_free_p) struct process *process = NULL;
        _cleanup_free_ char *line = NULL;

        EXPECT_INT(process_start(processes, &config, &process, NULL), 0, "start");
        EXPECT_INT(process_wait_line(process, in(SOON), NULL, &line, NULL), 0, "it says");
        EXPECT_STR(line, rows[i].said, rows[i].mib);
        process_kill(process);
        EXPECT(process_wait_end(process, in(SOON)), "killed");
    }
}

/* What Go's runtime prints before it ends the program. */
static void that_it_lacked_memory_is_known(void)
{
    static const struct {
        const char *script;
        bool lacked;
    } rows[] = {
        {"echo fatal error: runtime: out of memory >&2; exit 2", true},
        {"echo runtime: cannot allocate memory >&2; exit 2", true},
        {"echo SIGSEGV: segmentation violation >&2; echo PC=0x436e7d >&2; exit 2", true},
        {"echo fatal error: all goroutines are asleep >&2; exit 2", false},
        {"echo panic: runtime error >&2; echo '[signal SIGSEGV: seg' >&2; exit 2", false},
        {"echo out of memory >&2; exit 1", false},
        {"exit 2", false},
    };
    _cleanup_(processes_free_p) struct processes *processes = make();

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(process_free_p) struct process *process = NULL;

        EXPECT_INT(start(processes, rows[i].script, &process, NULL), 0, rows[i].script);
        EXPECT(process_wait_end(process, in(SOON)), rows[i].script);
        EXPECT_INT(process_lacked_memory(process), rows[i].lacked, rows[i].script);
    }
}

/* ---- What it prints ---- */

static void no_first_line(void)
{
    static const struct {
        const char *script;
        int64_t wait;
        int code;
    } table[] = {
        {"exit 3", SOON, ERR_UNAVAILABLE},
        {"printf unfinished", SOON, ERR_UNAVAILABLE},
        {"sleep 60", 50, ERR_TIMEOUT},
        {"head -c 100000 /dev/zero; sleep 60", SOON, ERR_TOO_LARGE},
    };
    _cleanup_(processes_free_p) struct processes *processes = make();

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_(process_free_p) struct process *process = NULL;
        _cleanup_free_ char *line = NULL;

        EXPECT_INT(start(processes, table[i].script, &process, NULL), 0, table[i].script);
        EXPECT_INT(process_wait_line(process, in(table[i].wait), NULL, &line, NULL), table[i].code,
                   table[i].script);
        EXPECT(!line, table[i].script);
    }
}

static void waiting_can_be_cancelled(void)
{
    _cleanup_(processes_free_p) struct processes *processes = make();
    _cleanup_(process_free_p) struct process *process = NULL;
    _cleanup_(cancel_free_p) struct cancel *cancel = cancel_new(NULL);
    char *line = NULL;

    CU_ASSERT_FATAL(start(processes, "sleep 60", &process, NULL) == 0);
    cancel_fire(cancel, "Superseded");
    CU_ASSERT(process_wait_line(process, in(SOON), cancel, &line, NULL) == ERR_CANCELLED);
}

/* More than a pipe holds, to both. */
static void what_is_printed_is_drained(void)
{
    _cleanup_(processes_free_p) struct processes *processes = make();
    _cleanup_(process_free_p) struct process *process = NULL;
    _cleanup_free_ char *end = NULL, *errors = NULL;

    CU_ASSERT_FATAL(start(processes,
                          "echo first; head -c 300000 /dev/zero; "
                          "head -c 300000 /dev/zero | tr '\\0' x >&2; echo the last words >&2; "
                          "exit 2",
                          &process, NULL) == 0);
    CU_ASSERT(process_wait_end(process, in(SOON)));
    end = process_describe_end(process);
    EXPECT_STR(end, "exit status 2", "how it ended, without a word of its own");
    errors = process_last_errors(process);
    CU_ASSERT(str_has_prefix(errors, "xxx"));
    CU_ASSERT(str_has_suffix(errors, "xxxthe last words\n"));
    CU_ASSERT(strlen(errors) == PROCESS_ERRORS_BYTES);
}

/* ---- Its end ---- */

static void a_program_that_cannot_be_run(void)
{
    static const struct {
        const char *program, *directory, *expected;
    } table[] = {
        {"/nowhere/program", "/",
         "/nowhere/program cannot be run: execve: No such file or directory"},
        {"/etc/passwd", "/", "/etc/passwd cannot be run: execve: Permission denied"},
        {"/bin/sh", "/nowhere", "/bin/sh cannot be run: chdir: No such file or directory"},
    };
    _cleanup_(processes_free_p) struct processes *processes = make();

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        const char *const arguments[] = {table[i].program, NULL};
        struct process_config config = {.arguments = arguments,
                                        .environment = arguments + 1,
                                        .directory = table[i].directory,
                                        .max_files = 64,
                                        .max_file_bytes = 1};
        struct process *process = NULL;
        struct error error = {0};

        EXPECT_INT(process_start(processes, &config, &process, &error), ERR_INVALID,
                   table[i].program);
        EXPECT_STR(error.message, table[i].expected, table[i].program);
        EXPECT(!process, table[i].program);
    }
}

/* The pids are those of the shell and of what it started in the background. */
static void its_whole_group_is_killed(void)
{
    static const char *const scripts[] = {
        "sleep 60 & echo $!; sleep 60", /* freed while it runs */
        "sleep 60 & echo $!",           /* ends by itself */
    };
    _cleanup_(processes_free_p) struct processes *processes = make();

    for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
        struct process *process = NULL;
        _cleanup_free_ char *line = NULL;
        int64_t pid = 0;

        CU_ASSERT_FATAL(start(processes, scripts[i], &process, NULL) == 0);
        CU_ASSERT_FATAL(process_wait_line(process, in(SOON), NULL, &line, NULL) == 0);
        CU_ASSERT(str_to_int64(line, &pid) && pid > 1);
        if (i == 1)
            CU_ASSERT(process_wait_end(process, in(SOON)));
        process_free(process);
        for (int64_t until = in(SOON); kill((pid_t)pid, 0) == 0 && in(0) < until;)
            usleep(1000); /* init reaps it */
        EXPECT(kill((pid_t)pid, 0) < 0, scripts[i]);
    }
}

/* Not even where it is in ours. */
static void it_is_killed_wherever_it_is(void)
{
    _cleanup_(processes_free_p) struct processes *processes = make();
    _cleanup_free_ char *group = str_printf("%d", getpgid(0)), *line = NULL, *program = beside_us();
    const char *const arguments[] = {program, "leave_group_and_stay", group, NULL};
    struct process *process = NULL;

    CU_ASSERT_FATAL(process_start(processes,
                                  &(struct process_config){.arguments = arguments,
                                                           .environment = arguments + 3,
                                                           .directory = "/",
                                                           .max_files = 64,
                                                           .max_file_bytes = 1},
                                  &process, NULL) == 0);
    CU_ASSERT(process_wait_line(process, in(SOON), NULL, &line, NULL) == 0);
    EXPECT_STR(line, "ok", "it has left its group");
    alarm(SOON / 1000); /* or this waits for ever */
    process_free(process);
    alarm(0);
}

/* A process of ours that starts a child, tells its pid, and is killed. */
static _Noreturn void start_and_wait(int to)
{
    struct process *process = NULL;
    _cleanup_free_ char *line = NULL;

    if (start(make(), "echo $$; sleep 60", &process, NULL) == 0 &&
        process_wait_line(process, in(SOON), NULL, &line, NULL) == 0 &&
        write(to, line, strlen(line)) > 0)
        pause();
    _exit(1);
}

static void a_child_does_not_outlive_us(void)
{
    char text[32] = {0};
    int64_t pid = 0;
    int ends[2];
    pid_t parent;

    CU_ASSERT_FATAL(pipe(ends) == 0);
    parent = fork();
    if (parent == 0)
        start_and_wait(ends[1]);
    CU_ASSERT(read(ends[0], text, sizeof(text) - 1) > 0);
    CU_ASSERT(str_to_int64(text, &pid) && kill((pid_t)pid, 0) == 0);
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    for (int64_t until = in(SOON); kill((pid_t)pid, 0) == 0 && in(0) < until;)
        usleep(1000);
    CU_ASSERT(kill((pid_t)pid, 0) < 0);
    close(ends[0]);
    close(ends[1]);
}

static void its_end_is_described(void)
{
    static const struct {
        const char *script, *expected;
    } table[] = {
        {"exit 0", "exit status 0"},
        {"echo panic: oh no >&2; exit 2", "exit status 2"},
        {"kill -9 $$", "killed by signal 9 (Killed)"},
    };
    _cleanup_(processes_free_p) struct processes *processes = make();

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_(process_free_p) struct process *process = NULL;
        _cleanup_free_ char *end = NULL;

        EXPECT_INT(start(processes, table[i].script, &process, NULL), 0, table[i].script);
        EXPECT(process_wait_end(process, in(SOON)), table[i].script);
        end = process_describe_end(process);
        EXPECT_STR(end, table[i].expected, table[i].script);
    }
}

SUITE(process, TEST(a_child_gets_nothing_of_ours), TEST(its_memory_is_measured),
      TEST(it_gets_no_more_memory_than_it_may), TEST(that_it_lacked_memory_is_known),
      TEST(no_first_line), TEST(waiting_can_be_cancelled), TEST(what_is_printed_is_drained),
      TEST(a_program_that_cannot_be_run), TEST(its_whole_group_is_killed),
      TEST(it_is_killed_wherever_it_is), TEST(a_child_does_not_outlive_us),
      TEST(its_end_is_described))
