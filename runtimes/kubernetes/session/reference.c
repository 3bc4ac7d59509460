/* References: which object of the API the attributes of a resource name. */
#include "engine/base/str.h"
#include "runtimes/kubernetes/objects/object_ref.h"
#include "runtimes/kubernetes/session/session.h"

static struct kube_ref ref_in(const struct runtime_session *session, const struct kube_kind *kind,
                              const struct object_ref *named)
{
    struct kube_ref ref = {.kind = kind, .name = named->name};

    if (kind->namespaced)
        ref.namespace_name =
            named->namespace_name ? named->namespace_name : session->spec_namespace;
    return ref;
}

typedef int find_kind(struct kube_discovery *discovery, const char *group_version, const char *kind,
                      const struct kube_wait *wait, const struct kube_kind **ret,
                      struct error *error);

static int ref_by(find_kind *find, struct runtime_session *session, const struct value *attributes,
                  const struct runtime_call *call, struct kube_ref *ret, struct error *error)
{
    const struct kube_wait wait = session_wait(session, call);
    struct object_ref ref = object_ref_of(attributes);
    const struct kube_kind *kind;
    int r;

    if (!ref.api_version || !ref.kind || !ref.name)
        return err_set(error, ERR_INVALID, "InvalidResource",
                       "it has no apiVersion, kind or metadata.name to find it by");
    r = find(session->cluster.discovery, ref.api_version, ref.kind, &wait, &kind, error);
    if (r >= 0)
        *ret = ref_in(session, kind, &ref);
    return r;
}

int kube_ref_of(struct runtime_session *session, const struct value *attributes,
                const struct runtime_call *call, struct kube_ref *ret, struct error *error)
{
    return ref_by(kube_discovery_find, session, attributes, call, ret, error);
}

int kube_ref_at_any_version(struct runtime_session *session, const struct value *attributes,
                            const struct runtime_call *call, struct kube_ref *ret,
                            struct error *error)
{
    return ref_by(kube_discovery_find_any, session, attributes, call, ret, error);
}

bool kube_ref_if_known(struct runtime_session *session, const struct value *attributes,
                       struct kube_ref *ret)
{
    struct object_ref ref = object_ref_of(attributes);
    const struct kube_kind *kind;

    if (!ref.api_version || !ref.kind || !ref.name)
        return false;
    kind = kube_discovery_known(session->cluster.discovery, ref.api_version, ref.kind);
    if (kind)
        *ret = ref_in(session, kind, &ref);
    return kind;
}

bool kube_is_in_namespace(struct runtime_session *session, const struct value *attributes,
                          const char *namespace_name, const struct runtime_call *call)
{
    struct kube_ref ref;

    return kube_ref_at_any_version(session, attributes, call, &ref, NULL) >= 0 &&
           str_equal(ref.namespace_name, namespace_name);
}
