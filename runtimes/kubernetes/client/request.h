/*
 * A request to an API server, as kube_do() (client.h) sends it. All that it points to is borrowed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/error.h"
#include "engine/threads/cancel.h"
#include "engine/threads/permit.h"
#include "engine/value/value.h"
#include "runtimes/kubernetes/client/ref.h"

#define KUBE_JSON        "application/json"
#define KUBE_APPLY_PATCH "application/apply-patch+yaml" /* its body is written JSON_FOR_YAML */
#define KUBE_MERGE_PATCH "application/merge-patch+json"
#define KUBE_JSON_PATCH  "application/json-patch+json"
/* Accept, for metadata only. */
#define KUBE_METADATA      "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
#define KUBE_METADATA_LIST "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
/* Accept, for the columns of a kind, with the metadata of each object. */
#define KUBE_TABLE "application/json;as=Table;g=meta.k8s.io;v=v1"

/*
 * What is zero is not asked for. Where ref names an object (or the body does, of a POST), the
 * answer has to be that object: whole or its metadata, of that kind; of a DELETE it may be a Status
 * that names it. Anything else is ERR_UNAVAILABLE UnexpectedAnswer. An object without a UID is
 * ERR_INVALID Unsupported: the server of an aggregated API may have such kinds, and no retry
 * changes them.
 */
struct kube_request {
    const char *method;
    struct kube_ref ref; /* the object, or (of a POST) the collection */
    /* The path as it is sent, instead of ref: for what is not an object ("/apis"). Of ref only the
     * name counts then: a 404 has to name it. */
    const char *path;
    const struct value *body; /* NULL: none */
    const char *content_type; /* NULL: application/json */
    const char *accept;       /* NULL: application/json */

    /* Of changes. */
    bool dry_run;
    bool force;  /* an apply takes fields that others have */
    bool strict; /* fields that the kind does not have are an error */
    const char *field_manager;

    /* Of collections. */
    struct kube_selector selector;
    unsigned limit;               /* items of a page */
    const char *continue_token;   /* the page after the one that gave it */
    unsigned watch_seconds;       /* it is a watch, that the server ends after so long */
    const char *resource_version; /* a watch goes on from there; a read is of that, or newer */

    const char *impersonate;     /* a user name ("system:serviceaccount:ns:name"), or NULL */
    bool for_tenant;             /* uses the tenants' loops, though it impersonates nobody. Errors
                                    of the server (5xx) are returned after two seconds, those of
                                    a webhook at once: the caller tries again */
    bool idempotent;             /* may be sent again when its outcome is unknown */
    bool unguarded;              /* not asked of the guard: dry-runs, leases, reviews */
    const struct permit *permit; /* asked instead of the guard, for this use; NULL: the guard */
    enum permit_use use;
    size_t max_response; /* bytes; 0: LIMIT_DOCUMENT_BYTES. Past it: ERR_TOO_LARGE */
    int64_t timeout;     /* ms, with all retries; 0: 60 s */
    struct cancel *cancel;
    /* cancel and timeout end the request only before it is sent. Then it has 60 s to be answered;
     * for a tenant, at most a second more than `timeout`. For changes, whose outcome has to be
     * known. */
    bool complete_once_sent;
    /* Takes the 2xx body as it arrives (a list), instead of a value. Once it was called, the
     * request is not retried. */
    int (*on_body)(void *arg, const char *data, size_t length, struct error *error);
    void *on_body_arg;
    bool *ret_in_doubt; /* set, on errors too: an attempt was sent, and may have been, or may yet
                           be, carried out without an answer that says so; or NULL */
    const struct value **ret_causes; /* of a refusal: its causes, as api_error_causes() gives
                                        them; or NULL */
};
