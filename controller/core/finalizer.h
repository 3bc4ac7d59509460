/*
 * Our finalizer on an object of our kinds, added and removed with
 * compare-and-swap on its resourceVersion: other finalizers, and their order,
 * stay as they are. It is added by server-side apply, which costs the API
 * server a third less than a merge patch where the object is large.
 */
#ifndef CONTROLLER_CORE_FINALIZER_H
#define CONTROLLER_CORE_FINALIZER_H

#include "runtimes/kubernetes/client/client.h"

#define KUSION_FINALIZER "api.kusion.io/finalizer"

bool finalizer_is_set(const struct value *metadata);

/*
 * ref: the object; metadata: as it was just read (of the whole object, or of its
 * metadata alone); adding replaces this reference by the metadata after it. Nothing is sent where
 * it is so already; to remove it from what is gone is 0.
 *   ERR_CONFLICT   the object changed since: read it again; or (adding) it is gone
 */
int finalizer_add(struct kube_client *client, const struct kube_ref *ref,
                  const struct value **metadata, struct cancel *cancel, struct error *error);
int finalizer_remove(struct kube_client *client, const struct kube_ref *ref,
                     const struct value *metadata, struct cancel *cancel, struct error *error);

#endif
