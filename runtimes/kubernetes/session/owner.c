/*
 * Whose an object is, by its marks: the labels and annotations of Specs and of other tools. For
 * messages, also which marks these are, and what hands the object over to this Spec.
 *
 * Another Spec is named only if it is in the namespace of this Spec: what is in other namespaces is
 * not its author's to know. The annotation with its name counts only if it agrees with the label.
 * As in hint.c, a command concerns nothing but the Spec's own namespace; for all other objects the
 * message says which marks keep them.
 */
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/spec/name.h"
#include "runtimes/kubernetes/client/group.h"
#include "runtimes/kubernetes/objects/marks.h"
#include "runtimes/kubernetes/session/session.h"

/* Bytes of a mark's value that a message shows. */
#define SHOWN_BYTES 100
/* Bytes of a command: a message has room for it, and for what is before it. */
#define COMMAND_BYTES 640

/* ---- Marks ---- */

static const struct mark {
    const char *part, *key, *value; /* value NULL: any value */
    const char *tool;               /* NULL: it does not tell the owner, but belongs to its marks */
} marks[] = {
    {"labels", "app.kubernetes.io/managed-by", "Helm", "Helm"},
    {"annotations", "meta.helm.sh/release-name", NULL, NULL},
    {"annotations", "meta.helm.sh/release-namespace", NULL, NULL},
    {"labels", "kustomize.toolkit.fluxcd.io/name", NULL, "Flux"},
    {"labels", "kustomize.toolkit.fluxcd.io/namespace", NULL, NULL},
    {"labels", "helm.toolkit.fluxcd.io/name", NULL, "Flux"},
    {"labels", "helm.toolkit.fluxcd.io/namespace", NULL, NULL},
    {"labels", "argocd.argoproj.io/instance", NULL, "Argo CD"},
    {"annotations", "argocd.argoproj.io/tracking-id", NULL, "Argo CD"},
    {"labels", "applyset.kubernetes.io/part-of", NULL, "an applyset"},
};

/* The mark's value on the object; NULL: the object does not have it. */
static const char *find_mark(const struct value *object, const struct mark *mark)
{
    const char *found = value_string(value_path(object, "metadata", mark->part, mark->key, NULL));

    return found && mark->value && !str_equal(found, mark->value) ? NULL : found;
}

static const char *label_of_spec(const struct value *object)
{
    return value_string(value_path(object, "metadata", "labels", KUBE_OWNER_LABEL, NULL));
}

enum kube_owner kube_owner_of(const struct runtime_session *session, const struct value *object)
{
    const char *owner = label_of_spec(object);

    if (owner)
        return str_equal(owner, session->owner) ? OWNER_SELF : OWNER_SPEC;
    for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
        if (marks[i].tool && find_mark(object, &marks[i]))
            return OWNER_OTHER;
    return OWNER_NONE;
}

/* ---- Those of another owner ---- */

struct kube_marks {
    char *tools;                /* "Helm and Flux"; NULL: it is a Spec's */
    char *shown;                /* "label a=b, annotation c" */
    char *labels, *annotations; /* " a- b-", as kubectl removes them; "": none */
    char *spec;                 /* the Spec's name, if it is in this namespace; else NULL */
    bool is_elsewhere;          /* the Spec is in another namespace */
};

void kube_marks_free(struct kube_marks *found)
{
    if (!found)
        return;
    free(found->tools);
    free(found->shown);
    free(found->labels);
    free(found->annotations);
    free(found->spec);
    free(found);
}

/* Values are anybody's text: what is no name is not shown. */
static bool is_shown(const char *value)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_:/";
    size_t length = strlen(value);

    return length > 0 && length <= SHOWN_BYTES && strspn(value, plain) == length;
}

static void show(struct buf *to, const struct mark *mark, const char *value)
{
    bool is_label = str_equal(mark->part, "labels");

    buf_printf(to, "%s%s %s", to->length ? ", " : "", is_label ? "label" : "annotation", mark->key);
    if (is_shown(value))
        buf_printf(to, "=%s", value);
}

static struct kube_marks *marks_of_tools(const struct value *object)
{
    struct kube_marks *found = NEW(struct kube_marks);
    struct buf shown = BUF_INIT, tools = BUF_INIT, labels = BUF_INIT, annotations = BUF_INIT;

    for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
        const char *value = find_mark(object, &marks[i]), *tool = marks[i].tool;

        if (!value)
            continue;
        show(&shown, &marks[i], value);
        buf_printf(str_equal(marks[i].part, "labels") ? &labels : &annotations, " %s-",
                   marks[i].key);
        if (tool && (!tools.length || !strstr(tools.data, tool)))
            buf_printf(&tools, "%s%s", tools.length ? " and " : "", tool);
    }
    *found = (struct kube_marks){.tools = buf_take(&tools),
                                 .shown = buf_take(&shown),
                                 .labels = buf_take(&labels),
                                 .annotations = buf_take(&annotations)};
    return found;
}

static void name_spec(const struct runtime_session *session, const struct value *object,
                      struct kube_marks *found)
{
    const char *whole =
        value_string(value_path(object, "metadata", "annotations", KUBE_SPEC_ANNOTATION, NULL));
    const char *slash = whole ? strchr(whole, '/') : NULL;
    _cleanup_free_ char *in = slash ? str_new_n(whole, (size_t)(slash - whole)) : NULL;
    char owner[SPEC_HASH_NAME_SIZE];

    if (!slash)
        return;
    spec_hash_name(in, slash + 1, owner);
    if (!str_equal(owner, label_of_spec(object)) || !str_is_dns_subdomain(slash + 1))
        return;
    found->is_elsewhere = !str_equal(in, session->spec_namespace);
    if (!found->is_elsewhere)
        found->spec = str_new(slash + 1);
}

