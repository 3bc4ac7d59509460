/* explain: what a reason or a condition means, from docs/troubleshooting.md as it was at build
 * time. */
#include <ctype.h>
#include <string.h>

#include "cli/offline/offline.h"
#include "engine/base/similar.h"
#include "engine/base/str.h"

extern const char explain_page[]; /* docs/troubleshooting.md */

#define PAGE "docs/troubleshooting.md"

/* Calls fn for each row of the tables of conditions and of reasons: its first cell, and the others.
 */
typedef void on_row(void *arg, const char *names, const char *text);

static bool is_section(const char *line)
{
    return str_has_prefix(line, "## Conditions") || str_has_prefix(line, "## Reasons");
}

/* The end of a cell: a | that is neither escaped nor in backticks. */
static size_t cell_end(const char *text)
{
    bool in_code = false;
    size_t n = 0;

    for (; text[n]; n++)
        if (text[n] == '`')
            in_code = !in_code;
        else if (text[n] == '|' && !in_code && (n == 0 || text[n - 1] != '\\'))
            break;
    return n;
}

static void each_row(on_row *fn, void *arg)
{
    bool in_section = false;

    for (const char *at = explain_page; *at;) {
        size_t length = strcspn(at, "\n");
        _cleanup_free_ char *line = str_new_n(at, length);

        if (str_has_prefix(line, "## "))
            in_section = is_section(line);
        if (in_section && str_has_prefix(line, "| `")) {
            char *names = line + 2, *text = names + cell_end(names);

            if (*text == '|')
                *text++ = '\0';
            text[cell_end(text)] = '\0';
            fn(arg, names, text + strspn(text, " "));
        }
        at += length + (at[length] == '\n');
    }
}

/* ---- Plain text of Markdown ---- */

/* [text](link): the text, and where it leads, as a path of the repository. */
static const char *add_link(struct buf *to, const char *at)
{
    const char *middle = strstr(at, "]("), *end = middle ? strchr(middle, ')') : NULL;

    if (!end || memchr(at, '\n', (size_t)(end - at)))
        return NULL;
    buf_add(to, at + 1, (size_t)(middle - at - 1));
    middle += 2;
    if (*middle == '#')
        buf_printf(to, " (" PAGE "%.*s)", (int)(end - middle), middle);
    else if (str_has_prefix(middle, "http"))
        buf_printf(to, " (%.*s)", (int)(end - middle), middle);
    else if (str_has_prefix(middle, "../"))
        buf_printf(to, " (%.*s)", (int)(end - middle - 3), middle + 3);
    else
        buf_printf(to, " (docs/%.*s)", (int)(end - middle), middle);
    return end + 1;
}

static char *plain_text(const char *markdown)
{
    struct buf to = BUF_INIT;

    while (*markdown) {
        const char *after = *markdown == '[' ? add_link(&to, markdown) : NULL;

        if (after) {
            markdown = after;
        } else if (*markdown == '`' || (*markdown == '\\' && markdown[1] == '|')) {
            markdown++;
        } else {
            buf_add_char(&to, *markdown++);
        }
    }
    return buf_take(&to);
}

/* Lines of at most so many columns, broken at blanks. */
static void show_text(struct output *out, const char *text)
{
    size_t width = out->is_terminal && out->columns > 40 && out->columns < 100 ? out->columns : 96;

    while (*text) {
        size_t length = strlen(text), n = length;

        if (length > width) {
            for (n = width; n > 0 && text[n] != ' ';)
                n--;
            n = n ? n : strcspn(text, " ");
        }
        _cleanup_free_ char *line = str_new_n(text, n);
        output_line(out, "%s", line);
        text += n + (text[n] == ' ');
    }
}

/* ---- Looking one up ---- */

struct lookup {
    struct cli *cli;
    const char *wanted; /* NULL: all are listed */
    struct similar similar;
    char similar_name[SIMILAR_BYTES];
    size_t n_found;
};

static void show_row(struct lookup *lookup, const char *names, const char *text)
{
    struct output *out = &lookup->cli->out;
    _cleanup_free_ char *title = plain_text(names), *plain = plain_text(text);

    if (lookup->n_found++)
        output_end(out);
    while (str_has_suffix(title, " "))
        title[strlen(title) - 1] = '\0';
    output_paint(out, STYLE_BOLD, "%s", title);
    output_end(out);
    show_text(out, plain);
}

static void offer(struct lookup *lookup, const char *name)
{
    size_t before = lookup->similar.distance;

    similar_offer(&lookup->similar, name);
    if (lookup->similar.found && lookup->similar.distance < before) {
        str_copy(lookup->similar_name, sizeof(lookup->similar_name), name);
        lookup->similar.found = lookup->similar_name;
    }
}

static void look_at_row(void *arg, const char *names, const char *text)
{
    struct lookup *lookup = arg;
    bool is_it = false;

    for (const char *at = names; (at = strchr(at, '`'));) {
        size_t n = strcspn(++at, "`");
        _cleanup_free_ char *name = str_new_n(at, n);

        if (!lookup->wanted)
            output_line(&lookup->cli->out, "%s", name);
        else if (strcasecmp(name, lookup->wanted) == 0)
            is_it = true;
        else
            offer(lookup, name);
        at += n + (at[n] == '`');
    }
    if (is_it)
        show_row(lookup, names, text);
}

int run_explain(struct cli *cli, struct error *error)
{
    struct lookup lookup = {.cli = cli, .wanted = cli->n_arguments ? cli->arguments[0] : NULL};

    similar_begin(&lookup.similar, lookup.wanted ? lookup.wanted : "");
    each_row(look_at_row, &lookup);
    if (!lookup.wanted)
        return EXIT_DONE;
    if (lookup.n_found) {
        output_end(&cli->out);
        output_paint(&cli->out, STYLE_DIM, "From " PAGE ".");
        output_end(&cli->out);
        return EXIT_DONE;
    }
    err_set(error, ERR_NOT_FOUND, "NotFound", "there is no reason or condition \"%s\"%s%s%s",
            lookup.wanted, lookup.similar.found ? ": did you mean " : "",
            lookup.similar.found ? lookup.similar.found : "", lookup.similar.found ? "?" : "");
    err_hint(error, "kubectl kusion explain");
    return ERR_NOT_FOUND;
}
