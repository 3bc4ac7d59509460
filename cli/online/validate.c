/*
 * validate --strict: the API server is asked, too, by a server-side apply that it keeps nothing of.
 * It knows the schemas of all kinds, the rights of the user, and what admission says.
 */
#include "cli/offline/validate.h"

#include <string.h>

#include "cli/online/objects.h"
#include "cli/online/online.h"
#include "engine/base/str.h"
#include "engine/spec/ref.h"

static const struct kube_kind specs = {"api.kusion.io/v1", "Spec", "specs", true};

struct asking {
    struct session *session;
    const struct convert_source *source;
    struct findings *findings;
};

/* ---- Where the server says it is ---- */

/* "unknown field "spec.x"", ".spec.x: field not declared in schema". free(); NULL: none is named.
 */
static char *field_in(const char *message)
{
    const char *from = strstr(message, "unknown field \""), *end;

    if (from) {
        from += strlen("unknown field \"");
        return str_new_n(from, strcspn(from, "\""));
    }
    end = strstr(message, ": field not declared in schema");
    if (!end)
        return NULL;
    for (from = end; from > message && from[-1] != ' ';)
        from--;
    return *from == '.' ? str_new_n(from + 1, (size_t)(end - from - 1)) : NULL;
}

static void tell(struct asking *asking, const struct place_in *place, const char *prefix,
                 const char *label, const struct error *error, const struct value *causes)
{
    const char *first = value_get_string(value_at(causes, 0), "field");
    _cleanup_free_ char *field = first ? str_new(first) : field_in(error->message);
    const char *path = place->path;
    _cleanup_free_ char *at = str_printf("%s%s%s%s%s", path, *path && (*prefix || field) ? "." : "",
                                         prefix, *prefix && field ? "." : "", field ? field : "");
    const struct place_in in = {place->document, at};
    bool is_unknown = error->code == ERR_FORBIDDEN || err_is_transient(error->code);

    findings_add(asking->findings, is_unknown ? SEVERITY_WARNING : SEVERITY_ERROR, error->reason,
                 &in, label, "%s%.*s", is_unknown ? "cannot be checked: " : "",
                 (int)strcspn(error->message, "\n"), error->message);
}

/* ---- Asking ---- */

static int ask(struct asking *asking, struct kube_ref ref, const struct value *body,
               const struct value **ret_causes, struct error *error)
{
    return session_do(asking->session,
                      &(struct kube_request){.method = "PATCH",
                                             .ref = ref,
                                             .body = body,
                                             .content_type = KUBE_APPLY_PATCH,
                                             .field_manager = "kubectl-kusion",
                                             .force = true,
                                             .dry_run = true,
                                             .strict = true,
                                             .idempotent = true,
                                             .unguarded = true,
                                             .ret_causes = ret_causes},
                      NULL, error);
}

static int count_reference(void *arg, const char *text, struct error *error)
{
    (void)text, (void)error;
    ++*(size_t *)arg;
    return 0;
}

/* Whether the input makes it: a Namespace, or a CustomResourceDefinition of this kind. */
static bool is_made(const struct asking *asking, const char *kind, const char *name)
{
    for (size_t i = 0; i < asking->source->n_items; i++) {
        const struct convert_item *item = &asking->source->items[i];
        const struct value *object =
            item->is_entry ? value_get(item->value, "attributes") : item->value;
        const char *made = str_equal(kind, "Namespace")
                               ? object_text(object, "", "metadata", "name", NULL)
                               : object_text(object, "", "spec", "names", "kind", NULL);

        if (str_equal(value_get_string(object, "kind"), kind) && str_equal(made, name))
            return true;
    }
    return false;
}

static void ask_object(struct asking *asking, const struct convert_item *item,
                       const struct value *object)
{
    static const char *const path[] = {"metadata", "namespace"};
    const char *kind_name = value_get_string(object, "kind"), *name = object_name(object);
    const char *version = value_get_string(object, "apiVersion");
    const char *own =
        *object_namespace(object) ? object_namespace(object) : asking->session->namespace_name;
    _cleanup_free_ char *label = str_printf("%s/%s", kind_name ? kind_name : "", name);
    _cleanup_value_ const struct value *body = NULL, *causes = NULL, *in = NULL;
    const struct kube_kind *kind = NULL;
    struct error error = {0};
    int r;

    if (!kind_name || !version || !*name)
        return; /* told already */
    r = kube_discovery_find(asking->session->discovery, version, kind_name, &(struct kube_wait){0},
                            &kind, &error);
    if (r == ERR_NOT_FOUND && is_made(asking, "CustomResourceDefinition", kind_name))
        return;
    if (r == 0 && kind->namespaced && is_made(asking, "Namespace", own))
        return;
    if (r == 0 && kind->namespaced) {
        in = value_pack("s", own);
        body = value_with_path(object, path, 2, in);
    } else if (r == 0) {
        body = value_ref(object);
    }
    if (r == 0)
        r = ask(asking, (struct kube_ref){kind, kind->namespaced ? own : NULL, name, NULL}, body,
                &causes, &error);
    if (r < 0)
        tell(asking, &item->place, item->is_entry ? "attributes" : "", label, &error, causes);
}

static void ask_item(struct asking *asking, const struct convert_item *item)
{
    const struct value *object =
        item->is_entry ? value_get(item->value, "attributes") : item->value;
    size_t references = 0;

    if (item->is_entry && !str_equal(value_get_string(item->value, "type"), "Kubernetes"))
        return;
    ref_each(object, count_reference, &references, NULL);
    if (!references) /* the value is not known before it is there */
        ask_object(asking, item, object);
}

static void ask_spec(struct asking *asking, const struct convert_head *head)
{
    const char *own = *object_namespace(head->document) ? object_namespace(head->document)
                                                        : asking->session->namespace_name;
    static const char *const path[] = {"metadata", "namespace"};
    _cleanup_value_ const struct value *name = value_pack("s", own), *causes = NULL;
    _cleanup_value_ const struct value *body = value_with_path(head->document, path, 2, name);
    struct error error = {0};

    if (!head->is_spec || !*object_name(head->document))
        return;
    if (ask(asking, (struct kube_ref){&specs, own, object_name(head->document), NULL}, body,
            &causes, &error) < 0)
        tell(asking, &head->place, "", NULL, &error, causes);
}

static int ask_all(void *arg, const struct convert_source *source, struct findings *findings,
                   struct error *error)
{
    struct asking asking = {arg, source, findings};

    (void)error;
    if (findings->totals[SEVERITY_ERROR])
        return 0; /* they come first: the server would say the same */
    for (size_t i = 0; i < source->n_heads; i++)
        ask_spec(&asking, &source->heads[i]);
    for (size_t i = 0; i < source->n_items; i++)
        ask_item(&asking, &source->items[i]);
    return 0;
}

int run_validate(struct cli *cli, struct error *error)
{
    _cleanup_(session_done) struct session session = {0};
    int r;

    if (!cli->options.strict)
        return validate(cli, NULL, NULL, error);
    r = session_open(cli, &session, error);
    return r == 0 ? validate(cli, ask_all, &session, error) : r;
}
