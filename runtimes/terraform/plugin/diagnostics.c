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

/* A whole one, not a part of a longer one. */
static bool was_told(const struct telling *telling, const char *line)
{
    const char *start = telling->text.data;
    const char *at = telling->count ? strstr(start, line) : NULL;
    size_t length = strlen(line);

    for (; at; at = strstr(at + 1, line)) {
        bool begins = at == start || (at >= start + 2 && str_has_prefix(at - 2, "; "));

        if (begins && (!at[length] || at[length] == ';'))
            return true;
    }
    return false;
}

static void tell(struct telling *telling, const char *line)
{
    if (was_told(telling, line))
        return;
    if (telling->text.length + strlen(line) > DIAGNOSTICS_BYTES && telling->count) {
        telling->left_out++;
        return;
    }
    buf_printf(&telling->text, "%s%s", telling->count++ ? "; " : "", line);
}

static void tell_all(struct telling *telling, Tfplugin__Diagnostic *const *diagnostics, size_t n,
                     int severity, const char *root)
{
    for (size_t i = 0; i < n; i++) {
        _cleanup_free_ char *text = NULL, *line = NULL;

        if ((int)diagnostics[i]->severity != severity)
            continue;
        text = describe(diagnostics[i], root);
        line = str_printf("%s%s", severity == SEVERITY_WARNING ? "warning: " : "", text);
        tell(telling, line);
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

/* Every answer has its diagnostics in a field of that name. */
static int check_answer(const ProtobufCMessage *answer, const char *root, struct warnings *warnings,
                        struct error *error)
{
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field_by_name(answer->descriptor, "diagnostics");
    const char *bytes = (const char *)answer;
    size_t n = *(const size_t *)(const void *)(bytes + field->quantifier_offset);

    return diagnostics_check(
        *(Tfplugin__Diagnostic *const *const *)(const void *)(bytes + field->offset), n, root,
        warnings, error);
}

int plugin_ask(const struct plugin_asking *asking, enum plugin_method method,
               const ProtobufCMessage *request, void *ret, struct error *error)
{
    int r = plugin_call(asking->plugin, method, request, asking->call, ret, asking->ret_delivery,
                        error);

    return r < 0 ? r
                 : check_answer(*(ProtobufCMessage **)ret, asking->root, asking->warnings, error);
}
