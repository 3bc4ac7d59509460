#include "runtimes/terraform/remote.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/threads/locked.h"
#include "engine/value/json.h"
#include "runtimes/io/http.h"
#include "runtimes/io/write.h"

#define ANSWER_TIME    30000  /* ms */
#define ARCHIVE_TIME   600000 /* ms */
#define MOST_JSON      (4u << 20)
#define MOST_TEXT      (1u << 20)
#define MOST_REDIRECTS 5
#define CONNECTIONS    2 /* to one host */

struct remote {
    struct remote_config config;
    struct http_url mirror; /* zeroes: none */
    pthread_mutex_t lock;
    struct http_loop *loop; /* NULL: nothing was asked yet */
};

struct remote *remote_new(const struct remote_config *config)
{
    struct remote *remote = NEW(struct remote);

    remote->config = *config;
    if (config->mirror)
        http_url_read(NULL, config->mirror, &remote->mirror, NULL);
    if (remote->config.answer_time <= 0)
        remote->config.answer_time = ANSWER_TIME;
    if (remote->config.archive_time <= 0)
        remote->config.archive_time = ARCHIVE_TIME;
    pthread_mutex_init(&remote->lock, NULL);
    return remote;
}

void remote_free(struct remote *remote)
{
    if (!remote)
        return;
    http_loop_free(remote->loop);
    http_url_done(&remote->mirror);
    pthread_mutex_destroy(&remote->lock);
    free(remote);
}

/* host: with its port. */
static bool is_named(const struct remote *remote, const char *host)
{
    for (size_t i = 0; i < remote->config.n_hosts; i++) {
        const char *allowed = remote->config.hosts[i];
        _cleanup_free_ char *usual = str_printf("%s:443", allowed);

        if (strcasecmp(allowed, host) == 0 || strcasecmp(usual, host) == 0)
            return true;
    }
    return false;
}

static bool allows(const struct remote *remote, const char *host)
{
    return is_named(remote, host) || (remote->mirror.host && str_equal(remote->mirror.host, host));
}

bool remote_is_host(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "-.:[]";
    _cleanup_free_ char *address = str_printf("https://%s/", text);
    _cleanup_(http_url_done) struct http_url url = {0};
    bool is_host =
        *text && !text[strspn(text, letters)] && http_url_read(NULL, address, &url, NULL) >= 0;

    return is_host;
}

bool remote_names(const struct remote *remote, const char *host)
{
    _cleanup_free_ char *address = str_printf("https://%s/", host);
    _cleanup_(http_url_done) struct http_url url = {0};
    bool is = http_url_read(NULL, address, &url, NULL) >= 0 && is_named(remote, url.host);

    return is;
}

void remote_answer_done(struct remote_answer *answer)
{
    value_unref(answer->json);
    free(answer->url);
    *answer = (struct remote_answer){0};
}

/* ---- One request ---- */

static int begin(struct remote *remote, struct error *error)
{
    int r = 0;
    LOCKED(&remote->lock);

    if (!remote->loop)
        r = http_loop_new(
            &(struct http_loop_config){.name = "tf-download", .max_connections = CONNECTIONS},
            &remote->loop, error);
    return r;
}

/* What is asked, by whichever requests it takes. */
struct asking {
    size_t most_body;
    int64_t timeout;
    struct cancel *cancel;
    int (*on_body)(void *arg, const char *data, size_t length, struct error *error);
    void *on_body_arg;
};

/* failure: names the address. */
static int cannot_connect(const struct error *failure, struct error *error)
{
    bool may_heal = failure->code == ERR_UNAVAILABLE || failure->code == ERR_TIMEOUT;

    if (failure->code == ERR_CANCELLED)
        return err_copy(error, failure);
    return err_set(error, may_heal ? ERR_UNAVAILABLE : ERR_INVALID, REMOTE_FAILED, "%s",
                   failure->message);
}

static int request(struct remote *remote, const struct http_url *url, const struct asking *asking,
                   struct http_response *response, struct error *error)
{
    static const char *const fields[] = {"location"};
    _cleanup_(http_client_free_p) struct http_client *client = NULL;
    struct error failure = {0};
    int r;

    if (!allows(remote, url->host))
        return err_set(error, ERR_FORBIDDEN, "ProviderHostNotAllowed",
                       "%s is not downloaded: no flag --terraform-download-from of the operator "
                       "names this host",
                       url->shown);
    r = http_client_new(
        remote->loop,
        &(struct http_client_config){.base_url = url->origin,
                                     .tls.ca_pem = remote->config.ca_pem,
                                     .user_agent = "kusion-operator/" KUSION_VERSION},
        &client, &failure);
    if (r >= 0)
        r = http_do(client,
                    &(struct http_request){.method = "GET",
                                           .path = url->path,
                                           .timeout = asking->timeout,
                                           .cancel = asking->cancel,
                                           .max_response = asking->most_body,
                                           .on_body = asking->on_body,
                                           .on_body_arg = asking->on_body_arg,
                                           .fields = fields,
                                           .n_fields = ARRAY_SIZE(fields)},
                    response, &failure);
    return r < 0 ? cannot_connect(&failure, error) : 0;
}

