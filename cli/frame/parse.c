#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/frame/command.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/similar.h"
#include "engine/base/str.h"

#define OPTIONS_SEEN 128

struct parser {
    struct cli *cli;
    char **argv;
    int argc, at;
    const struct option *seen[OPTIONS_SEEN]; /* checked once the command is known */
    size_t n_seen;
};

#define invalid(error, reason, ...) err_set(error, ERR_INVALID, reason, __VA_ARGS__)

/* ---- Options ---- */

static int take(struct parser *parser, const struct option *option, const char *value,
                struct error *error)
{
    if (option->type != OPTION_BOOL && !value) {
        if (parser->at + 1 >= parser->argc)
            return invalid(error, "InvalidOption", "--%s needs a value: %s", option->name,
                           option->argument);
        value = parser->argv[++parser->at];
    }
    if (parser->n_seen == OPTIONS_SEEN)
        return invalid(error, "InvalidOption", "more than %d options", OPTIONS_SEEN);
    parser->seen[parser->n_seen++] = option;
    return option_set(&parser->cli->options, option, value, error);
}

static int unknown_option(const char *name, size_t length, struct error *error)
{
    _cleanup_free_ char *text = str_new_n(name, length);
    struct similar similar;

    similar_begin(&similar, text);
    for (size_t i = 0; i < n_options; i++)
        similar_offer(&similar, option_table[i].name);
    if (similar.found)
        return invalid(error, "UnknownOption", "there is no option --%s; did you mean --%s?", text,
                       similar.found);
    invalid(error, "UnknownOption", "there is no option --%s", text);
    if (str_equal(text, "version"))
        err_hint(error, "kubectl kusion version");
    return ERR_INVALID;
}

static int read_long(struct parser *parser, const char *word, struct error *error)
{
    size_t length = strcspn(word, "=");
    const struct option *option = option_find(word, length);

    if (!option)
        return unknown_option(word, length, error);
    return take(parser, option, word[length] ? word + length + 1 : NULL, error);
}

static int read_letters(struct parser *parser, const char *word, struct error *error)
{
    for (; *word; word++) {
        const struct option *option = option_find_letter(*word);
        const char *rest = word + 1 + (word[1] == '=');
        int r;

        if (!option)
            return invalid(error, "UnknownOption", "there is no option -%c", *word);
        if (option->type != OPTION_BOOL || word[1] == '=')
            return take(parser, option, word[1] ? rest : NULL, error);
        r = take(parser, option, NULL, error);
        if (r < 0)
            return r;
    }
    return 0;
}

static int read_word(struct parser *parser, bool *has_ended, struct error *error)
{
    struct cli *cli = parser->cli;
    const char *word = parser->argv[parser->at];

    if (*has_ended || word[0] != '-' || !word[1]) {
        cli->arguments[cli->n_arguments++] = word;
        return 0;
    }
    if (str_equal(word, "--")) {
        *has_ended = true;
        return 0;
    }
    return word[1] == '-' ? read_long(parser, word + 2, error)
                          : read_letters(parser, word + 1, error);
}

/* ---- The command ---- */

static bool is_command(const struct command *command, const char *const *words, size_t n_words,
                       size_t *ret_used)
{
    const char *blank = strchr(command->name, ' ');
    size_t length = blank ? (size_t)(blank - command->name) : strlen(command->name);

    if (!n_words || strlen(words[0]) != length || memcmp(words[0], command->name, length) != 0)
        return false;
    if (blank && (n_words < 2 || !str_equal(words[1], blank + 1)))
        return false;
    *ret_used = blank ? 2 : 1;
    return true;
}

static void drop_arguments(struct cli *cli, size_t count)
{
    cli->n_arguments -= count;
    memmove(cli->arguments, cli->arguments + count, cli->n_arguments * sizeof(*cli->arguments));
}

/* The second words of a group, "list, show"; empty: it is none. */
static struct buf words_of(const struct cli *cli, const char *group)
{
    struct buf words = BUF_INIT;
    size_t length = strlen(group);

    for (size_t i = 0; i < cli->n_commands; i++)
        if (strncmp(cli->commands[i].name, group, length) == 0 &&
            cli->commands[i].name[length] == ' ')
            buf_printf(&words, "%s%s", words.length ? ", " : "",
                       cli->commands[i].name + length + 1);
    return words;
}

/* What other tools call it. */
static const struct {
    const char *word, *here;
} elsewhere[] = {
    {"get", "status"},        {"list", "status"},    {"ls", "status"},
    {"describe", "status"},   {"plan", "preview"},   {"template", "convert"},
    {"undo", "rollback"},     {"sync", "reconcile"}, {"refresh", "reconcile"},
    {"lint", "validate"},     {"import", "convert"}, {"pause", "suspend"},
    {"uninstall", "destroy"}, {"delete", "destroy"}, {"logs", "status NAME --events"},
};

