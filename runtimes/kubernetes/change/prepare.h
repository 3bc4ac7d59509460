/*
 * Objects as they are sent to the API server.
 */
#pragma once

#include "runtimes/kubernetes/session/session.h"

/* Preconditions of a change: the request fails for any other object. */
struct kube_expected {
    const char *uid;     /* NULL: any */
    const char *version; /* NULL: any */
};

/* The object to send: the attributes, the namespace and the owner's marks, without fields that the
 * server sets, and with a Secret's stringData as data. */
const struct value *kube_object_prepare(const struct runtime_session *session,
                                        const struct kube_ref *ref, const struct value *attributes,
                                        const struct kube_expected *expected);