static bool is_redirect(int status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

static int judge_status(int status, const struct http_url *url, struct error *error)
{
    bool may_heal = status >= 500 || status == 429;

    if (status >= 200 && status < 300)
        return 0;
    if (status == 404 || status == 410)
        return err_set(error, ERR_NOT_FOUND, REMOTE_FAILED, "%s: HTTP status %d", url->shown,
                       status);
    return err_set(error, may_heal ? ERR_UNAVAILABLE : ERR_INVALID, REMOTE_FAILED,
                   "%s: HTTP status %d", url->shown, status);
}

int remote_read_url(const char *base, const char *address, struct http_url *ret,
                    struct error *error)
{
    struct error failure = {0};

    if (http_url_read(base, address, ret, &failure) >= 0)
        return 0;
    return err_set(error, ERR_INVALID, REMOTE_FAILED, "%s", failure.message);
}

/* Follows redirects. *ret_url: http_url_done(), also after an error. */
static int ask(struct remote *remote, const char *address, const struct asking *asking,
               struct http_response *response, struct http_url *ret_url, struct error *error)
{
    int r = begin(remote, error);

    if (r >= 0)
        r = remote_read_url(NULL, address, ret_url, error);
    for (int redirects = 0; r >= 0; redirects++) {
        struct http_url next = {0};

        r = request(remote, ret_url, asking, response, error);
        if (r < 0 || !is_redirect(response->status))
            return r < 0 ? r : judge_status(response->status, ret_url, error);
        if (redirects == MOST_REDIRECTS || !response->fields[0])
            return err_set(error, ERR_INVALID, REMOTE_FAILED, "%s: %s", ret_url->shown,
                           response->fields[0] ? "too many redirects" : "a redirect to nowhere");
        r = remote_read_url(ret_url->whole, response->fields[0], &next, error);
        if (r < 0) {
            err_wrap(error, "%s redirects", ret_url->shown);
            return r;
        }
        http_url_done(ret_url);
        *ret_url = next;
    }
    return r;
}

/* ---- Answers ---- */

int remote_get_json(struct remote *remote, const char *address, struct cancel *cancel,
                    struct remote_answer *ret, struct error *error)
{
    _cleanup_(http_response_done) struct http_response response = HTTP_RESPONSE_INIT;
    _cleanup_(http_url_done) struct http_url url = {0};
    struct asking asking = {
        .most_body = MOST_JSON, .timeout = remote->config.answer_time, .cancel = cancel};
    struct error failure = {0};
    int r = ask(remote, address, &asking, &response, &url, error);

    if (r < 0)
        return r;
    if (!str_equal(response.content_type, "application/json"))
        return err_set(error, ERR_INVALID, REMOTE_FAILED,
                       "%s: the answer is not of the type application/json", url.shown);
    if (json_read(response.body.data, response.body.length, &ret->json, &failure) < 0)
        return err_set(error, ERR_INVALID, REMOTE_FAILED, "%s: %s", url.shown, failure.message);
    ret->url = TAKE(url.whole);
    return 0;
}

int remote_get_text(struct remote *remote, const char *address, struct cancel *cancel, char **ret,
                    struct error *error)
{
    _cleanup_(http_response_done) struct http_response response = HTTP_RESPONSE_INIT;
    _cleanup_(http_url_done) struct http_url url = {0};
    struct asking asking = {
        .most_body = MOST_TEXT, .timeout = remote->config.answer_time, .cancel = cancel};
    int r = ask(remote, address, &asking, &response, &url, error);

    if (r >= 0)
        *ret = buf_take(&response.body);
    return r;
}

/* ---- Files ---- */

struct sink {
    int fd;
    uint64_t left;
    struct hash *hash;
};

/* On the loop's thread. A disk takes what comes; a slow one slows all downloads. */
static int sink_add(void *arg, const char *data, size_t length, struct error *error)
{
    struct sink *sink = arg;

    if (length > sink->left)
        return err_set(error, ERR_INVALID, NULL, "the file is larger than it may be");
    sink->left -= length;
    hash_add(sink->hash, data, length);
    if (write_all(sink->fd, data, length) < 0)
        return err_set(error, ERR_UNAVAILABLE, NULL, "it cannot be written: %s",
                       strerrordesc_np(errno));
    return 0;
}

int remote_get_file(struct remote *remote, const char *address, int fd, uint64_t most_bytes,
                    struct cancel *cancel, char ret_sha256[HASH_HEX_SIZE], struct error *error)
{
    _cleanup_(http_response_done) struct http_response response = HTTP_RESPONSE_INIT;
    _cleanup_(http_url_done) struct http_url url = {0};
    _cleanup_(hash_free_p) struct hash *hash = hash_new();
    struct sink sink = {.fd = fd, .left = most_bytes, .hash = hash};
    struct asking asking = {.most_body = MOST_TEXT,
                            .timeout = remote->config.archive_time,
                            .cancel = cancel,
                            .on_body = sink_add,
                            .on_body_arg = &sink};
    int r = ask(remote, address, &asking, &response, &url, error);

    if (r >= 0)
        hash_finish_hex(hash, ret_sha256);
    return r;
}
