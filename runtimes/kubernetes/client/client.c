#include "runtimes/kubernetes/client/client.h"

#include <stdatomic.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/log/log.h"
#include "engine/value/children.h"
#include "engine/value/json.h"
#include "runtimes/io/clock.h"
#include "runtimes/io/random.h"
#include "runtimes/kubernetes/client/answer.h"
#include "runtimes/kubernetes/client/api_error.h"
#include "runtimes/kubernetes/client/identity.h"
#include "runtimes/kubernetes/client/path.h"
#include "runtimes/kubernetes/client/pause.h"
#include "runtimes/kubernetes/client/tls_files.h"

#define DEFAULT_TIMEOUT 60000  /* ms */
#define UNANSWERED_GAP  120000 /* ms between two changes: the later one is of another outage */
#define TENANT_RETRIES  2000   /* ms in which errors of the server are met with another attempt */
#define TENANT_GRACE    1000   /* ms past the deadline for the answer of a change that was sent */
#define TENANT_CONNECT  4000   /* ms, to a server that a tenant chose */
#define BACKOFF_BASE    100
#define BACKOFF_MAXIMUM 5000

struct kube_client {
    struct http_client *requests, *watches; /* for tenants */
    struct http_client *control, *control_watches;
    struct http_loop *watch_loop, *control_watch_loop;
    struct kube_identity *identity;
    struct kube_tls_files *tls_files;
    char **as_headers; /* of requests that impersonate nobody */
    size_t n_as_headers;
    bool is_interactive, is_of_tenant;
    int (*guard)(void *arg, struct error *error);
    void *guard_arg;
    atomic_uint_fast64_t reads, dry_runs, writes, retries;
    _Atomic int64_t unanswered_since, unanswered_until; /* ms, monotonic; since 0: none */
};

/* ---- Headers ---- */

static bool is_header_value(const char *text)
{
    if (!*text)
        return false;
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            return false;
    return true;
}

static void free_headers(char **headers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(headers[i]);
    free(headers);
}

static int set_as(struct kube_client *client, const struct kube_client_config *config,
                  struct error *error)
{
    bool is_valid =
        config->n_as_groups <= KUBE_AS_GROUPS && (!config->as || is_header_value(config->as));

    for (size_t i = 0; is_valid && i < config->n_as_groups; i++)
        is_valid = is_header_value(config->as_groups[i]);
    if (!is_valid)
        return err_set(error, ERR_INVALID, "InvalidUser",
                       "that is no user to act as, or has more "
                       "than %d groups",
                       KUBE_AS_GROUPS);
    if (!config->as)
        return 0;
    client->as_headers = NEW_ARRAY(char *, 1 + config->n_as_groups);
    client->as_headers[client->n_as_headers++] = str_printf("Impersonate-User: %s", config->as);
    for (size_t i = 0; i < config->n_as_groups; i++)
        client->as_headers[client->n_as_headers++] =
            str_printf("Impersonate-Group: %s", config->as_groups[i]);
    return 0;
}

/* ---- Lifetime ---- */

int kube_client_new(const struct kube_client_config *config, struct kube_client **ret,
                    struct error *error)
{
    _cleanup_(kube_client_free_p) struct kube_client *client = NEW(struct kube_client);
    const struct kube_config *server = config->config;
    struct http_client_config http = {
        .base_url = server->server,
        .tls = {server->ca_pem, server->cert_pem, server->key_pem},
        .tls_server_name = server->tls_server_name,
        .proxy_url = server->proxy_url,
        .user_agent = config->user_agent,
        .http1 = config->http1,
        .address_filter = config->address_filter,
        .connect_timeout = config->address_filter ? TENANT_CONNECT : 0,
    };
    int r;

    client->watch_loop = config->watches;
    client->control_watch_loop =
        config->control_watches ? config->control_watches : config->watches;
    client->is_of_tenant = config->address_filter;
    client->is_interactive = config->is_interactive || client->is_of_tenant;
    client->guard = config->guard;
    client->guard_arg = config->guard_arg;
    client->identity = kube_identity_new(server, &system_clock);
    client->tls_files = kube_tls_files_new(server, &system_clock);
    r = set_as(client, config, error);
    if (r == 0)
        r = http_client_new(config->requests, &http, &client->requests, error);
    if (r == 0)
        r = http_client_new(config->watches, &http, &client->watches, error);
    if (r == 0)
        r = http_client_new(config->control ? config->control : config->requests, &http,
                            &client->control, error);
    if (r == 0)
        r = http_client_new(client->control_watch_loop, &http, &client->control_watches, error);
    if (r < 0)
        return r;
    *ret = TAKE(client);
    return 0;
}

