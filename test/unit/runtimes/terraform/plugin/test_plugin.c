#include "runtimes/terraform/plugin/plugin.h"

#include <errno.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "runtimes/terraform/plugin/diagnostics.h"
#include "runtimes/terraform/plugin/folder.h"
#include "runtimes/terraform/plugin/handshake.h"
#include "test/unit/suite.h"

/* ---- The first line ---- */

#define PEM(lines) "-----BEGIN CERTIFICATE-----\n" lines "-----END CERTIFICATE-----\n"
#define SIXTEEN    "MIICMIICMIICMIIC"
#define SIXTY_FOUR SIXTEEN SIXTEEN SIXTEEN SIXTEEN

static void handshakes_are_read(void)
{
    static const struct {
        const char *line;
        int protocol; /* or the code of an error */
        const char *socket, *certificate;
    } table[] = {
        {"1|5|unix|/tmp/p/plugin1|grpc|", 5, "/tmp/p/plugin1", NULL},
        {"1|6|unix|/tmp/p/plugin1|grpc|", 6, "/tmp/p/plugin1", NULL},
        {"1|6|unix|/tmp/p/plugin1|grpc", 6, "/tmp/p/plugin1", NULL},
        /* As made in Python: with a certificate, and the socket in a folder of its own. */
        {"1|6|unix|/tmp/p/tmp1/s|grpc|MIIC", 6, "/tmp/p/tmp1/s", PEM("MIIC\n")},
        {"1|6|unix|/tmp/p/s|grpc|MIICMII", 6, "/tmp/p/s", PEM("MIICMII=\n")},
        {"1|6|unix|/tmp/p/s|grpc|" SIXTY_FOUR "AAAA", 6, "/tmp/p/s", PEM(SIXTY_FOUR "\nAAAA\n")},
        {"1|6|unix|/tmp/p/s|grpc|MI IC", ERR_INVALID, NULL, NULL},
        {"1|6|unix|/tmp/p/s|grpc|MIICM", ERR_INVALID, NULL, NULL},
        {"1|6|unix|/tmp/p/s|grpc|====", ERR_INVALID, NULL, NULL},
        {"1|4|unix|/tmp/p/plugin1|grpc|", ERR_UNSUPPORTED, NULL, NULL},
        {"1|7|unix|/tmp/p/plugin1|grpc|", ERR_UNSUPPORTED, NULL, NULL},
        {"2|5|unix|/tmp/p/plugin1|grpc|", ERR_INVALID, NULL, NULL},
        {"1|x|unix|/tmp/p/plugin1|grpc|", ERR_INVALID, NULL, NULL},
        {"1|5|tcp|127.0.0.1:1234|grpc|", ERR_INVALID, NULL, NULL},
        {"1|5|unix|/tmp/p/plugin1|netrpc|", ERR_INVALID, NULL, NULL},
        {"1|5|unix|/tmp/other/plugin1|grpc|", ERR_INVALID, NULL, NULL},
        {"1|5|unix|/tmp/p/../other/plugin1|grpc|", ERR_INVALID, NULL, NULL},
        {"1|5|unix|/tmp/plugin1|grpc|", ERR_INVALID, NULL, NULL},
        {"This binary is a plugin.", ERR_INVALID, NULL, NULL},
        {"", ERR_INVALID, NULL, NULL},
        {"|||||||||", ERR_INVALID, NULL, NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        struct handshake handshake = {0};
        int r = handshake_read(table[i].line, "/tmp/p", &handshake, NULL);

        EXPECT_INT(r < 0 ? r : handshake.protocol, table[i].protocol, table[i].line);
        EXPECT_STR(handshake.socket, table[i].socket, table[i].line);
        EXPECT_STR(handshake.certificate, table[i].certificate, table[i].line);
        handshake_done(&handshake);
    }
}

/* ---- Processes that are no providers ---- */

struct stage {
    struct processes *processes;
    struct http_loop *loop;
    char *folder, *program;
};

/* The program that tests start (test/unit/child), beside their own. */
static char *find_program(void)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

    CU_ASSERT_FATAL(length > 0);
    path[length] = '\0';
    return str_printf("%.*s/child_static", (int)(strrchr(path, '/') - path), path);
}

