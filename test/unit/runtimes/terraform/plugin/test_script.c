#include "runtimes/terraform/plugin/script.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "runtimes/terraform/plugin/folder.h"
#include "test/unit/suite.h"

#define SIXTEEN  "/sixteen-letters"
#define QUARTER  SIXTEEN SIXTEEN SIXTEEN SIXTEEN
#define TOO_LONG QUARTER QUARTER QUARTER QUARTER

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");

    CU_ASSERT_FATAL(file != NULL);
    fputs(text, file);
    fclose(file);
}

static void the_first_line_says_what_runs_a_program(void)
{
    static const struct {
        const char *text;
        const char *interpreter; /* NULL: an error. "./…": of the folder */
        const char *argument;    /* or, of an error, its message */
    } table[] = {
        {"\177ELF", "./program", NULL},
        {"", "./program", NULL},
        {"#!/usr/bin/python3\nimport x\n", "/usr/bin/python3", NULL},
        {"#! \t/usr/bin/python3 \t -I -m x \n", "/usr/bin/python3", "-I -m x"},
        {"#!python/bin/python3 -I\n", "./python/bin/python3", "-I"},
        {"#!python3\n", "./python3", NULL},
        {"#!\n", NULL, "its first line, #!, names no interpreter"},
        {"#!/usr/bin/env python3\n", NULL,
         "its first line, #!/usr/bin/env python3, has to name the interpreter itself, such as "
         "#!/usr/bin/python3"},
        {"#!../python3\n", NULL, "its first line, #!../python3, leads out of its folder"},
        {"#!a/../../python3\n", NULL, "its first line, #!a/../../python3, leads out of its folder"},
        {"#!/usr/bin/python3", NULL,
         "its first line, #!/usr/bin/python3, has no end within 255 bytes"},
        {"#!" TOO_LONG "\n", NULL, "its first line, #!/sixteen-letters"},
    };
    _cleanup_(folder_remove_p) char *folder = str_new("/tmp/kusion-test-XXXXXX");
    _cleanup_free_ char *program = NULL;

    CU_ASSERT_FATAL(mkdtemp(folder) != NULL);
    program = str_printf("%s/program", folder);
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_(script_command_done) struct script_command command = {0};
        const char *interpreter = table[i].interpreter, *argument = table[i].argument;
        _cleanup_free_ char *path = interpreter && *interpreter == '.'
                                        ? str_printf("%s%s", folder, interpreter + 1)
                                        : str_new(interpreter);
        bool is_script = interpreter && !str_equal(path, program);
        struct error error = {0};

        put(program, table[i].text);
        EXPECT_INT(script_command(program, &command, &error), interpreter ? 0 : ERR_INVALID,
                   table[i].text);
        EXPECT(interpreter || str_has_prefix(error.message, argument), error.message);
        EXPECT_STR(command.arguments[0], path, table[i].text);
        EXPECT_STR(command.arguments[1],
                   !interpreter ? NULL
                   : argument   ? argument
                   : is_script  ? program
                                : NULL,
                   table[i].text);
        EXPECT_STR(command.arguments[2], interpreter && argument ? program : NULL, table[i].text);
    }
}

static void a_program_that_is_gone_is_an_error(void)
{
    struct script_command command = {0};
    struct error error = {0};

    CU_ASSERT(script_command("/nowhere", &command, &error) == ERR_INVALID);
    EXPECT_STR(error.message, "/nowhere: No such file or directory", "the path");
}

SUITE(script, TEST(the_first_line_says_what_runs_a_program),
      TEST(a_program_that_is_gone_is_an_error))
