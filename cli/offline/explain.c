/* explain: what a condition or a reason means, from docs/troubleshooting.md and docs/reasons.md as
 * they were at build time. */
#include <stdlib.h>
#include <string.h>

#include "cli/offline/offline.h"
#include "engine/base/mem.h"
#include "engine/base/similar.h"
#include "engine/base/str.h"

extern const char explain_conditions[]; /* docs/troubleshooting.md */
extern const char explain_reasons[];    /* docs/reasons.md */

#define CONDITIONS "docs/troubleshooting.md"
#define REASONS    "docs/reasons.md"

/* Is called for each entry: its names, in backticks, its paragraphs, a line each, and where it is.
 */
typedef void on_entry(void *arg, const char *names, const char *text, const char *page);

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

/* The rows of the table of conditions. */
static void each_condition(on_entry *fn, void *arg)
{
    bool in_section = false;

    for (const char *at = explain_conditions; *at;) {
        size_t length = strcspn(at, "\n");
        _cleanup_free_ char *line = str_new_n(at, length);

        if (str_has_prefix(line, "## "))
            in_section = str_has_prefix(line, "## Conditions");
        if (in_section && str_has_prefix(line, "| `")) {
            char *names = line + 2, *text = names + cell_end(names);

            if (*text == '|')
                *text++ = '\0';
            text[cell_end(text)] = '\0';
            fn(arg, names, text + strspn(text, " "), CONDITIONS);
        }
        at += length + (at[length] == '\n');
    }
}

static void end_reason(struct buf *names, struct buf *text, on_entry *fn, void *arg)
{
    if (text->length)
        fn(arg, names->data, text->data, REASONS);
    buf_reset(names);
    buf_reset(text);
}

/* Headings that follow one another share the text below them. */
static void each_reason(on_entry *fn, void *arg)
{
    _cleanup_buf_ struct buf names = BUF_INIT, text = BUF_INIT;
    bool is_new = false; /* paragraph */

    for (const char *at = explain_reasons; *at;) {
        size_t length = strcspn(at, "\n");
        bool is_heading = str_has_prefix(at, "## ");

        if (is_heading && text.length)
            end_reason(&names, &text, fn, arg);
        if (is_heading)
            buf_printf(&names, "%s`%.*s`", names.length ? ", " : "", (int)length - 3, at + 3);
        else if (names.length && length)
            buf_printf(&text, "%s%.*s", !text.length ? "" : is_new ? "\n" : " ", (int)length, at);
        is_new = !length;
        at += length + (at[length] == '\n');
    }
    end_reason(&names, &text, fn, arg);
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
        buf_printf(to, " (" CONDITIONS "%.*s)", (int)(end - middle), middle);
    else if (str_has_prefix(middle, "http://") || str_has_prefix(middle, "https://"))
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
    char **names;       /* to be listed */
    size_t n_names, capacity;
    struct similar similar;
    char similar_name[SIMILAR_BYTES];
    size_t n_found;
    const char *page; /* of what was found */
};

static void show_entry(struct lookup *lookup, const char *names, const char *text)
{
    struct output *out = &lookup->cli->out;
    _cleanup_free_ char *title = plain_text(names), *plain = plain_text(text);

    if (lookup->n_found++)
        output_end(out);
    while (str_has_suffix(title, " "))
        title[strlen(title) - 1] = '\0';
    output_paint(out, STYLE_BOLD, "%s", title);
    output_end(out);
    for (char *at = plain, *next; at; at = next) {
        next = strchr(at, '\n');
        if (next)
            *next++ = '\0';
        show_text(out, at);
    }
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

static void show_names(struct lookup *lookup)
{
    qsort(lookup->names, lookup->n_names, sizeof(*lookup->names), str_compare);
    for (size_t i = 0; i < lookup->n_names; i++) {
        output_line(&lookup->cli->out, "%s", lookup->names[i]);
        free(lookup->names[i]);
    }
    free(lookup->names);
}

static void look_at(void *arg, const char *names, const char *text, const char *page)
{
    struct lookup *lookup = arg;
    bool is_it = false;

    for (const char *at = names; (at = strchr(at, '`'));) {
        size_t n = strcspn(++at, "`");
        _cleanup_free_ char *name = str_new_n(at, n);

        if (!lookup->wanted) {
            lookup->names =
                mem_grow(lookup->names, lookup->n_names, &lookup->capacity, sizeof(*lookup->names));
            lookup->names[lookup->n_names++] = TAKE(name);
        } else if (strcasecmp(name, lookup->wanted) == 0)
            is_it = true;
        else
            offer(lookup, name);
        at += n + (at[n] == '`');
    }
    if (!is_it)
        return;
    show_entry(lookup, names, text);
    lookup->page = page;
}

int run_explain(struct cli *cli, struct error *error)
{
    struct lookup lookup = {.cli = cli, .wanted = cli->n_arguments ? cli->arguments[0] : NULL};

    similar_begin(&lookup.similar, lookup.wanted ? lookup.wanted : "");
    each_condition(look_at, &lookup);
    each_reason(look_at, &lookup);
    if (!lookup.wanted) {
        show_names(&lookup);
        return EXIT_DONE;
    }
    if (lookup.n_found) {
        output_end(&cli->out);
        output_paint(&cli->out, STYLE_DIM, "From %s.", lookup.page);
        output_end(&cli->out);
        return EXIT_DONE;
    }
    err_set(error, ERR_NOT_FOUND, "NotFound", "there is no reason or condition \"%s\"%s%s%s",
            lookup.wanted, lookup.similar.found ? ": did you mean " : "",
            lookup.similar.found ? lookup.similar.found : "", lookup.similar.found ? "?" : "");
    err_hint(error, "kubectl kusion explain");
    return ERR_NOT_FOUND;
}
