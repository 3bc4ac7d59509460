/* The guard of deletions: what would go with a Namespace or a CustomResourceDefinition. */
#include <string.h>

#include "engine/base/hash.h"
#include "engine/base/str.h"
#include "runtimes/kubernetes/content.h"
#include "runtimes/kubernetes/object_ref.h"

/* Bytes of a message, so that a condition holds it whole with what it says before it: what was
 * being done, and to which resource. */
#define MESSAGE_BYTES (ERROR_MESSAGE_SIZE - 224)

/* What kubectl takes for the names of all kinds that are looked at, however many they are. */
#define ALL_KINDS "$(kubectl api-resources --namespaced --verbs=list,delete -o name | paste -sd, -)"

static bool is_let_go(const struct value *object)
{
    return str_equal(value_string(value_path(object, "metadata", "annotations",
                                             KUBE_DELETION_GUARD_ANNOTATION, NULL)),
                     "disabled");
}

static bool is_namespace(const struct kube_ref *place)
{
    return str_equal(place->kind->kind, "Namespace");
}

/* The kinds are part of the name: with others, later, it is another role. */
static char *list_command(const struct runtime_session *session, const struct kube_ref *place,
                          const struct content *content, const char *resources)
{
    _cleanup_free_ char *which = NULL;
    char digest[HASH_HEX_SIZE];

    hash_hex(content->refused_kinds.data, content->refused_kinds.length, digest);
    which = str_printf("list-%.8s", digest);
    return session_role_command(session, which, "list", resources,
                                is_namespace(place) ? place->name : NULL);
}

static void say_foreign(struct buf *to, const struct content *content)
{
    buf_add_str(to, "it holds ");
    content_names_show(to, &content->foreign);
    buf_printf(to, "%s, not of this Spec; ", content->more ? " at least" : "");
}

static void say_refused(struct buf *to, const struct runtime_session *session,
                        const struct kube_ref *place, const struct content *content,
                        const char *resources)
{
    const char *account = session->service_account;
    _cleanup_free_ char *command =
        account ? list_command(session, place, content, resources) : NULL;

    buf_printf(to, "not known is what else it holds, since %s:%s may not list ",
               session->spec_namespace, account ? account : "the controller");
    content_names_show(to, &content->refused);
    buf_add_str(to, "; ");
    if (command)
        buf_printf(to, "to allow it: %s; ", command);
}

static void say_unknown(struct buf *to, const struct content *content)
{
    buf_add_str(to, "not known is what it holds of ");
    content_names_show(to, &content->unknown);
    buf_add_str(to, "; ");
}

/* Resources: those to be listed in the command. */
static char *explain(const struct runtime_session *session, const struct kube_ref *place,
                     const struct content *content, const char *resources)
{
    struct buf text = BUF_INIT;

    buf_add_str(&text, "not deleted: ");
    if (content->foreign.count)
        say_foreign(&text, content);
    if (content->refused.count)
        say_refused(&text, session, place, content, resources);
    if (content->unknown.count)
        say_unknown(&text, content);
    buf_printf(&text, "to delete it with all that it holds: kubectl annotate %s %s %s=disabled",
               is_namespace(place) ? "namespace" : "crd", place->name,
               KUBE_DELETION_GUARD_ANNOTATION);
    return buf_take(&text);
}

static int trip(const struct runtime_session *session, const struct kube_ref *place,
                const struct content *content, struct error *error)
{
    _cleanup_free_ char *exact = explain(session, place, content, content->refused_kinds.data);
    _cleanup_free_ char *brief = explain(session, place, content, ALL_KINDS);
    bool fits = strlen(exact) <= MESSAGE_BYTES || !is_namespace(place);

    return err_set(error, ERR_CONFLICT, "DeletionGuardTripped", "%s", fits ? exact : brief);
}

static int look_into(struct runtime_session *session, const struct kube_ref *place,
                     const struct value *object, const struct runtime_call *call,
                     struct error *error)
{
    struct content content = {0};
    int r = is_namespace(place) ? content_of_namespace(session, place->name, call, &content, error)
                                : content_of_definition(session, object, call, &content, error);

    if (r < 0)
        err_wrap(error, "looking at what would go with it");
    else if (!content_is_clear(&content))
        r = trip(session, place, &content, error);
    content_done(&content);
    return r;
}

int kube_may_delete(struct runtime_session *session, const struct value *attributes,
                    const struct runtime_call *call, struct error *error)
{
    const struct object_ref ref = object_ref_of(attributes);
    bool is_guarded = object_ref_is_namespace(&ref) || object_ref_is_definition(&ref);
    _cleanup_value_ const struct value *object = NULL;
    struct kube_ref place;
    struct kube_request request = {.method = "GET"};
    struct error problem = {0};
    int r;

    if (!is_guarded || is_let_go(attributes))
        return 0;
    r = kube_place_at_any_version(session, attributes, call, &place, &problem);
    if (r >= 0)
        r = session_read(session, &place, call, &request, &object, &problem);
    if (r == ERR_NOT_FOUND)
        return 0;
    if (r < 0)
        return err_copy(error, &problem);
    return is_let_go(object) ? 0 : look_into(session, &place, object, call, error);
}