static void stage_init(struct stage *stage)
{
    *stage =
        (struct stage){.folder = str_new("/tmp/kusion-test-XXXXXX"), .program = find_program()};
    CU_ASSERT_FATAL(mkdtemp(stage->folder) != NULL);
    CU_ASSERT_FATAL(processes_new("test", &stage->processes, NULL) == 0);
    CU_ASSERT_FATAL(
        http_loop_new(&(struct http_loop_config){.max_connections = 1}, &stage->loop, NULL) == 0);
}

static void stage_done(struct stage *stage)
{
    http_loop_free(stage->loop);
    processes_free(stage->processes);
    folder_remove(stage->folder);
    free(stage->program);
}

static int start(const struct stage *stage, const char *does, int64_t time, struct plugin **ret,
                 struct error *error)
{
    _cleanup_free_ char *words = str_printf("DO=%s", does);
    const char *const environment[] = {words, NULL};

    return plugin_start(
        &(struct plugin_config){.processes = stage->processes,
                                .loop = stage->loop,
                                .name = "test 1.0.0",
                                .program = stage->program,
                                .folder = stage->folder,
                                .environment = environment,
                                .allow_unconfined = true /* where it must be */},
        &(struct plugin_call){.deadline = system_clock.monotonic(&system_clock) + time}, ret,
        error);
}

static void what_is_no_provider_does_not_start(void)
{
    static const struct {
        const char *does;
        int64_t time; /* ms */
        int code;
        const char *message, *hint; /* the beginning */
    } table[] = {
        {"print hello", 10000, ERR_INVALID,
         "the provider test 1.0.0 did not start: its first line of output is not that of a "
         "provider: it does not begin with 1|5| or 1|6|",
         "check that its package "},
        {"print_and_stay 1|4|unix|x|grpc|", 10000, ERR_UNSUPPORTED,
         "the provider test 1.0.0 did not start: it speaks protocol 4 of Terraform's providers; 5 "
         "and 6 are supported",
         "check that its package "},
        {"complain oh no", 10000, ERR_UNAVAILABLE,
         "the provider test 1.0.0 did not start: it ended before its first output (exit status 3) "
         "(oh no )",
         "the next attempt is made with a new process of it; if that fails"},
        {"stay", 200, ERR_TIMEOUT,
         "the provider test 1.0.0 did not start: it printed nothing in time",
         "the next attempt is made with a new process of it; if it needs more time"},
        {"pour", 10000, ERR_TOO_LARGE, NULL, "check that its package "},
        {"greet", 10000, ERR_UNAVAILABLE,
         "the provider test 1.0.0 did not start: its process cannot be reached",
         "the next attempt is made with a new process of it; if that fails"},
    };
    struct stage stage;

    stage_init(&stage);
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        struct plugin *plugin = NULL;
        struct error error = {0};

        EXPECT_INT(start(&stage, table[i].does, table[i].time, &plugin, &error), table[i].code,
                   table[i].does);
        if (table[i].message && strncmp(error.message, table[i].message, strlen(table[i].message)))
            EXPECT_STR(error.message, table[i].message, table[i].does);
        EXPECT(str_has_prefix(err_hints(error.message) + 1, table[i].hint), error.message);
        EXPECT(!plugin, table[i].does);
    }
    stage_done(&stage);
}

/* ---- Its sandbox: the details are those of runtimes/io/sandbox.h ---- */

static void it_writes_in_its_own_folder_alone(void)
{
    static const struct {
        const char *does;
        const char *says; /* on its first line */
    } table[] = {
        {"write ./file", "ok"},         {"write ../file", "EACCES"},     {"list ..", "EACCES"},
        {"read /etc/passwd", "EACCES"}, {"execute /bin/true", "EACCES"},
    };
    struct stage stage;

    if (!sandbox_guards_files(NULL)) {
        printf("skipped: the kernel has no Landlock\n");
        return;
    }
    stage_init(&stage);
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_free_ char *does = str_printf("complain_of %s", table[i].does);
        _cleanup_free_ char *said = str_printf("(exit status 3) (%s ", table[i].says);
        struct plugin *plugin = NULL;
        struct error error = {0};

        EXPECT_INT(start(&stage, does, 10000, &plugin, &error), ERR_UNAVAILABLE, does);
        EXPECT(strstr(error.message, said), does);
    }
    CU_ASSERT(rmdir(stage.folder) == 0); /* nothing is left */
    stage_done(&stage);
}

