#include "runtimes/io/http_client.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "engine/base/hash.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/threads/locked.h"

#define CONNECT_TIMEOUT_MS 10000

/* curl's HTTP/2 reads up to 32 KiB of a connection at a time. A request whose buffer cannot take
 * what is its own of them stalls at times (curl 7.88 with its 16 KiB). */
#define RECEIVE_BUFFER_BYTES (32L << 10)
/* The same with answers of 16 to 32 KiB over a Unix socket, even with that buffer. */
#define RECEIVE_BUFFER_BYTES_UNIX (128L << 10)
/* curl takes no connection again that was idle for 118 s. A server on this machine does not go away
 * unnoticed, and a second connection to it could not be made (client_version()). */
#define LONGEST_IDLE_UNIX_S (366L * 24 * 3600)
/* A frame of HTTP/2, and the least that curl takes. */
#define SEND_BUFFER_BYTES (16L << 10)

/* OpenSSL's level of security at which keys and digests of certificates may be of any strength. */
#define ANY_KEY "DEFAULT:@SECLEVEL=0"

#define KEEPALIVE_IDLE_S     30L
#define KEEPALIVE_INTERVAL_S 10L

/* How long sent bytes may stay unacknowledged before the kernel gives the connection up. Without
 * it, requests would go on being multiplexed onto a connection whose other end is gone. */
#define UNACKNOWLEDGED_MS 20000u

static int set_socket(void *arg, curl_socket_t fd, curlsocktype purpose)
{
    unsigned limit = UNACKNOWLEDGED_MS;

    (void)arg;
    (void)purpose;
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof(limit));
    return CURL_SOCKOPT_OK;
}

static CURLcode set_blob(CURL *handle, CURLoption option, char *pem)
{
    struct curl_blob blob;

    if (!pem)
        return CURLE_OK;
    blob = (struct curl_blob){.data = pem, .len = strlen(pem), .flags = CURL_BLOB_COPY};
    return curl_easy_setopt(handle, option, &blob);
}

#define SET(option, value) (result = result ? result : curl_easy_setopt(handle, (option), (value)))

/* A handle keeps its CA and its certificate until the client gets others. Before curl reuses a
 * connection, it compares those of the connection with those of the handle. */
static CURLcode set_pem(struct http_client *client, CURL *handle, bool is_new)
{
    CURLcode result = CURLE_OK;

    LOCKED(&client->lock);
    if (is_new || client->has_other_tls) {
        if (client->ca_pem) {
            /* Otherwise the system's CAs would be trusted, too. */
            SET(CURLOPT_CAINFO, NULL);
            SET(CURLOPT_CAPATH, NULL);
            result = result ? result : set_blob(handle, CURLOPT_CAINFO_BLOB, client->ca_pem);
        }
        result = result ? result : set_blob(handle, CURLOPT_SSLCERT_BLOB, client->cert_pem);
        result = result ? result : set_blob(handle, CURLOPT_SSLKEY_BLOB, client->key_pem);
    }
    return result;
}

/*
 * Without TLS, curl speaks HTTP/2 at once only with prior knowledge. curl 7.88 fails with that on a
 * connection that it uses again; there it goes on with HTTP/2 if that is merely wanted.
 */
long client_version(const struct http_client *client)
{
    if (client->is_tls)
        return client->http1 ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS;
    if (!client->http2)
        return CURL_HTTP_VERSION_1_1;
    return client->has_connected ? CURL_HTTP_VERSION_2_0 : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE;
}

static CURLcode set_tls(struct http_client *client, CURL *handle)
{
    CURLcode result = CURLE_OK;

    SET(CURLOPT_SSL_VERIFYPEER, 1L);
    SET(CURLOPT_SSL_VERIFYHOST, client->trusts_one ? 0L : 2L);
    if (client->trusts_one)
        SET(CURLOPT_SSL_CIPHER_LIST, ANY_KEY);
    SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    SET(CURLOPT_HTTP_VERSION, client_version(client));
    SET(CURLOPT_PIPEWAIT, client->http1 ? 0L : 1L);
    return result ? result : set_pem(client, handle, true);
}

