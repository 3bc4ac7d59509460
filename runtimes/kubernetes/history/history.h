/*
 * A history (engine/release/history.h) of Release objects in the Kubernetes API.
 *
 * The Release of a revision is named release_name(), in its Spec's namespace. It has the label
 * api.kusion.io/generated=true. Its revision and the Spec's generation are annotations, so a list
 * of a Spec's Releases needs metadata alone. Its ownerReference names the Spec by uid, without
 * blockOwnerDeletion: the garbage collector deletes it once the Spec is gone, and no deletion of a
 * Spec waits for that.
 *
 * People may create Releases, too. A Release without the label, of another Spec, or whose name does
 * not fit its revision is not a record: it is never loaded or changed. If it has the name of a
 * revision that is to be created, create returns ERR_CONFLICT ReleaseNameTaken.
 *
 * If a change is not answered, the history reads the object to learn the outcome, and retries until
 * the call's deadline (default: 60 s).
 *
 * A list does not contain phases.
 */
#pragma once

#include "engine/release/history.h"
#include "runtimes/kubernetes/client/cluster.h"

#define KUBE_GENERATED_LABEL "api.kusion.io/generated"

/* A Release's metadata has the label, and no owner: `kubectl delete --cascade=orphan` has taken its
 * Spec away. */
bool kube_release_is_orphan(const struct value *metadata);

/* A call without a permit asks the client's guard. */
struct release_history *kube_history_new(const struct kube_cluster *cluster);
