/* Where objects are, and requests for them. */
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

int session_do(struct runtime_session *session, const struct kube_place *place,
               struct kube_request *request, const struct value **ret, struct error *error)
{
    const struct kube_runtime_config *config = &session->runtime->config;
    struct error problem = {0};
    int r;

    request->impersonate = session->impersonate;
    request->cancel = session->cancel;
    r = kube_do(config->client, request, ret, &problem);
    if (r >= 0)
        return 0;
    /* The kind may have gone since it was discovered: who tries again asks anew. */
    if (str_equal(problem.reason, "NotServed"))
        kube_discovery_forget(config->discovery, place->kind->group_version);
    session_add_hint(session, place, &problem);
    return err_copy(error, &problem);
}
