/*
 * Whether an object has the values that we gave it, though its metadata shows no change: an
 * admission may have changed a field of ours in somebody else's write, which managedFields
 * attribute to nobody; a list may have been reordered; managedFields may have been written by hand.
 *
 * The values of our fields are compared with those that are sent. Where the API server writes them
 * in another way ("1000m" as "1", an item's key that is left out), they are compared with the
 * fingerprint of those that a dry-run confirmed last. It is kept in memory alone.
 */
#pragma once

#include "runtimes/kubernetes/session/session.h"

/* object: whole, with its managedFields. False also where it cannot be told without a dry-run. */
bool kube_has_values(struct runtime_session *session, const struct kube_ref *ref,
                     const struct value *attributes, const struct value *object);
/* The same of an object without its managedFields. fields: those of our manager. */
bool kube_has_values_of(struct runtime_session *session, const struct kube_ref *ref,
                        const struct value *attributes, const struct value *object,
                        const struct value *fields);
/* A dry-run has shown that an apply would change nothing. */
void kube_confirm_values(struct runtime_session *session, const struct kube_ref *ref,
                         const struct value *object, const struct value *fields);