static int unknown_command(const struct cli *cli, struct error *error)
{
    const char *word = cli->arguments[0];
    _cleanup_buf_ struct buf words = words_of(cli, word);
    struct similar similar;

    if (words.length) {
        invalid(error, "UnknownCommand", "after %s comes one of: %s", word, words.data);
        err_hint(error, "kubectl kusion help");
        return ERR_INVALID;
    }
    similar_begin(&similar, word);
    for (size_t i = 0; i < cli->n_commands; i++)
        similar_offer(&similar, cli->commands[i].name);
    for (size_t i = 0; i < ARRAY_SIZE(elsewhere); i++)
        if (str_equal(elsewhere[i].word, word))
            similar.found = elsewhere[i].here;
    invalid(error, "UnknownCommand", "there is no command \"%s\"", word);
    err_hint(error, similar.found ? "kubectl kusion %s" : "kubectl kusion help", similar.found);
    return ERR_INVALID;
}

static int find_command(struct cli *cli, struct error *error)
{
    size_t used = 0;

    if (cli->n_arguments &&
        str_equal(cli->arguments[0], "help")) { /* `help status` is `status --help` */
        cli->options.help = true;
        drop_arguments(cli, 1);
    }
    if (!cli->n_arguments)
        return 0;
    for (size_t i = 0; !cli->command && i < cli->n_commands; i++)
        if (is_command(&cli->commands[i], cli->arguments, cli->n_arguments, &used))
            cli->command = &cli->commands[i];
    if (!cli->command)
        return unknown_command(cli, error);
    drop_arguments(cli, used);
    return 0;
}

static bool has_word(const char *words, char separator, const char *word)
{
    size_t length = strlen(word);

    for (; words && *words; words += strcspn(words, (char[]){separator, 0}), words += *words != 0)
        if (strncmp(words, word, length) == 0 && (words[length] == separator || !words[length]))
            return true;
    return false;
}

bool command_takes(const struct command *command, const struct option *option)
{
    switch (option->kind) {
    case OPTION_COMMON:
        return true;
    case OPTION_CLUSTER:
        return !command->is_offline || has_word(command->options, ' ', option->name);
    case OPTION_FORMAT:
        return command->formats;
    case OPTION_OWN:
        return has_word(command->options, ' ', option->name);
    }
    return false;
}

/* ---- What fits together ---- */

static int check_command(const struct parser *parser, struct error *error)
{
    const struct cli *cli = parser->cli;
    const struct command *command = cli->command;

    for (size_t i = 0; i < parser->n_seen; i++)
        if (!command_takes(command, parser->seen[i]))
            return invalid(error, "UnknownOption", "%s has no option --%s", command->name,
                           parser->seen[i]->name);
    if (cli->options.output && !has_word(command->formats, '|', cli->options.output))
        return invalid(error, "InvalidOption", "-o %s: %s has the formats %s", cli->options.output,
                       command->name, command->formats);
    if (cli->n_arguments < command->least)
        return invalid(error, "InvalidArgument", "%s needs %s", command->name, command->arguments);
    if (cli->n_arguments > command->most)
        return invalid(error, "InvalidArgument", "%s: \"%s\" is one argument too many%s",
                       command->name, cli->arguments[command->most],
                       has_word(command->options, ' ', "filename") ? "; files are named with -f"
                                                                   : "");
    return 0;
}

static int check(const struct parser *parser, struct error *error)
{
    const struct cli *cli = parser->cli;
    int r = 0;

    if (cli->options.as_groups.count && !cli->options.as)
        return invalid(error, "InvalidOption", "--as-group goes with --as");
    if (cli->command && !cli->options.help)
        r = check_command(parser, error);
    if (r < 0)
        err_hint(error, "kubectl kusion %s --help", cli->command->name);
    return r;
}

int cli_parse(struct cli *cli, int argc, char **argv, struct error *error)
{
    struct parser parser = {.cli = cli, .argv = argv, .argc = argc, .at = 1};
    bool has_ended = false;
    int r = 0, opened;

    cli->arguments = NEW_ARRAY(const char *, (size_t)argc + 1);
    for (; r == 0 && parser.at < argc; parser.at++)
        r = read_word(&parser, &has_ended, error);
    if (r < 0)
        find_command(cli, NULL); /* whose help is the one to read */
    else
        r = find_command(cli, error);
    if (r == 0)
        r = check(&parser, error);
    opened = output_init(&cli->out, STDOUT_FILENO, cli->options.color, r < 0 ? NULL : error);
    output_init(&cli->err, STDERR_FILENO, cli->options.color, NULL);
    return r < 0 ? r : opened;
}

void cli_done(struct cli *cli)
{
    output_done(&cli->out);
    output_done(&cli->err);
    free(cli->arguments);
}
