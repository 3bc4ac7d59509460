/* Finds the API path of an object, and sends requests to it. */
#include "engine/base/str.h"
#include "runtimes/kubernetes/object_ref.h"
#include "runtimes/kubernetes/session.h"

/* ---- Places ---- */

const struct value *target_identity(const struct runtime_target *target)
{
    if (target->attributes)
        return target->attributes;
    return target->prior ? target->prior->attributes : NULL;
}

static struct kube_ref place_in(const struct runtime_session *session, const struct kube_kind *kind,
                                const struct object_ref *ref)
{
    struct kube_ref place = {.kind = kind, .name = ref->name};

    if (kind->namespaced)
        place.namespace_name = ref->namespace_name ? ref->namespace_name : session->spec_namespace;
    return place;
}

typedef int find_kind(struct kube_discovery *discovery, const char *group_version, const char *kind,
                      const struct kube_wait *wait, const struct kube_kind **ret,
                      struct error *error);

static int place_by(find_kind *find, struct runtime_session *session,
                    const struct value *attributes, const struct runtime_call *call,
                    struct kube_ref *ret, struct error *error)
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
        *ret = place_in(session, kind, &ref);
    return r;
}

int kube_place_of(struct runtime_session *session, const struct value *attributes,
                  const struct runtime_call *call, struct kube_ref *ret, struct error *error)
{
    return place_by(kube_discovery_find, session, attributes, call, ret, error);
}

int kube_place_at_any_version(struct runtime_session *session, const struct value *attributes,
                              const struct runtime_call *call, struct kube_ref *ret,
                              struct error *error)
{
    return place_by(kube_discovery_find_any, session, attributes, call, ret, error);
}

bool kube_place_if_known(struct runtime_session *session, const struct value *attributes,
                         struct kube_ref *ret)
{
    struct object_ref ref = object_ref_of(attributes);
    const struct kube_kind *kind;

    if (!ref.api_version || !ref.kind || !ref.name)
        return false;
    kind = kube_discovery_known(session->cluster.discovery, ref.api_version, ref.kind);
    if (kind)
        *ret = place_in(session, kind, &ref);
    return kind;
}

bool kube_is_in_namespace(struct runtime_session *session, const struct value *attributes,
                          const char *namespace_name, const struct runtime_call *call)
{
    struct kube_ref place;

    return kube_place_at_any_version(session, attributes, call, &place, NULL) >= 0 &&
           str_equal(place.namespace_name, namespace_name);
}

/* ---- Requests ---- */

struct kube_wait session_wait(const struct runtime_session *session,
                              const struct runtime_call *call)
{
    return (struct kube_wait){session->runtime->config.clock, call->deadline, call->cancel};
}

int session_time_left(const struct runtime_session *session, const struct runtime_call *call,
                      int64_t *ret, struct error *error)
{
    const struct kube_wait wait = session_wait(session, call);

    return kube_wait_left(&wait, ret, error);
}

static int explain(struct runtime_session *session, const struct kube_ref *place,
                   struct error *problem, struct error *error)
{
    /* The kind may have been removed since discovery: a retry discovers it again. */
    if (str_equal(problem->reason, "NotServed"))
        kube_discovery_forget(session->cluster.discovery, place->kind->group_version);
    session_add_hint(session, place, problem);
    return err_copy(error, problem);
}

static int ask(struct runtime_session *session, const struct kube_ref *place,
               const struct runtime_call *call, struct kube_request *request,
               const struct value **ret, struct error *error)
{
    struct error problem = {0};
    int r = session_time_left(session, call, &request->timeout, error);

    if (r < 0)
        return r;
    request->ref = *place;
    request->impersonate = session->impersonate;
    request->for_tenant = true;
    request->cancel = call->cancel;
    r = kube_do(session->cluster.client, request, ret, &problem);
    return r < 0 ? explain(session, place, &problem, error) : 0;
}

int session_read(struct runtime_session *session, const struct kube_ref *place,
                 const struct runtime_call *call, struct kube_request *request,
                 const struct value **ret, struct error *error)
{
    return ask(session, place, call, request, ret, error);
}

int session_change(struct runtime_session *session, const struct kube_ref *place,
                   const struct runtime_call *call, struct kube_request *request,
                   const struct value **ret, enum certainty *ret_certainty, struct error *error)
{
    bool in_doubt = false;
    int r;

    request->idempotent = true;
    request->complete_once_sent = true;
    request->permit = call->permit;
    request->use = PERMIT_ACT;
    request->ret_in_doubt = &in_doubt;
    r = ask(session, place, call, request, ret, error);
    *ret_certainty = r >= 0 ? OUTCOME_KNOWN : in_doubt ? OUTCOME_IN_DOUBT : OUTCOME_NOT_SENT;
    return r;
}
