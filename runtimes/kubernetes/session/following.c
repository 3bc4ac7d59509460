#include "runtimes/kubernetes/session/following.h"

#include "engine/base/str.h"
#include "runtimes/kubernetes/follow/follow.h"
#include "runtimes/kubernetes/objects/marks.h"

static struct followed *of(struct runtime_following *following)
{
    return (struct followed *)following;
}

static struct follow_place place_of(struct runtime_session *session, const struct kube_ref *ref)
{
    return (struct follow_place){.client = session->cluster.client,
                                 .impersonate = session->impersonate,
                                 .field_manager = session->field_manager,
                                 .ref = *ref,
                                 .is_elsewhere = session->foreign != NULL,
                                 .keep = session};
}

/* ---- The table ---- */

static struct runtime_following *begin(struct runtime *runtime, const struct spec_key *spec,
                                       runtime_on_event *on_drift, void *arg)
{
    struct kube_runtime *kube = (struct kube_runtime *)runtime;

    return (struct runtime_following *)followed_new(kube->follows, spec, on_drift, arg);
}

static struct runtime_following *ref(struct runtime_following *following)
{
    return (struct runtime_following *)followed_ref(of(following));
}

static void unref(struct runtime_following *following)
{
    followed_unref(of(following));
}

static void end(struct runtime_following *following)
{
    followed_end(of(following));
}

static bool is_to_follow(const struct record *record)
{
    return str_equal(record->type, KUBE_RUNTIME_TYPE) && record->status == RECORD_APPLIED &&
           !record->deposed && !record->is_only_read;
}

static void settle_one(struct followed *followed, struct runtime_session *session,
                       const struct record *record)
{
    struct kube_ref ref;
    struct follow_place place;

    if (!kube_ref_if_known(session, record->attributes, &ref)) {
        followed_miss(followed, "a kind is not served");
        return;
    }
    place = place_of(session, &ref);
    followed_settle(followed, &place, record);
}

static void settle(struct runtime_following *following, struct runtime_session *session,
                   const struct record *const *records, size_t n)
{
    followed_settle_begins(of(following));
    for (size_t i = 0; i < n; i++)
        if (is_to_follow(records[i]))
            settle_one(of(following), session, records[i]);
    followed_settle_ends(of(following));
}

static void listen(struct runtime_following *following)
{
    followed_listen(of(following));
}

static enum runtime_whole state(struct runtime_following *following, struct error *why)
{
    return followed_state(of(following), why);
}

const struct runtime_follow_ops kube_follow_ops = {.begin = begin,
                                                   .ref = ref,
                                                   .unref = unref,
                                                   .end = end,
                                                   .settle = settle,
                                                   .listen = listen,
                                                   .state = state};

/* ---- A session ---- */

void session_track(struct runtime_session *session, const struct kube_ref *ref)
{
    const struct follow_place place = place_of(session, ref);

    if (session->followed)
        followed_track(session->followed, &place);
}

bool session_knows_untouched(struct runtime_session *session, const struct kube_ref *ref,
                             const struct record *record)
{
    const struct follow_place place = place_of(session, ref);

    return session->followed && session->look == RUNTIME_LOOK_FOLLOWED && is_to_follow(record) &&
           followed_is_untouched(session->followed, &place, record);
}

void session_write_begins(struct runtime_session *session, const struct kube_ref *ref)
{
    const struct follow_place place = place_of(session, ref);

    if (session->followed)
        followed_write_begins(session->followed, &place);
}

void session_write_ends(struct runtime_session *session, const struct kube_ref *ref,
                        const struct value *answer)
{
    const struct follow_place place = place_of(session, ref);

    if (session->followed)
        followed_write_ends(session->followed, &place, answer);
}

uint64_t session_verified_values(struct runtime_session *session, const struct kube_ref *ref)
{
    const struct follow_place place = place_of(session, ref);

    return session->followed ? followed_values(session->followed, &place) : 0;
}

void session_note_values(struct runtime_session *session, const struct kube_ref *ref,
                         uint64_t values)
{
    const struct follow_place place = place_of(session, ref);

    if (session->followed)
        followed_set_values(session->followed, &place, values);
}

/* A watch keeps no following of its own Spec: that would keep itself. */
void *kube_keep_session(void *session)
{
    return session_ref(session);
}

void kube_release_session(void *session)
{
    session_unref(session);
}
