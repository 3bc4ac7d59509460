/* Sessions in a cluster that a tenant chose, and whether it is still the one that it was. */
#include "engine/base/str.h"
#include "engine/threads/locked.h"
#include "runtimes/io/address_filter.h"
#include "runtimes/kubernetes/objects/marks.h"
#include "runtimes/kubernetes/session/kubeconfig.h"
#include "runtimes/kubernetes/session/place.h"
#include "runtimes/kubernetes/session/session.h"

#define CLUSTER_CHANGED "ClusterChanged"

/* ---- What State has ---- */

static bool is_own(const struct record *record)
{
    return str_equal(record->type, KUBE_RUNTIME_TYPE);
}

static size_t count_own(const struct runtime_scope *scope)
{
    size_t count = 0;

    for (size_t i = 0; i < scope->n_records; i++)
        count += is_own(scope->records[i]);
    return count;
}

static void take_witnesses(struct runtime_session *session, const struct runtime_scope *scope)
{
    for (size_t i = 0; i < scope->n_records && session->n_witnesses < WITNESSES; i++) {
        const struct record *record = scope->records[i];

        if (is_own(record) && record->uid && record->attributes)
            session->witnesses[session->n_witnesses++] =
                (struct witness){value_ref(record->attributes), str_new(record->uid)};
    }
}

/* ---- Whether it is the same ---- */

static struct place_question question_of(const struct runtime_session *session,
                                         const struct runtime_call *call)
{
    return (struct place_question){
        .client = session->cluster.client,
        .impersonate = session->impersonate,
        .namespaces = {foreign_cluster_namespace(session->foreign), session->spec_namespace},
        .ca = foreign_cluster_ca(session->foreign),
        .wait = session_wait(session, call)};
}

static struct place_question question_of_home(const struct kube_runtime *runtime,
                                              const struct runtime_call *call)
{
    return (struct place_question){.client = runtime->config.cluster.client,
                                   .wait = {runtime->config.clock, call->deadline, call->cancel}};
}

static int refuse(const char *what, struct error *error)
{
    return err_set(
        error, ERR_INVALID, CLUSTER_CHANGED,
        "%s: nothing is created, changed, deleted or forgotten. Let the Spec lead to the "
        "cluster of its objects again; or, if that is gone, set deletionPolicy to "
        "Orphan, delete the Spec, and apply it anew",
        what);
}

#define ANOTHER "the kubeConfig leads to another cluster than the one that has the Spec's objects"

/* True: the object is there with its uid. */
static bool is_there(struct runtime_session *session, const struct witness *witness,
                     const struct runtime_call *call)
{
    _cleanup_value_ const struct value *object = NULL;
    struct kube_request request = {.method = "GET", .accept = KUBE_METADATA};
    struct kube_ref ref;

    return kube_ref_at_any_version(session, witness->identity, call, &ref, NULL) >= 0 &&
           session_read(session, &ref, call, &request, &object, NULL) >= 0 &&
           str_equal(value_string(value_path(object, "metadata", "uid", NULL)), witness->uid);
}

/* With a weak place, the objects themselves are all that tells. */
static int ask_witnesses(struct runtime_session *session, const struct runtime_call *call,
                         struct error *error)
{
    bool is_known = false;

    for (size_t i = 0; !is_known && i < session->n_witnesses; i++)
        is_known = is_there(session, &session->witnesses[i], call);
    if (!is_known)
        return refuse("none of the Spec's objects is there, and the account may read no Namespace "
                      "by which the cluster could be known: it may be another one",
                      error);
    LOCKED(&session->lock);
    session->is_known_again = true;
    return 0;
}

static void note_seen(struct runtime_session *session, int64_t asked_at)
{
    LOCKED(&session->lock);

    if (session->place_seen < asked_at)
        session->place_seen = asked_at;
}

int session_confirm_place(struct runtime_session *session, int64_t since,
                          const struct runtime_call *call, struct error *error)
{
    const struct clock_source *clock = session->runtime->config.clock;
    struct place_question question;
    int64_t asked_at, seen;
    int r;

    if (!session->foreign)
        return 0;
    /* Before the first change: after the last deletion, none of the objects could tell. */
    if (place_is_weak(session->place))
        return session_confirm_absence(session, call, error);
    pthread_mutex_lock(&session->lock);
    seen = session->place_seen;
    pthread_mutex_unlock(&session->lock);
    if (seen >= since)
        return 0;
    asked_at = clock->monotonic(clock);
    question = question_of(session, call);
    r = place_is(&question, session->place, error);
    if (r < 0)
        return r;
    if (r == 0)
        return refuse(ANOTHER, error);
    note_seen(session, asked_at);
    return 0;
}

int session_confirm_absence(struct runtime_session *session, const struct runtime_call *call,
                            struct error *error)
{
    const struct clock_source *clock = session->runtime->config.clock;
    bool is_known_again;

    if (!session->foreign)
        return 0;
    if (!place_is_weak(session->place))
        return session_confirm_place(session, clock->monotonic(clock), call, error);
    pthread_mutex_lock(&session->lock);
    is_known_again = session->is_known_again;
    pthread_mutex_unlock(&session->lock);
    return is_known_again || session->n_witnesses < 2 ? 0 : ask_witnesses(session, call, error);
}

