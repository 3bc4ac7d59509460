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
#pragma once

#include "runtimes/io/http.h"
#include "runtimes/kubernetes/client/config.h"
#include "runtimes/kubernetes/client/request.h"

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

/*
 * Sends the request. ret (may be NULL) gets the answer's JSON; for an empty body, NULL.
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
