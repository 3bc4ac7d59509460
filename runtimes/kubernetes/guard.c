/* The guard of deletions: what would go with a Namespace or a CustomResourceDefinition. */
#include "engine/base/str.h"
#include "engine/spec/resource.h"
#include "runtimes/kubernetes/content.h"

static bool is_let_go(const struct value *object)
{
    return str_equal(value_string(value_path(object, "metadata", "annotations",
                                             KUBE_DELETION_GUARD_ANNOTATION, NULL)),
                     "disabled");
}

static int trip(const struct runtime_session *session, const struct kube_place *place,
                const struct content *content, struct error *error)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    const char *then = "";

    if (content->foreign.count) {
        buf_add_str(&text, "it holds ");
        content_names_show(&text, &content->foreign);
        buf_printf(&text, "%s, not of this Spec", content->more ? " at least" : "");
        then = "; ";
    }
    if (content->refused.count) {
        buf_printf(&text, "%snot known is what else it holds, since %s:%s may not list ", then,
                   session->spec_namespace,
                   session->service_account ? session->service_account : "the controller");
        content_names_show(&text, &content->refused);
        then = "; ";
    }
    if (content->unknown.count) {
        buf_printf(&text, "%snot known is what it holds of ", then);
        content_names_show(&text, &content->unknown);
    }
    return err_set(error, ERR_CONFLICT, "DeletionGuardTripped",
                   "not deleted: %s. To delete it with all that it holds: kubectl annotate %s %s "
                   "%s=disabled",
                   text.data, str_equal(place->kind->kind, "Namespace") ? "namespace" : "crd",
                   place->name, KUBE_DELETION_GUARD_ANNOTATION);
}

static int look_into(struct runtime_session *session, const struct kube_place *place,
                     const struct value *object, bool is_namespace, struct error *error)
{
    struct content content = {0};
    int r = is_namespace ? content_of_namespace(session, place->name, &content, error)
                         : content_of_definition(session, object, &content, error);

    if (r < 0)
        r = err_wrap(error, "looking at what would go with it");
    else if (!content_is_clear(&content))
        r = trip(session, place, &content, error);
    content_done(&content);
    return r;
}

int kube_may_delete(struct runtime_session *session, const struct runtime_target *target,
                    struct error *error)
{
    struct object_ref ref = object_ref_of(target->attributes);
    bool is_namespace = str_equal(ref.kind, "Namespace") && api_group_is(ref.api_version, "");
    bool is_definition = kube_is_definition(target->attributes);
    _cleanup_value_ const struct value *object = NULL;
    _cleanup_free_ char *path = NULL;
    struct kube_place place;
    struct kube_request request = {.method = "GET"};
    struct error problem = {0};
    int r;

    if ((!is_namespace && !is_definition) || is_let_go(target->attributes))
        return 0;
    r = kube_place_at_any_version(session, target->attributes, &place, &problem);
    if (r >= 0) {
        path = kube_place_path(&place);
        request.path = path;
        r = session_do(session, &place, &request, &object, &problem);
    }
    if (r == ERR_NOT_FOUND)
        return 0;
    if (r < 0)
        return err_copy(error, &problem);
    return is_let_go(object) ? 0 : look_into(session, &place, object, is_namespace, error);
}
