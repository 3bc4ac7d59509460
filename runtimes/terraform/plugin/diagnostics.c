#include "runtimes/terraform/plugin/diagnostics.h"

#include <string.h>

#include "engine/base/str.h"
#include "engine/base/utf8.h"

enum { SEVERITY_ERROR = 1 };

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

/* "attributes.length: Summary: detail" */
static char *describe(const Tfplugin__Diagnostic *diagnostic, const char *root)
{
    _cleanup_free_ char *place = place_of(diagnostic, root);
    bool has_place = diagnostic->attribute && diagnostic->attribute->n_steps;
    _cleanup_free_ char *text =
        str_printf("%s%s%s%s%s", has_place ? place : "", has_place ? ": " : "", diagnostic->summary,
                   *diagnostic->detail ? ": " : "", diagnostic->detail);

    return utf8_show(text);
}

int diagnostics_check(Tfplugin__Diagnostic *const *diagnostics, size_t n, const char *root,
                      struct error *error)
{
    const Tfplugin__Diagnostic *first = NULL;
    _cleanup_free_ char *text = NULL;
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        if (diagnostics[i]->severity == SEVERITY_ERROR && count++ == 0)
            first = diagnostics[i];
    if (!first)
        return 0;
    text = describe(first, root);
    if (count > 1)
        return err_set(error, ERR_INVALID, "ProviderError", "%s (and %zu more)", text, count - 1);
    return err_set(error, ERR_INVALID, "ProviderError", "%s", text);
}
