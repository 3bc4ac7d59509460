/* What is said of a kind that the API server does not have: which one was probably meant. */
#include "engine/base/str.h"
#include "engine/threads/locked.h"
#include "runtimes/kubernetes/client/kinds.h"
#include "runtimes/kubernetes/objects/object_ref.h"
#include "runtimes/kubernetes/session/session.h"

/* Versions that a message names. */
#define NAMED_VERSIONS 3
/* Kinds that a session looks for in all groups, which takes two long answers each. */
#define MOST_SEARCHES 4

#define ADVICE "is its CRD installed, or missing in this Spec?"

static bool may_search(struct runtime_session *session)
{
    LOCKED(&session->lock);

    if (session->n_searches >= MOST_SEARCHES)
        return false;
    session->n_searches++;
    return true;
}

/* The versions of other groups that have a kind of this name; they are alike in all clusters. */
static void find_elsewhere(struct runtime_session *session, const char *kind,
                           const struct runtime_call *call, struct buf *to)
{
    const struct kube_wait wait = session_wait(session, call);
    _cleanup_(kube_kinds_done) struct kube_kinds kinds = {0};
    size_t named = 0;

    if (!may_search(session) || kube_kinds_read(session->cluster.client, &wait, &kinds, NULL) < 0)
        return;
    for (size_t i = 0; i < kinds.count && named < NAMED_VERSIONS; i++)
        if (str_equal(kinds.items[i].kind, kind))
            buf_printf(to, "%s%s", named++ ? ", " : "", kinds.items[i].group_version);
}

void kube_explain_unserved(struct runtime_session *session, const struct value *attributes,
                           const struct runtime_call *call, struct error *error)
{
    const struct object_ref ref = object_ref_of(attributes);
    struct kube_discovery *discovery = session->cluster.discovery;
    const struct kube_wait wait = session_wait(session, call);
    _cleanup_buf_ struct buf elsewhere = BUF_INIT;
    const struct kube_kind *other;
    const char *meant;

    if (kube_discovery_find_any(discovery, ref.api_version, ref.kind, &wait, &other, NULL) >= 0) {
        err_set(error, ERR_INVALID, "KindNotFound",
                "the cluster has no kind \"%s\" in \"%s\": use apiVersion \"%s\"", ref.kind,
                ref.api_version, other->group_version);
        return;
    }
    meant = kube_discovery_similar(discovery, ref.api_version, ref.kind);
    if (meant) {
        err_set(error, ERR_INVALID, "KindNotFound",
                "the cluster has no kind \"%s\" in \"%s\": did you mean \"%s\"?", ref.kind,
                ref.api_version, meant);
        return;
    }
    find_elsewhere(session, ref.kind, call, &elsewhere);
    if (elsewhere.length)
        err_set(error, ERR_INVALID, "KindNotFound",
                "the cluster has no kind \"%s\" in \"%s\", but in %s: did you mean that? If "
                "not, " ADVICE,
                ref.kind, ref.api_version, elsewhere.data);
    else
        err_set(error, ERR_INVALID, "KindNotFound",
                "the cluster has no kind \"%s\" in \"%s\": " ADVICE, ref.kind, ref.api_version);
}
