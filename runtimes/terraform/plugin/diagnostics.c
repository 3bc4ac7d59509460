#include "runtimes/terraform/plugin/diagnostics.h"

#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/str.h"
#include "engine/base/utf8.h"

enum { SEVERITY_ERROR = 1, SEVERITY_WARNING };

void warnings_done(struct warnings *warnings)
{
    for (size_t i = 0; i < warnings->count; i++)
        free(warnings->items[i]);
    *warnings = (struct warnings){0};
}

/* ---- One ---- */

void diagnostics_add_path(struct path *to, const Tfplugin__Path *path)
{
    for (size_t i = 0; path && i < path->n_steps; i++) {
        const Tfplugin__Step *step = path->steps[i];

        switch (step->selector_case) {
        case TFPLUGIN__STEP__SELECTOR_ATTRIBUTE_NAME:
            path_push_key(to, step->attribute_name);
            break;
        case TFPLUGIN__STEP__SELECTOR_ELEMENT_KEY_STRING:
            path_push_key(to, step->element_key_string);
            break;
        case TFPLUGIN__STEP__SELECTOR_ELEMENT_KEY_INT:
            path_push_index(to, step->element_key_int < 0 ? 0 : (size_t)step->element_key_int);
            break;
        default:
            return; /* an element of a set has no name */
        }
    }
}

/* Names with dots between them. */
static void add_root(struct path *to, const char *root)
{
    while (root) {
        const char *dot = strchr(root, '.');
        _cleanup_free_ char *name = dot ? str_new_n(root, (size_t)(dot - root)) : str_new(root);

        path_push_key(to, name);
        root = dot ? dot + 1 : NULL;
    }
}

static char *place_of(const Tfplugin__Diagnostic *diagnostic, const char *root)
{
    struct path path;
    char *text;

    path_init(&path);
    add_root(&path, root);
    diagnostics_add_path(&path, diagnostic->attribute);
    text = str_new(path_text(&path));
    path_done(&path);
    return text;
}

/* Without line breaks and indentation. */
static void add_words(struct buf *to, const char *text)
{
    for (; *text; text++) {
        bool is_blank = strchr(" \t\r\n", *text);

        if (!is_blank)
            buf_add_char(to, *text);
        else if (to->length && to->data[to->length - 1] != ' ')
            buf_add_char(to, ' ');
    }
}

/* "attributes.length: Summary: detail"; free() */
static char *describe(const Tfplugin__Diagnostic *diagnostic, const char *root)
{
    _cleanup_free_ char *place = place_of(diagnostic, root), *shown = NULL;
    _cleanup_buf_ struct buf text = BUF_INIT;
    char cut[DIAGNOSTIC_BYTES];

    if (diagnostic->attribute && diagnostic->attribute->n_steps)
        buf_printf(&text, "%s: ", place);
    add_words(&text, diagnostic->summary);
    if (*diagnostic->detail)
        buf_add_str(&text, ": ");
    add_words(&text, diagnostic->detail);
    shown = utf8_show(text.data);
    str_copy(cut, sizeof(cut), shown);
    return str_new(cut);
}

/* ---- All ---- */

/* Those that were added to a text of DIAGNOSTICS_BYTES. */
struct telling {
    struct buf text;
    size_t count, left_out;
};

static void tell(struct telling *telling, const char *before, const char *line)
{
    if (telling->count && strstr(telling->text.data, line))
        return;
    if (telling->text.length + strlen(line) > DIAGNOSTICS_BYTES && telling->count) {
        telling->left_out++;
        return;
    }
    buf_printf(&telling->text, "%s%s%s", telling->count++ ? "; " : "", before, line);
}

static void tell_all(struct telling *telling, Tfplugin__Diagnostic *const *diagnostics, size_t n,
                     int severity, const char *root)
{
    for (size_t i = 0; i < n; i++) {
        _cleanup_free_ char *line = NULL;

        if ((int)diagnostics[i]->severity != severity)
            continue;
        line = describe(diagnostics[i], root);
        tell(telling, severity == SEVERITY_WARNING ? "warning: " : "", line);
    }
}

static bool is_known(const struct warnings *warnings, const char *line)
{
    for (size_t i = 0; i < warnings->count; i++)
        if (str_equal(warnings->items[i], line))
            return true;
    return false;
}

static void keep(struct warnings *warnings, const char *line)
{
    if (is_known(warnings, line))
        return;
    if (warnings->count < WARNINGS_MOST)
        warnings->items[warnings->count++] = str_new(line);
    else
        warnings->left_out++;
}

void warnings_add(struct warnings *to, const struct warnings *from)
{
    for (size_t i = 0; i < from->count; i++)
        keep(to, from->items[i]);
    to->left_out += from->left_out;
}

static void keep_warnings(struct warnings *warnings, Tfplugin__Diagnostic *const *diagnostics,
                          size_t n, const char *root)
{
    for (size_t i = 0; i < n; i++) {
        _cleanup_free_ char *line = describe(diagnostics[i], root);

        if ((int)diagnostics[i]->severity == SEVERITY_WARNING)
            keep(warnings, line);
    }
}

int diagnostics_check(Tfplugin__Diagnostic *const *diagnostics, size_t n, const char *root,
                      struct warnings *warnings, struct error *error)
{
    struct telling telling = {.text = BUF_INIT};
    int r = 0;

    tell_all(&telling, diagnostics, n, SEVERITY_ERROR, root);
    if (telling.count) {
        tell_all(&telling, diagnostics, n, SEVERITY_WARNING, root);
        if (telling.left_out)
            buf_printf(&telling.text, "; and %zu more", telling.left_out);
        r = err_set(error, ERR_INVALID, "ProviderError", "%s", telling.text.data);
    } else if (warnings) {
        keep_warnings(warnings, diagnostics, n, root);
    }
    buf_done(&telling.text);
    return r;
}
