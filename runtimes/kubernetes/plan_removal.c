/* Plans the deletion of an object that the Spec no longer wants. */
#include "engine/base/str.h"
#include "runtimes/kubernetes/step.h"

/* The object is in the Spec's own namespace, which is being deleted with all its objects. */
static bool goes_with_namespace(struct runtime_session *session, const struct value *identity,
                                const struct runtime_call *call)
{
    return session->terminating &&
           kube_is_in_namespace(session, identity, session->spec_namespace, call);
}

/* True if the object is certainly ours. Its uid is the recorded one and no other Spec's label is on
 * it; or it has our label. If State is inherited, both are needed. */
static bool is_ours(const struct runtime_session *session, const struct record *prior,
                    const struct observation *seen)
{
    bool is_same = prior->uid && str_equal(prior->uid, seen->uid);
    enum kube_owner owner = kube_detail_of(seen)->owner;

    if (owner == OWNER_SELF)
        return !session->is_inherited || is_same;
    return is_same && !session->is_inherited && owner != OWNER_SPEC;
}

/* A create was sent and not answered: the API server may still carry it out. */
static int check_doubt(const struct runtime_session *session, const struct record *prior,
                       struct error *error)
{
    const struct clock_source *clock = session->runtime->config.clock;
    int64_t left = prior->call.until - clock->now(clock);

    if (prior->status == RECORD_APPLIED || left <= 0)
        return 0;
    return err_set(error, ERR_UNAVAILABLE, "OutcomeUnknown",
                   "a request to create it was not answered and may still be carried out: the "
                   "next look is in %lld s",
                   (long long)(left + 999) / 1000);
}

static struct runtime_step *make(struct runtime_session *session,
                                 const struct runtime_target *target,
                                 const struct observation *seen)
{
    bool is_there = seen->presence == PRESENCE_PRESENT;
    bool is_deleted = is_there && is_ours(session, target->prior, seen);
    struct kube_step *step = kube_step_new(session, is_deleted ? PLAN_DELETE : PLAN_FORGET, target);

    if (is_there)
        kube_step_see(step, seen);
    if (is_deleted) {
        _cleanup_value_ const struct value *marked = kube_object_mark(step->identity);

        step->base.before = kube_object_project(marked);
    }
    return &step->base;
}

static int plan_seen(struct runtime_session *session, const struct runtime_target *target,
                     const struct observation *seen, struct runtime_step **ret, struct error *error)
{
    int r = seen->presence == PRESENCE_ABSENT ? check_doubt(session, target->prior, error) : 0;

    if (r >= 0)
        *ret = make(session, target, seen);
    return r;
}

/* A list may be out of date: an object that it does not contain is read by name before its record
 * is dropped. */
static bool is_enough(const struct observation *hint)
{
    return hint && hint->presence == PRESENCE_PRESENT;
}

int kube_plan_removal(struct runtime_session *session, const struct runtime_target *target,
                      const struct observation *hint, const struct runtime_call *call,
                      struct runtime_step **ret, struct error *error)
{
    const struct value *identity = target_identity(target);
    struct observation seen = {0};
    int r;

    if (!target->prior)
        return err_set(error, ERR_INTERNAL, "UnknownIdentity",
                       "%s is to be deleted, but State has no record of it", target->id);
    if (goes_with_namespace(session, identity, call)) {
        *ret = &kube_step_new(session, PLAN_FORGET, target)->base;
        return 0;
    }
    if (is_enough(hint))
        return plan_seen(session, target, hint, ret, error);
    r = kube_look(session, identity, false, call, &seen, error);
    if (r >= 0)
        r = plan_seen(session, target, &seen, ret, error);
    observation_done(&seen);
    return r;
}
