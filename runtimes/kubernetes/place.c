/* Where objects are, and requests for them. */
#include <string.h>

#include "engine/base/str.h"
#include "engine/spec/resource.h"
#include "runtimes/kubernetes/client/path.h"
#include "runtimes/kubernetes/session.h"

int kube_place_of(struct runtime_session *session, const struct value *attributes,
                  struct kube_place *ret, struct error *error)
{
    struct object_ref ref = object_ref_of(attributes);
    const struct kube_kind *kind;
    int r = kube_discovery_find(session->runtime->config.discovery, ref.api_version, ref.kind,
                                session->cancel, &kind, error);

    if (r < 0)
        return r;
    *ret = (struct kube_place){kind, NULL, ref.name};
    if (kind->namespaced)
        ret->namespace_name = ref.namespace_name ? ref.namespace_name : session->spec_namespace;
    return 0;
}

char *kube_place_path(const struct kube_place *place)
{
    return kube_path(place->kind->group_version, place->namespace_name, place->kind->plural,
                     place->name, NULL);
}

/* What would give the right that is missing, ready to be typed. */
static void add_hint(const struct runtime_session *session, const struct kube_place *place,
                     struct error *error)
{
    const char *plural = place->kind->plural;
    const char *dot = strchr(place->kind->group_version, '/') ? "." : "";
    size_t group_length = 0;
    const char *group = api_group(place->kind->group_version, &group_length);
    const char *role = strstr(plural, "role") ? "admin" : "edit";
    char message[ERROR_MESSAGE_SIZE];

    str_copy(message, sizeof(message), error->message);
    if (place->namespace_name)
        err_set(error, ERR_FORBIDDEN, "AccessDenied",
                "%s; to allow it: kubectl create rolebinding kusion-%s --clusterrole=%s "
                "--serviceaccount=%s:%s --namespace=%s",
                message, session->service_account, role, session->spec_namespace,
                session->service_account, place->namespace_name);
    else
        err_set(error, ERR_FORBIDDEN, "AccessDenied",
                "%s; to allow it: kubectl create clusterrole kusion-%s "
                "--verb=get,list,watch,create,patch,delete --resource=%s%s%.*s && kubectl create "
                "clusterrolebinding kusion-%s-%s --clusterrole=kusion-%s --serviceaccount=%s:%s",
                message, plural, plural, dot, (int)group_length, group, session->spec_namespace,
                plural, plural, session->spec_namespace, session->service_account);
}

int session_do(struct runtime_session *session, const struct kube_place *place,
               struct kube_request *request, const struct value **ret, struct error *error)
{
    struct error problem = {0};
    int r;

    request->impersonate = session->impersonate;
    request->cancel = session->cancel;
    r = kube_do(session->runtime->config.client, request, ret, &problem);
    if (r >= 0)
        return 0;
    if (r == ERR_FORBIDDEN && !str_equal(problem.reason, "NamespaceTerminating") &&
        session->service_account)
        add_hint(session, place, &problem);
    return err_copy(error, &problem);
}
