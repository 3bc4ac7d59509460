#include "runtimes/terraform/plugin/script.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "engine/base/utf8.h"
#include "runtimes/io/close.h"

#define LINE   256 /* bytes, as the kernel reads */
#define BLANKS " \t"

void script_command_done(struct script_command *command)
{
    for (size_t i = 0; i < SCRIPT_ARGUMENTS; i++)
        free(command->arguments[i]);
    *command = (struct script_command){0};
}

/* Ends the line where the kernel does: at its end, without blanks before that. */
static bool cut_line(char *line)
{
    size_t length = strcspn(line, "\n");

    if (!line[length])
        return false;
    while (length && strchr(BLANKS, line[length - 1]))
        length--;
    line[length] = '\0';
    return true;
}

static int refuse(const char *line, const char *why, struct error *error)
{
    _cleanup_free_ char *shown = utf8_show(line);

    return err_set(error, ERR_INVALID, "InvalidProvider", "its first line, #!%s, %s", shown, why);
}

/* Of env it is not known which program it would run, and it could not run that one (sandbox.h). */
static int check_interpreter(const char *path, const char *line, struct error *error)
{
    const char *name = strrchr(path, '/');

    if (str_equal(name ? name + 1 : path, "env"))
        return refuse(line, "has to name the interpreter itself, such as #!/usr/bin/python3",
                      error);
    if (*path != '/' && (str_has_prefix(path, "../") || strstr(path, "/../")))
        return refuse(line, "leads out of its folder", error);
    return 0;
}

static int read_line(const char *program, char *line, struct script_command *ret,
                     struct error *error)
{
    _cleanup_free_ char *whole = NULL;
    char *path, *argument;
    int r;

    if (!cut_line(line))
        return refuse(line, "has no end within 255 bytes", error);
    whole = str_new(line);
    path = line + strspn(line, BLANKS);
    argument = path + strcspn(path, BLANKS);
    if (*argument)
        *argument++ = '\0';
    argument += strspn(argument, BLANKS);
    if (!*path)
        return refuse(whole, "names no interpreter", error);
    r = check_interpreter(path, whole, error);
    if (r < 0)
        return r;
    ret->arguments[0] =
        *path == '/'
            ? str_new(path)
            : str_printf("%.*s%s", (int)(strrchr(program, '/') + 1 - program), program, path);
    if (*argument)
        ret->arguments[1] = str_new(argument);
    ret->arguments[*argument ? 2 : 1] = str_new(program);
    return 0;
}

int script_command(const char *program, struct script_command *ret, struct error *error)
{
    _cleanup_(close_fd_p) int fd = open(program, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char text[2 + LINE] = {0};
    ssize_t n = fd >= 0 ? pread(fd, text, sizeof(text) - 1, 0) : -1;

    *ret = (struct script_command){0};
    if (n < 0)
        return err_set(error, ERR_INVALID, NULL, "%s: %s", program, strerrordesc_np(errno));
    if (str_has_prefix(text, "#!"))
        return read_line(program, text + 2, ret, error);
    ret->arguments[0] = str_new(program);
    return 0;
}