/* As a kernel does that has none. */
static void hide_landlock(void)
{
    struct sock_filter items[] = {
        {.code = BPF_LD | BPF_W | BPF_ABS, .k = offsetof(struct seccomp_data, nr)},
        {.code = BPF_JMP | BPF_JEQ | BPF_K, .jf = 1, .k = SYS_landlock_create_ruleset},
        {.code = BPF_RET | BPF_K, .k = SECCOMP_RET_ERRNO | ENOSYS},
        {.code = BPF_RET | BPF_K, .k = SECCOMP_RET_ALLOW},
    };
    struct sock_fprog program = {.len = ARRAY_SIZE(items), .filter = items};

    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

/* In a process of its own, which has no Landlock: 0, or the number of what is not so. */
static int try_without_landlock(void)
{
    static const char *const environment[] = {"DO=print hello", NULL};
    struct plugin_config config = {.name = "test 1.0.0", .environment = environment};
    const struct plugin_call call = {.deadline = system_clock.monotonic(&system_clock) + 10000};
    struct plugin *plugin = NULL;
    struct error error = {0};
    struct stage stage;

    hide_landlock();
    stage_init(&stage);
    config.processes = stage.processes;
    config.loop = stage.loop;
    config.program = stage.program;
    config.folder = stage.folder;
    if (plugin_start(&config, &call, &plugin, &error) != ERR_UNSUPPORTED || plugin)
        return 1;
    if (!str_equal(error.reason, "ProviderNotConfined") ||
        !strstr(error.message, "--terraform-allow-unconfined"))
        return 2;
    config.allow_unconfined = true;
    if (plugin_start(&config, &call, &plugin, NULL) != ERR_INVALID) /* it ran */
        return 3;
    stage_done(&stage);
    return 0;
}

static void without_landlock_a_flag_must_allow_it(void)
{
    int status = -1;
    pid_t child = fork();

    if (child == 0)
        _exit(try_without_landlock());
    waitpid(child, &status, 0);
    CU_ASSERT_EQUAL(status, 0);
}

/* ---- Folders ---- */

/* A socket's path must fit into its address, and cannot be guessed. */
static void names_of_folders(void)
{
    _cleanup_free_ char *parent = str_new("/tmp/kusion-test-XXXXXX");
    char *claimed = NULL, *first = NULL, *second = NULL;
    struct stat status;
    int lock;

    CU_ASSERT_FATAL(mkdtemp(parent) != NULL);
    CU_ASSERT_FATAL(folder_claim(parent, &claimed, &lock, NULL) == 0);
    CU_ASSERT_FATAL(folder_make(claimed, &first, NULL) == 0);
    CU_ASSERT_FATAL(folder_make(claimed, &second, NULL) == 0);
    CU_ASSERT(!str_equal(first, second));
    CU_ASSERT(strlen(strrchr(first, '/') + 1) == 20);
    CU_ASSERT(stat(first, &status) == 0 && (status.st_mode & 07777) == 0700);
    CU_ASSERT(FOLDER_LONGEST + strlen(first) - strlen(parent) + strlen("/plugin4294967295") <= 107);
    folder_remove(first);
    folder_remove(second);
    folder_remove(claimed);
    close(lock);
    CU_ASSERT(rmdir(parent) == 0);
}

/* ---- Diagnostics ---- */

static Tfplugin__Diagnostic diagnostic(int severity, const char *summary, const char *detail)
{
    Tfplugin__Diagnostic made;

    tfplugin__diagnostic__init(&made);
    made.severity = severity;
    made.summary = (char *)(uintptr_t)summary;
    made.detail = (char *)(uintptr_t)detail;
    return made;
}

static void diagnostics_become_errors(void)
{
    Tfplugin__Step step[2];
    Tfplugin__Step *steps[] = {&step[0], &step[1]};
    Tfplugin__Path path;
    Tfplugin__Diagnostic warning = diagnostic(2, "deprecated", "use\n  text");
    Tfplugin__Diagnostic error = diagnostic(1, "Bad rule", "two\n\n  lines \xff");
    Tfplugin__Diagnostic second = diagnostic(1, "No such field", "");
    Tfplugin__Diagnostic *all[] = {&warning, &error, &second, &second};
    struct warnings warnings = {0};
    struct error said = {0};

    for (int i = 0; i < 2; i++)
        tfplugin__step__init(&step[i]);
    step[0].selector_case = TFPLUGIN__STEP__SELECTOR_ATTRIBUTE_NAME;
    step[0].attribute_name = (char *)(uintptr_t) "rules";
    step[1].selector_case = TFPLUGIN__STEP__SELECTOR_ELEMENT_KEY_INT;
    step[1].element_key_int = 2;
    tfplugin__path__init(&path);
    path.n_steps = 2;
    path.steps = steps;
    error.attribute = &path;
    CU_ASSERT(diagnostics_check(all, 1, "attributes", NULL, &said) == 0);
    CU_ASSERT(diagnostics_check(all, 1, "attributes", &warnings, &said) == 0);
    CU_ASSERT(diagnostics_check(all, 1, "attributes", &warnings, &said) == 0);
    EXPECT_INT(warnings.count, 1, "each once");
    EXPECT_STR(warnings.items[0], "deprecated: use text", "a warning");
    CU_ASSERT(diagnostics_check(all + 1, 1, "attributes", NULL, &said) == ERR_INVALID);
    EXPECT_STR(said.message, "attributes.rules[2]: Bad rule: two lines ?", "one");
    EXPECT_STR(said.reason, "ProviderError", "reason");
    CU_ASSERT(diagnostics_check(all, 2, "extensions.providerMeta", NULL, &said) == ERR_INVALID);
    CU_ASSERT(str_has_prefix(said.message, "extensions.providerMeta.rules[2]: Bad rule"));
    CU_ASSERT(diagnostics_check(all, 4, "attributes", &warnings, &said) == ERR_INVALID);
    EXPECT_STR(said.message,
               "attributes.rules[2]: Bad rule: two lines ?; No such field; "
               "warning: deprecated: use text",
               "all of them");
    EXPECT_INT(warnings.count, 1, "those of an error are told by it");
    warnings_done(&warnings);
}

static void one_that_is_part_of_another_is_told(void)
{
    Tfplugin__Diagnostic longer = diagnostic(1, "No such field: name", "");
    Tfplugin__Diagnostic begins = diagnostic(1, "No such field", "");
    Tfplugin__Diagnostic ends = diagnostic(1, "name", "");
    Tfplugin__Diagnostic *all[] = {&longer, &begins, &ends, &ends};
    struct error said = {0};

    CU_ASSERT(diagnostics_check(all, 4, "attributes", NULL, &said) == ERR_INVALID);
    EXPECT_STR(said.message, "No such field: name; No such field; name", "each once");
}

static void long_diagnostics_are_cut(void)
{
    char details[10][2000];
    Tfplugin__Diagnostic items[10], *all[10];
    struct warnings warnings = {0};
    struct error said = {0};

    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        memset(details[i], (int)('a' + i), sizeof(details[i]) - 1);
        details[i][sizeof(details[i]) - 1] = '\0';
        items[i] = diagnostic(i < 5 ? 1 : 2, "Long", details[i]);
        all[i] = &items[i];
    }
    CU_ASSERT(diagnostics_check(all, 10, "attributes", NULL, &said) == ERR_INVALID);
    EXPECT(strlen(said.message) < ERROR_MESSAGE_SIZE - 200, "there is room for where and how");
    EXPECT(strstr(said.message, "…; Long: b"), said.message);
    EXPECT(strstr(said.message, "; Long: c"), said.message);
    EXPECT(str_has_suffix(said.message, "; and 7 more"), said.message);
    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        items[i].severity = 2;
    CU_ASSERT(diagnostics_check(all, 10, "attributes", &warnings, &said) == 0);
    EXPECT_INT(warnings.count, WARNINGS_MOST, "kept");
    EXPECT_INT(warnings.left_out, 2, "counted");
    warnings_done(&warnings);
}

SUITE(terraform_plugin, TEST(handshakes_are_read), TEST(what_is_no_provider_does_not_start),
      TEST(it_writes_in_its_own_folder_alone), TEST(without_landlock_a_flag_must_allow_it),
      TEST(names_of_folders), TEST(diagnostics_become_errors),
      TEST(one_that_is_part_of_another_is_told), TEST(long_diagnostics_are_cut))
