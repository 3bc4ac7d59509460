/* Plans the deletion of an object that the Spec no longer wants. */
#include "engine/base/str.h"
#include "runtimes/kubernetes/change/step.h"
#include "runtimes/kubernetes/objects/object.h"

/* The object is in the Spec's own namespace, which is being deleted with all its objects. */
static bool goes_with_namespace(struct runtime_session *session, const struct value *identity,
                                const struct runtime_call *call)
{
    return session->terminating &&
           kube_is_in_namespace(session, identity, session->spec_namespace, call);
}

bool kube_is_ours(const struct runtime_session *session, const struct record *prior,
                  const struct observation *seen)
{
    bool is_same = prior->uid && str_equal(prior->uid, seen->uid);
    enum kube_owner owner = kube_detail_of(seen)->owner;

    if (owner == OWNER_SELF)
        return !session->is_inherited || is_same;
    return is_same && !session->is_inherited && owner != OWNER_SPEC;
}

/* Why an object of ours stays all the same; NULL: it goes. One that is replaced goes: that was
 * permitted on its own (replace.c). */
static const char *keeps(const struct runtime_target *target, const struct observation *seen)
{
    return target->part == TARGET_OLD ? NULL : kube_detail_of(seen)->keeps;
}

static struct runtime_step *make(struct runtime_session *session,
                                 const struct runtime_target *target,
                                 const struct observation *seen)
{
    bool is_there = seen->presence == PRESENCE_PRESENT;
    bool is_ours = is_there && kube_is_ours(session, target->prior, seen);
    bool is_deleted = is_ours && !keeps(target, seen);
    struct kube_step *step = kube_step_new(session, is_deleted ? PLAN_DELETE : PLAN_FORGET, target);

    if (is_there)
        kube_step_see(step, seen);
    if (is_ours && !is_deleted)
        step->base.reason = step->reason = str_printf("it stays: %s", keeps(target, seen));
    if (is_deleted) {
        _cleanup_value_ const struct value *marked = kube_object_mark(step->identity);

        step->base.before = kube_object_project(marked);
    }
    return &step->base;
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
    _cleanup_(observation_done) struct observation seen = {0};
    int r;

    if (!target->prior)
        return err_set(error, ERR_INTERNAL, "UnknownIdentity",
                       "%s is to be deleted, but State has no record of it", target->id);
    if (goes_with_namespace(session, identity, call)) {
        *ret = &kube_step_new(session, PLAN_FORGET, target)->base;
        (*ret)->cannot_appear = true;
        return 0;
    }
    if (is_enough(hint)) {
        *ret = make(session, target, hint);
        return 0;
    }
    r = kube_look(session, identity, false, call, &seen, error);
    if (r >= 0)
        *ret = make(session, target, &seen);
    return r;
}
