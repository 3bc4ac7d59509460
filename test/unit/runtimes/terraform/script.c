#include "test/unit/runtimes/terraform/script.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/buf.h"
#include "engine/base/str.h"
#include "runtimes/terraform/plugin/folder.h"
#include "test/unit/suite.h"

void script_start(struct script *script, const char *path)
{
    _cleanup_free_ char *program = str_new("python3"), *file = str_new(path);
    char *const arguments[] = {program, file, script->folder = str_new("/tmp/test-tf-XXXXXX"),
                               NULL};
    posix_spawn_file_actions_t actions;
    int input[2], output[2];

    CU_ASSERT_FATAL(mkdtemp(script->folder) != NULL);
    CU_ASSERT_FATAL(pipe2(input, O_CLOEXEC) == 0 && pipe2(output, O_CLOEXEC) == 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input[0], 0);
    posix_spawn_file_actions_adddup2(&actions, output[1], 1);
    CU_ASSERT_FATAL(posix_spawnp(&script->pid, program, &actions, NULL, arguments, environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    close(input[0]);
    close(output[1]);
    script->input = input[1];
    script->output = fdopen(output[0], "r");
}

void script_done(struct script *script)
{
    close(script->input);
    fclose(script->output);
    waitpid(script->pid, NULL, 0);
    folder_remove(script->folder);
}

char *script_read(const struct script *script, const char *name)
{
    _cleanup_free_ char *path = str_printf("%s/%s", script->folder, name);
    struct buf text = BUF_INIT;
    char part[4096];
    FILE *file = fopen(path, "re");
    size_t length;

    CU_ASSERT_FATAL(file != NULL);
    while ((length = fread(part, 1, sizeof(part), file)) > 0)
        buf_add(&text, part, length);
    fclose(file);
    return buf_take(&text);
}
