/* Flags, memory, logs, signals, and who may look into this process: nothing else. */
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "controller/check.h"
#include "controller/flags.h"
#include "controller/manager.h"
#include "controller/state_command.h"
#include "engine/base/str.h"
#include "engine/log/log.h"
#include "engine/threads/thread.h"
#include "runtimes/io/clock.h"

/* Debuggers may attach to a debug build, unless a test asks for what is shipped. */
static bool is_for_debuggers(void)
{
#ifdef KUSION_DEBUGGABLE
    return !getenv("KUSION_TEST_HIDDEN");
#else
    return false;
#endif
}

/* Its memory has tokens, keys and Secrets. No other process of the same user may read it or trace
 * this one, a provider say, and no core dump has it. */
static void hide_memory(void)
{
    const struct rlimit none = {0};

    if (is_for_debuggers())
        return;
    prctl(PR_SET_DUMPABLE, 0);
    setrlimit(RLIMIT_CORE, &none);
}

static int64_t now(void)
{
    return system_clock.now(&system_clock);
}

static void write_line(const char *line, size_t length)
{
    /* One write for a line, so that lines of several threads do not mix. Where nobody reads
     * logs, there is nobody to tell. */
    if (write(STDERR_FILENO, line, length) < 0)
        return;
}

static int open_log(const struct flags *flags, struct error *error)
{
    struct log_sink sink = {.now = now, .write = write_line};

    if (!log_level_parse(flags->log_level, &sink.level))
        return err_set(error, ERR_INVALID, "InvalidFlag",
                       "--log-level: \"%s\" is none of debug, "
                       "info, warn, error",
                       flags->log_level);
    sink.text = str_equal(flags->log_format, "text");
    if (!sink.text && !str_equal(flags->log_format, "json"))
        return err_set(error, ERR_INVALID, "InvalidFlag",
                       "--log-format: \"%s\" is neither json "
                       "nor text",
                       flags->log_format);
    log_open(&sink);
    return 0;
}

static void *await_signal(void *arg)
{
    sigset_t set;
    int number = 0;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigwait(&set, &number);
    if (cancel_fired(arg)) /* we were sent it by ourselves, at the end */
        return NULL;
    log_info("stopping", "signal", number == SIGINT ? "SIGINT" : "SIGTERM", NULL);
    cancel_fire(arg, "Shutdown");
    return NULL;
}

static void block_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static int run_manager(const struct flags *flags, struct cancel *stop)
{
    struct error error = {0};
    int r = manager_run(flags, stop, &error);

    if (r < 0)
        log_error("the operator cannot run", "reason", error.reason, "error", error.message, NULL);
    return r;
}

static int run_check(const struct flags *flags, struct cancel *stop)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    struct error error = {0};
    int r = check_run(flags, stop, &text, &error);

    if (r < 0)
        fprintf(stderr, "kusion-operator: the check failed: %s\n", error.message);
    else
        printf("%s\n", text.data);
    return r;
}

static int run(const struct flags *flags)
{
    struct cancel *stop = cancel_new(NULL);
    pthread_t signals;
    int r;

    block_signals();
    signals = thread_must_start("signals", await_signal, stop);
    r = flags->check ? run_check(flags, stop) : run_manager(flags, stop);
    cancel_fire(stop, "End");
    pthread_kill(signals, SIGTERM);
    pthread_join(signals, NULL);
    cancel_free(stop);
    return r < 0 ? 1 : 0;
}

int main(int argc, char **argv)
{
    struct error error = {0};
    struct flags flags;

    hide_memory();
    /* One arena for all threads: they wait for the API server, not for each other, while an arena
     * for each thread keeps memory of its own, and grows and shrinks it with every answer. */
    mallopt(M_ARENA_MAX, 1);
    /* libcurl would write the keys of every TLS session to the file of that name. */
    unsetenv("SSLKEYLOGFILE");
    if (argc > 1 && str_equal(argv[1], "state")) {
        /* A command ends by the other signals at once: what is stored is in order at any time. */
        signal(SIGPIPE, SIG_IGN);
        return state_command(argc, argv);
    }
    if (flags_parse(argc, argv, &flags, &error) < 0) {
        fprintf(stderr, "kusion-operator: %s\n", error.message);
        return 2;
    }
    if (flags.help) {
        flags_print_help();
        return 0;
    }
    if (flags.version) {
        printf("kusion-operator %s\n", KUSION_VERSION);
        return 0;
    }
    if (open_log(&flags, &error) < 0) {
        fprintf(stderr, "kusion-operator: %s\n", error.message);
        return 2;
    }
    return run(&flags);
}
