/* __man FOLDER: a man page of the program, and one of each command, made from the table. For
 * packages. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/offline/offline.h"
#include "engine/base/str.h"

/* roff: a backslash and a hyphen are escaped, and no line begins with a dot or a quote. */
static void add_text(struct buf *to, const char *text)
{
    bool at_start = true;

    for (; *text; text++) {
        if (at_start && (*text == '.' || *text == '\''))
            buf_add_str(to, "\\&");
        if (*text == '\\')
            buf_add_str(to, "\\e");
        else if (*text == '-')
            buf_add_str(to, "\\-");
        else
            buf_add_char(to, *text);
        at_start = *text == '\n';
    }
}

static void add_paragraph(struct buf *to, const char *text)
{
    add_text(to, text);
    if (!str_has_suffix(text, "\n"))
        buf_add_char(to, '\n');
}

static void add_head(struct buf *to, const char *name, const char *summary)
{
    buf_printf(to,
               ".TH \"%s\" 1 \"\" \"kubectl\\-kusion " KUSION_VERSION "\" \"Kusion\"\n.SH NAME\n",
               name);
    add_text(to, name);
    buf_add_str(to, " \\- ");
    add_paragraph(to, summary);
}

static void add_options(struct buf *to, const struct command *command)
{
    buf_add_str(to, ".SH OPTIONS\n");
    for (size_t i = 0; i < n_options; i++) {
        const struct option *option = &option_table[i];
        const char *argument =
            str_equal(option->name, "output") ? command->formats : option->argument;

        if (!command_takes(command, option))
            continue;
        buf_add_str(to, ".TP\n");
        if (option->letter)
            buf_printf(to, "\\fB\\-%c\\fR, ", option->letter);
        buf_add_str(to, "\\fB\\-\\-");
        add_text(to, option->name);
        buf_add_str(to, "\\fR ");
        add_paragraph(to, argument ? argument : "");
        add_paragraph(to, option->help);
    }
}

static void make_page(struct buf *to, const struct command *command, const char *name)
{
    add_head(to, name, command->summary);
    buf_add_str(to, ".SH SYNOPSIS\n\\fBkubectl kusion ");
    add_text(to, command->name);
    buf_add_str(to, "\\fR ");
    add_paragraph(to, command->arguments);
    if (command->about) {
        buf_add_str(to, ".SH DESCRIPTION\n");
        add_paragraph(to, command->about);
    }
    add_options(to, command);
    if (command->example) {
        buf_add_str(to, ".SH EXAMPLES\n.nf\n");
        add_paragraph(to, command->example);
        buf_add_str(to, ".fi\n");
    }
    buf_add_str(to, ".SH SEE ALSO\n\\fBkubectl\\-kusion\\fR(1)\n");
}

/* "kubectl-kusion-state-show"; free(). */
static char *page_name(const struct command *command)
{
    char *name = str_printf("kubectl-kusion-%s", command->name);

    for (char *at = name; *at; at++)
        if (*at == ' ')
            *at = '-';
    return name;
}

static void make_overview(struct buf *to, const struct cli *cli)
{
    add_head(to, "kubectl-kusion", "works with Specs and Releases of the Kusion operator");
    buf_add_str(to, ".SH SYNOPSIS\n\\fBkubectl kusion\\fR COMMAND [options]\n.SH COMMANDS\n");
    for (size_t i = 0; i < cli->n_commands; i++) {
        if (cli->commands[i].name[0] == '_')
            continue;
        buf_add_str(to, ".TP\n\\fB");
        add_text(to, cli->commands[i].name);
        buf_add_str(to, "\\fR ");
        add_paragraph(to, cli->commands[i].arguments);
        add_paragraph(to, cli->commands[i].summary);
    }
    buf_add_str(to, ".SH EXIT STATUS\n0 done or no change, 1 error, 2 changes "
                    "(\\-\\-detailed\\-exitcode), 3 timed out, 4 waits for approval.\n");
}

static int write_page(const char *folder, const char *name, const struct buf *text,
                      struct error *error)
{
    _cleanup_free_ char *path = str_printf("%s/%s.1", folder, name);
    FILE *file = fopen(path, "we");
    bool is_good;

    if (!file)
        return err_set(error, ERR_INVALID, "FileUnreadable", "%s: %s", path, strerror(errno));
    is_good = fwrite(text->data, 1, text->length, file) == text->length;
    if (fclose(file) != 0 || !is_good)
        return err_set(error, ERR_INVALID, "FileUnreadable", "%s: %s", path, strerror(errno));
    return 0;
}

int run_man(struct cli *cli, struct error *error)
{
    const char *folder = cli->arguments[0];
    _cleanup_buf_ struct buf overview = BUF_INIT;
    int r;

    make_overview(&overview, cli);
    r = write_page(folder, "kubectl-kusion", &overview, error);
    for (size_t i = 0; r == 0 && i < cli->n_commands; i++) {
        _cleanup_free_ char *name = page_name(&cli->commands[i]);
        _cleanup_buf_ struct buf page = BUF_INIT;

        if (cli->commands[i].name[0] == '_')
            continue;
        make_page(&page, &cli->commands[i], name);
        r = write_page(folder, name, &page, error);
    }
    return r;
}
