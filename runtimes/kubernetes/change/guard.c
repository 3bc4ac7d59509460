#include "runtimes/kubernetes/change/guard.h"

#include "engine/base/str.h"
#include "runtimes/kubernetes/change/content.h"
#include "runtimes/kubernetes/objects/marks.h"
#include "runtimes/kubernetes/objects/object_ref.h"

static bool is_guard_disabled(const struct value *object)
{
    return str_equal(value_string(value_path(object, "metadata", "annotations",
                                             KUBE_DELETION_GUARD_ANNOTATION, NULL)),
                     "disabled");
}

static bool is_namespace(const struct kube_ref *ref)
{
    return str_equal(ref->kind->kind, "Namespace");
}

static void say_foreign(struct buf *to, const struct content *content)
{
    buf_add_str(to, "it holds ");
    content_names_show(to, &content->foreign);
    buf_printf(to, "%s, not of this Spec", content->more ? " at least" : "");
}

static void say_kept(struct buf *to, const struct content *content)
{
    buf_printf(to, "%sit holds ", to->length ? "; " : "");
    content_names_show(to, &content->kept);
    buf_add_str(to, ", which an annotation keeps from deletion");
}

/* Says which kinds could not be listed. The right to list them all is a broad one, so the message
 * offers no command that gives it. */
static void say_refused(struct buf *to, const struct runtime_session *session,
                        const struct content *content)
{
    const char *account = session->service_account;

    buf_printf(to, "%snot known is what else it holds, since %s:%s may not list ",
               to->length ? "; " : "", session->spec_namespace, account ? account : "the operator");
    content_names_show(to, &content->refused);
}

static void say_unknown(struct buf *to, const struct content *content)
{
    buf_printf(to, "%snot known is what it holds of ", to->length ? "; " : "");
    content_names_show(to, &content->unknown);
}

static char *explain(const struct runtime_session *session, const struct content *content)
{
    struct buf text = BUF_INIT;

    if (content->foreign.count)
        say_foreign(&text, content);
    if (content->kept.count)
        say_kept(&text, content);
    if (content->refused.count)
        say_refused(&text, session, content);
    if (content->unknown.count)
        say_unknown(&text, content);
    return buf_take(&text);
}

static int trip(const struct runtime_session *session, const struct kube_ref *ref,
                const struct content *content, struct error *error)
{
    _cleanup_free_ char *why = explain(session, content);
    _cleanup_free_ char *again = session_reconcile_command(session);

    err_set(error, ERR_CONFLICT, "DeletionGuardTripped", "not deleted: %s", why);
    err_hint(error, "to delete it with all that it holds: kubectl annotate %s %s %s=disabled%s%s",
             is_namespace(ref) ? "namespace" : "crd", ref->name, KUBE_DELETION_GUARD_ANNOTATION,
             again ? " && " : "", again ? again : "");
    return ERR_CONFLICT;
}

static int look_into(struct runtime_session *session, const struct kube_ref *ref,
                     const struct value *object, const struct runtime_call *call,
                     struct error *error)
{
    _cleanup_(content_done) struct content content = {0};
    int r = is_namespace(ref) ? content_of_namespace(session, ref->name, call, &content, error)
                              : content_of_definition(session, object, call, &content, error);

    if (r < 0)
        err_wrap(error, "looking at what would go with it");
    else if (!content_is_clear(&content))
        r = trip(session, ref, &content, error);
    return r;
}

int kube_may_delete(struct runtime_session *session, const struct value *attributes,
                    const struct runtime_call *call, struct error *error)
{
    const struct object_ref named = object_ref_of(attributes);
    bool is_guarded = object_ref_is_namespace(&named) || object_ref_is_definition(&named);
    _cleanup_value_ const struct value *object = NULL;
    struct kube_ref ref;
    struct kube_request request = {.method = "GET"};
    struct error problem = {0};
    int r;

    if (!is_guarded || is_guard_disabled(attributes))
        return 0;
    r = kube_ref_at_any_version(session, attributes, call, &ref, &problem);
    if (r >= 0)
        r = session_read(session, &ref, call, &request, &object, &problem);
    if (r == ERR_NOT_FOUND)
        return 0;
    if (r < 0)
        return err_copy(error, &problem);
    return is_guard_disabled(object) ? 0 : look_into(session, &ref, object, call, error);
}
