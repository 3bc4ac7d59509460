/* __complete -- WORD…: what may come next, one a line, for the scripts of `completion`. */
#include <string.h>

#include "cli/frame/command.h"
#include "cli/online/objects.h"
#include "cli/online/online.h"
#include "engine/base/str.h"

/* ---- What may come next ---- */

enum complete_more {
    COMPLETE_NOTHING,
    COMPLETE_FILES, /* the shell completes names of files */
    COMPLETE_SPECS, /* names of Specs, which the API server has */
};

struct completion {
    struct cli *cli;
    const char *word; /* that is being written */
};

static void offer(const struct completion *c, const char *text)
{
    if (str_has_prefix(text, c->word))
        output_line(&c->cli->out, "%s", text);
}

/* "a|b|c", but not "ID|FORMAT": those are no values. */
static bool offer_choices(const struct completion *c, const char *choices)
{
    if (!choices || !strchr(choices, '|') || (choices[0] >= 'A' && choices[0] <= 'Z'))
        return false;
    while (*choices) {
        size_t n = strcspn(choices, "|");
        _cleanup_free_ char *one = str_new_n(choices, n);

        offer(c, one);
        choices += n + (choices[n] == '|');
    }
    return true;
}

/* ---- Options ---- */

static const struct option *option_of(const char *word)
{
    if (word[0] != '-' || !word[1])
        return NULL;
    if (word[1] == '-')
        return option_find(word + 2, strlen(word + 2));
    return word[2] ? NULL : option_find_letter(word[1]);
}

static enum complete_more complete_value(const struct completion *c, const struct command *command,
                                         const struct option *option)
{
    if (str_equal(option->name, "output")) {
        offer_choices(c, command ? command->formats : NULL);
        return COMPLETE_NOTHING;
    }
    if (offer_choices(c, option->argument))
        return COMPLETE_NOTHING;
    return str_equal(option->argument, "FILE") || str_equal(option->argument, "FOLDER")
               ? COMPLETE_FILES
               : COMPLETE_NOTHING;
}

static void offer_options(const struct completion *c, const struct command *command)
{
    for (size_t i = 0; i < n_options; i++) {
        _cleanup_free_ char *text = str_printf("--%s", option_table[i].name);

        if (command ? command_takes(command, &option_table[i])
                    : option_table[i].kind == OPTION_COMMON)
            offer(c, text);
    }
}

/* ---- Commands ---- */

/* The words of the line that are neither options nor their values. */
struct plain {
    const char *words[8];
    size_t count;
};

static struct plain plain_words(const char *const *words, size_t n)
{
    struct plain plain = {.count = 0};

    for (size_t i = 0; i < n; i++) {
        const struct option *option = option_of(words[i]);

        if (option && option->type != OPTION_BOOL)
            i++;
        else if (words[i][0] != '-' && plain.count < ARRAY_SIZE(plain.words))
            plain.words[plain.count++] = words[i];
    }
    return plain;
}

static const struct command *find_command(const struct cli *cli, const struct plain *plain,
                                          size_t *ret_used)
{
    for (size_t i = 0; plain->count && i < cli->n_commands; i++) {
        const char *name = cli->commands[i].name, *blank = strchr(name, ' ');
        size_t n = blank ? (size_t)(blank - name) : strlen(name);

        if (strlen(plain->words[0]) != n || memcmp(name, plain->words[0], n) != 0)
            continue;
        if (blank && (plain->count < 2 || !str_equal(plain->words[1], blank + 1)))
            continue;
        *ret_used = blank ? 2 : 1;
        return &cli->commands[i];
    }
    return NULL;
}

/* first: the first word, of commands that have two; NULL: none is written. */
static void offer_commands(const struct completion *c, const char *first)
{
    const char *last = "";

    for (size_t i = 0; i < c->cli->n_commands; i++) {
        const char *name = c->cli->commands[i].name, *blank = strchr(name, ' ');
        size_t n = blank ? (size_t)(blank - name) : strlen(name);
        bool is_repeated = strncmp(last, name, n) == 0 && last[n] == ' ';

        if (name[0] == '_')
            continue;
        if (first && blank && strlen(first) == n && memcmp(first, name, n) == 0)
            offer(c, blank + 1);
        if (!first && !is_repeated) {
            _cleanup_free_ char *word = str_new_n(name, n);

            offer(c, word);
        }
        last = name;
    }
}

static enum complete_more complete_argument(const struct completion *c,
                                            const struct command *command, size_t n_arguments)
{
    const char *arguments = command->arguments;

    if (n_arguments >= command->most)
        return COMPLETE_NOTHING;
    if (offer_choices(c, arguments))
        return COMPLETE_NOTHING;
    if (strstr(arguments, "NAME"))
        return COMPLETE_SPECS;
    return strstr(arguments, "FILE") ? COMPLETE_FILES : COMPLETE_NOTHING;
}

/* The words are after the program's name; the last one is the one that is being written, perhaps
 * "".
 */
static enum complete_more complete_words(struct cli *cli)
{
    const char *const *words = cli->arguments;
    size_t n = cli->n_arguments;
    struct completion c = {cli, n ? words[n - 1] : ""};
    struct plain plain = plain_words(words, n ? n - 1 : 0);
    const struct option *before = n > 1 ? option_of(words[n - 2]) : NULL;
    size_t used = 0;
    const struct command *command = find_command(cli, &plain, &used);

    if (before && before->type != OPTION_BOOL)
        return complete_value(&c, command, before);
    if (c.word[0] == '-') {
        offer_options(&c, command);
        return COMPLETE_NOTHING;
    }
    if (command)
        return complete_argument(&c, command, plain.count - used);
    if (plain.count <= 1)
        offer_commands(&c, plain.count ? plain.words[0] : NULL);
    return COMPLETE_NOTHING;
}

#define PATIENCE 2000 /* ms: a person waits */

/* -n NAMESPACE among the words. */
static const char *find_namespace(const struct cli *cli)
{
    for (size_t i = 0; i + 1 < cli->n_arguments; i++)
        if (str_equal(cli->arguments[i], "-n") || str_equal(cli->arguments[i], "--namespace"))
            return cli->arguments[i + 1];
    return NULL;
}

/* Without a cluster there are no names, and no error: a shell would show it. */
static void show_specs(struct cli *cli)
{
    const char *word = cli->arguments[cli->n_arguments - 1];
    _cleanup_(session_done) struct session session = {0};
    _cleanup_(objects_done) struct objects specs = {0};

    cli->options.namespace_name = find_namespace(cli);
    cli->options.request_timeout = PATIENCE;
    if (session_open(cli, &session, NULL) < 0 ||
        spec_list(&session, session.namespace_name, NULL, &specs, NULL) < 0)
        return;
    for (size_t i = 0; i < specs.count; i++)
        if (str_has_prefix(object_name(specs.items[i]), word))
            output_line(&cli->out, "%s", object_name(specs.items[i]));
}

int run_complete(struct cli *cli, struct error *error)
{
    (void)error;
    if (complete_words(cli) == COMPLETE_SPECS && cli->n_arguments)
        show_specs(cli);
    return EXIT_DONE;
}
