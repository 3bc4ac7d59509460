/*
 * Requests to one API server.
 *
 * kube_do() blocks its caller. It retries what may be retried, with jittered
 * backoff and Retry-After obeyed, until the request's deadline: refused
 * connections and 429 always; 500, 502, 503, 504 and broken connections only
 * for requests that may be repeated (GET, and those marked `idempotent`,
 * which a server-side apply and a delete with preconditions are). Answers that
 * are not 2xx become errors by api_error.h.
 *
 * Identity: the client's own (config.h; a token file is read again when it
 * changed, and after a 401), and on a user's behalf by impersonation. The CA's
 * file is read again, too, when the server cannot be verified any more (trust.h).
 *
 * Every mutating request passes the guard (leader election), or a permit of
 * its own, at the last moment before it is sent. Thread-safe.
 */
#ifndef RUNTIMES_KUBERNETES_CLIENT_CLIENT_H
#define RUNTIMES_KUBERNETES_CLIENT_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/cancel.h"
#include "engine/base/error.h"
#include "engine/base/permit.h"
#include "engine/base/value.h"
#include "runtimes/io/http.h"
#include "runtimes/kubernetes/client/config.h"
#include "runtimes/kubernetes/client/ref.h"

struct kube_client;

struct kube_client_config {
    const struct kube_config *config; /* copied */
    /* Borrowed: the loops outlive the client. What is done for a tenant may hang for as long as a
     * webhook of theirs does; so it has loops of its own, and keeps no place that the Lease, our
     * own kinds and the State need. */
    struct http_loop *requests; /* for tenants */
    struct http_loop *watches;
    struct http_loop *control;         /* our own; NULL: requests */
    struct http_loop *control_watches; /* NULL: watches */
    const char *user_agent;
    bool http1;
    /* Asked before each mutating request but those marked unguarded; NULL: always allowed. */
    int (*guard)(void *arg, struct error *error);
    void *guard_arg;
};

int kube_client_new(const struct kube_client_config *config, struct kube_client **ret,
                    struct error *error);
void kube_client_free(struct kube_client *client);
DEFINE_CLEANUP(struct kube_client *, kube_client_free)

#define KUBE_JSON        "application/json"
#define KUBE_APPLY_PATCH "application/apply-patch+yaml" /* its body is written JSON_FOR_YAML */
#define KUBE_MERGE_PATCH "application/merge-patch+json"
#define KUBE_JSON_PATCH  "application/json-patch+json"
/* Accept, for metadata only. */
#define KUBE_METADATA      "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
#define KUBE_METADATA_LIST "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

/*
 * What is zero is not asked for. Where ref names an object (or the body does, of a POST), the
 * answer has to be that object: whole or its metadata, of that kind; of a DELETE it may be a Status
 * that names it. Anything else is ERR_UNAVAILABLE UnexpectedAnswer. An object without a UID is
 * ERR_INVALID Unsupported: the server of an aggregated API may have such kinds, and no retry changes
 * them.
 */
struct kube_request {
    const char *method;
    struct kube_ref ref; /* what it is for; of a POST: the collection */
    /* Instead of ref, as it is sent: of what is no object ("/apis"). Of ref only the name counts
     * then: a 404 has to name it. */
    const char *path;
    const struct value *body; /* NULL: none */
    const char *content_type; /* NULL: application/json */
    const char *accept;       /* NULL: application/json */

    /* Of changes. */
    bool dry_run;
    bool force;                /* an apply takes fields that others have */
    bool strict;               /* fields that the kind does not have are an error */
    const char *field_manager;

    /* Of collections. */
    struct kube_selector selector;
    unsigned limit;               /* items of a page */
    const char *continue_token;   /* the page after the one that gave it */
    unsigned watch_seconds;       /* it is a watch, that the server ends after so long */
    const char *resource_version; /* a watch goes on from there; a read is of that, or newer */

    const char *impersonate;     /* a user name ("system:serviceaccount:ns:name"), or NULL */
    bool for_tenant;             /* on a tenant's behalf, though in our name: see the loops */
    bool idempotent;             /* may be sent again when its outcome is unknown */
    bool unguarded;              /* not asked of the guard: dry-runs, leases, reviews */
    const struct permit *permit; /* asked instead of the guard, for this use; NULL: the guard */
    enum permit_use use;
    int64_t timeout; /* ms, with all retries; 0: 60 s */
    struct cancel *cancel;
    /* cancel and timeout act before it is sent, never after: what was sent has 60 s to be
     * answered. For changes, whose outcome has to be known. */
    bool complete_once_sent;
    /* Instead of a value: the 2xx body as it arrives (a list). Only what has not yet
     * begun to arrive is retried. */
    int (*on_body)(void *arg, const char *data, size_t length, struct error *error);
    void *on_body_arg;
    bool *ret_in_doubt; /* set, on errors too: it was sent, and may have been, or may yet be,
                           carried out without an answer that says so; or NULL */
};

/*
 * Runs it. ret (may be NULL) gets the answer's JSON; for an empty body, NULL.
 * Errors: api_error.h, http.h; ERR_FENCED from the guard.
 */
int kube_do(struct kube_client *client, const struct kube_request *request,
            const struct value **ret, struct error *error);

/* GET of an object, for short. */
int kube_get(struct kube_client *client, struct kube_ref ref, struct cancel *cancel,
             const struct value **ret, struct error *error);

/* How many requests were sent since start, by verb class; for tests and metrics. */
struct kube_client_stats {
    uint64_t reads, dry_runs, writes, retries;
};
void kube_client_stats(const struct kube_client *client, struct kube_client_stats *ret);

/* For streams (watch.h): headers that carry identity, and the client of a
 * watch loop, the tenants' or our own; the loop itself, for timers. */
struct http_client *kube_client_watch_http(struct kube_client *client, bool for_tenant);
struct http_loop *kube_client_watch_loop(struct kube_client *client, bool for_tenant);
/* Adds "Authorization: …" and impersonation; free each and the array. */
int kube_client_identity(struct kube_client *client, const char *impersonate, char ***ret,
                         size_t *ret_count, struct error *error);
/* After a 401: the token is read again. */
void kube_client_forget_token(struct kube_client *client);
/* After a failure: a CA that could not verify the server is read again. version: that was tried with;
 * true: there is another one by now. */
bool kube_client_doubt_ca(struct kube_client *client, const struct error *failure,
                          unsigned version);

#endif