static CURLcode set_defaults(struct http_client *client, CURL *handle)
{
    CURLcode result = CURLE_OK;

    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_PROTOCOLS_STR, "https,http");
    SET(CURLOPT_PATH_AS_IS, 1L);
    SET(CURLOPT_BUFFERSIZE, client->unix_socket ? RECEIVE_BUFFER_BYTES_UNIX : RECEIVE_BUFFER_BYTES);
    SET(CURLOPT_UPLOAD_BUFFERSIZE, SEND_BUFFER_BYTES);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)client->connect_timeout);
    /* A cancelled request must not wait for the resolver. */
    SET(CURLOPT_QUICK_EXIT, 1L);
    SET(CURLOPT_TCP_KEEPALIVE, 1L);
    SET(CURLOPT_TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
    SET(CURLOPT_TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S);
    SET(CURLOPT_SOCKOPTFUNCTION, set_socket);
    /* Both options are set, so that curl ignores the environment. */
    SET(CURLOPT_PROXY, client->proxy_url ? client->proxy_url : "");
    SET(CURLOPT_NOPROXY, "");
    SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    SET(CURLOPT_CONNECT_TO, client->connect_to);
    SET(CURLOPT_USERAGENT, client->user_agent);
    if (client->unix_socket) {
        SET(CURLOPT_UNIX_SOCKET_PATH, client->unix_socket);
        SET(CURLOPT_MAXAGE_CONN, LONGEST_IDLE_UNIX_S);
    }
    if (client->idle_time)
        SET(CURLOPT_MAXAGE_CONN, (long)(client->idle_time / 1000));
    if (!client->is_tls) {
        SET(CURLOPT_HTTP_VERSION, client_version(client));
        SET(CURLOPT_PIPEWAIT, client->http2 ? 1L : 0L);
        return result;
    }
    return result ? result : set_tls(client, handle);
}

static CURL *make_handle(struct http_client *client)
{
    CURL *handle = curl_easy_init();

    if (handle && set_defaults(client, handle) != CURLE_OK) {
        curl_easy_cleanup(handle);
        handle = NULL;
    }
    return handle;
}

static void free_pem(struct http_client *client)
{
    free(client->ca_pem);
    free(client->cert_pem);
    str_free_secret(client->key_pem);
}

/* Before curl reuses a connection, it compares certificates, and not their keys: one who has
 * another tenant's certificate alone would get the connections of that tenant. So the key's digest
 * stands behind the certificate, where a PEM text may have any words. */
static char *bind_to_key(const char *cert_pem, const char *key_pem)
{
    char digest[HASH_HEX_SIZE];

    if (!cert_pem || !key_pem)
        return str_new(cert_pem);
    hash_hex(key_pem, strlen(key_pem), digest);
    return str_printf("%s\n%s\n", cert_pem, digest);
}

static void copy_pem(struct http_client *client, const struct http_tls *tls)
{
    client->ca_pem = str_new(tls->ca_pem);
    client->cert_pem = bind_to_key(tls->cert_pem, tls->key_pem);
    client->key_pem = str_new(tls->key_pem);
}

void http_client_set_tls(struct http_client *client, const struct http_tls *tls)
{
    LOCKED(&client->lock);
    free_pem(client);
    copy_pem(client, tls);
    client->has_other_tls = true;
}

CURL *client_take_handle(struct http_client *client)
{
    CURL *handle;

    if (!client->n_idle)
        return make_handle(client);
    handle = client->idle[--client->n_idle];
    if (client->is_tls && set_pem(client, handle, false) != CURLE_OK) {
        curl_easy_cleanup(handle);
        handle = NULL;
    }
    return handle;
}

void client_give_handle(struct http_client *client, CURL *handle)
{
    if (client->n_idle == CLIENT_IDLE_HANDLES) {
        curl_easy_cleanup(handle);
        return;
    }
    /* Frees its send buffer, which curl does only if no other request is on its connection. */
    curl_easy_setopt(handle, CURLOPT_UPLOAD_BUFFERSIZE, SEND_BUFFER_BYTES);
    client->idle[client->n_idle++] = handle;
}

/* Copies one part of a URL, so that free() works for it (curl's own needs curl_free()). NULL: the
 * part is missing. */
static char *url_part(CURLU *url, CURLUPart part)
{
    char *text, *copy;

    if (curl_url_get(url, part, &text, part == CURLUPART_PORT ? CURLU_DEFAULT_PORT : 0) !=
        CURLUE_OK)
        return NULL;
    copy = str_new(text);
    curl_free(text);
    return copy;
}

