#include <string.h>

#include "cli/frame/command.h"
#include "cli/frame/width.h"
#include "engine/base/str.h"
#include "engine/yaml/yaml.h"

#define PROGRAM "kubectl kusion"

static void show_option(struct output *out, const struct option *option, const char *formats)
{
    const char *argument = str_equal(option->name, "output") ? formats : option->argument;

    if (option->letter)
        output_add(out, "  -%c, --%s", option->letter, option->name);
    else
        output_add(out, "      --%s", option->name);
    if (argument)
        output_add(out, " %s", argument);
    output_tab(out, 34);
    output_line(out, "%s", option->help);
}

static void show_options(struct output *out, const struct command *command, bool is_common)
{
    bool has_any = false;

    for (size_t i = 0; i < n_options; i++) {
        const struct option *option = &option_table[i];
        bool is_own = option->kind == OPTION_OWN || option->kind == OPTION_FORMAT;

        if (is_own == is_common || !command_takes(command, option))
            continue;
        if (!has_any) {
            output_end(out);
            output_paint(out, STYLE_BOLD, is_common ? "Options of all commands" : "Options");
            output_end(out);
        }
        has_any = true;
        show_option(out, option, command->formats);
    }
}

static void show_command(struct output *out, const struct command *command)
{
    output_line(out, "%s.", command->summary);
    output_end(out);
    output_add(out, "  %s %s", PROGRAM, command->name);
    if (*command->arguments)
        output_add(out, " %s", command->arguments);
    output_line(out, " [options]");
    if (command->about) {
        output_end(out);
        output_lines(out, command->about);
    }
    if (command->example) {
        output_end(out);
        output_paint(out, STYLE_BOLD, "Examples");
        output_end(out);
        output_lines(out, command->example);
    }
    show_options(out, command, false);
    show_options(out, command, true);
}

static void show_all(struct cli *cli)
{
    struct output *out = &cli->out;

    output_line(out, "Works with Specs and Releases of the Kusion operator.");
    output_end(out);
    output_line(out, "  %s COMMAND [options]", PROGRAM);
    output_end(out);
    for (size_t i = 0; i < cli->n_commands; i++) {
        const struct command *command = &cli->commands[i];

        if (command->name[0] == '_')
            continue; /* for scripts */
        output_add(out, "  ");
        output_paint(out, STYLE_BOLD, "%s", command->name);
        output_add(out, " %s", command->arguments);
        output_tab(out, 38);
        output_line(out, "%s", command->summary);
    }
    output_end(out);
    output_line(out, "NAME is a Spec. `%s COMMAND --help` says more.", PROGRAM);
    output_line(out, "Exit codes: 0 done or no change, 1 error, 2 changes (--detailed-exitcode), "
                     "3 timed out, 4 waits for approval.");
}

void help_show(struct cli *cli, const struct command *command)
{
    if (command)
        show_command(&cli->out, command);
    else
        show_all(cli);
}

bool cli_wants_data(const struct cli *cli)
{
    return str_equal(cli->options.output, "json") || str_equal(cli->options.output, "yaml");
}

void cli_print_data(struct cli *cli, const struct value *value)
{
    _cleanup_buf_ struct buf text = BUF_INIT;

    if (!str_equal(cli->options.output, "yaml")) {
        output_json(&cli->out, value, true);
        return;
    }
    yaml_write(&text, value);
    output_lines(&cli->out, text.data);
}

void cli_show_error(struct cli *cli, const struct error *error)
{
    struct output *err = &cli->err;
    size_t length = strcspn(error->message, "\n");
    _cleanup_free_ char *line = str_new_n(error->message, length);
    const char *hint = err_hints(error->message);

    output_flush(&cli->out);
    output_paint(err, STYLE_BAD, "error:");
    output_line(err, " %s", line);
    while (*hint) {
        size_t n = strcspn(++hint, "\n");
        _cleanup_free_ char *text = str_new_n(hint, n);

        output_line(err, "next:  %s", text);
        hint += n;
    }
    output_flush(err);
}
