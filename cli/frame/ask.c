#include "cli/frame/ask.h"

#include <string.h>
#include <unistd.h>

#include "engine/base/str.h"

int ask(struct cli *cli, const char *question, char **ret, struct error *error)
{
    char line[1024];
    size_t start, end;

    if (!isatty(STDIN_FILENO)) {
        err_set(error, ERR_INVALID, "NoTerminal",
                "standard input is no terminal, so nobody can be asked");
        err_hint(error, "the same command with --yes");
        return ERR_INVALID;
    }
    output_flush(&cli->out);
    output_add(&cli->err, "%s ", question);
    output_flush(&cli->err);
    cli->err.column = 0;
    if (!fgets(line, sizeof(line), stdin))
        line[0] = '\0';
    start = strspn(line, " \t");
    end = strlen(line);
    while (end > start && strchr(" \t\r\n", line[end - 1]))
        end--;
    *ret = str_new_n(line + start, end - start);
    return 0;
}

int ask_yes(struct cli *cli, const char *question, bool *ret, struct error *error)
{
    _cleanup_free_ char *answer = NULL;
    int r;

    *ret = true;
    if (cli->options.yes)
        return 0;
    r = ask(cli, question, &answer, error);
    *ret = r == 0 && (str_equal(answer, "yes") || str_equal(answer, "y"));
    return r;
}

int ask_word(struct cli *cli, const char *word, bool *ret, struct error *error)
{
    _cleanup_free_ char *answer = NULL, *question = str_printf("Type the name: %s >", word);
    int r;

    *ret = true;
    if (cli->options.yes)
        return 0;
    r = ask(cli, question, &answer, error);
    *ret = r == 0 && str_equal(answer, word);
    return r;
}