/* ---- Opening ---- */

int session_check_home(struct kube_runtime *runtime, const struct runtime_scope *scope,
                       const struct runtime_call *call, struct error *error)
{
    const struct place_question question = question_of_home(runtime, call);
    int r;

    if (!scope->place || !count_own(scope))
        return 0;
    r = place_is(&question, scope->place, error);
    if (r == 0)
        return refuse("the Spec's objects are in the cluster of a kubeConfig that the Spec does "
                      "not have any more",
                      error);
    return r < 0 ? r : 0;
}

/* The objects in State were made before the Spec had a kubeConfig. */
static int check_was_home(struct runtime_session *session, const struct runtime_call *call,
                          struct error *error)
{
    const struct place_question home = question_of_home(session->runtime, call);
    int r = place_is_weak(session->place) ? 0 : place_is(&home, session->place, error);

    if (r == 0)
        return refuse("the Spec's objects are in the cluster of the Spec itself, and its "
                      "kubeConfig leads to another one",
                      error);
    return r < 0 ? r : 0;
}

/* By the CA alone it is not known again where another place is to be recorded from now on, which
 * would be believed. */
static bool needs_witness(const struct runtime_session *session, bool has_same_ca)
{
    return has_same_ca ? !place_is_weak(session->place) && session->n_witnesses > 1
                       : session->n_witnesses > 0;
}

static int check_recorded(struct runtime_session *session, const char *recorded,
                          const struct runtime_call *call, struct error *error)
{
    const struct place_question question = question_of(session, call);
    int r = place_is(&question, recorded, error);

    if (place_is_weak(recorded) && r >= 0 && needs_witness(session, r))
        return ask_witnesses(session, call, error);
    if (r == 0)
        return refuse(ANOTHER, error);
    return r < 0 ? r : 0;
}

static int set_place(struct runtime_session *session, const struct runtime_scope *scope,
                     const struct runtime_call *call, struct error *error)
{
    const struct clock_source *clock = session->runtime->config.clock;
    const struct place_question question = question_of(session, call);
    bool has_own = count_own(scope);
    int64_t asked_at = clock->monotonic(clock);
    int r;

    if (has_own && scope->place && !place_is_weak(scope->place)) {
        session->place = str_new(scope->place);
        r = check_recorded(session, scope->place, call, error);
    } else {
        r = place_find(&question, &session->place, error);
        if (r >= 0 && has_own)
            r = scope->place ? check_recorded(session, scope->place, call, error)
                             : check_was_home(session, call, error);
    }
    if (r >= 0)
        note_seen(session, asked_at);
    return r;
}

/* It acts as an account of the cluster only if the Spec names one. */
static struct runtime_session *foreign_new(struct kube_runtime *runtime,
                                           const struct runtime_scope *scope,
                                           struct foreign_cluster *foreign)
{
    const char *account = value_get_string(scope->connection, "serviceAccountName");
    _cleanup_value_ const struct value *identity =
        account ? value_pack("{s:s}", "serviceAccountName", account) : NULL;
    struct runtime_scope there = *scope;
    struct runtime_session *session;

    there.identity = identity;
    there.terminating = false; /* that is a namespace of the Spec's cluster */
    session = session_new(runtime, foreign_cluster_get(foreign), &there);
    session->foreign = foreign;
    take_witnesses(session, scope);
    return session;
}

static void explain(struct error *problem)
{
    if (str_equal(problem->reason, ADDRESS_NOT_ALLOWED))
        err_set(problem, problem->code, problem->reason,
                "the kubeConfig's server has an address that the operator does not connect to for "
                "others; who runs it can allow it (--allow-cluster-address)");
    else if (!str_equal(problem->reason, CLUSTER_CHANGED))
        err_wrap(problem, "the cluster of the kubeConfig");
}

/* foreign: taken over. */
static int open_there(struct kube_runtime *runtime, const struct runtime_scope *scope,
                      struct foreign_cluster *foreign, const struct runtime_call *call,
                      struct runtime_session **ret, struct error *error)
{
    struct runtime_session *session = foreign_new(runtime, scope, foreign);
    struct error problem = {0};
    int r = foreign_cluster_begin(foreign, error);

    if (r >= 0) {
        r = set_place(session, scope, call, &problem);
        if (r < 0)
            explain(&problem);
        foreign_cluster_end(foreign, r < 0 ? &problem : NULL);
        if (r < 0)
            err_copy(error, &problem);
    }
    if (r >= 0)
        *ret = session;
    else
        session_unref(session);
    return r;
}

int session_open_foreign(struct kube_runtime *runtime, const struct runtime_scope *scope,
                         const struct runtime_call *call, struct runtime_session **ret,
                         struct error *error)
{
    struct runtime_session *home = session_new(runtime, &runtime->config.cluster, scope);
    _cleanup_(kube_config_free_p) struct kube_config *config = NULL;
    struct foreign_cluster *foreign = NULL;
    int r = kubeconfig_read(home, scope->connection, call, &config, error);

    session_unref(home);
    if (r >= 0)
        r = clusters_get(runtime->clusters, scope->key.namespace_name, config, &foreign, error);
    return r < 0 ? r : open_there(runtime, scope, foreign, call, ret, error);
}