void kube_client_free(struct kube_client *client)
{
    if (!client)
        return;
    http_client_free(client->requests);
    http_client_free(client->watches);
    http_client_free(client->control);
    http_client_free(client->control_watches);
    kube_identity_free(client->identity);
    kube_tls_files_free(client->tls_files);
    free_headers(client->as_headers, client->n_as_headers);
    free(client);
}

void kube_client_stats(const struct kube_client *client, struct kube_client_stats *ret)
{
    *ret = (struct kube_client_stats){
        .reads = atomic_load(&client->reads),
        .dry_runs = atomic_load(&client->dry_runs),
        .writes = atomic_load(&client->writes),
        .retries = atomic_load(&client->retries),
    };
}

size_t kube_client_answer_limit(const struct kube_client *client)
{
    return client->is_of_tenant ? KUBE_TENANT_ANSWER : 0;
}

size_t kube_client_kinds_limit(const struct kube_client *client)
{
    return client->is_of_tenant ? KUBE_TENANT_KINDS : 0;
}

struct http_client *kube_client_watch_http(struct kube_client *client, bool for_tenant)
{
    return for_tenant ? client->watches : client->control_watches;
}

struct http_loop *kube_client_watch_loop(struct kube_client *client, bool for_tenant)
{
    return for_tenant ? client->watch_loop : client->control_watch_loop;
}

static struct http_client *http_of(struct kube_client *client, const struct kube_request *request)
{
    return request->impersonate || request->for_tenant ? client->requests : client->control;
}

/* ---- Credentials from files ---- */

static void take_tls(void *arg, const struct http_tls *tls)
{
    struct kube_client *client = arg;

    http_client_set_tls(client->requests, tls);
    http_client_set_tls(client->watches, tls);
    http_client_set_tls(client->control, tls);
    http_client_set_tls(client->control_watches, tls);
}

bool kube_client_renew(struct kube_client *client, const struct error *failure,
                       unsigned tls_version)
{
    bool is_refused = failure->code == ERR_UNAUTHENTICATED;

    if (!is_refused && !str_equal(failure->reason, "TLSVerification") &&
        !str_equal(failure->reason, "TLSCertificate"))
        return false;
    if (is_refused)
        kube_identity_forget(client->identity);
    kube_tls_files_look(client->tls_files, true, take_tls, client);
    return (is_refused && kube_identity_rotates(client->identity)) ||
           kube_tls_files_version(client->tls_files) != tls_version;
}

/* ---- Identity ---- */

int kube_client_identity(struct kube_client *client, const char *impersonate, char ***ret,
                         size_t *ret_count, struct error *error)
{
    char *authorization = NULL, **headers;
    size_t count = 0;
    int r;

    if (impersonate && !is_header_value(impersonate))
        return err_set(error, ERR_INVALID, "InvalidUser", "that is no user to act for");
    kube_tls_files_look(client->tls_files, false, take_tls, client);
    r = kube_identity_header(client->identity, &authorization, error);
    if (r < 0)
        return r;
    headers = NEW_ARRAY(char *, 2 + client->n_as_headers);
    if (authorization)
        headers[count++] = authorization;
    if (impersonate)
        headers[count++] = str_printf("Impersonate-User: %s", impersonate);
    for (size_t i = 0; !impersonate && i < client->n_as_headers; i++)
        headers[count++] = str_new(client->as_headers[i]);
    *ret = headers;
    *ret_count = count;
    return 0;
}

/* ---- One request ---- */

/* A kube_request on its way: what is worked out once, and what an attempt leaves behind. */
struct exchange {
    struct kube_client *client;
    const struct kube_request *request;
    struct buf body;
    char *path;
    bool is_mutating; /* by its method */
    bool is_dry_run;
    bool is_apply;
    bool is_repeatable;
    bool is_begun;    /* on_body was called */
    bool is_repeated; /* for a person who waits */
    bool is_renewed;  /* it was tried again with renewed credentials, once */
    bool is_in_doubt; /* an attempt may have been carried out */
    int64_t began, deadline;
};

enum verdict { VERDICT_DONE, VERDICT_RETRY, VERDICT_RETRY_AT_ONCE };

