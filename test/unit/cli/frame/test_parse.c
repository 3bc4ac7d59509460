#include "cli/frame/command.h"
#include "engine/base/str.h"
#include "test/unit/suite.h"

#define MAX_WORDS 8

static int run_nothing(struct cli *cli, struct error *error)
{
    (void)cli, (void)error;
    return EXIT_DONE;
}

static const struct command commands[] = {
    {.name = "status",
     .arguments = "[NAME]",
     .options = "all-namespaces watch failed",
     .formats = "json|wide",
     .most = 1,
     .run = run_nothing},
    {.name = "state show", .arguments = "NAME", .least = 1, .most = 1, .run = run_nothing},
    {.name = "state list", .arguments = "", .run = run_nothing},
    {.name = "explain", .arguments = "REASON", .is_offline = true, .most = 1, .run = run_nothing},
};

/* Copies that end where they end: a read past one is seen. */
struct line {
    struct cli cli;
    char *argv[MAX_WORDS + 2];
    int argc;
};

static int parse(struct line *line, const char *const words[MAX_WORDS], struct error *error)
{
    *line = (struct line){.cli = {.commands = commands, .n_commands = ARRAY_SIZE(commands)},
                          .argv = {str_new("kubectl-kusion")},
                          .argc = 1};
    for (size_t i = 0; i < MAX_WORDS && words[i]; i++)
        line->argv[line->argc++] = str_new(words[i]);
    return cli_parse(&line->cli, line->argc, line->argv, error);
}

static void line_done(struct line *line)
{
    cli_done(&line->cli);
    for (int i = 0; i < line->argc; i++)
        free(line->argv[i]);
}

static void options_stand_anywhere_in_all_forms(void)
{
    static const char *const lines[][MAX_WORDS] = {
        {"status", "-n", "shop", "web", "-w"},
        {"-n=shop", "status", "web", "--watch"},
        {"status", "web", "-nshop", "-w"},
        {"--namespace=shop", "status", "--watch=true", "web"},
        {"--namespace", "shop", "status", "-w", "--", "web"},
        {"status", "-wn", "shop", "web"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        struct error error = {0};
        struct line line;

        EXPECT_INT(parse(&line, lines[i], &error), 0, error.message);
        EXPECT_STR(line.cli.command ? line.cli.command->name : NULL, "status", lines[i][0]);
        EXPECT_STR(line.cli.options.namespace_name, "shop", lines[i][0]);
        EXPECT(line.cli.options.watch, lines[i][0]);
        EXPECT_INT(line.cli.n_arguments, 1, lines[i][0]);
        EXPECT_STR(line.cli.arguments[0], "web", lines[i][0]);
        line_done(&line);
    }
}

static void commands_of_two_words_are_found(void)
{
    struct error error = {0};
    struct line line;

    EXPECT_INT(parse(&line, (const char *const[MAX_WORDS]){"state", "show", "web"}, &error), 0, "");
    EXPECT_STR(line.cli.command->name, "state show", "");
    EXPECT_STR(line.cli.arguments[0], "web", "");
    line_done(&line);
}

static void help_needs_nothing_else(void)
{
    static const char *const lines[][MAX_WORDS] = {
        {"help", "state", "show"}, {"state", "show", "--help"}, {"state", "show", "-h", "a", "b"}};

    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        struct error error = {0};
        struct line line;

        EXPECT_INT(parse(&line, lines[i], &error), 0, error.message);
        EXPECT(line.cli.options.help, lines[i][0]);
        EXPECT_STR(line.cli.command->name, "state show", lines[i][0]);
        line_done(&line);
    }
}

static void mistakes_are_told_with_what_to_do(void)
{
    static const struct {
        const char *words[MAX_WORDS], *message;
    } rows[] = {
        {{"stauts"}, "there is no command \"stauts\"\nkubectl kusion status"},
        {{"state"}, "after state comes one of: show, list\nkubectl kusion help"},
        {{"plan"}, "there is no command \"plan\"\nkubectl kusion preview"},
        {{"status", "--wacth"}, "there is no option --wacth; did you mean --watch?"},
        {{"status", "-x"}, "there is no option -x"},
        {{"status", "--watch=maybe"}, "--watch: \"maybe\" is neither true nor false"},
        {{"status", "-n"}, "--namespace needs a value: NAMESPACE"},
        {{"status", "--yes"}, "status has no option --yes\nkubectl kusion status --help"},
        {{"status", "-o", "yaml"},
         "-o yaml: status has the formats json|wide\nkubectl kusion status --help"},
        {{"status", "a", "b"},
         "status: \"b\" is one argument too many\nkubectl kusion status --help"},
        {{"state", "show"}, "state show needs NAME\nkubectl kusion state show --help"},
        {{"explain", "-n", "x"},
         "explain has no option --namespace\nkubectl kusion explain --help"},
        {{"status", "--request-timeout", "soon"},
         "--request-timeout: \"soon\" is no time, such as 30s or 5m"},
        {{"status", "--as-group", "a"}, "--as-group goes with --as"},
        {{"status", "--color", "blue"}, "--color: \"blue\" is none of auto, always, never"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct error error = {0};
        struct line line;

        EXPECT_INT(parse(&line, rows[i].words, &error), ERR_INVALID, rows[i].message);
        EXPECT_STR(error.message, rows[i].message, rows[i].words[0]);
        line_done(&line);
    }
}

static void times_are_kubectls(void)
{
    static const struct {
        const char *text;
        int64_t ms;
    } rows[] = {{"30", 30000}, {"30s", 30000}, {"1m30s", 90000}, {"0", 0}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct error error = {0};
        struct line line;

        EXPECT_INT(
            parse(&line,
                  (const char *const[MAX_WORDS]){"status", "--request-timeout", rows[i].text},
                  &error),
            0, rows[i].text);
        EXPECT_INT(line.cli.options.request_timeout, rows[i].ms, rows[i].text);
        line_done(&line);
    }
}

SUITE(cli_parse, TEST(options_stand_anywhere_in_all_forms), TEST(commands_of_two_words_are_found),
      TEST(help_needs_nothing_else), TEST(mistakes_are_told_with_what_to_do),
      TEST(times_are_kubectls))
