/*
 * Requests to one API server.
 *
 * kube_do() blocks its caller. It retries until the request's deadline, with
 * backoff and jitter, and not before a Retry-After: after a refused connection
 * and 429 always; after 500, 502, 503, 504 and a broken connection only if the
 * request may be repeated. That is so for GET and for requests marked
 * `idempotent`: a server-side apply, a delete with preconditions. Answers that
 * are not 2xx become errors (api_error.h).
 *
 * Requests carry the client's own credentials (config.h, identity.h), and may
 * impersonate a user. A token file is read again when it changed and after a
 * 401, the files of TLS from time to time and after a failure (tls_files.h).
 *
 * Immediately before a mutating request is sent, the guard is asked (leader
 * election), or the request's own permit. Thread-safe.
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
struct address_filter;

#define KUBE_AS_GROUPS   16
#define KUBE_UNREACHABLE "ClusterUnreachable" /* a reason */

struct kube_client_config {
    const struct kube_config *config; /* copied */
    /* Borrowed: the loops outlive the client. A tenant's request may hang for as long as a webhook
     * of the tenant does. So requests for tenants have loops of their own, and take no connection
     * that the operator's own requests need: for the Lease, the State, Specs and Releases. */
    struct http_loop *requests;        /* for tenants */
    struct http_loop *watches;         /* for tenants */
    struct http_loop *control;         /* the operator's own; NULL: requests */
    struct http_loop *control_watches; /* NULL: watches */
    const char *user_agent;
    bool http1;
    /* Whom requests act as that impersonate nobody: a user, and groups of it. NULL: nobody. */
    const char *as;
    const char *const *as_groups;
    size_t n_as_groups; /* KUBE_AS_GROUPS at most */
    /* The server is one that a tenant chose: it is connected to only if its address passes. Then a
     * request that finds no connection is tried once more at once, and fails with
     * KUBE_UNREACHABLE, whatever the reason was: nobody is to scan a network by what it says.
     * Borrowed; NULL: the operator's own choice. */
    const struct address_filter *address_filter;
    bool is_interactive; /* a person waits: without a connection, a request is tried once more at
                            once, and no longer */
    /* Asked before each mutating request, unless it is marked unguarded; NULL: always allowed. */
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

/* ms between the first and the last of the changes that got no answer at all, in one outage; 0:
 * the last one did. Only those that are not for a tenant, and not unguarded. */
int64_t kube_client_unanswered_for(const struct kube_client *client);

/* Bytes of one answer, item or event of a server that a tenant chose: it may say anything. 0: the
 * operator's own. */
#define KUBE_TENANT_ANSWER (2u << 20)
size_t kube_client_answer_limit(const struct kube_client *client);
/* The same of an answer about its groups, or the kinds of one: some hundred. */
#define KUBE_TENANT_KINDS (256u << 10)
size_t kube_client_kinds_limit(const struct kube_client *client);

/* For watch.h: the HTTP client of a watch loop (the tenants' or our own), and that loop, for
 * timers. */
struct http_client *kube_client_watch_http(struct kube_client *client, bool for_tenant);
struct http_loop *kube_client_watch_loop(struct kube_client *client, bool for_tenant);
/* The headers of identity: "Authorization: …" and "Impersonate-User: …"; free() each, and the
 * array. */
int kube_client_identity(struct kube_client *client, const char *impersonate, char ***ret,
                         size_t *ret_count, struct error *error);
/* After a failure: reads the files again from which another token (after a 401), another CA or
 * another client certificate may come. tls_version: of the files that were tried. True: an attempt
 * with what they hold now may do better. */
bool kube_client_renew(struct kube_client *client, const struct error *failure,
                       unsigned tls_version);

#endif
