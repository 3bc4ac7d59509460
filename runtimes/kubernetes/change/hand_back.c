/* Gives up fields that are ignored from the creation of an object on. */
#include "engine/base/str.h"
#include "runtimes/kubernetes/change/step.h"

/* 1: our manager has nothing of what is ignored. *seen: of the object afterwards. */
static int hand_back_once(const struct kube_step *step, const struct managers_taking *taking,
                          const struct runtime_call *call, struct observation *seen,
                          struct error *error)
{
    struct runtime_session *session = step->session;
    _cleanup_value_ const struct value *object = NULL;
    struct runtime_outcome outcome = {0};
    int r;

    kube_observe_managers(session, taking, seen);
    if (!kube_detail_of(seen)->taken)
        return 1;
    r = kube_write_managers(session, step->identity, seen, kube_detail_of(seen)->taken, call,
                            &object, &outcome, error);
    if (r < 0)
        return r;
    observation_done(seen);
    kube_observe_object(session, object, true, seen);
    return 1;
}

/* The object's controller may write its status meanwhile. */
static int look_again(const struct kube_step *step, const struct runtime_call *call,
                      struct observation *seen, struct error *error)
{
    struct observation now = {0};
    int r = kube_look(step->session, step->identity, true, call, &now, error);

    if (r >= 0 && now.presence == PRESENCE_PRESENT && str_equal(now.uid, seen->uid)) {
        observation_done(seen);
        *seen = now;
        return 0;
    }
    observation_done(&now);
    return r < 0 ? r : err_set(error, ERR_CONFLICT, "Conflict", "another object has its name");
}

void kube_hand_back(const struct kube_step *step, const struct runtime_call *call,
                    struct observation *seen)
{
    struct managers_taking taking = {.from = MANAGERS_OURS};
    int r = ERR_CONFLICT;

    kube_find_ignored(step->session, step->initial, &taking.ignored);
    for (unsigned takes = 0; takes < KUBE_MAX_TAKES && r == ERR_CONFLICT; takes++) {
        struct error problem = {0};

        r = hand_back_once(step, &taking, call, seen, &problem);
        if (r == ERR_CONFLICT && look_again(step, call, seen, &problem) < 0)
            break;
    }
    ignored_done(&taking.ignored);
    if (r > 0)
        return;
    free(seen->fields_digest);
    seen->fields_digest = NULL;
}
