/*
 * Finds the objects that would be deleted with a Namespace or a CustomResourceDefinition and that
 * belong to somebody else. It lists metadata only, page by page, as the Spec's service account.
 *
 * Not counted: objects that are being deleted, and objects with this Spec's owner label, unless an
 * annotation keeps them from deletion (treatment.h). In a
 * Namespace also not counted: objects that the cluster creates in every namespace, objects whose
 * owner (a controller, a ServiceAccount or a Spec) is counted instead, and the roles and bindings
 * that the commands in our error messages create for this account.
 */
#pragma once

#include "engine/base/buf.h"
#include "runtimes/kubernetes/session/session.h"

/* CONTENT_NAMED objects are named in messages. After CONTENT_COUNTED the listing stops. */
#define CONTENT_NAMED   3
#define CONTENT_COUNTED 100

struct content_names {
    struct buf text; /* "ConfigMap a, Secret b" */
    size_t count;
};

struct content {
    struct content_names foreign; /* "Kind name" */
    struct content_names kept;    /* likewise: of this Spec, and kept by an annotation */
    struct content_names refused; /* kinds that the account may not list: "secrets" */
    struct content_names unknown; /* API groups that do not answer: "metrics.k8s.io/v1beta1" */
    bool more;                    /* the listing stopped: there may be more */
};

/* Errors: only if the listing failed as a whole (cancelled, no discovery). The caller calls
 * content_done() on *ret after an error, too. */
int content_of_namespace(struct runtime_session *session, const char *name,
                         const struct runtime_call *call, struct content *ret, struct error *error);
int content_of_definition(struct runtime_session *session, const struct value *definition,
                          const struct runtime_call *call, struct content *ret,
                          struct error *error);
void content_done(struct content *content);

/* True if it is certain that nothing of others would be deleted. */
bool content_is_clear(const struct content *content);
/* "ConfigMap a, Secret b, Secret c and 4 more" */
void content_names_show(struct buf *to, const struct content_names *names);