static int bad_address(struct error *error, const char *what)
{
    return err_set(error, ERR_INVALID, "InvalidAddress", "the server's address %s", what);
}

static char *host_in_url(const char *host)
{
    return strchr(host, ':') && *host != '[' ? str_printf("[%s]", host) : str_new(host);
}

/* curl verifies the certificate against the host of the URL. So the URL has the server's name, and
 * CURLOPT_CONNECT_TO maps it to the real address. */
static void set_server_name(struct http_client *client, const char *scheme, const char *port,
                            const char *name)
{
    _cleanup_free_ char *host = host_in_url(name);
    _cleanup_free_ char *lead = str_printf("::%s", client->address);

    client->origin = str_printf("%s://%s:%s", scheme, host, port);
    client->host_header = str_printf("Host: %s", client->address);
    client->connect_to = curl_slist_append(NULL, lead);
    if (!client->connect_to)
        abort();
}

static int read_parts(struct http_client *client, CURLU *url, const char *server_name,
                      struct error *error)
{
    _cleanup_free_ char *scheme = url_part(url, CURLUPART_SCHEME);
    _cleanup_free_ char *host = url_part(url, CURLUPART_HOST);
    _cleanup_free_ char *port = url_part(url, CURLUPART_PORT);
    _cleanup_free_ char *user = url_part(url, CURLUPART_USER);
    _cleanup_free_ char *query = url_part(url, CURLUPART_QUERY);
    _cleanup_free_ char *fragment = url_part(url, CURLUPART_FRAGMENT);

    if (!host || (!str_equal(scheme, "https") && !str_equal(scheme, "http")))
        return bad_address(error, "is not one of https:// or http://");
    if (user)
        return bad_address(error, "has a user in it");
    if (query || fragment)
        return bad_address(error, "has a query or a fragment");
    client->is_tls = str_equal(scheme, "https");
    client->prefix = url_part(url, CURLUPART_PATH);
    if (!client->prefix)
        client->prefix = str_new("");
    if (str_has_suffix(client->prefix, "/"))
        client->prefix[strlen(client->prefix) - 1] = '\0';
    client->address = str_printf("%s:%s", host, port);
    if (server_name && client->is_tls)
        set_server_name(client, scheme, port, server_name);
    else
        client->origin = str_printf("%s://%s", scheme, client->address);
    return 0;
}

static int read_address(struct http_client *client, const struct http_client_config *config,
                        struct error *error)
{
    CURLU *url = curl_url();
    CURLUcode code;
    int r;

    if (!url)
        abort();
    code = curl_url_set(url, CURLUPART_URL, config->base_url ? config->base_url : "", 0);
    if (code == CURLUE_OK)
        r = read_parts(client, url, config->tls_server_name, error);
    else
        r = bad_address(error, "cannot be read");
    curl_url_cleanup(url);
    return r;
}

int http_client_new(struct http_loop *loop, const struct http_client_config *config,
                    struct http_client **ret, struct error *error)
{
    _cleanup_(http_client_free_p) struct http_client *client = NEW(struct http_client);
    int r;

    client->loop = loop_ref(loop);
    pthread_mutex_init(&client->lock, NULL);
    copy_pem(client, &config->tls);
    client->proxy_url = str_new(config->proxy_url);
    client->user_agent = str_new(config->user_agent);
    client->unix_socket = str_new(config->unix_socket);
    client->http1 = config->http1;
    client->trusts_one = config->trusts_one;
    client->http2 = config->http2;
    client->address_filter = config->address_filter;
    client->idle_time = config->idle_time;
    client->connect_timeout =
        config->connect_timeout > 0 ? config->connect_timeout : CONNECT_TIMEOUT_MS;
    r = read_address(client, config, error);
    if (r < 0)
        return r;
    *ret = TAKE(client);
    return 0;
}

void http_client_free(struct http_client *client)
{
    if (!client)
        return;
    while (client->n_idle)
        curl_easy_cleanup(client->idle[--client->n_idle]);
    curl_slist_free_all(client->connect_to);
    free(client->origin);
    free(client->prefix);
    free(client->address);
    free(client->host_header);
    free_pem(client);
    free(client->proxy_url);
    free(client->user_agent);
    free(client->unix_socket);
    loop_unref(client->loop);
    pthread_mutex_destroy(&client->lock);
    free(client);
}
