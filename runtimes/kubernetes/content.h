/*
 * What goes with a Namespace or a CustomResourceDefinition that is deleted, and is nobody's to take
 * but its maker's. Looked at as the Spec's service account, metadata only, page by page.
 *
 * Not counted are: what carries this Spec's owner label; what is being deleted already; and, in a
 * Namespace, what the cluster makes there itself, what has a controller, or an account, or a Spec,
 * that is counted instead, and the rights that commands of our hints gave to this account.
 */
#ifndef RUNTIMES_KUBERNETES_CONTENT_H
#define RUNTIMES_KUBERNETES_CONTENT_H

#include "engine/base/buf.h"
#include "runtimes/kubernetes/session.h"

/* How many are named, and how many counted before the rest is not looked at any more. */
#define CONTENT_NAMED   3
#define CONTENT_COUNTED 100

struct content_names {
    struct buf text; /* "ConfigMap a, Secret b" */
    size_t count;
};

struct content {
    struct content_names foreign; /* "Kind name" */
    struct content_names refused; /* "secrets": kinds that may not be listed */
    struct content_names unknown; /* "metrics.k8s.io/v1beta1": what does not answer */
    bool more;                    /* there is more than was counted */
};

/* An error only where the whole failed (cancelled, discovery). ret is the caller's to clean up. */
int content_of_namespace(struct runtime_session *session, const char *name,
                         const struct runtime_call *call, struct content *ret, struct error *error);
int content_of_definition(struct runtime_session *session, const struct value *definition,
                          const struct runtime_call *call, struct content *ret,
                          struct error *error);
void content_done(struct content *content);

/* Nothing is in the way, for certain. */
bool content_is_clear(const struct content *content);
/* "ConfigMap a, Secret b, Secret c and 4 more" */
void content_names_show(struct buf *to, const struct content_names *names);

#endif