static bool is_one_of(const char *method, const char *const *methods)
{
    for (; *methods; methods++)
        if (strcmp(method, *methods) == 0)
            return true;
    return false;
}

static void exchange_init(struct exchange *exchange, struct kube_client *client,
                          const struct kube_request *request)
{
    static const char *const reads[] = {"GET", "HEAD", "OPTIONS", NULL};
    int64_t timeout = request->timeout ? request->timeout : DEFAULT_TIMEOUT;

    *exchange = (struct exchange){.client = client, .request = request, .body = BUF_INIT};
    exchange->is_apply = str_equal(request->content_type, KUBE_APPLY_PATCH);
    if (request->body)
        json_write(&exchange->body, request->body,
                   exchange->is_apply ? JSON_FOR_YAML : JSON_COMPACT);
    exchange->path = kube_path(request);
    exchange->is_mutating = !is_one_of(request->method, reads);
    exchange->is_dry_run = exchange->is_mutating && request->dry_run;
    exchange->is_repeatable = !exchange->is_mutating || exchange->is_dry_run || request->idempotent;
    exchange->began = system_clock.monotonic(&system_clock);
    exchange->deadline = exchange->began + timeout;
}

static void exchange_done(struct exchange *exchange)
{
    buf_done(&exchange->body);
    free(exchange->path);
}

static int pass_body(void *arg, const char *data, size_t length, struct error *error)
{
    struct exchange *exchange = arg;

    exchange->is_begun = true;
    return exchange->request->on_body(exchange->request->on_body_arg, data, length, error);
}

static void count(struct exchange *exchange)
{
    struct kube_client *client = exchange->client;

    if (!exchange->is_mutating)
        atomic_fetch_add(&client->reads, 1);
    else if (exchange->is_dry_run)
        atomic_fetch_add(&client->dry_runs, 1);
    else
        atomic_fetch_add(&client->writes, 1);
}

/* On the request loop's thread. */
static int ask_permit(void *arg, struct error *error)
{
    const struct kube_request *request = arg;

    return permit_ask(request->permit, request->use, error);
}

/* What is asked at the last moment before the request is sent. */
static void set_permit(const struct exchange *exchange, struct http_request *http)
{
    const struct kube_request *request = exchange->request;

    if (!exchange->is_mutating || exchange->is_dry_run || request->unguarded)
        return;
    http->permit = request->permit ? ask_permit : exchange->client->guard;
    http->permit_arg = request->permit ? (void *)(uintptr_t)request : exchange->client->guard_arg;
}

/* What was sent once is followed to its end. */
static bool is_beyond_cancel(const struct exchange *exchange)
{
    return exchange->request->complete_once_sent && exchange->is_in_doubt;
}

static struct cancel *cancel_of(const struct exchange *exchange)
{
    return is_beyond_cancel(exchange) ? NULL : exchange->request->cancel;
}

/* A list has bounds of its own, for each item. */
static size_t max_response(const struct kube_client *client, const struct kube_request *request)
{
    size_t most = kube_client_answer_limit(client), asked = request->max_response;

    return !most || (asked && asked < most) ? asked : most;
}

static int attempt(struct exchange *exchange, int64_t timeout, struct http_response *response,
                   struct error *error)
{
    const struct kube_request *request = exchange->request;
    struct kube_client *client = exchange->client;
    _cleanup_free_ char *accept = NULL, *content_type = NULL;
    const char *headers[4 + KUBE_AS_GROUPS];
    struct http_request http = {
        .method = request->method,
        .path = exchange->path,
        .headers = headers,
        .body = request->body ? exchange->body.data : NULL,
        .body_length = exchange->body.length,
        .timeout = timeout,
        .cancel = cancel_of(exchange),
        .complete_once_sent = request->complete_once_sent,
        .max_response = max_response(client, request),
        .on_body = request->on_body ? pass_body : NULL,
        .on_body_arg = exchange,
    };
    char **identity;
    size_t n_identity;
    int r = kube_client_identity(client, request->impersonate, &identity, &n_identity, error);

