/* Requests of a session: as the user that it acts for, within the time of its call. */
#include "engine/base/str.h"
#include "runtimes/kubernetes/session/following.h"

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

/* ---- Dry-runs that hang ---- */

/* ms that one early dry-run may take, and those of a session after one of them failed so late: a
 * webhook that hangs does not hold up the plan of all other resources. */
#define PATIENCE      5000
#define LESS_PATIENCE 1000

/* A plan that is shown before it is carried out has to be whole: it waits for a webhook as long as
 * the API server does, unless it cannot be whole any more. */
static int64_t patience(struct runtime_session *session)
{
    bool is_slow = atomic_load(&session->is_slow);

    if (session->thorough)
        return is_slow ? PATIENCE : CLOCK_FOREVER;
    return is_slow ? LESS_PATIENCE : PATIENCE;
}

static int dry_run_early(struct runtime_session *session, struct kube_request *request,
                         const struct value **ret, struct error *error)
{
    const struct clock_source *clock = session->runtime->config.clock;
    int64_t most = patience(session), begun = clock->monotonic(clock);
    int r;

    if (request->timeout > most)
        request->timeout = most;
    r = kube_do(session->cluster.client, request, ret, error);
    if (r < 0 && clock->monotonic(clock) - begun >= PATIENCE)
        atomic_store(&session->is_slow, true);
    return r;
}

/* ---- One request ---- */

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
    r = request->dry_run && call->is_early
            ? dry_run_early(session, request, ret, &problem)
            : kube_do(session->cluster.client, request, ret, &problem);
    return r < 0 ? explain(session, ref, call, &problem, error) : 0;
}

/* etcd limits an object to 1.5 MiB, as it is stored; as JSON it may be several times that. */
#define LARGEST_ANSWER (16u << 20)

/* ms before a change, within which a foreign cluster was asked that it is the one that it was. */
#define PLACE_KNOWN 10000

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
    r = session_confirm_place(session, config->clock->monotonic(config->clock) - PLACE_KNOWN, call,
                              error);
    if (r >= 0) {
        session_write_begins(session, ref);
        r = ask(session, ref, call, request, ret, error);
        session_write_ends(session, ref, r >= 0 ? *ret : NULL);
    }
    ret_outcome->certainty = r >= 0     ? OUTCOME_KNOWN
                             : in_doubt ? OUTCOME_IN_DOUBT
                                        : OUTCOME_NOT_SENT;
    if (in_doubt)
        ret_outcome->until = config->clock->now(config->clock) + config->effect_time;
    return r;
}
