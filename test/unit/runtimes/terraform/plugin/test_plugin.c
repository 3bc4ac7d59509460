#include "runtimes/terraform/plugin/plugin.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "runtimes/terraform/plugin/diagnostics.h"
#include "runtimes/terraform/plugin/folder.h"
#include "runtimes/terraform/plugin/handshake.h"
#include "test/unit/suite.h"

/* ---- The first line ---- */

static void handshakes_are_read(void)
{
    static const struct {
        const char *line;
        int protocol; /* or the code of an error */
    } table[] = {
        {"1|5|unix|/tmp/p/plugin1|grpc|", 5},
        {"1|6|unix|/tmp/p/plugin1|grpc|", 6},
        {"1|6|unix|/tmp/p/plugin1|grpc", 6},
        {"1|4|unix|/tmp/p/plugin1|grpc|", ERR_UNSUPPORTED},
        {"1|7|unix|/tmp/p/plugin1|grpc|", ERR_UNSUPPORTED},
        {"2|5|unix|/tmp/p/plugin1|grpc|", ERR_INVALID},
        {"1|x|unix|/tmp/p/plugin1|grpc|", ERR_INVALID},
        {"1|5|tcp|127.0.0.1:1234|grpc|", ERR_INVALID},
        {"1|5|unix|/tmp/p/plugin1|netrpc|", ERR_INVALID},
        {"1|5|unix|/tmp/p/plugin1|grpc|MIIC", ERR_INVALID},
        {"1|5|unix|/tmp/other/plugin1|grpc|", ERR_INVALID},
        {"1|5|unix|/tmp/p/../other/plugin1|grpc|", ERR_INVALID},
        {"1|5|unix|/tmp/plugin1|grpc|", ERR_INVALID},
        {"This binary is a plugin.", ERR_INVALID},
        {"", ERR_INVALID},
        {"|||||||||", ERR_INVALID},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        struct handshake handshake = {0};
        int r = handshake_read(table[i].line, "/tmp/p", &handshake, NULL);

        EXPECT_INT(r < 0 ? r : handshake.protocol, table[i].protocol, table[i].line);
        if (r >= 0)
            EXPECT_STR(handshake.socket, "/tmp/p/plugin1", table[i].line);
        free(handshake.socket);
    }
}

/* ---- Processes that are no providers ---- */

struct stage {
    struct processes *processes;
    struct http_loop *loop;
    char *folder, *program;
};

static void stage_init(struct stage *stage)
{
    *stage = (struct stage){.folder = str_new("/tmp/kusion-test-XXXXXX")};
    CU_ASSERT_FATAL(mkdtemp(stage->folder) != NULL);
    CU_ASSERT_FATAL(processes_new("test", &stage->processes, NULL) == 0);
    CU_ASSERT_FATAL(
        http_loop_new(&(struct http_loop_config){.max_connections = 1}, &stage->loop, NULL) == 0);
    stage->program = str_printf("%s/provider", stage->folder);
}

static void stage_done(struct stage *stage)
{
    http_loop_free(stage->loop);
    processes_free(stage->processes);
    folder_remove(stage->folder);
    free(stage->program);
}

static void write_program(const struct stage *stage, const char *script)
{
    FILE *file = fopen(stage->program, "we");

    CU_ASSERT_FATAL(file != NULL);
    fprintf(file, "#!/bin/sh\n%s\n", script);
    fclose(file);
    chmod(stage->program, 0755);
}

static int start(const struct stage *stage, int64_t time, struct plugin **ret, struct error *error)
{
    return plugin_start(&(struct plugin_config){.processes = stage->processes,
                                                .loop = stage->loop,
                                                .name = "test 1.0.0",
                                                .program = stage->program,
                                                .folder = stage->folder},
                        system_clock.monotonic(&system_clock) + time, NULL, ret, error);
}

static void what_is_no_provider_does_not_start(void)
{
    static const struct {
        const char *script;
        int64_t time; /* ms */
        int code;
        const char *message;
    } table[] = {
        {"echo hello", 10000, ERR_INVALID,
         "the provider test 1.0.0 did not start: its first line of output is not that of a "
         "provider: it does not begin with 1|5| or 1|6|"},
        {"echo '1|4|unix|x|grpc|'; sleep 60", 10000, ERR_UNSUPPORTED,
         "the provider test 1.0.0 did not start: it speaks protocol 4 of Terraform's providers; 5 "
         "and "
         "6 are supported"},
        {"echo oh no >&2; exit 3", 10000, ERR_UNAVAILABLE,
         "the provider test 1.0.0 did not start: it ended before its first output (exit status 3) "
         "(oh no )"},
        {"sleep 60", 200, ERR_TIMEOUT,
         "the provider test 1.0.0 did not start: it printed nothing in time"},
        {"exec head -c 10000 /dev/zero", 10000, ERR_TOO_LARGE, NULL},
        {"echo \"1|5|unix|$TMPDIR/nowhere|grpc|\"; sleep 60", 10000, ERR_UNAVAILABLE, NULL},
    };
    struct stage stage;

    stage_init(&stage);
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        struct plugin *plugin = NULL;
        struct error error = {0};

        write_program(&stage, table[i].script);
        EXPECT_INT(start(&stage, table[i].time, &plugin, &error), table[i].code, table[i].script);
        if (table[i].message && strncmp(error.message, table[i].message, strlen(table[i].message)))
            EXPECT_STR(error.message, table[i].message, table[i].script);
        EXPECT(!plugin, table[i].script);
    }
    stage_done(&stage);
}

/* ---- Diagnostics ---- */

static void diagnostics_become_errors(void)
{
    Tfplugin__Step step[2];
    Tfplugin__Step *steps[] = {&step[0], &step[1]};
    Tfplugin__Path path;
    Tfplugin__Diagnostic warning, error, second;
    Tfplugin__Diagnostic *all[] = {&warning, &error, &second};
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
    tfplugin__diagnostic__init(&warning);
    warning.severity = 2;
    warning.summary = (char *)(uintptr_t) "deprecated";
    tfplugin__diagnostic__init(&error);
    error.severity = 1;
    error.summary = (char *)(uintptr_t) "Bad rule";
    error.detail = (char *)(uintptr_t) "two\nlines \xff";
    error.attribute = &path;
    second = error;
    CU_ASSERT(diagnostics_check(all, 1, "attributes", &said) == 0);
    CU_ASSERT(diagnostics_check(all, 2, "attributes", &said) == ERR_INVALID);
    CU_ASSERT_STRING_EQUAL(said.message, "attributes.rules[2]: Bad rule: two lines ?");
    CU_ASSERT_STRING_EQUAL(said.reason, "ProviderError");
    CU_ASSERT(diagnostics_check(all, 3, "attributes", &said) == ERR_INVALID);
    CU_ASSERT_STRING_EQUAL(said.message, "attributes.rules[2]: Bad rule: two lines ? (and 1 more)");
}

SUITE(terraform_plugin, TEST(handshakes_are_read), TEST(what_is_no_provider_does_not_start),
      TEST(diagnostics_become_errors))