    if (r < 0)
        return r;
    set_permit(exchange, &http);
    accept = str_printf("Accept: %s", request->accept ? request->accept : KUBE_JSON);
    headers[http.n_headers++] = accept;
    if (request->body) {
        content_type = str_printf("Content-Type: %s",
                                  request->content_type ? request->content_type : KUBE_JSON);
        headers[http.n_headers++] = content_type;
    }
    for (size_t i = 0; i < n_identity; i++)
        headers[http.n_headers++] = identity[i];
    r = http_do(http_of(client, request), &http, response, error);
    if (client->is_of_tenant && !response->sent && (r == ERR_UNAVAILABLE || r == ERR_TIMEOUT))
        err_set(error, r, KUBE_UNREACHABLE, "the cluster's server does not answer");
    if (r == 0 || response->sent)
        count(exchange);
    free_headers(identity, n_identity);
    return r;
}

/* What an attempt without an answer means. */
static enum verdict judge_failure(struct exchange *exchange, const struct http_response *response,
                                  int *r, struct error *error)
{
    if (*r != ERR_UNAVAILABLE || exchange->is_begun)
        return VERDICT_DONE;
    if (!response->sent || exchange->is_repeatable) {
        bool is_last = exchange->client->is_interactive && exchange->is_repeated;

        exchange->is_repeated = true;
        return is_last                            ? VERDICT_DONE
               : exchange->client->is_interactive ? VERDICT_RETRY_AT_ONCE
                                                  : VERDICT_RETRY;
    }
    *r = err_set(error, ERR_UNAVAILABLE, "OutcomeUnknown",
                 "%s: the connection broke before the answer: it may have been done or not",
                 exchange->request->method);
    return VERDICT_DONE;
}

/* Of a tenant's object, the caller tries again: it has other work in the meantime, and says why it
 * waits. */
static bool is_given_back(const struct exchange *exchange, const struct error *error)
{
    return exchange->request->for_tenant &&
           (str_equal(error->reason, KUBE_WEBHOOK_FAILED) ||
            system_clock.monotonic(&system_clock) - exchange->began >= TENANT_RETRIES);
}

/* What an answer means; *r and error are set by it. */
static enum verdict judge_answer(struct exchange *exchange, const struct http_response *response,
                                 const struct value **ret, int *r, struct error *error)
{
    int status = response->status;

    if (status >= 200 && status < 300) {
        *r = kube_answer_read(exchange->request, response, ret, error);
        return VERDICT_DONE;
    }
    *r = api_error_from_response(exchange->request->method, &exchange->request->ref,
                                 exchange->is_apply, response, error);
    if (exchange->request->ret_causes) /* in the place of those of an earlier attempt */
        value_move(exchange->request->ret_causes, api_error_causes(response));
    if (status == 429)
        return VERDICT_RETRY;
    if (is_given_back(exchange, error))
        return VERDICT_DONE;
    if (*r == ERR_UNAVAILABLE && exchange->is_repeatable &&
        (status == 500 || status == 502 || status == 503 || status == 504))
        return VERDICT_RETRY;
    return VERDICT_DONE;
}

/* Waits before attempt n + 1; false: there is no time for another. */
static bool wait_to_retry(const struct exchange *exchange, unsigned n, int64_t retry_after, int *r,
                          struct error *error)
{
    struct cancel *cancel = cancel_of(exchange);
    int64_t delay = backoff_delay(n, BACKOFF_BASE, BACKOFF_MAXIMUM);

    if (retry_after > delay)
        delay = retry_after;
    if (system_clock.monotonic(&system_clock) + delay >= exchange->deadline)
        return false;
    if (pause_for(delay, cancel))
        return true;
    *r = err_set(error, ERR_CANCELLED, "Cancelled", "%s", cancel_reason(cancel));
    return false;
}

/* After an attempt. r: what it came to. */
static void note_doubt(struct exchange *exchange, const struct http_response *response, int r,
                       const struct error *error)
{
    int status = response->status;

    if (status / 100 == 2)
        /* Carried out, but what came of it cannot be read; or an earlier attempt may come later. */
        exchange->is_in_doubt = exchange->is_in_doubt || r < 0;
    else if (!status)
        exchange->is_in_doubt = exchange->is_in_doubt || response->sent;
    else if (r == ERR_UNAVAILABLE && (status >= 500 || status == 408) &&
             !str_equal(error->reason, KUBE_WEBHOOK_FAILED))
        exchange->is_in_doubt = true;
}

