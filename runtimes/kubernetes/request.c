/* Requests of a session: as the user that it acts for, within the time of its call. */
#include "engine/base/str.h"
#include "runtimes/kubernetes/session.h"

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

static int explain(struct runtime_session *session, const struct kube_ref *ref,
                   const struct runtime_call *call, struct error *problem, struct error *error)
{
    /* The kind may have been removed since discovery: a retry discovers it again. */
    if (str_equal(problem->reason, "NotServed"))
        kube_discovery_forget(session->cluster.discovery, ref->kind->group_version);
    session_add_hint(session, ref, call, problem);
    return err_copy(error, problem);
}

static int ask(struct runtime_session *session, const struct kube_ref *ref,
               const struct runtime_call *call, struct kube_request *request,
               const struct value **ret, struct error *error)
{
    struct error problem = {0};
    int r = session_time_left(session, call, &request->timeout, error);

    if (r < 0)
        return r;
    request->ref = *ref;
    request->impersonate = session->impersonate;
    request->for_tenant = true;
    request->cancel = call->cancel;
    r = kube_do(session->cluster.client, request, ret, &problem);
    return r < 0 ? explain(session, ref, call, &problem, error) : 0;
}

/* etcd limits an object to 1.5 MiB, as it is stored; as JSON it may be several times that. */
#define LARGEST_ANSWER (16u << 20)

/* Nobody knows how large an object is before it is read: it is read as a small one first. */
int session_read(struct runtime_session *session, const struct kube_ref *ref,
                 const struct runtime_call *call, struct kube_request *request,
                 const struct value **ret, struct error *error)
{
    struct error problem = {0};
    int r;

    if (call->large && !call->large->is_taken) {
        request->max_response = RUNTIME_SMALL_ANSWER;
        r = ask(session, ref, call, request, ret, &problem);
        if (r != ERR_TOO_LARGE)
            return r < 0 ? err_copy(error, &problem) : 0;
        r = slot_take(call->large, call->deadline, call->cancel, error);
        if (r < 0)
            return r;
    }
    request->max_response = LARGEST_ANSWER;
    return ask(session, ref, call, request, ret, error);
}

int session_change(struct runtime_session *session, const struct kube_ref *ref,
                   const struct runtime_call *call, struct kube_request *request,
                   const struct value **ret, struct runtime_outcome *ret_outcome,
                   struct error *error)
{
    const struct kube_runtime_config *config = &session->runtime->config;
    bool in_doubt = false;
    int r;

    request->idempotent = true;
    request->complete_once_sent = true;
    request->permit = call->permit;
    request->use = PERMIT_ACT;
    request->ret_in_doubt = &in_doubt;
    r = ask(session, ref, call, request, ret, error);
    ret_outcome->certainty = r >= 0     ? OUTCOME_KNOWN
                             : in_doubt ? OUTCOME_IN_DOUBT
                                        : OUTCOME_NOT_SENT;
    if (in_doubt)
        ret_outcome->until = config->clock->now(config->clock) + config->effect_time;
    return r;
}
