/*
 * A history of Release objects of the API: engine/release/history.h.
 *
 * The Release of a revision has the name release_name() gives, in its Spec's namespace. It carries
 * the label api.kusion.io/generated=true and, as annotations, its revision and the Spec's
 * generation: so the list of a Spec's Releases needs metadata alone. It has no ownerReference: a
 * record outlives what it records.
 *
 * A person may make Releases, too. One without the label, of another Spec, or of another revision
 * than its name says is no record: it is neither loaded nor changed, and where it has the name of
 * a revision that is to be created, that is ERR_CONFLICT ReleaseNameTaken.
 *
 * What a change without an answer came to is looked up, and if it did not happen it is tried
 * again, until the call's deadline (its own: 60 s).
 *
 * Lists know neither phases nor, of Releases that an earlier version made, operations other than
 * Apply.
 */
#ifndef RUNTIMES_KUBERNETES_HISTORY_H
#define RUNTIMES_KUBERNETES_HISTORY_H

#include "engine/release/history.h"
#include "runtimes/kubernetes/client/cluster.h"

#define KUBE_GENERATED_LABEL "api.kusion.io/generated"

/* Calls without a permit of their own ask the client's guard. */
struct release_history *kube_history_new(const struct kube_cluster *cluster);

#endif