/* Of tenants' objects nothing is counted: a webhook may keep the answer of any of them. */
static void note_answer(const struct exchange *exchange, const struct http_response *response,
                        int r)
{
    const struct kube_request *request = exchange->request;
    struct kube_client *client = exchange->client;
    int64_t now = system_clock.monotonic(&system_clock), none = 0;

    if (!exchange->is_mutating || request->unguarded || request->for_tenant || request->impersonate)
        return;
    if (response->status) {
        atomic_store(&client->unanswered_since, 0);
    } else if (r == ERR_UNAVAILABLE || r == ERR_TIMEOUT) {
        if (now - atomic_exchange(&client->unanswered_until, now) > UNANSWERED_GAP)
            atomic_store(&client->unanswered_since, now);
        else
            atomic_compare_exchange_strong(&client->unanswered_since, &none, now);
    }
}

int64_t kube_client_unanswered_for(const struct kube_client *client)
{
    int64_t since = atomic_load(&client->unanswered_since);

    return since ? atomic_load(&client->unanswered_until) - since : 0;
}

static int64_t time_left(const struct exchange *exchange)
{
    return exchange->deadline - system_clock.monotonic(&system_clock);
}

/* ms that a request has once it was sent. Of a tenant's object, the operation's time is what
 * counts: an answer that is on its way is awaited, and one that does not come is not. */
static int64_t completion_time(const struct exchange *exchange, int64_t left)
{
    int64_t time = left + TENANT_GRACE;

    return exchange->request->for_tenant && time < DEFAULT_TIMEOUT ? time : DEFAULT_TIMEOUT;
}

static enum verdict try(struct exchange *exchange, int64_t left, struct http_response *response,
                        const struct value **ret, int *r, struct error *error)
{
    int64_t began = system_clock.monotonic(&system_clock);
    bool is_to_complete = exchange->request->complete_once_sent;
    int64_t completion = completion_time(exchange, left);
    bool was_in_doubt = exchange->is_in_doubt;
    unsigned tls_version = kube_tls_files_version(exchange->client->tls_files);
    enum verdict verdict;

    *r =
        attempt(exchange, is_to_complete && left < completion ? completion : left, response, error);
    if (*r < 0)
        response->status = 0;
    note_answer(exchange, response, *r);
    if (*r < 0) {
        verdict = judge_failure(exchange, response, r, error);
    } else {
        verdict = judge_answer(exchange, response, ret, r, error);
    }
    if (*r < 0 && !exchange->is_renewed &&
        kube_client_renew(exchange->client, error, tls_version)) {
        exchange->is_renewed = true;
        verdict = VERDICT_RETRY_AT_ONCE;
    }
    note_doubt(exchange, response, *r, error);
    if (!was_in_doubt && is_beyond_cancel(exchange) && exchange->deadline < began + completion)
        exchange->deadline = began + completion;
    return verdict;
}

/* What the server says of a tenant's object may repeat a secret of it. */
static bool may_be_shown(const struct kube_request *request, const struct http_response *response)
{
    return !request->for_tenant || !response->status;
}

int kube_do(struct kube_client *client, const struct kube_request *request,
            const struct value **ret, struct error *error)
{
    _cleanup_(exchange_done) struct exchange exchange;
    struct error why = {0};
    int r = 0;

    exchange_init(&exchange, client, request);
    for (unsigned n = 0;; n++) {
        _cleanup_(http_response_done) struct http_response response = HTTP_RESPONSE_INIT;
        int64_t left = time_left(&exchange);
        enum verdict verdict;

        if (left <= 0) {
            r = r < 0 ? r : err_set(&why, ERR_TIMEOUT, "Timeout", "no time left for a request");
            break;
        }
        verdict = try(&exchange, left, &response, ret, &r, &why);
        if (verdict == VERDICT_DONE ||
            (verdict == VERDICT_RETRY &&
             !wait_to_retry(&exchange, n, response.retry_after, &r, &why)))
            break;
        atomic_fetch_add(&client->retries, 1);
        log_debug("a request is sent again", "method", request->method, "path", exchange.path,
                  "reason", why.reason, "error",
                  may_be_shown(request, &response) ? why.message : NULL, NULL);
    }
    if (request->ret_in_doubt)
        *request->ret_in_doubt = exchange.is_in_doubt;
    return r < 0 ? err_copy(error, &why) : 0;
}

int kube_get(struct kube_client *client, struct kube_ref ref, struct cancel *cancel,
             const struct value **ret, struct error *error)
{
    struct kube_request request = {.method = "GET", .ref = ref, .cancel = cancel};

    return kube_do(client, &request, ret, error);
}