static struct kube_marks *marks_of_spec(const struct runtime_session *session,
                                        const struct value *object)
{
    struct kube_marks *found = NEW(struct kube_marks);

    found->shown = str_new("label " KUBE_OWNER_LABEL);
    found->labels = str_new(" " KUBE_OWNER_LABEL "-");
    found->annotations = str_new("");
    name_spec(session, object, found);
    return found;
}

struct kube_marks *kube_marks_of(const struct runtime_session *session, const struct value *object)
{
    switch (kube_owner_of(session, object)) {
    case OWNER_SPEC:
        return marks_of_spec(session, object);
    case OWNER_OTHER:
        return marks_of_tools(object);
    default:
        return NULL;
    }
}

/* ---- The other Spec ---- */

/* Asked as the controller, of a Spec in this Spec's namespace. False also if it is not known. */
static bool look_up_spec(struct runtime_session *session, const char *name,
                         const struct runtime_call *call)
{
    struct kube_request request = {
        .method = "GET",
        .ref = {&kube_specs, session->spec_namespace, name, NULL},
        .accept = KUBE_METADATA,
        .for_tenant = true,
        .cancel = call->cancel,
    };

    return session_time_left(session, call, &request.timeout, NULL) >= 0 &&
           kube_do(session->runtime->config.cluster.client, &request, NULL, NULL) == ERR_NOT_FOUND;
}

/* The answer is kept for the session: many objects may have been the same Spec's. */
static bool is_spec_gone(struct runtime_session *session, const char *name,
                         const struct runtime_call *call)
{
    bool is_known, is_gone;

    pthread_mutex_lock(&session->lock);
    is_known = str_equal(session->other_spec, name);
    is_gone = session->is_other_gone;
    pthread_mutex_unlock(&session->lock);
    if (is_known)
        return is_gone;
    is_gone = look_up_spec(session, name, call);
    pthread_mutex_lock(&session->lock);
    free(session->other_spec);
    session->other_spec = str_new(name);
    session->is_other_gone = is_gone;
    pthread_mutex_unlock(&session->lock);
    return is_gone;
}

/* ---- What hands it over ---- */

static void add_command(struct buf *to, const char *verb, const char *object, const char *keys)
{
    if (*keys)
        buf_printf(to, "%skubectl %s %s%s", to->length ? " && " : "", verb, object, keys);
}

/* NULL: the object is not in the Spec's own namespace, or there is no command that could be typed.
 */
static char *find_command(struct runtime_session *session, const struct kube_marks *found,
                          const struct value *attributes)
{
    _cleanup_free_ char *resource = NULL, *object = NULL;
    _cleanup_buf_ struct buf text = BUF_INIT;
    const char *own = session->spec_namespace;
    struct kube_ref ref;

    if (!kube_ref_if_known(session, attributes, &ref) || kube_is_system(own))
        return NULL;
    if (ref.namespace_name ? !str_equal(ref.namespace_name, own) : !found->spec)
        return NULL;
    resource = kube_kind_resource(ref.kind);
    if (!kube_is_plain(resource) || !kube_is_plain(ref.name) || !kube_is_plain(own))
        return NULL;
    object = str_printf("%s %s%s%s", resource, ref.name, ref.namespace_name ? " --namespace=" : "",
                        ref.namespace_name ? own : "");
    add_command(&text, "label", object, found->labels);
    add_command(&text, "annotate", object, found->annotations);
    return text.length <= COMMAND_BYTES ? buf_take(&text) : NULL;
}

static char *describe(const struct kube_marks *found, bool is_gone)
{
    if (found->tools)
        return str_printf("it exists, and is managed by %s (%s)", found->tools, found->shown);
    if (is_gone)
        return str_printf("it belonged to the Spec \"%s\", which does not exist any more",
                          found->spec);
    if (found->spec)
        return str_printf("it belongs to the Spec \"%s\" (%s)", found->spec, found->shown);
    if (found->is_elsewhere)
        return str_new(
            "it belongs to a Spec of another namespace (its annotation " KUBE_SPEC_ANNOTATION
            " has the name)");
    return str_printf("it belongs to another Spec (%s)", found->shown);
}

/* The first step is the other owner's; the second, if there is one that can be typed, is a hint. */
static void advise(const struct kube_marks *found, bool has_command, bool is_gone, struct buf *to)
{
    if (!is_gone)
        buf_printf(to, ": remove it from one of the two. To hand it over: %s",
                   found->tools ? "take it out of there without deleting it"
                                : "set prune: false in that Spec, remove it there");
    if (has_command)
        return;
    if (is_gone)
        buf_printf(to, ". To take it over, remove the %s", found->shown);
    else
        buf_printf(to, ", then remove the %s", found->tools ? "marks" : "label " KUBE_OWNER_LABEL);
}

int kube_refuse_foreign(struct runtime_session *session, const struct value *attributes,
                        const struct kube_marks *found, const struct runtime_call *call,
                        struct error *error)
{
    _cleanup_free_ char *command = find_command(session, found, attributes), *whose = NULL;
    bool is_gone = found->spec && is_spec_gone(session, found->spec, call);
    _cleanup_buf_ struct buf advice = BUF_INIT;

    whose = describe(found, is_gone);
    advise(found, command, is_gone, &advice);
    err_set(error, ERR_CONFLICT, "ConflictDetected", "%s%s", whose,
            advice.length ? advice.data : "");
    if (command)
        err_hint(error, is_gone ? "to take it over: %s" : "then, to hand it over: %s", command);
    return ERR_CONFLICT;
}
